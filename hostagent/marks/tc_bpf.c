#include "hostagent/marks/tc_bpf.h"

#include "hostagent/files.h"
#include "hostagent/marks/same_program.h"
#include "hostagent/marks/tc_filters_nl.h"
#include "hostagent/nl.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/cache.h>
#include <netlink/msg.h>
#include <netlink/route/classifier.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FORMER_HANDLE 1          /* of ours, by older agents */
#define EMPTY         "%s/begun" /* of the state folder: AGENT_BEGUN, as empty as a note */

static void note_path(const char *state_dir, const char *port, char path[FILES_PATH])
{
    files_path(path, "%s/" TC_BPF_NOTE "%s", state_dir, port);
}

struct answer {
    bool found, ingress, ended;
};

static int on_qdisc(struct nl_msg *msg, void *arg)
{
    struct answer *answer = arg;
    struct nlattr *kind = nlmsg_find_attr(nlmsg_hdr(msg), sizeof(struct tcmsg), TCA_KIND);
    answer->found = true;
    answer->ingress = kind && strcmp(nla_get_string(kind), "ingress") == 0;
    return NL_OK;
}

static int refuse_ingress(int ifindex, struct err *err)
{
    char port[IF_NAMESIZE] = "?";
    if_indextoname((unsigned)ifindex, port);
    return err_set(err, EBUSY,
                   "%s has an ingress qdisc of somebody else, where clsact would be, and that sees "
                   "nothing of what is sent: put clsact in its place (tc qdisc del dev %s ingress, "
                   "tc qdisc add dev %s clsact), or take marks.driver: nftables",
                   port, port, port);
}

static int on_ack(struct nl_msg *msg, void *arg)
{
    (void)msg;
    ((struct answer *)arg)->ended = true;
    return NL_STOP;
}

/* Finds it, whoever made it; −errno if that fails. −EBUSY: an ingress qdisc has its place, whose
 * one hook would get the programs for both directions. Asks for one port, since a dump has those of
 * all. Some kernels answer nothing for a removed one, so the acknowledgement ends the answer. */
static int find_clsact(int ifindex, struct err *err)
{
    struct tcmsg request = {
        .tcm_family = AF_UNSPEC, .tcm_ifindex = ifindex, .tcm_parent = TC_H_CLSACT};
    struct answer answer = {0};
    struct nl_sock *sock;
    int r = netlink_open(&sock, err);
    if (r < 0)
        return r;
    nl_socket_modify_cb(sock, NL_CB_VALID, NL_CB_CUSTOM, on_qdisc, &answer);
    nl_socket_modify_cb(sock, NL_CB_ACK, NL_CB_CUSTOM, on_ack, &answer);
    r = nl_send_simple(sock, RTM_GETQDISC, NLM_F_ACK | NLM_F_ECHO, &request, sizeof(request));
    while (r >= 0 && !answer.ended)
        r = nl_recvmsgs_default(sock);
    nl_socket_free(sock);
    if (r == -NLE_OBJ_NOTFOUND || r == -NLE_INVAL)
        return 0; /* never had one, or has none any more */
    if (r < 0)
        return netlink_err(err, r, "asking for a clsact qdisc");
    return answer.ingress ? refuse_ingress(ifindex, err) : answer.found;
}

static int make_clsact(const char *state_dir, const char *port, struct bpf_tc_hook *hook,
                       struct err *err)
{
    char note[FILES_PATH], empty[FILES_PATH];
    note_path(state_dir, port, note);
    files_path(empty, EMPTY, state_dir);
    int r = find_clsact(hook->ifindex, err);
    if (r != 0)
        return r < 0 ? r : 0;
    r = files_write_twin(note, empty, "", 0, 0600, err); /* before it is true */
    if (r < 0)
        return r;
    r = bpf_tc_hook_create(hook);
    return r < 0 ? err_sys(err, -r, "adding a clsact qdisc to %s", port) : 0;
}

static bool is_ours(const struct tc_filter *filter)
{
    return strcmp(filter->kind, "bpf") == 0 &&
           (filter->handle == TC_BPF_HANDLE ||
            (filter->preference == TC_BPF_PRIORITY && filter->handle == FORMER_HANDLE));
}

static bool wants(const struct tc_filter *filter, void *ours)
{
    return is_ours(filter) == *(const bool *)ours;
}

/* 1: our filter, or the first of another owner; 0: none. */
static int find(const struct bpf_tc_hook *hook, enum bpf_tc_attach_point point, bool ours,
                struct tc_filter *ret_filter, struct err *err)
{
    const uint32_t minor = point == BPF_TC_EGRESS ? TC_H_MIN_EGRESS : TC_H_MIN_INGRESS;
    return tc_filters_find(hook->ifindex, TC_H_MAKE(TC_H_CLSACT, minor), wants, &ours, ret_filter,
                           err);
}

