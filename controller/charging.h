/* Charges the loop's processor time to the applications of frameworks that cause it
 * (frameworks_spent): their messages with all that follows at once, what their facts left to later
 * steps of the engine (engine_charges), whoever makes these steps, and ends of what they had. Time
 * that no framework causes is charged to nobody.
 *
 * A step's time is divided by looks: an application has the part that its looks are of all looks of
 * the step, where each event, each decision and the rest of the step count for some. A step that
 * the engine's deadline causes has the rest of its turn of the loop, too, except other timers.
 *
 * Reads the thread's clock. One thread. */
#pragma once

#include "controller/frameworks/frameworks.h"

struct charging {
    /* Borrowed; the opener sets them, the first before work begins. */
    struct frameworks *frameworks;
    const struct engine *engine;
    int64_t left_ns;   /* charged so far for what earlier steps had left, */
    int64_t before_ns; /* and when the present work began */
    int64_t began_ns;  /* the present work */
    int64_t step_ns;   /* the present step, */
    bool left, due;    /* which finds something left, and is made for that */
    int64_t over_ns;   /* up to here it is somebody's already, or nobody's */
    int64_t timers_ns; /* other timers than the engine's began */
    bool woken;        /* this turn of the loop was such a step */
};

/* What follows, until charging_end, is done for one application. */
void charging_begin(struct charging *charging);
/* It is done: the application of this number (0: nobody) is charged, but not for what steps did
 * meanwhile of others' work. */
void charging_end(struct charging *charging, int64_t now_ns, uint64_t application);

/* Around a step, with all that its decisions cause; `woken`: it is made for the engine's deadline.
 * `others`: its events and decisions. */
void charging_step(struct charging *charging, bool woken);
void charging_stepped(struct charging *charging, int64_t now_ns, size_t others);

/* Timers other than the engine's fire in between. */
void charging_timers(struct charging *charging);
void charging_timers_over(struct charging *charging);
/* A turn of the loop ended at this time of cost_now_ns, and what is done between turns now. */
void charging_turn_over(struct charging *charging, int64_t ended_ns);
