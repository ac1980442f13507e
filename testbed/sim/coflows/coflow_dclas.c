/* Discretized Coflow-aware least-attained service: Aalo's policy for unknown sizes. */
#include "testbed/sim/coflows/coflow_live.h"
#include "testbed/sim/coflows/coflow_policies.h"

#include <math.h>
#include <stdlib.h>

enum { QUEUES = 10 };
static const double FIRST_LIMIT = 10 * 1048576.0, FACTOR = 10;

static double limit_of(uint32_t queue)
{
    return FIRST_LIMIT * pow(FACTOR, queue);
}

/* At a crossing `sent` equals the limit up to rounding, which grows with it; coflowsim compares
 * without tolerance. */
static uint32_t queue_of(const struct coflow_live *c, bool exactly)
{
    uint32_t queue = 0;
    double sent = exactly ? c->sent : c->sent * (1 + 1e-12) + COFLOW_ZERO;
    while (queue + 1 < QUEUES && limit_of(queue) < sent)
        queue++;
    return queue;
}

static int by_queue(const void *x, const void *y)
{
    const struct coflow_live *a = *(struct coflow_live *const *)x,
                             *b = *(struct coflow_live *const *)y;
    if (a->queue != b->queue)
        return a->queue < b->queue ? -1 : 1;
    return (a->entered > b->entered) - (a->entered < b->entered);
}

/* One queue at a time, so that Coflows demoted further queue up behind those already there. Returns
 * whether any moved. */
static bool demote_from(struct coflow_sim *sim, uint32_t queue)
{
    bool moved = false;
    for (size_t i = 0; i < sim->n_live; i++) {
        struct coflow_live *c = sim->live[i];
        if (c->queue != queue || queue_of(c, sim->config->compat_coflowsim) == queue)
            continue;
        c->queue++;
        c->entered = sim->entered++;
        moved = true;
    }
    return moved;
}

static void demote(struct coflow_sim *sim)
{
    qsort(sim->live, sim->n_live, sizeof(*sim->live), by_queue);
    for (uint32_t queue = 0; queue + 1 < QUEUES; queue++)
        if (demote_from(sim, queue))
            qsort(sim->live, sim->n_live, sizeof(*sim->live), by_queue);
}

static double next_event_s(const struct coflow_sim *sim, const struct coflow_live *c)
{
    double end = coflow_share_end_s(c);
    if (sim->config->compat_coflowsim || c->share_bytes_s <= 0 || c->queue + 1 == QUEUES)
        return end;
    return fmin(end, (limit_of(c->queue) - c->sent) / c->share_bytes_s);
}

static double plan(struct coflow_sim *sim)
{
    double next = INFINITY;
    demote(sim);
    coflow_ports_reset(sim);
    for (size_t i = 0; i < sim->n_live; i++) {
        coflow_serve_share(sim, sim->live[i]);
        next = fmin(next, next_event_s(sim, sim->live[i]));
    }
    return next;
}

static int simulate(const struct coflow_policy *policy, const struct coflows_config *config,
                    double *ret_cct_s)
{
    return coflow_live_run(policy, config, plan, ret_cct_s);
}

const struct coflow_policy coflow_dclas = {
    .name = "dclas",
    .what = "D-CLAS: ten queues by bytes sent, first come first served inside (Aalo)",
    .compat = true,
    .simulate = simulate};