static const char *direction(enum bpf_tc_attach_point point)
{
    return point == BPF_TC_EGRESS ? "egress" : "ingress";
}

static void name_other(const struct tc_filter *other, char *name, size_t size)
{
    int n = snprintf(name, size, "%s, preference %u", other->kind, other->preference);
    if (other->program && n > 0 && (size_t)n < size)
        snprintf(name + n, size - (size_t)n, ", program %u", other->program);
}

static int refuse_first(const char *port, enum bpf_tc_attach_point point,
                        const struct tc_filter *other, struct err *err)
{
    char name[64];
    name_other(other, name, sizeof(name));
    return err_set(err, EBUSY,
                   "%s: the %s filter of somebody else (%s) may keep packets from our program, and "
                   "nothing can be put before it: give it a higher preference, or take "
                   "marks.driver: nftables",
                   port, direction(point), name);
}

/* Where ours should be: where it is, if that is before all others; else before them. */
static int find_place(struct bpf_tc_hook *hook, enum bpf_tc_attach_point point, const char *port,
                      struct tc_filter *ret_place, struct err *err)
{
    struct tc_filter ours, other;
    int stands = find(hook, point, true, &ours, err);
    int others = stands < 0 ? stands : find(hook, point, false, &other, err);
    if (others < 0)
        return others;
    if (stands && (!others || ours.preference < other.preference)) {
        *ret_place = ours;
        return 0;
    }
    if (others && other.preference <= 1)
        return refuse_first(port, point, &other, err);
    bool usual = !others || other.preference > TC_BPF_PRIORITY;
    *ret_place = (struct tc_filter){.preference = usual ? TC_BPF_PRIORITY : other.preference - 1,
                                    .handle = TC_BPF_HANDLE};
    return 0;
}

static int detach_one(struct bpf_tc_hook *hook, enum bpf_tc_attach_point point)
{
    struct tc_filter ours;
    int r = find(hook, point, true, &ours, NULL);
    if (r <= 0)
        return r;
    LIBBPF_OPTS(bpf_tc_opts, opts, .handle = ours.handle, .priority = ours.preference);
    hook->attach_point = point;
    r = bpf_tc_detach(hook, &opts);
    return r == -ENOENT || r == -EINVAL ? 0 : r; /* EINVAL: there is no clsact */
}

static int attach_one(struct bpf_tc_hook *hook, enum bpf_tc_attach_point point, int fd,
                      const char *port, struct err *err)
{
    struct tc_filter place = {0}, ours;
    if (fd < 0)
        return 0;
    int r = find_place(hook, point, port, &place, err);
    if (r >= 0 && find(hook, point, true, &ours, NULL) > 0 && ours.preference != place.preference)
        detach_one(hook, point);
    if (r < 0)
        return r;
    LIBBPF_OPTS(bpf_tc_opts, opts, .prog_fd = fd, .flags = BPF_TC_F_REPLACE, .handle = place.handle,
                .priority = place.preference);
    hook->attach_point = point;
    r = bpf_tc_attach(hook, &opts);
    return r < 0 ? err_sys(err, -r, "attaching a program to %s", port) : 0;
}

int tc_bpf_attach(const char *state_dir, const char *port, int ingress_fd, int egress_fd,
                  struct err *err)
{
    LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)if_nametoindex(port),
                .attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS);
    if (!hook.ifindex)
        return err_set(err, ENODEV, "there is no interface %s in this network namespace", port);
    int r = make_clsact(state_dir, port, &hook, err);
    if (r >= 0)
        r = attach_one(&hook, BPF_TC_EGRESS, egress_fd, port, err);
    if (r >= 0)
        r = attach_one(&hook, BPF_TC_INGRESS, ingress_fd, port, err);
    return r;
}

/* The number of the program at our place, 0: none. */
static uint32_t standing(const struct bpf_tc_hook *hook, enum bpf_tc_attach_point point)
{
    struct tc_filter ours;
    return find(hook, point, true, &ours, NULL) > 0 ? ours.program : 0;
}

static int compare_one(const struct bpf_tc_hook *hook, enum bpf_tc_attach_point point, int fd,
                       const char *port, char *what, size_t size, struct err *err)
{
    struct tc_filter ours = {0}, other;
    char name[64];
    int stands = fd < 0 ? 0 : find(hook, point, true, &ours, err);
    int others = fd < 0 || stands < 0 ? stands : find(hook, point, false, &other, err);
    if (fd < 0 || others < 0)
        return others;
    if (others && other.preference <= 1)
        return refuse_first(port, point, &other, err);
    if (!stands || ours.program != program_id(fd)) {
        snprintf(what, size, "%s: somebody removed or replaced our filters", port);
        return 1;
    }
    if (!others || ours.preference < other.preference)
        return 0;
    name_other(&other, name, sizeof(name));
    snprintf(what, size, "%s: somebody put a filter (%s) before ours on %s", port, name,
             direction(point));
    return 1;
}

