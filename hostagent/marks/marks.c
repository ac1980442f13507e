#include "hostagent/marks/marks.h"

#include "hostagent/marks/mark_driver.h"
#include "lib/log.h"

#include <errno.h>
#include <stdlib.h>

struct marks {
    const struct mark_driver *driver;
    struct mark *mark;
    struct nudge *nudge; /* NULL: nobody is nudged */
    enum mark_reach reach;
};

bool marks_has_driver(const char *name)
{
    return mark_find(name) != NULL;
}

static const struct mark_driver *driver_of(const struct mark_config *config, struct err *err)
{
    const struct mark_driver *driver = mark_find(config->driver);
    if (!driver)
        err_set(err, EINVAL, "there is no mark driver \"%s\"", config->driver);
    return driver;
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

int marks_open(const struct mark_config *config, const struct marks_nudging *nudging,
               struct marks **ret_marks, struct err *err)
{
    const struct mark_driver *driver = driver_of(config, err);
    if (!driver)
        return -EINVAL;
    struct marks *marks = calloc(1, sizeof(*marks));
    if (!marks)
        return err_sys(err, ENOMEM, "marks");
    marks->driver = driver;
    marks->reach = config->reach;
    int r = driver->open(config, &marks->mark, err);
    if (r < 0) {
        free(marks);
        return r;
    }
    if (nudging)
        open_nudge(marks, config, nudging);
    nudge_pause(marks->nudge, marks->reach == MARK_REACH_NOTHING);
    *ret_marks = marks;
    return 0;
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
    const struct mark_driver *driver = driver_of(config, err);
    return driver ? driver->remove(config, err) : -EINVAL;
}

int marks_plan(const struct mark_config *config, struct changes *changes, struct err *err)
{
    const struct mark_driver *driver = driver_of(config, err);
    return driver ? driver->plan(config, changes, err) : -EINVAL;
}

int marks_reach(struct marks *marks, enum mark_reach reach, struct err *err)
{
    int r = marks->driver->reach_set(marks->mark, reach, err);
    if (r >= 0 || reach == MARK_REACH_NOTHING)
        marks->reach = reach;
    nudge_pause(marks->nudge, marks->reach == MARK_REACH_NOTHING);
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
    }
    return r;
}

int marks_set_flows(struct marks *marks, const struct mark_flow_levels *levels, uint32_t n,
                    struct err *err)
{
    return marks->driver->flows_set(marks->mark, levels, n, err);
}

int marks_end_task(struct marks *marks, uint64_t cgroup, struct err *err)
{
    nudge_forget(marks->nudge, cgroup);
    return marks->driver->task_end(marks->mark, cgroup, err);
}

int marks_forget_task(struct marks *marks, uint64_t cgroup, struct err *err)
{
    nudge_forget(marks->nudge, cgroup);
    return marks->driver->task_forget(marks->mark, cgroup, err);
}

int marks_set_mode(struct marks *marks, uint32_t mode, struct err *err)
{
    int r = marks->driver->mode_set(marks->mark, mode, err);
    if (r >= 0)
        nudge_mode(marks->nudge, mode);
    return r;
}

int marks_renew(struct marks *marks, uint64_t lease_ns, struct err *err)
{
    return marks->reach == MARK_REACH_NOTHING
               ? 0
               : marks->driver->lease_renew(marks->mark, lease_ns, err);
}

int marks_received(struct marks *marks, uint64_t cgroup, uint64_t *ret_bytes, struct err *err)
{
    return marks->driver->received(marks->mark, cgroup, ret_bytes, err);
}

int marks_stats(struct marks *marks, struct mark_stats *ret_stats, struct err *err)
{
    return marks->driver->stats(marks->mark, ret_stats, err);
}

void marks_count_nudges(const struct marks *marks, struct nudge_counters *ret_counters)
{
    nudge_count(marks->nudge, ret_counters);
}
