/* The mark driver for tests: records calls; nothing reaches a wire. */
#include "hostagent/marks/mark_driver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES 32768 /* later calls are left out */
#define TASKS      64

struct mark {
    uint32_t mode;
    size_t used;
    char text[TEXT_BYTES];
    uint32_t n;
    uint64_t cgroups[TASKS];
};

__attribute__((format(printf, 2, 3))) static void note(struct mark *mark, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(mark->text + mark->used, TEXT_BYTES - mark->used, format, ap);
    va_end(ap);
    if (n > 0 && mark->used + (size_t)n < TEXT_BYTES)
        mark->used += (size_t)n;
    mark->text[mark->used] = 0;
}

static int recorder_open(const struct mark_config *config, struct mark **ret_mark, struct err *err)
{
    (void)config;
    struct mark *mark = calloc(1, sizeof(*mark));
    if (!mark)
        return err_sys(err, ENOMEM, "recorder");
    *ret_mark = mark;
    return 0;
}

static void recorder_close(struct mark *mark)
{
    free(mark);
}

static int recorder_remove(const struct mark_config *config, struct err *err)
{
    (void)config;
    (void)err;
    return 0;
}

static int recorder_plan(const struct mark_config *config, struct changes *changes, struct err *err)
{
    (void)config;
    (void)changes;
    (void)err;
    return 0;
}

static int recorder_reach_set(struct mark *mark, enum mark_reach reach, struct err *err)
{
    (void)err;
    note(mark, "reach %d\n", (int)reach);
    return 0;
}

static int recorder_port_set(struct mark *mark, const char *port, bool ours, struct err *err)
{
    (void)err;
    note(mark, "port %s %d\n", port, (int)ours);
    return 0;
}

static int recorder_compare(struct mark *mark, const char *port, char *what, size_t size,
                            struct err *err)
{
    (void)port;
    (void)mark;
    (void)what;
    (void)size;
    (void)err;
    return 0;
}

static int recorder_cgroup_made(struct mark *mark, struct err *err)
{
    (void)err;
    note(mark, "cgroup made\n");
    return 0;
}

static int recorder_count_other(struct mark *mark, const char *cgroup, int *ret_fd, struct err *err)
{
    int fd = open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, errno, "opening the cgroup %s", cgroup);
    note(mark, "cgroup of others counted\n");
    *ret_fd = fd;
    return 0;
}

static int add_task(struct mark *mark, uint64_t cgroup)
{
    for (uint32_t i = 0; i < mark->n; i++)
        if (mark->cgroups[i] == cgroup)
            return 0;
    if (mark->n == TASKS)
        return -E2BIG;
    mark->cgroups[mark->n++] = cgroup;
    return 0;
}

static int recorder_task_set(struct mark *mark, const struct mark_task_levels *levels,
                             struct err *err)
{
    if (add_task(mark, levels->cgroup) < 0)
        return err_set(err, E2BIG, "%d tasks have levels already", TASKS);
    note(mark, "task %llu levels %u %u\n", (unsigned long long)levels->cgroup, levels->coflow,
         levels->macroflow);
    return 0;
}

static int recorder_task_end(struct mark *mark, uint64_t cgroup, struct err *err)
{
    (void)err;
    note(mark, "task %llu end\n", (unsigned long long)cgroup);
    return 0;
}

static int recorder_task_forget(struct mark *mark, uint64_t cgroup, struct err *err)
{
    (void)err;
    for (uint32_t i = 0; i < mark->n; i++)
        if (mark->cgroups[i] == cgroup)
            mark->cgroups[i] = mark->cgroups[--mark->n];
    note(mark, "task %llu forget\n", (unsigned long long)cgroup);
    return 0;
}

static int recorder_flows_set(struct mark *mark, const struct mark_flow_levels *levels, uint32_t n,
                              struct err *err)
{
    (void)err;
    for (uint32_t i = 0; i < n; i++)
        note(mark, "flow of %llu levels %u %u\n", (unsigned long long)levels[i].owner,
             levels[i].coflow, levels[i].macroflow);
    return 0;
}

static int recorder_mode_set(struct mark *mark, uint32_t mode, struct err *err)
{
    if (mode > 1)
        return err_set(err, EINVAL, "mode %u: there are 0 (Coflow) and 1 (Macroflow)", mode);
    mark->mode = mode;
    note(mark, "mode %u\n", mode);
    return 0;
}

static int recorder_mode_get(struct mark *mark, uint32_t *ret_mode, struct err *err)
{
    (void)err;
    *ret_mode = mark->mode;
    return 0;
}

static int recorder_lease_renew(struct mark *mark, uint64_t lease_ns, struct err *err)
{
    (void)err;
    note(mark, "lease %llu\n", (unsigned long long)lease_ns);
    return 0;
}

static int recorder_received(struct mark *mark, uint64_t cgroup, uint64_t *ret_bytes,
                             struct err *err)
{
    (void)mark;
    (void)cgroup;
    (void)err;
    *ret_bytes = 0;
    return 0;
}

static int recorder_stats(struct mark *mark, struct mark_stats *ret_stats, struct err *err)
{
    (void)mark;
    (void)err;
    *ret_stats = (struct mark_stats){0};
    return 0;
}

const char *mark_recorder_text(const struct mark *mark)
{
    return mark->text;
}

const struct mark_driver mark_recorder = {
    .name = "recorder",
    .nudges = true,
    .open = recorder_open,
    .close = recorder_close,
    .remove = recorder_remove,
    .plan = recorder_plan,
    .plan_remove = recorder_plan,
    .reach_set = recorder_reach_set,
    .port_set = recorder_port_set,
    .compare = recorder_compare,
    .cgroup_made = recorder_cgroup_made,
    .count_other = recorder_count_other,
    .task_set = recorder_task_set,
    .task_end = recorder_task_end,
    .task_forget = recorder_task_forget,
    .flows_set = recorder_flows_set,
    .mode_set = recorder_mode_set,
    .mode_get = recorder_mode_get,
    .lease_renew = recorder_lease_renew,
    .received = recorder_received,
    .stats = recorder_stats,
};
