/* Presets: names that people compare, each with a choice for each of the engine's questions. The
 * daemon (policy.preset), the simulator (--policy), the demo (POLICIES=, which asks duopolyd
 * --presets) and the table of docs/explain/policies.md take them from here, so that a name has one
 * meaning everywhere.
 *
 * All keep SJF job order and the same slots unless their name says otherwise, so that a difference
 * has one cause. */
#pragma once

#include "controller/engine/engine.h"

/* How long maps that are spread evenly wait for a slot on their hosts. WHY bounded, and so short:
 * where reduce tasks hold slots for long (an oversubscribed core, fair turns) maps would wait for
 * ever. */
#define PRESET_EVEN_WAIT_NS 200000000

#define PRESET_VALUES           2
#define PRESET_LEVELS_UNLIMITED UINT32_MAX /* a level for each size in bytes */

struct preset {
    const char *name, *what;
    const char *turn, *place, *network, *mode;
    struct engine_value values[PRESET_VALUES]; /* parameters; the rest have no word */
    uint32_t
        levels; /* of sizes, replaces the configured number; 0: keeps it. More than the wire has:
                   for the simulator only */
};

extern const struct preset presets[]; /* ends with a NULL name */

/* NULL if there is none of that name. */
const struct preset *preset_find(const char *name);

/* Sets turn, place, network, mode and parameters. */
void preset_apply(const struct preset *preset, struct engine_config *config);
