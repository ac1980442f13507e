#include "hostagent/guests/guest_tasks.h"

#include "hostagent/marks/mark_abi.h"
#include "lib/invariant.h"

#include <errno.h>
#include <stdlib.h>

static struct guest_running *running_find(const struct guest_tasks *tasks, uint32_t attempt)
{
    for (uint32_t i = 0; i < tasks->n; i++)
        if (tasks->all[i].said.attempt == attempt)
            return &tasks->all[i];
    return NULL;
}

/* Attributes the bytes received since the last change. */
static void account(struct guest_tasks *tasks, uint64_t bytes)
{
    if (tasks->n > 1 && bytes > tasks->bytes)
        tasks->shared_bytes += bytes - tasks->bytes;
    tasks->bytes = bytes;
}

static int room_make(struct guest_tasks *tasks)
{
    if (tasks->n == GUEST_TASKS)
        return -E2BIG;
    if (!tasks->all)
        tasks->all = calloc(GUEST_TASKS, sizeof(*tasks->all));
    return tasks->all ? 0 : -ENOMEM;
}

int guest_tasks_begin(struct guest_tasks *tasks, const duopoly_GuestTask *said, uint64_t allow,
                      struct guest_task_levels levels, uint64_t bytes)
{
    if (guest_tasks_relabel(tasks, said->attempt, levels))
        return 0;
    int r = room_make(tasks);
    if (r < 0)
        return r;
    account(tasks, bytes);
    tasks->begun++;
    tasks->unknown += levels.coflow == MARK_UNMARKED;
    tasks->all[tasks->n++] = (struct guest_running){
        .said = *said, .allow = allow, .levels = levels, .begin_bytes = bytes};
    for (uint32_t i = 0; tasks->n > 1 && i < tasks->n; i++)
        tasks->all[i].shared = true;
    return 0;
}

bool guest_tasks_end(struct guest_tasks *tasks, uint32_t attempt, uint64_t bytes,
                     struct guest_running *ret_ended)
{
    struct guest_running *running = running_find(tasks, attempt);
    if (!running)
        return false;
    account(tasks, bytes);
    *ret_ended = *running;
    assert(tasks->n > 0);
    *running = tasks->all[--tasks->n];
    return true;
}

bool guest_tasks_relabel(struct guest_tasks *tasks, uint32_t attempt,
                         struct guest_task_levels levels)
{
    struct guest_running *running = running_find(tasks, attempt);
    if (running)
        running->levels = levels;
    return running != NULL;
}

static bool goes_by(const struct guest_running *running, const duopoly_Allow *allow)
{
    const duopoly_GuestTask *said = &running->said;
    if (running->allow || running->levels.coflow != MARK_UNMARKED)
        return running->allow == allow->allow;
    return said->allow ? said->allow == allow->allow
                       : said->job == allow->job && said->stage == allow->stage &&
                             said->task == allow->task;
}

bool guest_tasks_allow(struct guest_tasks *tasks, const duopoly_Allow *allow)
{
    for (uint32_t i = 0; i < tasks->n; i++) {
        struct guest_running *running = &tasks->all[i];
        if (!goes_by(running, allow))
            continue;
        running->allow = allow->allow;
        running->levels = (struct guest_task_levels){(uint8_t)allow->coflow_level,
                                                     (uint8_t)allow->macroflow_level};
        return true;
    }
    return false;
}

struct guest_task_levels guest_tasks_levels(const struct guest_tasks *tasks)
{
    struct guest_task_levels most = {MARK_UNMARKED, MARK_UNMARKED};
    for (uint32_t i = 0; i < tasks->n; i++) {
        const struct guest_task_levels *levels = &tasks->all[i].levels;
        if (levels->coflow < most.coflow)
            most.coflow = levels->coflow;
        if (levels->macroflow < most.macroflow)
            most.macroflow = levels->macroflow;
    }
    return most;
}

void guest_tasks_clear(struct guest_tasks *tasks, uint64_t bytes)
{
    account(tasks, bytes);
    tasks->n = 0;
}

void guest_tasks_done(struct guest_tasks *tasks)
{
    free(tasks->all);
    tasks->all = NULL;
    tasks->n = 0;
}
