/* What an application's tasks on this host may start with: levels that came with allows (pure).
 *
 * A framework starts its task a moment after the controller allowed it; the level is here by then,
 * so the task's first packet can bear it without asking anybody. An allow is used once. Its partition
 * is what was meant: another task of its stage may take it (FrameworkTask), and has the stage's
 * Coflow then, though not that Macroflow.
 *
 * Bounds: GUEST_ALLOWS of an application, of which a new one takes the oldest one's place. O(that). */
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

/* Zero to begin with. */
struct guest_allows {
    uint32_t next; /* place of the oldest */
    struct guest_allow all[GUEST_ALLOWS];
};

/* One with a number and levels. */
void guest_allows_add(struct guest_allows *allows, const duopoly_Allow *allow, uint64_t now_ns);

/* The one that a task goes by, which is used up: its number, else its place, else one of its stage.
 * False: none that is in force. */
bool guest_allows_use(struct guest_allows *allows, const duopoly_GuestTask *task, uint64_t now_ns,
                      struct guest_allow *ret_allow);
