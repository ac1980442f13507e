/* The trace format of the Facebook Coflow benchmark (github.com/coflow/coflow-benchmark).
 *
 * First line `PORTS COFLOWS`, then one line a coflow:
 *     ID ARRIVAL_MS MAPPERS LOCATION… REDUCERS LOCATION:MB…
 * Locations count from 0; MB is what the reducer receives from all mappers together and may have a
 * fraction. The trace knows no maps, slots or flow sizes: what a reader makes of it (an even split,
 * folded hosts, made-up maps) is the reader's choice and not decided here. This module turns text
 * into numbers and refuses everything it would have to guess.
 *
 * Coflows keep the order of the file, which need not be the order of arrival. Ids are unique. Bytes
 * are MB × 2²⁰, rounded.
 *
 * Pure but for workload_fb_load. One allocation per table; time O(text + coflows × log coflows). */
#pragma once

#include "lib/err.h"

#include <stddef.h>
#include <stdint.h>

enum {
    WORKLOAD_FB_PORTS_MAX = 1000000,
    WORKLOAD_FB_COFLOWS_MAX = 10000000,
    WORKLOAD_FB_TASKS_MAX = 100000000, /* mappers and reducers of all coflows, each */
};
#define WORKLOAD_FB_MB_MAX      1e9            /* of one reducer: 1 PB */
#define WORKLOAD_FB_ARRIVAL_MAX 1000000000000u /* ms: 31 years */

struct workload_fb_reducer {
    uint32_t port;
    int64_t bytes; /* from all mappers together, ≥ 0 */
};

struct workload_fb_coflow {
    uint64_t id;
    int64_t arrival_ms;
    uint32_t n_mappers, n_reducers; /* ≥ 1 each */
    /* Borrow from the trace. Two mappers (or reducers) may share a port. */
    const uint32_t *mappers;
    const struct workload_fb_reducer *reducers;
};

struct workload_fb {
    uint32_t n_ports;
    size_t n_coflows;
    const struct workload_fb_coflow *coflows;
    size_t n_mappers, n_reducers; /* of all coflows */
};

/* Reads `size` bytes at `text` (borrowed for the call, no NUL needed); `name` stands in front of
 * the line number in errors. Returns 0, −EINVAL for text that is not such a trace (truncated,
 * surplus, out of range), −ENOMEM. The caller owns *ret_trace. */
int workload_fb_parse(const char *text, size_t size, const char *name,
                      struct workload_fb **ret_trace, struct err *err);

/* As workload_fb_parse with the contents of the file `path`; other errors are those of opening and
 * reading it. Blocks. */
int workload_fb_load(const char *path, struct workload_fb **ret_trace, struct err *err);

/* Takes NULL. */
void workload_fb_destroy(struct workload_fb *trace);
