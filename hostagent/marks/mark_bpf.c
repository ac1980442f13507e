/* The mark driver of the kernel: loads the programs of mark.bpf.c, attaches them to the ports and
 * to the agent's cgroup, and writes and reads their maps.
 *
 * The maps are pinned in a bpf file system of this agent instance, and the programs hang on the
 * ports and the cgroup without a descriptor of ours: so marks outlive the agent, and a new one
 * takes them over (mark_load.h), each program in the place of its predecessor. */
#include "hostagent/files.h"
#include "hostagent/marks/hook.h"
#include "hostagent/marks/mark_driver.h"
#include "hostagent/marks/mark_load.h"
#include "hostagent/marks/mark_members.h"
#include "hostagent/marks/mark_mount.h"
#include "hostagent/marks/mark_plan.h"
#include "hostagent/marks/mark_programs.h"
#include "lib/now.h"

#include "hostagent/marks/mark.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH     512
#define RECENT_NS 1000000000ull

struct mark {
    struct mark_load load;
    struct mark_bpf *skel; /* of load */
    const struct mark_config *config;
    int cpus;
    uint64_t shared_connections, lease_expiries;
    uint64_t evicted;
};

/* The agent's own counters are those of CPU 0. */
static void add(struct mark_bpf *skel, uint32_t which, uint64_t n)
{
    uint64_t *values = calloc((size_t)libbpf_num_possible_cpus(), sizeof(*values));
    int fd = bpf_map__fd(skel->maps.counters);
    if (values && n && bpf_map_lookup_elem(fd, &which, values) == 0) {
        values[0] += n;
        bpf_map_update_elem(fd, &which, values, BPF_ANY);
    }
    free(values);
}

