#include "hostagent/marks/marks.h"

#include "hostagent/marks/mark_driver.h"
#include "lib/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AUTO "auto"

struct marks {
    const struct mark_driver *driver;
    struct mark *mark;
    struct nudge *nudge;            /* NULL: no sender is nudged */
    struct mark_fastpath *fastpath; /* NULL: there is none */
    enum mark_reach reach;
    char says[MARKS_SAYS];
};

bool marks_has_driver(const char *name)
{
    return strcmp(name, AUTO) == 0 || mark_find(name) != NULL;
}

static const struct mark_driver *driver_of(const struct mark_config *config, struct err *err)
{
    const struct mark_driver *driver = mark_find(config->driver);
    if (!driver)
        err_set(err, EINVAL, "there is no mark driver \"%s\"", config->driver);
    return driver;
}

/* Removes what drivers other than `driver` (NULL: all of them) left. A driver that "auto" never
 * chooses leaves nothing. */
static int remove_others(const struct mark_config *config, const struct mark_driver *driver,
                         struct err *err)
{
    int r = 0;
    for (size_t i = 0; mark_all[i]; i++) {
        if (mark_all[i] == driver || !mark_all[i]->automatic)
            continue;
        int other = mark_all[i]->remove(config, r < 0 ? NULL : err);
        r = r < 0 ? r : other;
    }
    return r;
}

/* Opens the first driver that can, or whose state an earlier agent left in a form that it cannot
 * take over (−EPROTO); *why says why not each of those before it. */
static int open_best(const struct mark_config *config, struct marks *marks, char *why, size_t size)
{
    int r = -ENODEV;
    size_t used = 0;
    for (size_t i = 0; mark_all[i] && r < 0 && r != -EPROTO; i++) {
        struct err err = {0};
        if (!mark_all[i]->automatic)
            continue;
        r = mark_all[i]->open(config, &marks->mark, &err);
        marks->driver = mark_all[i];
        if (r >= 0)
            break;
        if (r != -EPROTO)
            mark_all[i]->remove(config, NULL);
        int n = snprintf(why + used, size - used, "%s%s: %s", used ? "; " : "", mark_all[i]->name,
                         err.text);
        used = n > 0 && (size_t)n < size - used ? used + (size_t)n : size - 1;
    }
    return r;
}

static int open_auto(const struct mark_config *config, struct marks *marks, struct err *err)
{
    char why[sizeof(err->text)] = "";
    int r = open_best(config, marks, why, sizeof(why));
    if (r < 0)
        return err_set(err, -r, "nothing marks here: %s", why);
    if (why[0]) {
        snprintf(marks->says, sizeof(marks->says), "%s (%.96s)", marks->driver->name, why);
        log_note("marks by %s: %s", marks->driver->name, why);
    } else {
        snprintf(marks->says, sizeof(marks->says), "%s", marks->driver->name);
    }
    return remove_others(config, marks->driver, err);
}

static int open_named(const struct mark_config *config, struct marks *marks, struct err *err)
{
    marks->driver = driver_of(config, err);
    int r = marks->driver ? marks->driver->open(config, &marks->mark, err) : -EINVAL;
    if (r < 0)
        return r;
    snprintf(marks->says, sizeof(marks->says), "%s", marks->driver->name);
    return marks->driver->automatic ? remove_others(config, marks->driver, err) : 0;
}

static void open_nudge(struct marks *marks, const struct mark_config *config,
                       const struct marks_nudging *nudging)
{
    struct err err = {0};
    uint32_t mode = 0;
    int r = marks->driver->mode_get(marks->mark, &mode, &err);
    if (r >= 0)
        r = nudge_open(config, nudging->link_bps, mode, nudging->event, &marks->nudge, &err);
    if (r < 0)
        log_warning(LOG_FAULT_US, "promoted senders are not nudged: %s", err.text);
}

static void open_nudging(struct marks *marks, const struct mark_config *config,
                         const struct marks_nudging *nudging)
{
    if (nudging && marks->driver->nudges)
        open_nudge(marks, config, nudging);
    else if (nudging)
        log_note("promoted senders are not nudged: %s does not know their connections",
                 marks->driver->name);
    nudge_pause(marks->nudge, marks->reach == MARK_REACH_NOTHING);
    if (marks->reach == MARK_REACH_NOTHING)
        mark_fastpath_renew(marks->fastpath, 0);
}

