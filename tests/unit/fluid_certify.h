/* Proves the present rates of a network: no link carries more than it has, and every flow crosses a
 * link that its level and those above fill, on which no flow of its level is faster (relative error
 * 1e-9). All figures are computed anew from the bundles, none is the solver's. fluid_certify
 * returns 0, −ENOMEM, or −EILSEQ with the sentence that says which flow or link disproves it.
 * O(bundles × log bundles). */
#pragma once

#include "testbed/sim/network/fluid_state.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* One level of one link, as its bundles say. */
struct port_sum {
    uint32_t link, level;
    double used, fastest; /* used: first by this level, then by those above too */
};

struct certificate {
    const struct fluid *fluid;
    struct port_sum *ports; /* by link, then by level */
    size_t n, room;
    struct err *err;
};

static int add_ports(void *context, const struct bundle_rate *b)
{
    struct certificate *c = context;
    if (fluid_grow((void **)&c->ports, &c->room, c->n + b->path.n, sizeof(*c->ports)))
        return -ENOMEM;
    for (uint32_t i = 0; i < b->path.n; i++)
        c->ports[c->n++] = (struct port_sum){b->path.links[i], b->level, b->n * b->rate, b->rate};
    return 0;
}

static int compare_ports(const void *a, const void *b)
{
    const struct port_sum *x = a, *y = b;
    if (x->link != y->link)
        return x->link < y->link ? -1 : 1;
    return x->level < y->level ? -1 : x->level > y->level;
}

static void add_up(struct certificate *c)
{
    size_t n = 0;
    if (c->n)
        qsort(c->ports, c->n, sizeof(*c->ports), compare_ports);
    for (size_t i = 0; i < c->n; i++) {
        struct port_sum p = c->ports[i];
        if (n && compare_ports(&c->ports[n - 1], &p) == 0) {
            c->ports[n - 1].used += p.used;
            c->ports[n - 1].fastest = fmax(c->ports[n - 1].fastest, p.fastest);
        } else {
            c->ports[n++] = p;
        }
    }
    c->n = n;
    for (size_t i = 1; i < n; i++)
        if (c->ports[i].link == c->ports[i - 1].link)
            c->ports[i].used += c->ports[i - 1].used;
}

static bool about(double a, double b, double scale)
{
    return fabs(a - b) <= 1e-9 * scale;
}

static int has_bottleneck(void *context, const struct bundle_rate *b)
{
    const struct certificate *c = context;
    for (uint32_t i = 0; i < b->path.n; i++) {
        struct port_sum key = {.link = b->path.links[i], .level = b->level};
        double capacity = topology_link_bytes_s(c->fluid->config.topology, key.link);
        const struct port_sum *p = bsearch(&key, c->ports, c->n, sizeof(*c->ports), compare_ports);
        if (about(p->used, capacity, capacity) && about(p->fastest, b->rate, capacity))
            return 0;
    }
    return err_set(c->err, EILSEQ,
                   "flows of level %u from link %u to link %u have %.17g bytes/s and no bottleneck",
                   b->level, b->path.links[0], b->path.links[b->path.n - 1], b->rate);
}

static int fluid_certify(struct fluid *f, struct err *err)
{
    struct certificate c = {.fluid = f, .err = err};
    int r = fluid_solve(f) || f->method->each(f, add_ports, &c) ? -ENOMEM : 0;
    if (r)
        r = err_set(err, ENOMEM, "not enough memory to certify the network");
    else
        add_up(&c);
    for (size_t i = 0; !r && i < c.n; i++) {
        double capacity = topology_link_bytes_s(f->config.topology, c.ports[i].link);
        if (c.ports[i].used > capacity * (1 + 1e-9))
            r = err_set(err, EILSEQ, "link %u carries %.17g of %.17g bytes/s", c.ports[i].link,
                        c.ports[i].used, capacity);
    }
    if (!r)
        r = f->method->each(f, has_bottleneck, &c);
    free(c.ports);
    return r;
}
