#include "testbed/sim/fluid_state.h"

#include <errno.h>
#include <math.h>

static double link_sum(const struct link *link, uint32_t down_to_level)
{
    double used = 0;
    for (const struct port *p = link->first; p && p->level <= down_to_level; p = p->lower)
        for (uint32_t i = 0; i < p->n_bundles; i++)
            used += p->row[i].bundle->flows.n * p->row[i].bundle->limit->rate;
    return used;
}

int fluid_link_used(struct fluid *f, uint32_t link, double *ret_bytes_s)
{
    if (fluid_solve(f))
        return -ENOMEM;
    *ret_bytes_s = link_sum(&f->links[link], FLUID_LEVELS_MAX);
    return 0;
}

int fluid_flow_rate(struct fluid *f, uint32_t id, uint32_t source, double *ret_bytes_s)
{
    if (fluid_solve(f))
        return -ENOMEM;
    uint32_t flow = f->macroflows[id].flows[source];
    *ret_bytes_s =
        flow != UINT32_MAX && f->flows[flow].bundle ? f->flows[flow].bundle->limit->rate : 0;
    return 0;
}

uint64_t fluid_visited(const struct fluid *f)
{
    return f->visited;
}

static bool about(double a, double b, double scale)
{
    return fabs(a - b) <= 1e-9 * scale;
}

static double fastest(const struct port *p)
{
    double rate = 0;
    for (uint32_t i = 0; i < p->n_bundles; i++)
        rate = fmax(rate, p->row[i].bundle->limit->rate);
    return rate;
}

/* The links' own figures, computed anew from the bundles, not the solver's. */
static bool has_bottleneck(const struct fluid *f, const struct bundle *b)
{
    for (uint32_t i = 0; i < b->key.n; i++) {
        const struct link *link = &f->links[b->key.links[i]];
        if (about(link_sum(link, b->key.level), link->capacity, link->capacity) &&
            about(fastest(b->ports[i]), b->limit->rate, link->capacity))
            return true;
    }
    return false;
}

int fluid_certify(struct fluid *f, struct err *err)
{
    if (fluid_solve(f))
        return err_set(err, ENOMEM, "not enough memory to solve the network");
    for (uint32_t i = 0; i < f->config.topology->n_links; i++) {
        double used = link_sum(&f->links[i], FLUID_LEVELS_MAX);
        if (used > f->links[i].capacity * (1 + 1e-9))
            return err_set(err, EILSEQ, "link %u carries %.17g of %.17g bytes/s", i, used,
                           f->links[i].capacity);
    }
    for (const struct bundle *b = f->bundles; b; b = b->hh.next)
        if (!has_bottleneck(f, b))
            return err_set(
                err, EILSEQ,
                "flows of level %u from link %u to link %u have %.17g bytes/s and no bottleneck",
                b->key.level, b->key.links[0], b->key.links[b->key.n - 1], b->limit->rate);
    return 0;
}
