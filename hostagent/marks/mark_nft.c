/* The mark driver without BPF: rules, sets and counters of nftables.
 *
 * An outgoing packet is marked by its socket's cgroup; on connections that this end accepted by the
 * level that arrived last, which four bits of the connection's mark keep (so the kernel tracks
 * connections while the table exists). The local port tells which end accepts: a port on which a
 * SYN is answered, or that had a listener when the table was made. The lease is an element that
 * expires, and one element is the mode.
 *
 * What it lacks: content that a promotion overtook is not dropped, no sender is nudged (the numbers
 * of a connection are not known), bytes that are sent again count again, and the bytes of a task
 * are up to RECEIVED_MS old. A connection ends with its silence, not with FIN or RST; one that is
 * not tracked (conntrack's table is full, segments that it finds invalid) goes out unmarked.
 *
 * nft can list the tables and load them again (nft_nl.h says how). They name the cgroups of tasks,
 * which are gone after a boot: leave our tables out when saving the rules of a host.
 *
 * Each call is a transaction of some 10 to 100 µs. Everything outlives the agent in the kernel's
 * tables, and an agent that would make the same leaves them as they are. Another configuration,
 * reach_set and the first flows_set make everything again in one transaction of some milliseconds,
 * in which a packet that is just being looked at can go out unmarked. */
#include "hostagent/marks/mark_nft.h"
#include "hostagent/marks/mark_driver.h"
#include "hostagent/marks/mark_nft_gone.h"
#include "hostagent/marks/mark_nft_state.h"
#include "lib/now.h"

#include <errno.h>
#include <libgen.h>
#include <linux/capability.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RECEIVED_MS 20

/* Counted from the root of the file system that the path is in. */
static uint32_t cgroup_level(const char *cgroup)
{
    char path[FILES_PATH];
    struct stat here, above;
    uint32_t level = 0;
    files_path(path, "%s", cgroup);
    while (stat(path, &here) == 0) {
        dirname(path);
        if (stat(path, &above) < 0 || above.st_dev != here.st_dev)
            break;
        level++;
    }
    return level;
}

static void nft_driver_close(struct mark *mark)
{
    if (!mark)
        return;
    mark_nft_forget_tasks(&mark->tasks);
    mark_nft_forget_tasks(&mark->received);
    mark_nft_forget_singles(&mark->singles);
    nft_close(mark->nft);
    free(mark);
}

static struct mark *new_mark(const struct mark_config *config, struct err *err)
{
    struct mark *mark = calloc(1, sizeof(*mark));
    if (!mark) {
        err_sys(err, ENOMEM, "marks");
        return NULL;
    }
    mark->config = config;
    mark->wish.config = config;
    mark->wish.reach = config->reach;
    mark->wish.cgroup_level = config->is_switch ? 0 : cgroup_level(config->cgroup) + 1;
    return mark;
}

static int nft_driver_plan(const struct mark_config *config, struct changes *changes,
                           struct err *err)
{
    char note[FILES_PATH];
    struct mark *mark = new_mark(config, err);
    if (!mark)
        return -ENOMEM;
    changes_need(changes, CAP_NET_ADMIN, "CAP_NET_ADMIN", "change tables of nftables");
    int r = nft_open(&mark->nft, err);
    if (r >= 0)
        r = mark_nft_find_name(mark, err);
    if (r >= 0)
        r = mark_nft_take_over(mark, err);
    if (r >= 0)
        r = mark_nft_plan(mark, changes, err);
    mark_nft_note(config, note);
    if (r >= 0)
        r = changes_path(changes, "file", note, "which tables of nftables are ours", err);
    nft_driver_close(mark);
    return r < 0 ? r : 0;
}

static int nft_driver_open(const struct mark_config *config, struct mark **ret_mark,
                           struct err *err)
{
    struct mark *mark = new_mark(config, err);
    if (!mark)
        return -ENOMEM;
    int r = nft_open(&mark->nft, err);
    if (r >= 0)
        r = mark_nft_name_tables(mark, err);
    if (r >= 0)
        r = mark_nft_take_over(mark, err);
    if (config->reach == MARK_REACH_NOTHING)
        mark->expiry_ns = 0;
    if (r >= 0)
        r = mark_nft_write(mark, false, err);
    if (r >= 0)
        r = mark_nft_drop_gone(mark, err);
    if (r < 0) {
        nft_driver_close(mark);
        return r;
    }
    *ret_mark = mark;
    return 0;
}

static int remove_table(struct nft *nft, const struct nft_table *table, struct err *err)
{
    nft_begin(nft);
    nft_table_delete(nft, table);
    return nft_commit(nft, "deleting the table of marks", err);
}

