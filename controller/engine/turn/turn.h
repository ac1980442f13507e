/* Whose turn: the order of jobs, as a number per job. */
#pragma once

#include "controller/engine/look/explain.h"

struct turn_policy {
    struct policy policy;
    /* Smaller is sooner; ties go to the smaller job number. Pure, O(1): looks at the job and at what
     * the policy keeps with it. It is asked again whenever a task of the job runs, is done or waits
     * anew, its estimate or priority changes, and (where the policy hears of them) bytes are
     * received or its attempts move; the job moves when the number did. */
    uint64_t (*number)(const struct engine *engine, const struct job *job);
    /* Why the job has the turn that it has: a clause without its dot. NULL: nothing is said. */
    void (*explain)(const struct engine *engine, const struct job *job,
                    struct engine_explanation *e);
};

/* Order of submission. */
extern const struct turn_policy turn_fifo;
/* Shortest estimated job first: Duopoly, Tian et al., section 4. */
extern const struct turn_policy turn_sjf;
/* Fewest running tasks first. */
extern const struct turn_policy turn_fair;
/* Shortest by what is left of the estimate; with ageing, so that nobody starves. */
extern const struct turn_policy turn_srpt;
/* The same without ageing: what that costs is measured by it. */
extern const struct turn_policy turn_srpt_ageless;
