/* Whose turn: the order of jobs, as a number per job. */
#pragma once

#include "controller/engine/policy.h"

struct turn_policy {
    struct policy policy;
    /* Smaller is sooner; ties go to the smaller job number. Pure; may look at the job only. */
    uint64_t (*number)(const struct job *job);
};

extern const struct turn_policy turn_fifo; /* order of submission */
extern const struct turn_policy
    turn_sjf; /* shortest estimated job first: Duopoly, seed 002 section 4 */
extern const struct turn_policy turn_fair; /* fewest running tasks first */
