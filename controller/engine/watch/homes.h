/* Buckets that the placement keeps for one host each, their homes: in order of turn on each host,
 * and of these the first on each host that has room. Private to controller/engine.
 *
 * A placement that asks says where a bucket's home is, and says so again when its turn moved;
 * nobody else stands here. A bucket that is `homed` starts nowhere else meanwhile: it does not
 * stand among those whose maps may run anywhere, and the placement gives it values that keep it
 * from its other questions.
 *
 * Room comes and goes on all hosts, and few are a home: so hosts that changed are looked at by the
 * next question. */
#pragma once

#include "controller/engine/base/state.h"

/* NULL: it has none any more. The host must be known for as long as it is one. O(log n). */
void homes_place(struct bucket *bucket, struct host *home);
/* The first by turn of this shape with room at home; NULL: none. O(log n), and for each host that
 * changed since. */
struct bucket *homes_first(struct engine *engine, struct shape *shape);