int marks_open(const struct mark_config *config, const struct marks_nudging *nudging,
               struct marks **ret_marks, struct err *err)
{
    struct marks *marks = calloc(1, sizeof(*marks));
    if (!marks)
        return err_sys(err, ENOMEM, "marks");
    marks->reach = config->reach;
    int r = strcmp(config->driver, AUTO) == 0 ? open_auto(config, marks, err)
                                              : open_named(config, marks, err);
    if (r < 0) {
        if (marks->mark)
            marks->driver->close(marks->mark);
        free(marks);
        return r;
    }
    open_nudging(marks, config, nudging);
    *ret_marks = marks;
    return 0;
}

const char *marks_says(const struct marks *marks)
{
    return marks->says;
}

bool marks_know_connections(const struct marks *marks)
{
    return marks->driver->nudges;
}

uint32_t marks_told_by(const struct marks *marks)
{
    return marks->driver->told_by;
}

bool marks_change_untold(const struct marks *marks)
{
    return marks->driver->changes_untold && marks->driver->changes_untold();
}

void marks_close(struct marks *marks)
{
    if (!marks)
        return;
    nudge_close(marks->nudge);
    marks->driver->close(marks->mark);
    free(marks);
}

int marks_remove(const struct mark_config *config, struct err *err)
{
    const struct mark_driver *driver =
        strcmp(config->driver, AUTO) == 0 ? NULL : driver_of(config, err);
    if (!driver && strcmp(config->driver, AUTO) != 0)
        return -EINVAL;
    return driver && !driver->automatic ? driver->remove(config, err)
                                        : remove_others(config, NULL, err);
}

/* As remove_others. */
static int plan_others(const struct mark_config *config, const struct mark_driver *driver,
                       struct changes *changes, struct err *err)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && mark_all[i]; i++)
        if (mark_all[i] != driver && mark_all[i]->automatic)
            r = mark_all[i]->plan_remove(config, changes, err);
    return r;
}

/* What `driver` would change, if it could do all of it; else why not. */
static int plan_driver(const struct mark_driver *driver, const struct mark_config *config,
                       struct changes *changes, struct changes *refused, struct err *err)
{
    struct changes mine = {0};
    struct err why = {0};
    int r = driver->plan(config, &mine, &why);
    if (r >= 0 && !mine.refusals_n) {
        r = changes_join(changes, &mine, err);
        return r < 0 ? r : plan_others(config, driver, changes, err);
    }
    changes_refuse_all(refused, &mine);
    if (r >= 0)
        why = mine.refusals[0];
    if (err->text[0])
        err_prefix(err, "not %s either (%.160s)", driver->name, why.text);
    else
        *err = why;
    changes_free(&mine);
    return r < 0 ? r : -EPERM;
}

/* As open_best takes one: what those before it could not do is no part of it. */
static int plan_best(const struct mark_config *config, struct changes *changes, struct err *err)
{
    struct changes refused = {0};
    int r = -ENODEV;
    for (size_t i = 0; mark_all[i] && r < 0 && r != -ENOMEM && r != -E2BIG; i++)
        if (mark_all[i]->automatic)
            r = plan_driver(mark_all[i], config, changes, &refused, err);
    if (r < 0)
        changes_refuse_all(changes, &refused);
    changes_free(&refused);
    return r;
}

int marks_plan(const struct mark_config *config, struct changes *changes, struct err *err)
{
    if (strcmp(config->driver, AUTO) == 0)
        return plan_best(config, changes, err);
    const struct mark_driver *driver = driver_of(config, err);
    int r = driver ? driver->plan(config, changes, err) : -EINVAL;
    return r < 0 || !driver->automatic ? r : plan_others(config, driver, changes, err);
}

void marks_join(struct marks *marks, struct mark_fastpath *fastpath)
{
    marks->fastpath = fastpath;
}

int marks_reach(struct marks *marks, enum mark_reach reach, struct err *err)
{
    int r = marks->driver->reach_set(marks->mark, reach, err);
    if (r >= 0 || reach == MARK_REACH_NOTHING)
        marks->reach = reach;
    nudge_pause(marks->nudge, marks->reach == MARK_REACH_NOTHING);
    if (marks->reach == MARK_REACH_NOTHING)
        mark_fastpath_renew(marks->fastpath, 0);
    return r;
}

