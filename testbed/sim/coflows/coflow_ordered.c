/* FIFO, SCF, NCF, LCF and SEBF: one plan, five keys. */
#include "testbed/sim/coflows/coflow_live.h"
#include "testbed/sim/coflows/coflow_policies.h"

#include <math.h>
#include <stdlib.h>

static double key_fifo(const struct coflow_live *c)
{
    return c->arrived;
}

static double key_scf(const struct coflow_live *c)
{
    return c->largest / c->spec->n_mappers;
}

static double key_ncf(const struct coflow_live *c)
{
    return fmin(c->spec->n_mappers, c->spec->n_reducers);
}

static double key_lcf(const struct coflow_live *c)
{
    double left = 0;
    for (uint32_t r = 0; r < c->spec->n_reducers; r++)
        left += c->row_left[r];
    return left * c->scale;
}

static int by_key(const void *x, const void *y)
{
    const struct coflow_live *a = *(struct coflow_live *const *)x,
                             *b = *(struct coflow_live *const *)y;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->arrived > b->arrived) - (a->arrived < b->arrived);
}

static void sort(struct coflow_sim *sim)
{
    for (size_t i = 0; i < sim->n_live; i++) {
        struct coflow_live *c = sim->live[i];
        c->key = sim->policy->key ? sim->policy->key(c) : coflow_bottleneck_s(sim, c);
    }
    qsort(sim->live, sim->n_live, sizeof(*sim->live), by_key);
}

static double plan(struct coflow_sim *sim)
{
    double next = INFINITY;
    coflow_ports_reset(sim);
    sort(sim);
    for (size_t i = 0; i < sim->n_live; i++) {
        double duration_s = coflow_bottleneck_s(sim, sim->live[i]);
        if (isinf(duration_s))
            continue;
        coflow_serve_madd(sim, sim->live[i], duration_s);
        next = fmin(next, duration_s);
    }
    for (size_t i = 0; i < sim->n_live; i++)
        if (sim->live[i]->pace == 0)
            coflow_serve_share(sim, sim->live[i]);
    for (size_t i = 0; i < sim->n_live; i++)
        if (coflow_serve_rest(sim, sim->live[i]))
            return -1;
    return next;
}

static int simulate(const struct coflow_policy *policy, const struct coflows_config *config,
                    double *ret_cct_s)
{
    return coflow_live_run(policy, config, plan, ret_cct_s);
}

#define ORDERED(NAME, WHAT, KEY)                                                                   \
    const struct coflow_policy coflow_##NAME = {                                                   \
        .name = #NAME, .what = WHAT, .compat = true, .key = KEY, .simulate = simulate}

ORDERED(fifo, "first come, first served", key_fifo);
ORDERED(scf, "shortest Coflow first: least largest reducer ÷ mappers", key_scf);
ORDERED(ncf, "narrowest Coflow first: fewest mappers or reducers", key_ncf);
ORDERED(lcf, "lightest Coflow first: least bytes left", key_lcf);
/* Its key is the bottleneck, which depends on the ports: the plan computes it. */
ORDERED(sebf, "smallest effective bottleneck first (Varys)", NULL);
