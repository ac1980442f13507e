/* The page of `duopoly-sim figures`: the source's claims beside our results, misses marked, then
 * each figure with its numbers. Pure: the same grids give the same bytes. */
#pragma once

#include "testbed/sim/experiments.h"
#include "testbed/sim/grid.h"

#include <stdio.h>

struct figures_page {
    const char *command;     /* that made it, as typed */
    const char *description; /* of the workload */
    const struct run_setup *setup;
    int n, seeds;
    const struct experiment *const *experiments;
    const struct grid *grids; /* simulated, one per experiment */
};

void figures_page_write(const struct figures_page *page, FILE *out);
