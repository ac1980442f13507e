/* What the names that people compare mean: a choice for each of the engine's questions. All keep
 * SJF job order and the same slots unless their name says otherwise, so that a difference comes
 * from what differs. */
#pragma once

#include "controller/engine/engine.h"

/* How long maps that are kept even wait for a slot on their hosts. WHY bounded, and so short: where
 * reduce tasks hold slots for long (an oversubscribed core, fair turns) maps would wait for ever.
 */
#define EVEN_WAIT_NS 200000000

#define RUN_LEVELS_UNLIMITED UINT32_MAX /* a level for each size in bytes */

struct run_policy {
    const char *name, *what;
    const char *turn, *place, *network;
    enum mode_rule mode_rule;
    bool even_maps;
    uint32_t levels; /* whatever else is said; 0: what is said */
};

extern const struct run_policy run_policies[]; /* ends with a NULL name */

/* NULL if there is none of that name. */
const struct run_policy *run_policy_find(const char *name);

/* Sets turn, place, network, the mode rule and how long maps wait to be even. */
void run_policy_apply(const struct run_policy *policy, struct engine_config *config);