int marks_port(struct marks *marks, const char *port, bool ours, struct err *err)
{
    return ours && marks->reach == MARK_REACH_NOTHING
               ? 0
               : marks->driver->port_set(marks->mark, port, ours, err);
}

int marks_compare(struct marks *marks, const char *port, char *what, size_t size, struct err *err)
{
    return marks->driver->compare(marks->mark, port, what, size, err);
}

int marks_count_cgroup(struct marks *marks, struct err *err)
{
    return marks->driver->cgroup_made(marks->mark, err);
}

int marks_set_levels(struct marks *marks, const struct mark_task_levels *levels, uint32_t n,
                     struct err *err)
{
    int r = 0;
    for (uint32_t i = 0; i < n; i++) {
        r = marks->driver->task_set(marks->mark, &levels[i], err);
        if (r < 0)
            return r;
        nudge_levels(marks->nudge, &levels[i]);
        mark_fastpath_levels(marks->fastpath, &levels[i]);
    }
    return r;
}

int marks_set_flows(struct marks *marks, const struct mark_flow_levels *levels, uint32_t n,
                    struct err *err)
{
    return marks->driver->flows_set(marks->mark, levels, n, err);
}

void marks_connection(struct marks *marks, uint64_t cgroup, const struct mark_flow_key *key)
{
    mark_fastpath_connection(marks->fastpath, cgroup, key);
}

int marks_end_task(struct marks *marks, uint64_t cgroup, struct err *err)
{
    mark_fastpath_end(marks->fastpath, cgroup);
    nudge_forget(marks->nudge, cgroup);
    return marks->driver->task_end(marks->mark, cgroup, err);
}

int marks_forget_task(struct marks *marks, uint64_t cgroup, struct err *err)
{
    mark_fastpath_end(marks->fastpath, cgroup);
    nudge_forget(marks->nudge, cgroup);
    return marks->driver->task_forget(marks->mark, cgroup, err);
}

int marks_count_other(struct marks *marks, const char *cgroup, int *ret_fd, struct err *err)
{
    return marks->driver->count_other(marks->mark, cgroup, ret_fd, err);
}

int marks_set_mode(struct marks *marks, uint32_t mode, struct err *err)
{
    int r = marks->driver->mode_set(marks->mark, mode, err);
    if (r < 0)
        return r;
    nudge_mode(marks->nudge, mode);
    mark_fastpath_mode(marks->fastpath, mode);
    return r;
}

int marks_get_mode(struct marks *marks, uint32_t *ret_mode, struct err *err)
{
    return marks->driver->mode_get(marks->mark, ret_mode, err);
}

int marks_renew(struct marks *marks, uint64_t lease_ns, struct err *err)
{
    if (marks->reach == MARK_REACH_NOTHING)
        return 0;
    mark_fastpath_renew(marks->fastpath, lease_ns);
    return marks->driver->lease_renew(marks->mark, lease_ns, err);
}

int marks_received(struct marks *marks, uint64_t cgroup, uint64_t *ret_bytes, struct err *err)
{
    return marks->driver->received(marks->mark, cgroup, ret_bytes, err);
}

int marks_stats(struct marks *marks, struct mark_stats *ret_stats, struct err *err)
{
    return marks->driver->stats(marks->mark, ret_stats, err);
}

int marks_connections(struct marks *marks, uint64_t *cursor, struct mark_connection *ret,
                      uint32_t most, uint32_t *ret_n, struct err *err)
{
    return marks->driver->connections
               ? marks->driver->connections(marks->mark, cursor, ret, most, ret_n, err)
               : err_set(err, EOPNOTSUPP, "the mark driver %s knows no connections",
                         marks->driver->name);
}

bool marks_count_probes(const struct marks *marks)
{
    return marks->driver->probed;
}

int marks_probed(struct marks *marks, int ifindex, struct mark_probe *ret_probe, struct err *err)
{
    if (!marks->driver->probed)
        return err_set(err, EOPNOTSUPP, "%s counts no probes", marks->driver->name);
    return marks->reach == MARK_REACH_NOTHING
               ? err_set(err, EAGAIN, "marks reach nothing")
               : marks->driver->probed(marks->mark, ifindex, ret_probe, err);
}

void marks_count_nudges(const struct marks *marks, struct nudge_counters *ret_counters)
{
    nudge_count(marks->nudge, ret_counters);
}
