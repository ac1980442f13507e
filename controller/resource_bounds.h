/* What a host or an executor may say to have at most. More is a mistake or a lie: it is cut and said, never
 * refused, for what is there is there. WHY at all: sums over the cluster decide (how long a job takes, how
 * scarce slots are), and one absurd number would decide alone. Pure. */
#pragma once

#include "controller/engine/event.h"

#include <stddef.h>

/* Cuts each amount to its bound: slots to `slots_max` (0: none), the others to what no machine has. True:
 * something was cut, and `ret_text` says what was claimed and what counts; else it is left alone. */
bool resource_bounds_cut(struct resources *resources, int64_t slots_max, char *ret_text,
                         size_t size);
