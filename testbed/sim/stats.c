#include "testbed/sim/stats.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

double stats_rank(const double *sorted, size_t n, double part)
{
    size_t at = (size_t)ceil(part * (double)n - 1e-9);
    return sorted[at ? at - 1 : 0];
}

static double median(const double *sorted, size_t n)
{
    return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

struct stats stats_of(double *values, size_t n)
{
    struct stats s = {.n = n};
    if (!n)
        return s;
    qsort(values, n, sizeof(*values), ascending);
    for (size_t i = 0; i < n; i++)
        s.mean += values[i];
    s.mean /= (double)n;
    s.median = median(values, n);
    s.p95 = stats_rank(values, n, .95);
    s.p99 = stats_rank(values, n, .99);
    s.max = values[n - 1];
    return s;
}
