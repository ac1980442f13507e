/* The rule that chooses an algorithm, over counted state only, so that the same changes give the
 * same flow everywhere:
 *
 *   nothing solved yet, or more changes than half of the arcs:
 *       relaxation from nothing while few places compete (relax.c counts them), within RELAX_WORK
 *       halves per arc; beyond that, cost scaling from nothing;
 *   otherwise:
 *       shortest paths from the last optimum, within as many halves as cost scaling looked at
 *       when it was last used here (or would, at SCALING_WORK per arc): it looks at them several
 *       times faster. Beyond that, cost scaling from nothing. */
#include <errno.h>

#include "lib/mincost/algorithms.h"

enum { RELAX_WORK = 20, SCALING_WORK = 40 };

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

static int within(struct mincost *m, int (*algorithm)(struct mincost *), uint64_t budget)
{
    m->work_budget = m->work + budget;
    int error = algorithm(m);
    m->work_budget = 0;
    if (error != -EAGAIN)
        return error;
    m->stats.fallbacks++;
    return scale_from_nothing(m);
}

static int solve_cold(struct mincost *m)
{
    m->stats.algorithm = "relax";
    m->bulky = true;
    return within(m, algorithm_relax, RELAX_WORK * (uint64_t)m->arc_count + RELAX_WORK);
}

int algorithm_auto(struct mincost *m)
{
    uint64_t scratch = m->scratch_work ? m->scratch_work : SCALING_WORK * (uint64_t)m->arc_count;
    if (!m->solved || m->changes > m->arc_count / 2)
        return solve_cold(m);
    m->stats.algorithm = "incremental";
    return within(m, algorithm_incremental, scratch + SCALING_WORK);
}
