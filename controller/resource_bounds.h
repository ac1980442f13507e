/* Bounds what a host or an executor may claim to have. More is a mistake or a lie: it is cut and
 * reported, never refused, since something is there. WHY at all: sums over the cluster influence
 * decisions (how long a job takes, how scarce slots are), and one absurd number would decide alone.
 * Pure. */
#pragma once

#include "controller/engine/event.h"

#include <stddef.h>

/* Cuts each amount to its bound: slots to `slots_max` (0: none), others to what no machine has.
 * True: something was cut, and `ret_text` says what was claimed and what counts; else `ret_text` is
 * not written. */
bool resource_bounds_cut(struct resources *resources, int64_t slots_max, char *ret_text,
                         size_t size);
