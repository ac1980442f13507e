/* Summary of a list of times. The median of an even number of values is the mean of the two in the
 * middle. Other percentiles are of nearest rank: the least value that at least that share of all
 * values does not exceed, so each is a value that occurred. Pure; O(n log n). */
#pragma once

#include <stddef.h>

struct stats {
    size_t n;
    double mean, median, p95, p99, max; /* 0 for an empty list */
};

/* Sorts `values` in place. */
struct stats stats_of(double *values, size_t n);

/* The least of `sorted` that at least this share (0…1) of all does not exceed; n ≥ 1. */
double stats_rank(const double *sorted, size_t n, double part);
