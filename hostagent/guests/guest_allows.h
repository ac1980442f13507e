/* Keeps the allows of an application's tasks on this host, with their levels (pure).
 *
 * A framework starts its task a moment after the controller allowed it. The level is here by then,
 * so the task's first packet can carry it without a question. An allow is used once. It is meant
 * for its partition; another task of its stage may use it (FrameworkTask), and then has the stage's
 * Coflow level, but not that Macroflow level. The framework may report the start to the controller
 * before the task reports itself here: levels that come meanwhile wait for the task.
 *
 * Bounds: GUEST_ALLOWS of an application, and as many that wait; a new one replaces the oldest.
 * O(GUEST_ALLOWS). */
#pragma once

#include "schemas/duopoly.pb.h"

#include <stdbool.h>
#include <stdint.h>

#define GUEST_ALLOWS 64

struct guest_allow {
    uint64_t allow; /* 0: the place is free */
    uint32_t job, stage, task;
    uint8_t coflow, macroflow;
    uint64_t until_ns;
};

struct guest_awaited {
    uint32_t attempt;
    uint8_t coflow, macroflow;
    uint64_t until_ns; /* 0: the place is free */
};

/* Zero it first. */
struct guest_allows {
    uint32_t next, next_awaited; /* places of the oldest */
    struct guest_allow all[GUEST_ALLOWS];
    struct guest_awaited awaited[GUEST_ALLOWS];
};

/* Adds one with a number and levels; replaces what was there with this number. */
void guest_allows_add(struct guest_allows *allows, const duopoly_Allow *allow, uint64_t now_ns);

/* Takes the allow that a task uses: by its number, else by its place, else one of its stage. False:
 * none is in force. */
bool guest_allows_use(struct guest_allows *allows, const duopoly_GuestTask *task, uint64_t now_ns,
                      struct guest_allow *ret_allow);

/* Keeps levels of a task that has not begun here, for GUEST_AWAIT_NS. */
#define GUEST_AWAIT_NS UINT64_C(5000000000)
void guest_allows_await(struct guest_allows *allows, const duopoly_TaskLevels *levels,
                        uint64_t now_ns);
/* Takes them. False: there are none. */
bool guest_allows_awaited(struct guest_allows *allows, uint32_t attempt, uint64_t now_ns,
                          uint8_t *ret_coflow, uint8_t *ret_macroflow);
