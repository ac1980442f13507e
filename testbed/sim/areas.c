#include "testbed/sim/areas.h"

void areas_of(const struct time_bins *bins, struct areas *ret_areas)
{
    ret_areas->n = 2 * (size_t)time_bins_n(bins);
    for (size_t i = 0; i < ret_areas->n; i++) {
        unsigned bin = (unsigned)(i / 2);
        ret_areas->x[i] = (double)time_bins_edge_ns(bins, bin + (unsigned)(i % 2)) * 1e-9;
        for (unsigned part = 0; part < TIME_BINS_PARTS; part++)
            ret_areas->y[part][i] = time_bins_mean(bins, part, bin);
    }
}

struct figure_series areas_series(const struct areas *areas, unsigned part, const char *name)
{
    return (struct figure_series){.name = name, .n = areas->n, .x = areas->x, .y = areas->y[part]};
}
