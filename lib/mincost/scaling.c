/* Cost scaling (Goldberg, Tarjan 1990) on a market (market.h). Costs count in units of 1 ∕ (places
 * + 1), so that a flow that is 1-optimal is optimal; it mostly is long before, which the gaps
 * between the prices show (market_find_shift). */

#include "lib/mincost/algorithms.h"
#include "lib/mincost/auction.h"

#define LARGEST (INT64_C(1) << 57) /* beyond, prices are not expected to fit */

enum {
    FIRST_PART = 16, /* the first epsilon is this part of the largest cost */
    FEW_PART = 8,    /* warm, few units are fewer than this part of the tasks */
    NEXT_PART = 5,   /* each further one of the one before */
    MOVES = 16,      /* for each task or place and phase, before paths are searched */
};

/* A reduced cost below −worst is nowhere. */
static int64_t worst_violation(struct market *market)
{
    int64_t worst = 0;
    for (uint32_t p = 0; p < market->place_count; p++) {
        const struct place *place = &market->places[p];
        for (uint32_t i = place->first; i < place[1].first; i++) {
            const struct link *link = &market->links[i];
            int64_t value = link->cost + market->price[link->place];
            if (link->residual > 0 && market->price[p] - value > worst)
                worst = market->price[p] - value;
        }
        if (place->crowd != NOBODY && market->price[p] - market->tasks[place->crowd].key > worst)
            worst = market->price[p] - market->tasks[place->crowd].key;
    }
    return worst;
}

/* From the last prices, shortest paths bring home a few units sooner than any phase. */
static int64_t first_epsilon(struct market *market)
{
    int64_t worst = worst_violation(market), cold = market->largest_cost / FIRST_PART;
    uint64_t excess = 0;
    for (uint32_t p = 0; p < market->place_count; p++)
        if (market->places[p].excess > 0)
            excess += (uint64_t)market->places[p].excess;
    return market->warm && excess < market->task_count / FEW_PART ? worst : cold;
}

/* Whether the flow is optimal now. */
static bool run_phase(struct market *market, int64_t epsilon)
{
    auction_tighten(market, epsilon);
    auction_run(market, epsilon, MOVES * ((uint64_t)market->task_count + market->place_count) + 1);
    return auction_augment(market) && market_find_shift(market, epsilon);
}

static int scale(struct mincost *m, bool warm)
{
    struct market *market;
    int error = market_open(m, true, warm, &market);
    if (error)
        return error;
    if (market->stuck_task != NOBODY)
        return market_refuse(market);
    if (market->largest_cost > LARGEST)
        return algorithm_paths(m);
    int64_t epsilon = first_epsilon(market);
    while (!run_phase(market, epsilon)) {
        if (m->failed)
            return m->failed;
        if (market->overflow)
            return algorithm_paths(m);
        if (market->infeasible)
            return market_refuse(market);
        epsilon /= NEXT_PART;
    }
    market_close(market);
    return m->failed;
}

int algorithm_scaling(struct mincost *m)
{
    return scale(m, false);
}

int algorithm_incremental_scaling(struct mincost *m)
{
    return scale(m, m->solved);
}
