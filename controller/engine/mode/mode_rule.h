/* Rules that choose the mode; watch/mode.h applies it. Private to controller/engine. */
#pragma once

#include "controller/engine/policy/questions.h"

/* Ready reduce tasks that no host would take, even with a free slot, do not count. */
extern const struct engine_parameter parameter_ignore_held;
/* Parameters of rules that use mode_numbers: ignore_held alone. */
extern const struct engine_parameter *const mode_parameters[];
unsigned mode_orders(const struct engine *engine);

/* Slot-starved if ready tasks of the first job outnumber the free slots that they may use: Duopoly,
 * Tian et al., section 4. */
extern const struct mode_policy mode_first;
/* Ablation (A): the same over all jobs. */
extern const struct mode_policy mode_all;
/* One mode always. */
extern const struct mode_policy mode_rich, mode_starved;

/* The two numbers that are compared for the first job, of its most blocked shape; rules that fix a
 * mode report them, too. O(shapes of the first job); with ignore_held also its ready reduce
 * tasks. */
void mode_numbers(const struct engine *engine, uint64_t *ret_ready, int64_t *ret_free);

/* Reasons for the first job's numbers, and their entries for tables. */
#define REASON_FIRST_BLOCKED ((enum reason)15)
#define REASON_FIRST_FITS    ((enum reason)16)
#define MODE_FIRST_REASON(reason, word)                                                            \
    {                                                                                              \
        DECISION_MODE, reason, word, "ready tasks of the first job", "free slots for them",        \
            "the first job has {left} ready tasks and {right} free slots for them"                 \
    }
#define MODE_FIRST_BLOCKED MODE_FIRST_REASON(REASON_FIRST_BLOCKED, "first-blocked")
#define MODE_FIRST_FITS    MODE_FIRST_REASON(REASON_FIRST_FITS, "first-fits")
