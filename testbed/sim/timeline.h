/* What the slots did over a simulated run: how many received, how many computed, when the cluster
 * was slot-starved. Listens to a run (run_config.watch) and draws it. Memory: 24 bytes per
 * change. */
#pragma once

#include "testbed/sim/cluster/run.h"

#include <stdio.h>

struct timeline {
    struct timeline_change *changes; /* owned */
    size_t n, room;
    struct timeline_life *live; /* owned: attempts that run */
    int64_t receiving, computing;
    bool starved, failed;
};

/* A zeroed timeline is an empty one; it is the watcher. */
void timeline_watch(void *timeline, const struct run_news *news);
/* Writes an SVG of a run with so many slots in all. 0, or −ENOMEM when something could not be kept.
 * O(changes). */
int timeline_write(const struct timeline *timeline, const char *title, uint64_t slots, FILE *out);
void timeline_done(struct timeline *timeline);
