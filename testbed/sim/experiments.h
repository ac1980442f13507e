/* The source's figures 6 to 12 as simulations, and what it says that they show (Tian et al.,
 * sections 6.2 and 6.3). Number 0 is ours: the size of map tasks, which the trace does not have. */
#pragma once

#include "testbed/sim/run_setup.h"

/* The smallest gains in % that the source prints, mean and tail, over Aalo and NEAT; NAN: none
 * printed. */
struct experiment_claim {
    double mean_aalo, mean_neat, tail_aalo, tail_neat;
};

struct experiment {
    int figure;
    const char *title;
    const char *option, *values; /* of grid.h; NULL: no axis */
    const char *labels;          /* of the values, with commas; NULL: the values */
    const char *x_name;          /* with its unit */
    double x_unit;               /* values are multiples of this; 0: not numbers */
    const char *policies;        /* ours first, Aalo and NEAT last */
    struct experiment_claim claim;
};

extern const struct experiment experiments[]; /* ends with a NULL title */

/* A value as a number: digits with k, M or G. */
double experiment_number(const char *value);
