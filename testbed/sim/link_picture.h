/* How the downlinks' time was used over a simulated run. Listens to a run (run_config.links) and
 * draws it, with shares in the legend. A constant amount of memory. */
#pragma once

#include "testbed/sim/cluster/run.h"
#include "testbed/sim/time_bins.h"

#include <stdio.h>

enum { LINK_PICTURE_PARTS = 4 };

struct link_picture {
    struct time_bins bins; /* parts: carried, awaited, held, nothing */
};

/* Zeroed: empty. The picture is the listener. */
void link_picture_listen(void *picture, const struct run_links *links);
/* Writes an SVG whose areas are exactly those shares. O(bins). */
void link_picture_write(const struct link_picture *picture, const char *title, FILE *out);
