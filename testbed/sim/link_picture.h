/* Where the time of the downlinks went over a simulated run. Listens to a run (run_config.links)
 * and draws it, its shares in the legend. Memory: 48 bytes per instant. */
#pragma once

#include "testbed/sim/cluster/run.h"

#include <stdio.h>

struct link_picture {
    struct run_links *spans; /* owned */
    size_t n, room;
    bool failed;
};

/* A zeroed picture is an empty one; it is the listener. */
void link_picture_listen(void *picture, const struct run_links *links);
/* Writes an SVG. 0, or −ENOMEM when something could not be kept. O(spans). */
int link_picture_write(const struct link_picture *picture, const char *title, FILE *out);
void link_picture_done(struct link_picture *picture);
