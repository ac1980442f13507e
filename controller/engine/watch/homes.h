/* Buckets that the placement keeps for one host each, their home: per host in order of turn, and
 * over all hosts with room the first of each. Private to controller/engine.
 *
 * The placement sets a bucket's home, and sets it again when the bucket's turn moved; no other
 * bucket is here. A `homed` bucket starts nowhere else meanwhile: it is not among those whose maps
 * may run anywhere, and the placement gives it values that keep it out of its other questions.
 *
 * WHY the next question looks at changed hosts: room comes and goes on all hosts, and few are a
 * home. */
#pragma once

#include "controller/engine/base/state.h"

/* NULL: it has none any more. The host must stay known while it is a home. O(log n). */
void homes_place(struct bucket *bucket, struct host *home);
/* The first bucket by turn of the queues with room at home; NULL: none. O(log n), and for each host
 * that changed since. */
struct bucket *homes_first(struct engine *engine, struct queues *queues);
