/* Use of the slots over a simulated run: how many received, how many computed, when the cluster was
 * slot-starved. Listens to a run (run_config.watch) and draws it. Memory: 16 bytes per slot-starved
 * period, and one entry per running attempt. */
#pragma once

#include "testbed/sim/cluster/run.h"
#include "testbed/sim/figure.h"
#include "testbed/sim/time_bins.h"

#include <stdio.h>

struct timeline {
    struct time_bins bins;      /* parts: receiving, computing */
    struct timeline_life *live; /* owned: attempts that run */
    struct figure_band *bands;  /* owned: when it was starved, s */
    size_t n_bands, bands_allocated;
    int64_t now_ns, starved_ns; /* starved_ns: since when it is starved */
    int64_t receiving, computing;
    bool starved, failed;
};

/* Zeroed: empty. The timeline is the watcher. */
void timeline_watch(void *timeline, const struct run_news *news);
/* Writes an SVG of a run with `slots` slots in all. 0, or −ENOMEM when something could not be kept.
 * O(bins + bands). */
int timeline_write(struct timeline *timeline, const char *title, uint64_t slots, FILE *out);
void timeline_done(struct timeline *timeline);
