/* The rule that chooses an algorithm, over counted state only, so that the same changes give the
 * same flow everywhere:
 *
 *   nothing solved yet:
 *       where sources send several units each, shortest paths from nothing, within PATHS_WORK
 *       halves per arc: a search sends many units, and a market (market.h) has no tasks there;
 *       else relaxation from nothing while few places compete (relax.c counts them), within
 *       RELAX_WORK halves per arc; beyond either, cost scaling from nothing;
 *   more changes than half of the arcs:
 *       shortest paths from the last optimum, within BURST_WORK halves per arc: what came may be
 *       much, and yet have its way at once, as where all of it waits; beyond that, as if nothing
 *       were solved yet;
 *   otherwise:
 *       shortest paths from the last optimum, within as many halves as cost scaling looked at
 *       when it was last used here (or would, at SCALING_WORK per arc): it looks at them several
 *       times faster. Beyond that, cost scaling from nothing. */
#include <errno.h>

#include "lib/mincost/algorithms.h"

enum { RELAX_WORK = 20, SCALING_WORK = 40, PATHS_WORK = 60, BURST_WORK = 20 };
enum { MANY_UNITS = 2 }; /* a source, on average */

static int scale_from_nothing(struct mincost *m)
{
    uint64_t before = m->work;
    m->stats.algorithm = "scaling";
    m->bulky = true;
    int error = algorithm_scaling(m);
    if (!error)
        m->scratch_work = m->work - before;
    return error;
}

/* −EAGAIN: it would take more than `budget` halves. */
static int try_within(struct mincost *m, const char *name, int (*algorithm)(struct mincost *),
                      uint64_t budget)
{
    m->stats.algorithm = name;
    m->work_budget = m->work + budget;
    int error = algorithm(m);
    m->work_budget = 0;
    m->stats.fallbacks += error == -EAGAIN;
    return error;
}

static bool sends_many_units(const struct mincost *m)
{
    return m->supply_absolute / 2 >= MANY_UNITS * (int64_t)m->sources;
}

static int solve_cold(struct mincost *m)
{
    bool many = sends_many_units(m);
    m->bulky = true;
    int error = try_within(m, many ? "paths" : "relax", many ? algorithm_paths : algorithm_relax,
                           (many ? PATHS_WORK : RELAX_WORK) * ((uint64_t)m->arc_count + 1));
    return error == -EAGAIN ? scale_from_nothing(m) : error;
}

int algorithm_auto(struct mincost *m)
{
    uint64_t scratch = m->scratch_work ? m->scratch_work : SCALING_WORK * (uint64_t)m->arc_count;
    if (!m->solved)
        return solve_cold(m);
    bool burst = m->changes > m->arc_count / 2;
    int error = try_within(m, "incremental", algorithm_incremental,
                           burst ? BURST_WORK * (uint64_t)m->arc_count : scratch + SCALING_WORK);
    if (error != -EAGAIN)
        return error;
    return burst ? solve_cold(m) : scale_from_nothing(m);
}
