#include "hostagent/marks/promote.h"

#include <errno.h>
#include <stdlib.h>
#include <uthash.h>

struct known {
    uint64_t cgroup;
    uint8_t level_of_mode[2];
    UT_hash_handle hh;
};

struct promote {
    uint32_t mode;
    struct known *tasks;
};

int promote_create(uint32_t mode, struct promote **ret_promote)
{
    struct promote *promote = calloc(1, sizeof(*promote));
    if (!promote)
        return -ENOMEM;
    promote->mode = mode;
    *ret_promote = promote;
    return 0;
}

void promote_destroy(struct promote *promote)
{
    struct known *task, *next;
    if (!promote)
        return;
    HASH_ITER (hh, promote->tasks, task, next) {
        HASH_DEL(promote->tasks, task);
        free(task);
    }
    free(promote);
}

static struct known *find(struct promote *promote, uint64_t cgroup)
{
    struct known *task;
    HASH_FIND(hh, promote->tasks, &cgroup, sizeof(cgroup), task);
    return task;
}

static void become(struct known *task, const struct mark_task_levels *levels)
{
    task->level_of_mode[0] = levels->coflow;
    task->level_of_mode[1] = levels->macroflow;
}

static void make_known(struct promote *promote, const struct mark_task_levels *levels)
{
    struct known *task = HASH_COUNT(promote->tasks) < MARK_TASKS ? calloc(1, sizeof(*task)) : NULL;
    if (!task)
        return;
    task->cgroup = levels->cgroup;
    become(task, levels);
    HASH_ADD(hh, promote->tasks, cgroup, sizeof(task->cgroup), task);
}

bool promote_set(struct promote *promote, const struct mark_task_levels *levels,
                 struct promote_task *ret_task)
{
    struct known *task = find(promote, levels->cgroup);
    if (!task) {
        make_known(promote, levels);
        return false;
    }
    uint8_t before = task->level_of_mode[promote->mode];
    become(task, levels);
    uint8_t now = task->level_of_mode[promote->mode];
    if (now >= before)
        return false;
    *ret_task = (struct promote_task){.cgroup = task->cgroup, .level = now};
    return true;
}

void promote_forget(struct promote *promote, uint64_t cgroup)
{
    struct known *task = find(promote, cgroup);
    if (!task)
        return;
    HASH_DEL(promote->tasks, task);
    free(task);
}

void promote_set_mode(struct promote *promote, uint32_t mode,
                      void (*each)(void *user, const struct promote_task *task), void *user)
{
    uint32_t before = promote->mode;
    promote->mode = mode;
    for (struct known *task = promote->tasks; task; task = task->hh.next) {
        const struct promote_task now = {.cgroup = task->cgroup,
                                         .level = task->level_of_mode[mode]};
        if (now.level < task->level_of_mode[before])
            each(user, &now);
    }
}