/* Removes the tables, or only lists them in `changes`. */
static int remove_all(const struct mark_config *config, struct changes *changes, struct err *err)
{
    char path[FILES_PATH], name[NFT_NAME];
    uint64_t shape, prints[MARK_NFT_FAMILIES];
    struct mark_nft_wish wish = {0};
    struct nft *nft = NULL;
    if (!mark_nft_read_note(config, name, &shape, prints))
        return 0;
    mark_nft_note(config, path);
    mark_nft_tables(name, config->is_switch, &wish);
    int r = nft_open(&nft, err);
    for (uint32_t i = 0; r >= 0 && i < wish.tables_n; i++) {
        r = nft_table_stands(nft, &wish.tables[i], err);
        if (r == 1)
            r = changes ? changes_tell(changes, CHANGE_REMOVE, "table", wish.tables[i].name, err,
                                       "rules and sets of nftables that mark")
                        : remove_table(nft, &wish.tables[i], err);
    }
    nft_close(nft);
    if (r >= 0 && changes)
        return changes_tell(changes, CHANGE_REMOVE, "file", path, err,
                            "which tables of nftables are ours");
    if (r >= 0)
        unlink(path);
    return r < 0 ? r : 0;
}

static int nft_driver_remove(const struct mark_config *config, struct err *err)
{
    return remove_all(config, NULL, err);
}

static int nft_driver_reach_set(struct mark *mark, enum mark_reach reach, struct err *err)
{
    mark->wish.reach = reach;
    if (reach == MARK_REACH_NOTHING)
        mark->expiry_ns = 0;
    return mark_nft_write(mark, true, err);
}

/* Its rules name all ports. */
static int nft_driver_port_set(struct mark *mark, const char *port, bool ours, struct err *err)
{
    (void)port;
    (void)ours;
    return mark_nft_write(mark, false, err);
}

static int nft_driver_compare(struct mark *mark, const char *port, char *what, size_t size,
                              struct err *err)
{
    (void)port;
    for (uint32_t i = 0; i < mark->wish.tables_n; i++) {
        uint64_t print = 0;
        int r = nft_table_stands(mark->nft, &mark->wish.tables[i], err);
        if (r == 1)
            r = nft_table_print(mark->nft, &mark->wish.tables[i], &print, err);
        if (r < 0)
            return r;
        if (print != mark->prints[i]) {
            snprintf(what, size, "somebody removed or changed our table %s in nftables",
                     mark->wish.tables[i].name);
            return 1;
        }
    }
    return 0;
}

/* A rule looks at one level of the hierarchy: that of the tasks' cgroups. */
static int nft_driver_count_other(struct mark *mark, const char *cgroup, int *ret_fd,
                                  struct err *err)
{
    (void)mark, (void)ret_fd;
    return err_set(err, EOPNOTSUPP, "nftables marks and counts no cgroup of others, such as %s",
                   cgroup);
}

/* Its sockets are known by the tasks' cgroups below it. */
static int nft_driver_cgroup_made(struct mark *mark, struct err *err)
{
    (void)mark;
    (void)err;
    return 0;
}

static int set_word(struct mark *mark, struct task *task, uint64_t word, bool stands,
                    struct err *err)
{
    task->word = word;
    if (task->gone)
        return 0;
    nft_begin(mark->nft);
    mark_nft_put_task(mark->nft, mark_nft_state(mark), task->cgroup, word, stands);
    return nft_commit(mark->nft, "setting the levels of a task", err);
}

static int nft_driver_task_set(struct mark *mark, const struct mark_task_levels *levels,
                               struct err *err)
{
    struct task *task = mark_nft_find_task(mark->tasks, levels->cgroup);
    bool stands = task != NULL;
    if (!stands && HASH_COUNT(mark->tasks) >= MARK_TASKS)
        return err_set(err, E2BIG, "%d tasks have levels already", MARK_TASKS);
    if (!stands)
        task = mark_nft_make_task(&mark->tasks, levels->cgroup);
    if (!task)
        return err_sys(err, ENOMEM, "tasks");
    return set_word(mark, task, mark_word(levels->coflow, levels->macroflow), stands, err);
}

static int nft_driver_task_end(struct mark *mark, uint64_t cgroup, struct err *err)
{
    struct task *task = mark_nft_find_task(mark->tasks, cgroup);
    return task ? set_word(mark, task, mark_word(MARK_UNMARKED, MARK_UNMARKED), true, err) : 0;
}

static int nft_driver_task_forget(struct mark *mark, uint64_t cgroup, struct err *err)
{
    struct task *task = mark_nft_find_task(mark->tasks, cgroup);
    if (!task)
        return 0;
    bool gone = task->gone;
    mark_nft_forget_task(&mark->tasks, task);
    if (gone)
        return 0;
    nft_begin(mark->nft);
    mark_nft_drop_task(mark->nft, mark_nft_state(mark), cgroup);
    int r = nft_commit(mark->nft, "forgetting a task", err);
    return r < 0 ? r : mark_nft_drop_received(mark, cgroup, err);
}

