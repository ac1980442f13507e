/* Users' shares over time: what each was to have of the cluster, and what it had.
 *
 * Time is cut into spans of equal length, the same for all users. A span begins as SHARES_SPAN_NS;
 * when there are SHARES_SPANS of them each two become one of twice the length, up to
 * SHARES_SPAN_MAX_NS; from then on the oldest is dropped for each new one (a span of 1 s at first,
 * 17 minutes at last: the last 36 hours). What a span has is exact: the engine adds up slots × time
 * as attempts begin and end (O(1) each), and a span is the difference between its two ends.
 *
 * Kept of the users that are known, in memory alone: a restart begins anew, and a user that is gone
 * is forgotten with its spans (the sums of all keep what it had).
 *
 * Cost: O(users) when a span ends. Memory: 4096 users of 2 KiB at most. When out of memory a user's
 * spans are dropped; nothing depends on them. Pure. */
#pragma once

#include "controller/engine/engine.h"

enum { SHARES_SPANS = 128 };
#define SHARES_SPAN_NS     INT64_C(1000000000)
#define SHARES_SPAN_MAX_NS (SHARES_SPAN_NS << 10)

/* Means over a span; each stays at its largest value where more would be. */
struct share_span {
    uint32_t slots_milli;     /* slots held, in thousandths */
    uint32_t mem_mb;          /* memory held, in 10⁶ bytes */
    uint32_t right_ppm;       /* its part of all shares when the span ended, in millionths */
    uint32_t wanted_permille; /* of the time, a task of it was ready; 0 where nobody divides */
};

struct shares;

/* Spans begin at `now_ns`. NULL: no memory. */
struct shares *shares_create(int64_t now_ns);
/* NULL is fine. */
void shares_destroy(struct shares *shares);

/* Ends the spans that are over by then. Call it before the engine takes what happened at `now_ns`,
 * or later things. */
void shares_pass(struct shares *shares, const struct engine *engine, int64_t now_ns);

/* The spans that are over. */
struct shares_time {
    uint32_t n;
    int64_t span_ns, end_ns; /* how long each is; when the newest ended */
    uint64_t version;        /* grows with each that ends, from 1 */
};
struct shares_time shares_time(const struct shares *shares);
/* A user's spans, oldest first; zeros before it was known. `user` NULL: sums of all, with those
 * that are gone. Borrowed until the next shares_pass. NULL: nothing is kept of it. O(log users). */
const struct share_span *shares_of(const struct shares *shares, const uint32_t *user);

/* engine_users_drift, which is asked for again only when users or shares have changed. NULL: no
 * memory. O(users), else. */
const struct users_drift *shares_drift(struct shares *shares, const struct engine *engine);