static int attach_ports(struct mark_bpf *skel, const struct mark_config *config, struct err *err)
{
    const struct hook_folders in = mark_folders(config);
    int egress, ingress;
    for (uint32_t i = 0; i < mark_ports(config); i++) {
        const char *port = mark_port(config, i);
        mark_programs_of(skel, config, port, &egress, &ingress);
        int r = hook_attach(&in, port, ingress, egress, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Replaces the program that an earlier agent left there. */
static int attach_cgroup(struct mark_bpf *skel, const struct mark_config *config, struct err *err)
{
    char pin[FILES_PATH];
    files_path(pin, MARK_PIN, config->bpffs, "count");
    int cgroup = open(config->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (cgroup < 0)
        return err_sys(err, errno, "opening the cgroup %s", config->cgroup);
    int fd = bpf_program__fd(skel->progs.count), old = bpf_obj_get(pin), r = -ENOENT;
    if (old >= 0) {
        LIBBPF_OPTS(bpf_prog_attach_opts, opts, .flags = BPF_F_ALLOW_MULTI | BPF_F_REPLACE,
                    .replace_prog_fd = old);
        r = bpf_prog_attach_opts(fd, cgroup, BPF_CGROUP_INET_INGRESS, &opts);
        close(old);
    }
    if (r < 0)
        r = bpf_prog_attach(fd, cgroup, BPF_CGROUP_INET_INGRESS, BPF_F_ALLOW_MULTI);
    close(cgroup);
    if (r < 0)
        return err_sys(err, -r, "attaching to the cgroup %s", config->cgroup);
    unlink(pin);
    r = bpf_program__pin(skel->progs.count, pin);
    return r < 0 ? err_sys(err, -r, "pinning %s", pin) : 0;
}

static void detach_cgroup(const struct mark_config *config)
{
    char pin[FILES_PATH];
    files_path(pin, MARK_PIN, config->bpffs, "count");
    int prog = bpf_obj_get(pin);
    int cgroup = prog < 0 ? -1 : open(config->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (cgroup >= 0) {
        bpf_prog_detach2(prog, cgroup, BPF_CGROUP_INET_INGRESS);
        close(cgroup);
    }
    if (prog >= 0)
        close(prog);
}

static int control_set(struct mark_bpf *skel, uint32_t which, uint64_t value, struct err *err)
{
    if (bpf_map_update_elem(bpf_map__fd(skel->maps.control), &which, &value, BPF_ANY) < 0)
        return err_sys(err, errno, "writing the marks' mode or lease");
    return 0;
}

static int control_get(struct mark_bpf *skel, uint32_t which, uint64_t *ret_value, struct err *err)
{
    if (bpf_map_lookup_elem(bpf_map__fd(skel->maps.control), &which, ret_value) < 0)
        return err_sys(err, errno, "reading the marks' mode or lease");
    return 0;
}

/* Attaches the programs of `skel` instead of the present ones. */
static int attach(struct mark_bpf *skel, const struct mark_config *config, struct err *err)
{
    int r = config->is_switch ? 0 : attach_cgroup(skel, config, err);
    return r < 0 || config->reach == MARK_REACH_NOTHING ? r : attach_ports(skel, config, err);
}

/* The last first, so that the kernel finds each at once. */
static int detach_ports(const struct mark_config *config, struct err *err)
{
    const struct hook_folders in = mark_folders(config);
    int r = 0;
    for (uint32_t i = mark_ports(config); i-- > 0;) {
        int other = hook_detach(&in, mark_port(config, i), r < 0 ? NULL : err);
        r = r < 0 ? r : other;
    }
    return r;
}

/* The reach, without the ports. */
static int set_reach(struct mark_bpf *skel, enum mark_reach reach, struct err *err)
{
    int r = reach == MARK_REACH_NOTHING ? control_set(skel, MARK_CONTROL_EXPIRY, 0, err) : 0;
    return r < 0 ? r : control_set(skel, MARK_CONTROL_CLASSES, reach == MARK_REACH_QUEUES, err);
}

static int ebpf_reach_set(struct mark *mark, enum mark_reach reach, struct err *err)
{
    int r = set_reach(mark->skel, reach, err);
    if (r < 0)
        return r;
    return reach == MARK_REACH_NOTHING ? detach_ports(mark->config, err)
                                       : attach_ports(mark->skel, mark->config, err);
}

static int ebpf_port_set(struct mark *mark, const char *port, bool ours, struct err *err)
{
    const struct hook_folders in = mark_folders(mark->config);
    int egress, ingress;
    mark_programs_of(mark->skel, mark->config, port, &egress, &ingress);
    return ours ? hook_attach(&in, port, ingress, egress, err) : hook_detach(&in, port, err);
}

static void ebpf_close(struct mark *mark)
{
    if (!mark)
        return;
    mark_load_close(&mark->load);
    free(mark);
}

static int take_over(const struct mark_config *config, struct mark_load *load, struct err *err)
{
    int r = mark_load_open(config, load, err);
    if (r >= 0)
        r = mark_members_set(bpf_map__fd(load->skel->maps.members), config, err);
    if (r >= 0)
        r = set_reach(load->skel, config->reach, err);
    if (r >= 0 && config->reach == MARK_REACH_NOTHING)
        r = detach_ports(config, err);
    if (r >= 0)
        r = attach(load->skel, config, err);
    if (r < 0 || load->before < 0)
        return r;
    r = mark_load_move(config, load, err);
    if (r >= 0)
        r = attach(load->skel, config, err);
    if (r >= 0)
        mark_load_forget(config, load);
    return r;
}

static int ebpf_open(const struct mark_config *config, struct mark **ret_mark, struct err *err)
{
    struct mark *mark = calloc(1, sizeof(*mark));
    if (!mark)
        return err_sys(err, ENOMEM, "marks");
    mark->cpus = libbpf_num_possible_cpus();
    mark->load.before = -1;
    mark->config = config;
    int r = mark_mount(config, err);
    if (r >= 0)
        r = take_over(config, &mark->load, err);
    if (r < 0) {
        ebpf_close(mark);
        return r;
    }
    mark->skel = mark->load.skel;
    int dropped = mark_members_drop_strangers(bpf_map__fd(mark->skel->maps.flows), config);
    add(mark->skel, MARK_COUNT_AGENT_ENDED, (uint64_t)dropped);
    *ret_mark = mark;
    return 0;
}

static int ebpf_remove(const struct mark_config *config, struct err *err)
{
    mark_load_silence();
    int r = detach_ports(config, err);
    if (mark_mount_stands(config) && !config->is_switch)
        detach_cgroup(config);
    mark_load_unpin(config);
    int other = mark_unmount(config, r < 0 ? NULL : err);
    return r < 0 ? r : other;
}

static int ebpf_compare(struct mark *mark, const char *port, char *what, size_t size,
                        struct err *err)
{
    const struct hook_folders in = mark_folders(mark->config);
    int egress, ingress;
    mark_programs_of(mark->skel, mark->config, port, &egress, &ingress);
    return hook_compare(&in, port, ingress, egress, what, size, err);
}

static int ebpf_cgroup_made(struct mark *mark, struct err *err)
{
    return attach_cgroup(mark->skel, mark->config, err);
}

/* Its link is not pinned: it goes with its descriptor. */
static int ebpf_count_other(struct mark *mark, const char *cgroup, int *ret_fd, struct err *err)
{
    int dir = open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return err_sys(err, errno, "opening the cgroup %s", cgroup);
    int fd = bpf_link_create(bpf_program__fd(mark->skel->progs.count), dir, BPF_CGROUP_INET_INGRESS,
                             NULL);
    int r = fd < 0 ? err_sys(err, errno, "counting the bytes of the cgroup %s", cgroup) : 0;
    close(dir);
    if (r >= 0)
        *ret_fd = fd;
    return r;
}

static int ebpf_task_set(struct mark *mark, const struct mark_task_levels *levels, struct err *err)
{
    int tasks = bpf_map__fd(mark->skel->maps.tasks),
        received = bpf_map__fd(mark->skel->maps.received);
    const uint64_t none = 0, word = mark_word(levels->coflow, levels->macroflow);
    if (bpf_map_update_elem(tasks, &levels->cgroup, &word, BPF_ANY) < 0 ||
        (bpf_map_update_elem(received, &levels->cgroup, &none, BPF_NOEXIST) < 0 && errno != EEXIST))
        return err_sys(err, errno, "setting the levels of a task (%d may have some)", MARK_TASKS);
    return 0;
}

static int ebpf_task_end(struct mark *mark, uint64_t cgroup, struct err *err)
{
    uint64_t word = mark_word(MARK_UNMARKED, MARK_UNMARKED);
    if (bpf_map_update_elem(bpf_map__fd(mark->skel->maps.tasks), &cgroup, &word, BPF_EXIST) < 0 &&
        errno != ENOENT)
        return err_sys(err, errno, "ending the marks of a task");
    return 0;
}

static int ebpf_task_forget(struct mark *mark, uint64_t cgroup, struct err *err)
{
    (void)err;
    bpf_map_delete_elem(bpf_map__fd(mark->skel->maps.tasks), &cgroup);
    bpf_map_delete_elem(bpf_map__fd(mark->skel->maps.received), &cgroup);
    return 0;
}

/* Whether the flow is new. */
static bool change_flow(struct mark *mark, int fd, const struct mark_flow_levels *levels,
                        struct mark_flow *flow)
{
    bool made = bpf_map_lookup_elem(fd, &levels->key, flow) < 0;
    if (made)
        *flow = (struct mark_flow){
            .seen_ns = now_ns(CLOCK_BOOTTIME), .role = MARK_ROLE_OPENER, .followed = MARK_UNMARKED};
    if (flow->owner && levels->owner && flow->owner != levels->owner)
        mark->shared_connections++;
    flow->owner = levels->owner;
    flow->word = mark_word(levels->coflow, levels->macroflow);
    return made;
}

static int ebpf_flows_set(struct mark *mark, const struct mark_flow_levels *levels, uint32_t n,
                          struct err *err)
{
    int fd = bpf_map__fd(mark->skel->maps.flows);
    struct mark_flow_key keys[BATCH];
    struct mark_flow values[BATCH];
    for (uint32_t done = 0; done < n;) {
        uint32_t part = 0, made = 0;
        for (; part < BATCH && done + part < n; part++) {
            keys[part] = levels[done + part].key;
            made += change_flow(mark, fd, &levels[done + part], &values[part]);
        }
        uint32_t count = part;
        LIBBPF_OPTS(bpf_map_batch_opts, opts);
        if (bpf_map_update_batch(fd, keys, values, &count, &opts) < 0)
            return err_sys(err, errno, "setting the levels of %u connections", part);
        add(mark->skel, MARK_COUNT_AGENT_MADE, made);
        done += part;
    }
    return 0;
}

static int ebpf_mode_set(struct mark *mark, uint32_t mode, struct err *err)
{
    if (mode > 1)
        return err_set(err, EINVAL, "mode %u: there are 0 (Coflow) and 1 (Macroflow)", mode);
    return control_set(mark->skel, MARK_CONTROL_MODE, mode, err);
}

static int ebpf_mode_get(struct mark *mark, uint32_t *ret_mode, struct err *err)
{
    uint64_t mode;
    int r = control_get(mark->skel, MARK_CONTROL_MODE, &mode, err);
    if (r >= 0)
        *ret_mode = (uint32_t)mode;
    return r;
}

static int ebpf_lease_renew(struct mark *mark, uint64_t lease_ns, struct err *err)
{
    uint64_t before, now = now_ns(CLOCK_BOOTTIME);
    int r = control_get(mark->skel, MARK_CONTROL_EXPIRY, &before, err);
    if (r < 0)
        return r;
    if (before && before < now && lease_ns)
        mark->lease_expiries++;
    return control_set(mark->skel, MARK_CONTROL_EXPIRY, lease_ns ? now + lease_ns : 0, err);
}

static int ebpf_received(struct mark *mark, uint64_t cgroup, uint64_t *ret_bytes, struct err *err)
{
    uint64_t bytes = 0;
    if (bpf_map_lookup_elem(bpf_map__fd(mark->skel->maps.received), &cgroup, &bytes) < 0 &&
        errno != ENOENT)
        return err_sys(err, errno, "reading the bytes of a task");
    *ret_bytes = bytes;
    return 0;
}

static int read_counters(struct mark *mark, uint64_t sums[MARK_COUNTERS], struct err *err)
{
    uint64_t *values = calloc((size_t)mark->cpus, sizeof(*values));
    if (!values)
        return err_sys(err, ENOMEM, "counters");
    int r = 0;
    for (uint32_t which = 0; r >= 0 && which < MARK_COUNTERS; which++) {
        sums[which] = 0;
        if (bpf_map_lookup_elem(bpf_map__fd(mark->skel->maps.counters), &which, values) < 0)
            r = err_sys(err, errno, "reading the marks' counters");
        for (int cpu = 0; r >= 0 && cpu < mark->cpus; cpu++)
            sums[which] += values[cpu];
    }
    free(values);
    return r;
}

static void count_flow(struct mark_stats *stats, const struct mark_flow *flow, uint64_t now)
{
    stats->flows++;
    stats->followed_flows += flow->role == MARK_ROLE_ACCEPTER && flow->followed != MARK_UNMARKED;
    stats->senders += flow->sent_ns + RECENT_NS > now;
    stats->receivers += flow->received_ns + RECENT_NS > now;
}

/* Counts the flows and drops the silent ones; returns how many it dropped. */
static uint64_t walk_flows(struct mark *mark, struct mark_stats *stats)
{
    int fd = bpf_map__fd(mark->skel->maps.flows);
    struct mark_flow_key keys[BATCH];
    struct mark_flow values[BATCH];
    uint64_t cursor = 0, now = now_ns(CLOCK_BOOTTIME), dropped = 0;
    bool more = true, first = true;
    while (more) {
        uint32_t n = BATCH;
        LIBBPF_OPTS(bpf_map_batch_opts, opts);
        int r = bpf_map_lookup_batch(fd, first ? NULL : &cursor, &cursor, keys, values, &n, &opts);
        if (r < 0 && errno != ENOENT)
            break;
        more = r == 0;
        first = false;
        for (uint32_t i = 0; i < n; i++) {
            if (now > values[i].seen_ns + MARK_SILENT_NS)
                dropped += bpf_map_delete_elem(fd, &keys[i]) == 0;
            else
                count_flow(stats, &values[i], now);
        }
    }
    return dropped;
}

/* The cursor is the kernel's: the number of the next bucket of its table, which is never cut. */
static int ebpf_connections(struct mark *mark, uint64_t *cursor, struct mark_connection *ret,
                            uint32_t most, uint32_t *ret_n, struct err *err)
{
    struct mark_flow_key keys[BATCH];
    struct mark_flow values[BATCH];
    uint32_t n = most < BATCH ? most : BATCH, from = (uint32_t)*cursor, next = 0;
    const uint64_t now = now_ns(CLOCK_BOOTTIME);
    LIBBPF_OPTS(bpf_map_batch_opts, opts);
    int r = bpf_map_lookup_batch(bpf_map__fd(mark->skel->maps.flows), from ? &from : NULL, &next,
                                 keys, values, &n, &opts);
    if (r < 0 && errno != ENOENT)
        return err_sys(err, errno, "reading the connections that marks are put on");
    *cursor = r < 0 ? 0 : next;
    *ret_n = 0;
    for (uint32_t i = 0; i < n; i++)
        if (now <= values[i].seen_ns + MARK_SILENT_NS)
            ret[(*ret_n)++] = (struct mark_connection){keys[i], values[i]};
    return 0;
}

/* Made but neither ended nor alive: evicted. Entries change while the flows are walked, so the
 * figure may lag, but never falls. */
static uint64_t evictions(struct mark *mark, const uint64_t sums[MARK_COUNTERS], uint64_t alive)
{
    uint64_t gone = sums[MARK_COUNT_FLOWS_ENDED] + sums[MARK_COUNT_AGENT_ENDED] + alive;
    uint64_t made = sums[MARK_COUNT_FLOWS_MADE] + sums[MARK_COUNT_AGENT_MADE];
    if (made > gone && made - gone > mark->evicted)
        mark->evicted = made - gone;
    return mark->evicted;
}

static int ebpf_stats(struct mark *mark, struct mark_stats *ret_stats, struct err *err)
{
    struct mark_stats stats = {.shared_connections = mark->shared_connections,
                               .lease_expiries = mark->lease_expiries};
    uint64_t sums[MARK_COUNTERS];
    /* Before the walk: what comes after it cannot look evicted. */
    int r = read_counters(mark, sums, err);
    if (r < 0)
        return r;
    uint64_t dropped = walk_flows(mark, &stats);
    add(mark->skel, MARK_COUNT_AGENT_ENDED, dropped);
    sums[MARK_COUNT_AGENT_ENDED] += dropped;
    for (uint32_t level = 0; level < MARK_LEVELS; level++)
        stats.marked_bytes[level] = sums[MARK_COUNT_LEVEL0 + level];
    stats.unmarked_bytes = sums[MARK_COUNT_UNMARKED];
    stats.control_bytes = sums[MARK_COUNT_CONTROL];
    stats.bleached_packets = sums[MARK_COUNT_BLEACHED];
    stats.overtaken_packets = sums[MARK_COUNT_OVERTAKEN];
    stats.evictions = evictions(mark, sums, stats.flows);
    *ret_stats = stats;
    return 0;
}

static int ebpf_probed(struct mark *mark, int ifindex, struct mark_probe *ret_probe,
                       struct err *err)
{
    const int fd = bpf_map__fd(mark->skel->maps.probes);
    struct mark_probe probe = {0};
    if (bpf_map_lookup_elem(fd, &ifindex, &probe) < 0 &&
        bpf_map_update_elem(fd, &ifindex, &probe, BPF_NOEXIST) < 0)
        return err_sys(err, errno, "counting probes");
    *ret_probe = probe;
    return 0;
}

const struct mark_driver mark_ebpf = {
    .name = "ebpf",
    .automatic = true,
    .nudges = true,
    .changes_untold = hook_changes_untold,
    .open = ebpf_open,
    .close = ebpf_close,
    .remove = ebpf_remove,
    .plan = mark_plan_bpf,
    .plan_remove = mark_plan_bpf_remove,
    .reach_set = ebpf_reach_set,
    .port_set = ebpf_port_set,
    .compare = ebpf_compare,
    .cgroup_made = ebpf_cgroup_made,
    .count_other = ebpf_count_other,
    .task_set = ebpf_task_set,
    .task_end = ebpf_task_end,
    .task_forget = ebpf_task_forget,
    .flows_set = ebpf_flows_set,
    .mode_set = ebpf_mode_set,
    .mode_get = ebpf_mode_get,
    .lease_renew = ebpf_lease_renew,
    .received = ebpf_received,
    .connections = ebpf_connections,
    .stats = ebpf_stats,
    .probed = ebpf_probed,
};
