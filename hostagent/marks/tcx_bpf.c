#include "hostagent/marks/tcx_bpf.h"

#include "hostagent/marks/same_program.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <unistd.h>

#define IN_FRONT 8  /* linux/bpf.h of 6.6: BPF_F_BEFORE, of nobody: of all */
#define MOST     64 /* programs on one hook, as the kernel has it */
#define LOOPBACK 1

/* The headers for this build have no name for what a tcx link reports; its layout is that of a
 * network namespace link: interface and way. */
static bool link_read(int link, struct bpf_link_info *info)
{
    uint32_t bytes = sizeof(*info);
    *info = (struct bpf_link_info){0};
    return bpf_obj_get_info_by_fd(link, info, &bytes) == 0;
}

static bool is_on(const struct bpf_link_info *info, const struct tcx_hook *hook)
{
    return info->netns.netns_ino == (uint32_t)hook->ifindex && info->netns.attach_type == hook->way;
}

/* Their numbers in the order in which they run. */
static int query(int ifindex, enum tcx_way way, uint32_t ids[MOST], uint32_t *ret_n)
{
    uint32_t n = MOST;
    if (bpf_prog_query(ifindex, (enum bpf_attach_type)way, 0, NULL, ids, &n) < 0 && errno != ENOENT)
        return -errno;
    *ret_n = n < MOST ? n : MOST;
    return 0;
}

bool tcx_works(void)
{
    uint32_t ids[MOST], n;
    return query(LOOPBACK, TCX_EGRESS, ids, &n) == 0;
}

static uint32_t first(const struct tcx_hook *hook)
{
    uint32_t ids[MOST] = {0}, n = 0;
    return query(hook->ifindex, hook->way, ids, &n) < 0 || !n ? 0 : ids[0];
}

/* A descriptor of the link that is pinned, on this port; −1: none. */
static int pinned(const struct tcx_hook *hook, struct bpf_link_info *info)
{
    int link = bpf_obj_get(hook->pin);
    if (link >= 0 && (!link_read(link, info) || !is_on(info, hook))) {
        close(link);
        return -1;
    }
    return link;
}

uint32_t tcx_standing(const struct tcx_hook *hook)
{
    struct bpf_link_info info;
    int link = pinned(hook, &info);
    if (link >= 0)
        close(link);
    return link < 0 ? 0 : info.prog_id;
}

bool tcx_is_first(const struct tcx_hook *hook)
{
    return first(hook) == tcx_standing(hook);
}

static int make(const struct tcx_hook *hook, int program, struct err *err)
{
    LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = IN_FRONT);
    int link = bpf_link_create(program, hook->ifindex, (enum bpf_attach_type)hook->way, &opts);
    if (link < 0)
        return err_sys(err, errno, "attaching a program to %s", hook->port);
    int r = bpf_obj_pin(link, hook->pin) < 0 ? -errno : 0;
    close(link);
    return r < 0 ? err_sys(err, -r, "pinning %s", hook->pin) : 0;
}

/* A link keeps its place: if others have gone in front of it, it is made again. */
int tcx_attach(const struct tcx_hook *hook, int program, struct err *err)
{
    struct bpf_link_info info;
    int link = pinned(hook, &info);
    bool stays = link >= 0 && first(hook) == info.prog_id;
    int r = stays ? bpf_link_update(link, program, NULL) : 0;
    if (link >= 0)
        close(link);
    if (r < 0)
        return err_sys(err, -r, "replacing the program on %s", hook->port);
    if (stays)
        return 0;
    r = tcx_detach(hook, err);
    return r < 0 ? r : make(hook, program, err);
}

static void name_other(uint32_t id, char *name, size_t size)
{
    struct bpf_prog_info info = {0};
    uint32_t bytes = sizeof(info);
    int fd = bpf_prog_get_fd_by_id(id);
    if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &bytes) < 0 || !info.name[0])
        snprintf(name, size, "the program %u", id);
    else
        snprintf(name, size, "the program %s (%u)", info.name, id);
    if (fd >= 0)
        close(fd);
}

int tcx_compare(const struct tcx_hook *hook, int program, char *what, size_t size)
{
    char other[64];
    uint32_t ours = program_id(program), in_front = first(hook);
    if (ours && tcx_standing(hook) != ours) {
        snprintf(what, size, "%s: somebody removed or replaced our programs", hook->port);
        return 1;
    }
    if (ours == in_front)
        return 0;
    name_other(in_front, other, sizeof(other));
    snprintf(what, size, "%s: somebody put %s in front of ours on what %s", hook->port, other,
             hook->way == TCX_EGRESS ? "is sent" : "arrives");
    return 1;
}

int tcx_detach(const struct tcx_hook *hook, struct err *err)
{
    int link = bpf_obj_get(hook->pin);
    if (link < 0)
        return errno == ENOENT ? 0 : err_sys(err, errno, "opening the pinned link %s", hook->pin);
    int r = bpf_link_detach(link) < 0 && errno != ENOLINK ? -errno : 0;
    close(link);
    if (r < 0)
        return err_sys(err, -r, "taking our programs off %s", hook->port);
    if (unlink(hook->pin) < 0 && errno != ENOENT)
        return err_sys(err, errno, "removing %s", hook->pin);
    return 0;
}
