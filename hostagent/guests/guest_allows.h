/* What an application's tasks on this host may start with: levels that came with allows (pure).
 *
 * A framework starts its task a moment after the controller allowed it; the level is here by then,
 * so the task's first packet can bear it without asking anybody. An allow is used once. Its partition
 * is what was meant: another task of its stage may take it (FrameworkTask), and has the stage's
 * Coflow then, though not that Macroflow. The framework may tell the controller of the start before
 * the task itself is heard of here: levels that are said of it meanwhile wait for it.
 *
 * Bounds: GUEST_ALLOWS of an application, and as many awaited, of which a new one takes the oldest
 * one's place. O(that). */
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

/* Zero to begin with. */
struct guest_allows {
    uint32_t next, next_awaited; /* places of the oldest */
    struct guest_allow all[GUEST_ALLOWS];
    struct guest_awaited awaited[GUEST_ALLOWS];
};

/* One with a number and levels; in place of what was said of this number before. */
void guest_allows_add(struct guest_allows *allows, const duopoly_Allow *allow, uint64_t now_ns);

/* The one that a task goes by, which is used up: its number, else its place, else one of its stage.
 * False: none that is in force. */
bool guest_allows_use(struct guest_allows *allows, const duopoly_GuestTask *task, uint64_t now_ns,
                      struct guest_allow *ret_allow);

/* Levels of a task that has not begun here: it has GUEST_AWAIT_NS to do so. */
#define GUEST_AWAIT_NS UINT64_C(5000000000)
void guest_allows_await(struct guest_allows *allows, const duopoly_TaskLevels *levels,
                        uint64_t now_ns);
/* They are forgotten. False: there are none. */
bool guest_allows_awaited(struct guest_allows *allows, uint32_t attempt, uint64_t now_ns,
                          uint8_t *ret_coflow, uint8_t *ret_macroflow);
