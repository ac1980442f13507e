/* Waiting that gets dearer the longer it lasts: which jobs got no slot for twice as long as when
 * they were last asked. Private to controller/engine; flow.c asks it.
 *
 * A job waits while it has ready tasks, since it began to or was last given a slot. Its wait is
 * counted in octaves, from 1 at FLOW_WAIT_FIRST_NS on, when a round asks: so a job costs a round
 * something once an octave only, and no round takes more than FLOW_WAIT_MOST of them. Since and
 * octave are part of the dump: how far it was counted does not follow from facts. */
#pragma once

#include "controller/engine/base/state.h"

#define FLOW_WAIT_FIRST_NS INT64_C(62500000)
enum { FLOW_WAIT_OCTAVES = 20, FLOW_WAIT_MOST = 256 };

/* In flow_job; zeros: it does not wait. */
struct flow_wait {
    struct sorted_node of_due;
    int64_t since_ns;
    uint32_t octave;
    bool waits;
};

/* Jobs whose next octave comes, by when it does. Zeros are an empty one. */
struct flow_waits {
    struct sorted due;
};

/* O(log jobs) each. */
void flow_wait_begin(struct flow_waits *waits, const struct job *job, struct flow_wait *wait,
                     int64_t now_ns);
void flow_wait_end(struct flow_waits *waits, struct flow_wait *wait);
/* It has the fields of a dump. */
void flow_wait_load(struct flow_waits *waits, const struct job *job, struct flow_wait *wait);
/* The next job of which an octave is over, counted now; NULL: none. */
struct job *flow_wait_next(struct engine *engine, struct flow_waits *waits,
                           struct flow_wait *(*wait_of)(const struct job *));
