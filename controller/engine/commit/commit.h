/* May a claim commit? */
#pragma once

#include "controller/engine/books/attempt.h"
#include "controller/engine/policy/policy.h"

struct commit_policy {
    struct policy policy;
    /* May the claim be turned into a start now? The task is ready. */
    bool (*admits)(const struct engine *engine, const struct claim *claim);
    /* Another scheduler's claim, lock or unlock (a request). NULL: rejected as unsupported. */
    void (*lock)(struct engine *engine, const struct event *event);
};

extern const struct commit_policy commit_single; /* one scheduler: what fits is accepted */

/* EVENT_CLAIM: item by item (or all or nothing) admitted and started, each answered by a claim
 * result. */
void commit_claim(struct engine *engine, const struct event *event);
