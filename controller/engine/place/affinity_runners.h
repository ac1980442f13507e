/* What a choice of affinity compared, for people: the best of those that were not chosen. Private
 * to controller/engine/place; part of affinity.
 *
 * It is kept with the attempt that was chosen, as long as that lasts; no decision looks at it, and
 * a dump does not keep it. Pure, O(AFFINITY_RUNNERS). */
#pragma once

#include "controller/engine/engine.h"

enum { AFFINITY_RUNNERS = 3 };
enum affinity_by { AFFINITY_BY_DELAY, AFFINITY_BY_SUM, AFFINITY_BY_RATE, AFFINITY_BY_WAIT };

/* One that was compared: a stage, in one way to run it. */
struct affinity_compared {
    uint64_t job;
    uint32_t stage, variant;
    uint64_t predicted_ns, lone_ns, wait_ns;
    /* BY_SUM: how far its progress is ahead of the chosen one's, ns; BY_RATE: its progress, per
     * mille of its age; BY_WAIT: starts since its own; BY_DELAY: 0. */
    uint64_t number;
};
struct affinity_runners {
    bool known; /* false: nothing is kept */
    enum affinity_by by;
    bool downlinks;   /* they counted: */
    uint64_t wait_ns; /* of what was predicted, the chosen one's input was to wait */
    uint32_t n;       /* in `at`, the best first */
    uint32_t others;  /* kinds of stages that were compared with the chosen one */
    struct affinity_compared at[AFFINITY_RUNNERS];
};
/* Adds a sentence that begins with a blank, and a fact for each. */
void affinity_say_runners(const struct affinity_runners *runners, struct engine_explanation *e);
