/* Bins of time as areas of a figure: flat over each bin, so that an area is the integral. */
#pragma once

#include "testbed/sim/figure.h"
#include "testbed/sim/time_bins.h"

struct areas {
    size_t n;
    double x[2 * TIME_BINS], y[TIME_BINS_PARTS][2 * TIME_BINS]; /* x: seconds */
};

void areas_of(const struct time_bins *bins, struct areas *ret_areas);
/* One part's series; borrows from `areas` and `name`. */
struct figure_series areas_series(const struct areas *areas, unsigned part, const char *name);
