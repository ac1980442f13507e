#include "testbed/sim/time_bins.h"

static unsigned bin_of(const struct time_bins *b, int64_t at_ns)
{
    uint64_t bin = (uint64_t)(at_ns - b->from_ns) >> b->shift;
    return bin < TIME_BINS ? (unsigned)bin : TIME_BINS;
}

static void join_neighbours(struct time_bins *b)
{
    for (unsigned part = 0; part < TIME_BINS_PARTS; part++)
        for (unsigned i = 0; i < TIME_BINS; i++)
            b->sums[part][i] =
                i < TIME_BINS / 2 ? b->sums[part][2 * i] + b->sums[part][2 * i + 1] : 0;
    b->shift++;
}

void time_bins_add(struct time_bins *b, int64_t from_ns, int64_t to_ns, const double *values)
{
    if (to_ns <= from_ns)
        return;
    if (b->to_ns == b->from_ns)
        b->from_ns = from_ns;
    b->to_ns = to_ns;
    while (bin_of(b, to_ns - 1) == TIME_BINS)
        join_neighbours(b);
    for (unsigned i = bin_of(b, from_ns); from_ns < to_ns; i++) {
        int64_t edge_ns = time_bins_edge_ns(b, i + 1);
        for (unsigned part = 0; part < TIME_BINS_PARTS; part++)
            b->sums[part][i] += values[part] * (double)(edge_ns - from_ns);
        from_ns = edge_ns;
    }
}

unsigned time_bins_n(const struct time_bins *b)
{
    return b->to_ns > b->from_ns ? bin_of(b, b->to_ns - 1) + 1 : 0;
}

int64_t time_bins_edge_ns(const struct time_bins *b, unsigned bin)
{
    int64_t edge_ns = b->from_ns + ((int64_t)bin << b->shift);
    return edge_ns < b->to_ns ? edge_ns : b->to_ns;
}

double time_bins_mean(const struct time_bins *b, unsigned part, unsigned bin)
{
    return b->sums[part][bin] / (double)(time_bins_edge_ns(b, bin + 1) - time_bins_edge_ns(b, bin));
}

double time_bins_mean_of_all(const struct time_bins *b, unsigned part)
{
    double sum = 0;
    for (unsigned i = 0; i < TIME_BINS; i++)
        sum += b->sums[part][i];
    return b->to_ns > b->from_ns ? sum / (double)(b->to_ns - b->from_ns) : 0;
}
