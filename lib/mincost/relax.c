/* Relaxation: dual ascent (Bertsekas, Tseng 1988) where a single place can do it, shortest paths
 * (LAPJV: Jonker, Volgenant 1987) for the rest. Prices are exact at all times. Very fast where few
 * tasks compete: most stand where they want at once. */
#include <errno.h>

#include "lib/mincost/algorithms.h"
#include "lib/mincost/auction.h"

enum {
    ASCENTS = 1,       /* for each task or place */
    CROWDED_PART = 16, /* as many of the places with excess after that are many */
};

/* Whether enough places compete to make every path long. */
static bool is_crowded(const struct market *market)
{
    uint32_t crowded = 0;
    for (uint32_t p = 0; p < market->place_count; p++)
        crowded += market->places[p].excess > 0;
    return crowded > market->place_count / CROWDED_PART;
}

/* −EAGAIN when that would take more than the work budget, or does. */
static int relax(struct mincost *m)
{
    struct market *market;
    int error = market_open(m, false, false, &market);
    if (error)
        return error;
    if (market->stuck_task != NOBODY)
        return market_refuse(market);
    auction_tighten(market, 0);
    auction_run(market, 0, ASCENTS * ((uint64_t)market->task_count + market->place_count) + 1);
    if (m->work_budget && is_crowded(market))
        return -EAGAIN;
    if (!auction_augment(market))
        return m->failed ? m->failed : market->infeasible ? market_refuse(market) : -EAGAIN;
    market_find_shift(market, 0);
    market_close(market);
    return m->failed;
}

int algorithm_relax(struct mincost *m)
{
    int error = relax(m);
    return error == -EAGAIN && !m->work_budget ? algorithm_paths(m) : error; /* overflow */
}
