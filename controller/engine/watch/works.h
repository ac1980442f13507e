/* Sums of computing that follow which variants the cluster can hold (books/variant.h). Private to
 * controller/engine.
 *
 * When the first host that could ever run some variant joins, or the last one leaves or changes,
 * other variants are the shortest that the cluster can hold: the sums of jobs with such stages, and
 * what policies keep of them, are counted anew. O(ways) for a host that comes or goes, which costs
 * no more in nearly all cases; else O(jobs, and tasks of those stages). */
#pragma once

#include "controller/engine/base/state.h"

extern const struct listener works_hears;