static int set_flow(struct mark *mark, const struct mark_flow_levels *levels, struct err *err)
{
    uint8_t key[NFT_KEY];
    struct single *single;
    mark_nft_key(&levels->key, key);
    HASH_FIND(hh, mark->singles, key, NFT_KEY, single);
    bool stands = single != NULL;
    if (!stands && !levels->owner)
        return 0;
    if (!stands && HASH_COUNT(mark->singles) >= mark->config->flows_max)
        return err_set(err, E2BIG, "%u connections have levels of their own already",
                       mark->config->flows_max);
    if (!stands)
        single = mark_nft_make_single(&mark->singles, key);
    if (!single)
        return err_sys(err, ENOMEM, "connections");
    mark->shared_connections += single->owner && levels->owner && single->owner != levels->owner;
    single->owner = levels->owner;
    single->word = mark_word(levels->coflow, levels->macroflow);
    if (levels->owner) {
        mark_nft_put_connection(mark->nft, mark_nft_state(mark), key, single->word, stands);
    } else {
        mark_nft_drop_connection(mark->nft, mark_nft_state(mark), key);
        mark_nft_forget_single(&mark->singles, single);
    }
    return 0;
}

static int nft_driver_flows_set(struct mark *mark, const struct mark_flow_levels *levels,
                                uint32_t n, struct err *err)
{
    int r = 0;
    nft_begin(mark->nft);
    for (uint32_t i = 0; r >= 0 && i < n; i++)
        r = set_flow(mark, &levels[i], err);
    int other = nft_commit(mark->nft, "setting the levels of connections", r < 0 ? NULL : err);
    r = r < 0 ? r : other;
    return r >= 0 && mark->singles && !mark->wish.single ? mark_nft_write(mark, true, err) : r;
}

static int nft_driver_mode_set(struct mark *mark, uint32_t mode, struct err *err)
{
    if (mode > 1)
        return err_set(err, EINVAL, "mode %u: there are 0 (Coflow) and 1 (Macroflow)", mode);
    mark->mode = mode;
    nft_begin(mark->nft);
    mark_nft_mode(mark->nft, &mark->wish, mode, true);
    return nft_commit(mark->nft, "setting the mode", err);
}

static int nft_driver_mode_get(struct mark *mark, uint32_t *ret_mode, struct err *err)
{
    (void)err;
    *ret_mode = mark->mode;
    return 0;
}

static int nft_driver_lease_renew(struct mark *mark, uint64_t lease_ns, struct err *err)
{
    uint64_t now = now_ns(CLOCK_BOOTTIME);
    if (mark->expiry_ns && mark->expiry_ns < now && lease_ns)
        mark->lease_expiries++;
    mark->expiry_ns = lease_ns ? now + lease_ns : 0;
    nft_begin(mark->nft);
    mark_nft_lease(mark->nft, &mark->wish, mark_nft_lease_left(mark));
    return nft_commit(mark->nft, "renewing the lease of marks", err);
}

static int nft_driver_received(struct mark *mark, uint64_t cgroup, uint64_t *ret_bytes,
                               struct err *err)
{
    if (now_ns(CLOCK_MONOTONIC) - mark->received_ns > RECEIVED_MS * 1000000ull) {
        int r = mark_nft_read_received(mark, err);
        if (r < 0)
            return r;
    }
    const struct task *received = mark_nft_find_task(mark->received, cgroup),
                      *task = mark_nft_find_task(mark->tasks, cgroup);
    *ret_bytes = (received ? received->bytes : 0) + (task && task->gone ? task->bytes : 0);
    return 0;
}

static int nft_driver_stats(struct mark *mark, struct mark_stats *ret_stats, struct err *err)
{
    struct mark_stats stats = {.shared_connections = mark->shared_connections,
                               .lease_expiries = mark->lease_expiries};
    int r = mark_nft_drop_gone(mark, err);
    if (r >= 0)
        r = mark_nft_read_stats(mark, &stats, err);
    if (r >= 0)
        *ret_stats = stats;
    return r;
}

const struct mark_driver mark_nftables = {
    .name = "nftables",
    .automatic = true,
    .told_by = NFNLGRP_NFTABLES,
    .open = nft_driver_open,
    .close = nft_driver_close,
    .remove = nft_driver_remove,
    .plan = nft_driver_plan,
    .plan_remove = remove_all,
    .reach_set = nft_driver_reach_set,
    .port_set = nft_driver_port_set,
    .compare = nft_driver_compare,
    .cgroup_made = nft_driver_cgroup_made,
    .count_other = nft_driver_count_other,
    .task_set = nft_driver_task_set,
    .task_end = nft_driver_task_end,
    .task_forget = nft_driver_task_forget,
    .flows_set = nft_driver_flows_set,
    .mode_set = nft_driver_mode_set,
    .mode_get = nft_driver_mode_get,
    .lease_renew = nft_driver_lease_renew,
    .received = nft_driver_received,
    .stats = nft_driver_stats,
};
