/* Which tasks a change of levels or mode makes more urgent (pure).
 *
 * The level in force of a task is its Coflow level in mode 0 and its Macroflow level in mode 1, as
 * the marking programs read it (mark_abi.h); no mark is less urgent than any level. A task is
 * promoted when its level in force becomes a smaller number. A new task is not promoted: it has no
 * connections yet.
 *
 * At most MARK_TASKS tasks. Setting and forgetting are O(1), a mode switch O(tasks). */
#pragma once

#include "hostagent/marks/mark.h"

#include <stdbool.h>
#include <stdint.h>

struct promote;

/* A task that became more urgent, and its level in force now (0…7). */
struct promote_task {
    uint64_t cgroup;
    uint8_t level;
};

/* −ENOMEM. `mode` (0 or 1) is the one in force. */
int promote_create(uint32_t mode, struct promote **ret_promote);
void promote_destroy(struct promote *promote); /* takes NULL */

/* Sets the task's levels. Returns whether that promotes it; sets *ret_task only then. With
 * MARK_TASKS known tasks, or without memory, a new one stays unknown. */
bool promote_set(struct promote *promote, const struct mark_task_levels *levels,
                 struct promote_task *ret_task);

/* The task ended; an unknown one is fine. */
void promote_forget(struct promote *promote, uint64_t cgroup);

/* Sets the mode in force; calls `each` for every task that it promotes, in the order in which they
 * became known. */
void promote_set_mode(struct promote *promote, uint32_t mode,
                      void (*each)(void *user, const struct promote_task *task), void *user);
