/* Measures the loop's processor time, and charges applications of frameworks for what they cause
 * (frameworks_spent): their messages with all that follows at once, what their facts left to later
 * steps of the engine (engine_charges), whoever makes these steps, and ends of what they had.
 *
 * Others are charged by their own modules for their messages with all that follows at once: clients
 * (loop_shares.h) and hosts (agents_note). Their messages are many and small, so each is measured
 * by the wall clock, which is read in 30 ns, where the thread's takes 800; at the end of the loop's
 * turn the sum is cut to the processor time that the turn took. What submitted jobs leave to later
 * steps is charged to nobody, and so are steps that the engine's deadline causes.
 *
 * A step's time is divided by looks: an application has the part that its looks are of all looks of
 * the step, where each event, each decision and the rest of the step count for some. A step that
 * the engine's deadline causes has the rest of its turn of the loop, too, except other timers.
 *
 * Reads the thread's clock and the wall clock. One thread. */
#pragma once

#include "controller/frameworks/frameworks.h"

struct charging {
    /* Borrowed; the opener sets them, the first before work begins. */
    struct frameworks *frameworks;
    const struct engine *engine;
    int64_t charged_ns; /* to somebody, so far */
    int64_t step_ns;    /* the present step, */
    int64_t noted_ns;   /* by the wall clock, in this turn of the loop */
    bool left, due;     /* which finds something left, and is made for that */
    int64_t over_ns;    /* up to here it is somebody's already, or nobody's */
    int64_t timers_ns;  /* other timers than the engine's began */
    bool woken;         /* this turn of the loop was such a step */
};

/* Work for one of them, from its begin on. */
struct charged_work {
    int64_t began_ns, before_ns;
};
struct charged_work charging_begin(const struct charging *charging);
/* It is done: how long it took, without what others were charged for meanwhile: for their work in
 * steps, and for what was begun and ended within this. The caller charges somebody for it. */
int64_t charging_end(struct charging *charging, const struct charged_work *work);

/* The same by the wall clock: the caller notes it for somebody, who is charged at the turn's end.
 */
struct charged_work charging_watch(const struct charging *charging);
int64_t charging_watched(struct charging *charging, const struct charged_work *work);

/* Around a step, with all that its decisions cause; `woken`: it is made for the engine's deadline.
 * `others`: its events and decisions. */
void charging_step(struct charging *charging, bool woken);
void charging_stepped(struct charging *charging, int64_t now_ns, size_t others);

/* Timers other than the engine's fire in between. */
void charging_timers(struct charging *charging);
void charging_timers_over(struct charging *charging);
/* A turn of the loop ended at this time of cost_now_ns, and what is done between turns now. */
void charging_turn_over(struct charging *charging, int64_t ended_ns);
