#include "hostagent/marks/hook.h"

#include "hostagent/files.h"
#include "hostagent/marks/same_program.h"
#include "hostagent/marks/tc_bpf.h"
#include "hostagent/marks/tcx_bpf.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DIRECTIONS 2

struct direction {
    const char *pin, *traffic;
    enum tcx_way way;
};

static const struct direction directions[DIRECTIONS] = {{"out-", "is sent", TCX_EGRESS},
                                                        {"in-", "arrives", TCX_INGRESS}};

/* A bpf file system has no names with dots, and an interface none with a colon. */
static void change(char *name, char from, char to)
{
    for (; *name; name++)
        *name = *name == from ? to : *name;
}

static void pin_path(const struct hook_folders *in, const struct direction *direction,
                     const char *port, char path[FILES_PATH])
{
    char name[IF_NAMESIZE];
    snprintf(name, sizeof(name), "%s", port);
    change(name, '.', ':');
    files_path(path, "%.400s/%s%s", in->bpffs, direction->pin, name);
}

static struct tcx_hook hook_of(const struct hook_folders *in, const struct direction *direction,
                               const char *port, char pin[FILES_PATH])
{
    pin_path(in, direction, port, pin);
    return (struct tcx_hook){
        .port = port, .pin = pin, .ifindex = (int)if_nametoindex(port), .way = direction->way};
}

static int refuse_missing(const char *port, struct err *err)
{
    return err_set(err, ENODEV, "there is no interface %s in this network namespace", port);
}

static int attach_by_tcx(const struct hook_folders *in, const char *port,
                         const int programs[DIRECTIONS], struct err *err)
{
    char pin[FILES_PATH];
    int r = 0;
    for (int i = 0; r >= 0 && i < DIRECTIONS; i++) {
        const struct tcx_hook hook = hook_of(in, &directions[i], port, pin);
        if (!hook.ifindex)
            return refuse_missing(port, err);
        r = programs[i] < 0 ? tcx_detach(&hook, err) : tcx_attach(&hook, programs[i], err);
    }
    return r < 0 ? r : tc_bpf_detach(in->state_dir, port, err);
}

static int detach_by_tcx(const struct hook_folders *in, const char *port, struct err *err)
{
    char pin[FILES_PATH];
    int r = 0;
    for (int i = DIRECTIONS; i-- > 0;) {
        const struct tcx_hook hook = hook_of(in, &directions[i], port, pin);
        int other = tcx_detach(&hook, r < 0 ? NULL : err);
        r = r < 0 ? r : other;
    }
    return r;
}

int hook_attach(const struct hook_folders *in, const char *port, int ingress, int egress,
                struct err *err)
{
    const int programs[DIRECTIONS] = {egress, ingress};
    return tcx_works() ? attach_by_tcx(in, port, programs, err)
                       : tc_bpf_attach(in->state_dir, port, ingress, egress, err);
}

int hook_compare(const struct hook_folders *in, const char *port, int ingress, int egress,
                 char *what, size_t size, struct err *err)
{
    const int programs[DIRECTIONS] = {egress, ingress};
    char pin[FILES_PATH];
    if (!tcx_works())
        return tc_bpf_compare(port, ingress, egress, what, size, err);
    for (int i = 0; i < DIRECTIONS; i++) {
        const struct tcx_hook hook = hook_of(in, &directions[i], port, pin);
        if (!hook.ifindex)
            return refuse_missing(port, err);
        if (programs[i] >= 0 && tcx_compare(&hook, programs[i], what, size))
            return 1;
    }
    return 0;
}

bool hook_changes_untold(void)
{
    return tcx_works();
}

int hook_detach(const struct hook_folders *in, const char *port, struct err *err)
{
    int r = detach_by_tcx(in, port, err);
    int other = tc_bpf_detach(in->state_dir, port, r < 0 ? NULL : err);
    return r < 0 ? r : other;
}

void hook_rename(const struct hook_folders *in, const char *from, const char *to)
{
    char old[FILES_PATH], new[FILES_PATH];
    tc_bpf_rename(in->state_dir, from, to);
    for (int i = 0; i < DIRECTIONS; i++) {
        pin_path(in, &directions[i], from, old);
        pin_path(in, &directions[i], to, new);
        rename(old, new);
    }
}

bool hook_port_of(const char *file, char port[IF_NAMESIZE])
{
    const char *const words[] = {TC_BPF_NOTE, directions[0].pin, directions[1].pin};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t n = strlen(words[i]);
        if (strncmp(file, words[i], n) != 0 || strlen(file + n) >= IF_NAMESIZE)
            continue;
        snprintf(port, IF_NAMESIZE, "%s", file + n);
        change(port, ':', '.');
        return true;
    }
    return false;
}

static int plan_link(const struct tcx_hook *hook, const struct direction *direction, int program,
                     struct changes *changes, struct err *err)
{
    uint32_t id = tcx_standing(hook);
    if (id && same_program(program, id) && tcx_is_first(hook))
        return 0;
    return changes_tell(changes, id ? CHANGE_CHANGE : CHANGE_ADD, "link", hook->pin, err,
                        "our program on what %s by %s, in front of others", direction->traffic,
                        hook->port);
}

static int plan_unlink(const struct tcx_hook *hook, const struct direction *direction,
                       struct changes *changes, struct err *err)
{
    return access(hook->pin, F_OK) < 0
               ? 0
               : changes_tell(changes, CHANGE_REMOVE, "link", hook->pin, err,
                              "our program on what %s by %s", direction->traffic, hook->port);
}

int hook_plan(const struct hook_folders *in, const char *port, int ingress, int egress,
              struct changes *changes, struct err *err)
{
    const int programs[DIRECTIONS] = {egress, ingress};
    char pin[FILES_PATH];
    int r = 0;
    if (!tcx_works())
        return tc_bpf_plan(in->state_dir, port, ingress, egress, changes, err);
    for (int i = 0; r >= 0 && i < DIRECTIONS; i++) {
        const struct tcx_hook hook = hook_of(in, &directions[i], port, pin);
        r = programs[i] < 0 ? plan_unlink(&hook, &directions[i], changes, err)
                            : plan_link(&hook, &directions[i], programs[i], changes, err);
    }
    return r < 0 ? r : tc_bpf_plan_detach(in->state_dir, port, changes, err);
}

int hook_plan_detach(const struct hook_folders *in, const char *port, struct changes *changes,
                     struct err *err)
{
    char pin[FILES_PATH];
    int r = 0;
    for (int i = 0; r >= 0 && i < DIRECTIONS; i++) {
        const struct tcx_hook hook = hook_of(in, &directions[i], port, pin);
        r = plan_unlink(&hook, &directions[i], changes, err);
    }
    return r < 0 ? r : tc_bpf_plan_detach(in->state_dir, port, changes, err);
}
