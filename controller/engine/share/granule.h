/* Amounts as whole granules: how many an offer has, and how many a task takes. Private to
 * controller/engine.
 *
 * A granule is an amount of each of several resources; those of which it has none do not count. An
 * offer is as many granules as fit in it in every dimension, a task as many as it takes in its
 * largest, at least 1. So with one dimension an offer never promises more than there is, and with
 * several a task that fits its quota fits the room that the quota stands for. Pure.
 *
 * Source: Wang, Hong, Feng, "Resource Deployment Strategy for Multi-User Cluster", 2 and 2.2. */
#pragma once

#include "lib/err.h"

#include <stdint.h>

enum { GRANULE_AMOUNT_MAX_BITS = 60 };

/* Of n dimensions; some granule[d] must be positive. Negative room is none; at most 2^60. */
uint64_t granule_offer(const int64_t *granule, const int64_t *room, uint32_t n);
/* 1…2^60. */
uint64_t granule_task(const int64_t *granule, const int64_t *demand, uint32_t n);

/* A share in amounts as a number of granules. −ERANGE: the granule is larger; −EINVAL: it is 0, the
 * share is no whole number of it, or that is above 2^31; each with a sentence that names the
 * user. */
int granule_share(uint64_t granule, uint64_t amount, uint32_t user, uint32_t *ret_share,
                  struct err *err);