int tc_bpf_compare(const char *port, int ingress_fd, int egress_fd, char *what, size_t size,
                   struct err *err)
{
    LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)if_nametoindex(port));
    if (!hook.ifindex)
        return err_set(err, ENODEV, "there is no interface %s in this network namespace", port);
    int r = find_clsact(hook.ifindex, err);
    if (r >= 0)
        r = compare_one(&hook, BPF_TC_EGRESS, egress_fd, port, what, size, err);
    return r ? r : compare_one(&hook, BPF_TC_INGRESS, ingress_fd, port, what, size, err);
}

void tc_bpf_rename(const char *state_dir, const char *from, const char *to)
{
    char old[FILES_PATH], new[FILES_PATH];
    note_path(state_dir, from, old);
    note_path(state_dir, to, new);
    if (rename(old, new) == 0)
        unlink(old); /* of two names of one file none goes by renaming */
}

static bool any(const struct tc_filter *filter, void *user)
{
    (void)filter, (void)user;
    return true;
}

/* Whether the port's clsact has other filters; yes when that is unknown. */
static bool has_filters(int ifindex)
{
    const uint32_t parents[] = {TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS),
                                TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS)};
    struct tc_filter filter;
    for (int i = 0; i < 2; i++)
        if (tc_filters_find(ifindex, parents[i], any, NULL, &filter, NULL) != 0)
            return true;
    return false;
}

int tc_bpf_detach(const char *state_dir, const char *port, struct err *err)
{
    char note[FILES_PATH];
    note_path(state_dir, port, note);
    LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)if_nametoindex(port));
    int r = 0;
    if (hook.ifindex) {
        r = detach_one(&hook, BPF_TC_INGRESS);
        int other = detach_one(&hook, BPF_TC_EGRESS);
        r = r < 0 ? r : other;
        if (r >= 0 && access(note, F_OK) == 0 && !has_filters(hook.ifindex)) {
            hook.attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS;
            r = bpf_tc_hook_destroy(&hook);
            r = r == -ENOENT || r == -EINVAL ? 0 : r;
        }
    }
    if (r < 0)
        return err_sys(err, -r, "taking our programs off %s", port);
    unlink(note);
    return 0;
}

static int plan_one(struct bpf_tc_hook *hook, enum bpf_tc_attach_point point, int fd,
                    const char *port, struct changes *changes, struct err *err)
{
    struct tc_filter place = {0};
    uint32_t id = fd < 0 ? 0 : standing(hook, point);
    int r = fd < 0 ? 0 : find_place(hook, point, port, &place, err);
    bool same = id && same_program(fd, id) && place.program == id;
    return r < 0 || fd < 0 || same
               ? r
               : changes_tell(changes, id ? CHANGE_CHANGE : CHANGE_ADD, "filter", port, err,
                              "%s, priority %u: our program", direction(point), place.preference);
}

int tc_bpf_plan(const char *state_dir, const char *port, int ingress_fd, int egress_fd,
                struct changes *changes, struct err *err)
{
    LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)if_nametoindex(port));
    char note[FILES_PATH];
    note_path(state_dir, port, note);
    int found = find_clsact(hook.ifindex, err), r = found < 0 ? found : 0;
    if (found == 0)
        r = changes_path(changes, "file", note, "the clsact is ours", err);
    if (r >= 0 && found == 0)
        r = changes_tell(changes, CHANGE_ADD, "qdisc", port, err, "clsact");
    if (r >= 0)
        r = plan_one(&hook, BPF_TC_EGRESS, egress_fd, port, changes, err);
    return r < 0 ? r : plan_one(&hook, BPF_TC_INGRESS, ingress_fd, port, changes, err);
}

int tc_bpf_plan_detach(const char *state_dir, const char *port, struct changes *changes,
                       struct err *err)
{
    static const enum bpf_tc_attach_point points[] = {BPF_TC_EGRESS, BPF_TC_INGRESS};
    LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)if_nametoindex(port));
    char note[FILES_PATH];
    note_path(state_dir, port, note);
    int r = 0;
    for (int i = 0; r >= 0 && i < 2; i++)
        if (standing(&hook, points[i]))
            r = changes_tell(changes, CHANGE_REMOVE, "filter", port, err, "%s: our program",
                             direction(points[i]));
    if (r >= 0 && access(note, F_OK) == 0)
        r = changes_tell(changes, CHANGE_REMOVE, "qdisc", port, err,
                         "clsact, unless somebody else has a filter there");
    return r;
}
