/* A change on trial: a policy, a drain or a stance that is undone after a time, unless the same
 * request without a time confirms it.
 *
 * All that such a change sets are settings of the store. What they were before is kept there too,
 * and until when: a restart of the controller goes on with the trial, or undoes it if the time has
 * passed. There is one at a time. Meanwhile other requests of its kind are refused; except that a
 * stance, which may be the emergency stop, undoes the trial and is set.
 *
 * For the files behind control.h. One thread. */
#pragma once

#include "controller/timers.h"
#include "lib/wire.h"

struct control;

struct trial {
    struct control *control; /* borrowed */
    struct timer timer;
    uint32_t
        seconds; /* of the request that is handled: settings that change now belong to its trial */
};

/* Goes on with the one that the store has, if any. */
void trial_open(struct trial *trial, struct control *control);
void trial_close(struct trial *trial);

/* Whether the trial alone decides about the request, which is answered: it confirms the trial, or
 * is refused. */
bool trial_answers(struct trial *trial, uint64_t client, const duopoly_Envelope *request);
/* Around the handler of a request: if that has a time and is accepted, the trial begins, and the
 * answer says so. */
void trial_before(struct trial *trial, const duopoly_Envelope *request);
void trial_after(struct trial *trial, uint64_t client, const duopoly_Envelope *request);

/* "policy turn fair by ann is undone in 40 s unless it is confirmed"; "" without a trial. */
struct store;
void trial_say(const struct store *store, char *text, size_t size);
