/* Policies × values of one option × seeds, simulated in one batch, for compare, sweep and figures.
 * The grid owns its items. */
#pragma once

#include "testbed/sim/batch.h"

enum { GRID_MAX = 32, GRID_SEEDS_MAX = 64 };

struct grid {
    int n_policies, n_values, n_seeds;
    const struct preset *policies[GRID_MAX];
    const char *option; /* NULL: none, with one value ""; "options": see grid_set_values */
    char values[GRID_MAX][32];
    struct batch_item *items;
};

/* Reads "a,b,c" of policy names, and the values; each value of "options" is several options:
 * "servers=64+racks=4". 0 or −EINVAL with a sentence. */
int grid_set_policies(struct grid *grid, const char *list, struct err *err);
int grid_set_values(struct grid *grid, const char *option, const char *list, struct err *err);

/* Reads a number of seeds; `otherwise` if there is no value. 0 or −EINVAL with a sentence. */
int grid_read_seeds(const char *value, int otherwise, int *ret, struct err *err);

/* Makes the items; seeds count up from the setup's. 0 or −errno with a sentence; call grid_done in
 * any case. */
int grid_prepare(struct grid *grid, const struct run_setup *base, int seeds, struct err *err);
/* Simulates all items of `n` prepared grids in one batch. 0 or −errno with a sentence. */
int grid_run(struct grid *const *grids, size_t n, struct err *err);
void grid_done(struct grid *grid);

/* The median over the seeds of a double at `offset` in struct batch_row. */
double grid_median(const struct grid *grid, int policy, int value, size_t offset);
/* Least and most over the seeds. */
void grid_range(const struct grid *grid, int policy, int value, size_t offset, double *ret_least,
                double *ret_most);
/* Whether the bounds at a value are proven for every seed (bounds.h). */
bool grid_proven(const struct grid *grid, int value);
/* The gain in %: 100 · (1 − ours ÷ theirs). */
double grid_gain(double ours, double theirs);
