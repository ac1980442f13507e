/* A few quantities over a time of unknown length, in a bounded number of bins: each holds its exact
 * integral. Bins are 2ᵏ ns wide; when the time outgrows them, neighbours are joined. Instants are
 * integers, so that no bin's edge is rounded and nothing is lost. Pure; a constant amount of
 * memory. */
#pragma once

#include <stdint.h>

enum { TIME_BINS = 256, TIME_BINS_PARTS = 4 };

/* Zeroed: empty. */
struct time_bins {
    int64_t from_ns, to_ns;                  /* all that was added */
    unsigned shift;                          /* a bin is 2^shift ns wide */
    double sums[TIME_BINS_PARTS][TIME_BINS]; /* value × ns */
};

/* Adds the parts' values (TIME_BINS_PARTS of them) between two instants. Spans must follow each
 * other without gaps. O(1 + bins that it touches), amortized. */
void time_bins_add(struct time_bins *bins, int64_t from_ns, int64_t to_ns, const double *values);

/* The number of bins in use; where one begins (`bin` = their number: where the last one ends). */
unsigned time_bins_n(const struct time_bins *bins);
int64_t time_bins_edge_ns(const struct time_bins *bins, unsigned bin);

/* The mean value in a bin in use, and over all time; 0 of none. */
double time_bins_mean(const struct time_bins *bins, unsigned part, unsigned bin);
double time_bins_mean_of_all(const struct time_bins *bins, unsigned part);
