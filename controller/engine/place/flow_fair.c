/* Fairness as bounds of who waits: U → S in [max(0, N − A), N], where N tasks of a job are ready
 * and A more may run by its max-min part of all slots (Sirius, section 3.1.1). */
#include "controller/engine/base/ground.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/users.h"
#include "controller/engine/place/flow_view.h"
#include "lib/container_of.h"

#include <stdlib.h>

static uint64_t demand_of(const struct job *job)
{
    return job->n_ready + job->n_running;
}

static int ascending(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* The part of each that wants more than it, and how many of these, in order of turn, get one more:
 * of `n` demands, which it orders. */
static uint64_t level_of(uint64_t slots, uint64_t *demands, size_t n, uint64_t *ret_more)
{
    *ret_more = 0;
    if (n)
        qsort(demands, n, sizeof(*demands), ascending);
    for (size_t i = 0; i < n; i++) {
        if (demands[i] > slots / (n - i)) {
            *ret_more = slots % (n - i);
            return slots / (n - i);
        }
        slots -= demands[i];
    }
    return UINT64_MAX;
}

static uint64_t level_now(struct engine *engine, uint64_t *ret_more)
{
    int64_t slots = engine->total.amount[RES_SLOTS];
    uint64_t *demands = engine_allocate(engine, (uint32_t)engine->active.n + 1, sizeof(*demands));
    size_t n = 0;
    for (struct sorted_node *node = sorted_first(&engine->active); node; node = sorted_next(node)) {
        uint64_t demand = demand_of(container_of(node, struct job, by_turn));
        if (demand)
            demands[n++] = demand;
    }
    uint64_t level = level_of(slots > 0 ? (uint64_t)slots : 0, demands, n, ret_more);
    free(demands);
    return level;
}

static uint32_t who_wait(const struct job *job, uint64_t part)
{
    uint64_t may_start = part > job->n_running ? part - job->n_running : 0;
    uint64_t waits = job->n_ready > may_start ? job->n_ready - may_start : 0;
    return waits < UINT32_MAX ? (uint32_t)waits : UINT32_MAX;
}

bool flow_fair_bounds(const struct engine *engine, const struct flow_view *view)
{
    return view->weights.fair && !users_divided(engine);
}

void flow_fair_follow(struct engine *engine, struct flow_view *view, bool relaxed)
{
    uint64_t more = 0, level = UINT64_MAX;
    if (!flow_fair_bounds(engine, view))
        return;
    if (!relaxed)
        level = level_now(engine, &more);
    for (struct sorted_node *node = sorted_first(&engine->active); node; node = sorted_next(node)) {
        const struct job *job = container_of(node, struct job, by_turn);
        uint64_t part = level;
        engine->counters.visits++;
        if (demand_of(job) > level && more) {
            part++;
            more--;
        }
        flow_view_bound(view, job, who_wait(job, part));
    }
}
