/* What a port knows of the bundles that cross it. */
#include "testbed/sim/network/sparse.h"

#include <errno.h>
#include <math.h>

double bundle_least(const struct bundle *b, const struct port *but, const struct port *nor)
{
    double least = INFINITY;
    for (uint32_t i = 0; i < b->n_ports; i++) {
        const struct port *p = b->ports[i];
        if (p != but && p != nor && p->share < least)
            least = p->share;
    }
    return least;
}

uint32_t row_place(const struct bundle *b, const struct port *p)
{
    uint32_t i = 0;
    while (b->ports[i] != p)
        i++;
    return b->place[i];
}

static void put(struct port *p, uint32_t at, struct crossing c, struct bundle *b)
{
    p->row[at] = c;
    p->bundles[at] = b;
    for (uint32_t i = 0; i < b->n_ports; i++)
        if (b->ports[i] == p)
            b->place[i] = at;
}

static enum section section_at(const struct port *p, uint32_t at)
{
    return at < p->n_told ? SECTION_TOLD : at < p->n_open ? SECTION_QUIET : SECTION_CLOSED;
}

/* Moves the crossing section by section: the one at each section's far end takes the place at its
 * near end. */
void row_move(struct port *p, uint32_t at, enum section to)
{
    uint32_t *ends[] = {&p->n_told, &p->n_open};
    struct crossing c = p->row[at];
    struct bundle *b = p->bundles[at];
    enum section from = section_at(p, at);
    if (from == to)
        return;
    while (from != to) {
        uint32_t other = from < to ? --*ends[from] : (*ends[from - 1])++;
        if (other != at)
            put(p, at, p->row[other], p->bundles[other]);
        at = other;
        from = from < to ? from + 1 : from - 1;
    }
    put(p, at, c, b);
}

enum section row_open_section(const struct crossing *c)
{
    return c->peer && c->peer->quiet ? SECTION_QUIET : SECTION_TOLD;
}

int row_join(struct bundle *b, uint32_t i)
{
    struct port *p = b->ports[i];
    size_t allocated = p->allocated, as_much = p->allocated;
    if (fluid_grow((void **)&p->row, &allocated, p->n_bundles + 1, sizeof(*p->row)) ||
        fluid_grow((void **)&p->bundles, &as_much, p->n_bundles + 1, sizeof(*p->bundles)))
        return -ENOMEM;
    p->allocated = (uint32_t)allocated;
    struct crossing c = {.peer = b->n_ports == 2 ? b->ports[!i] : NULL};
    put(p, p->n_bundles++, c, b);
    double others = bundle_least(b, p, NULL);
    if (others >= p->share)
        row_move(p, b->place[i], row_open_section(&p->row[b->place[i]]));
    else if (others > p->closed_most)
        p->closed_most = others;
    return 0;
}

void row_leave(struct bundle *b, uint32_t i)
{
    struct port *p = b->ports[i];
    row_move(p, b->place[i], SECTION_CLOSED);
    uint32_t last = --p->n_bundles;
    if (b->place[i] != last)
        put(p, b->place[i], p->row[last], p->bundles[last]);
    if (!last)
        p->closed_most = 0;
}

void row_count(struct bundle *b, uint32_t i, int more)
{
    struct port *p = b->ports[i];
    p->n_flows += (uint32_t)more;
    p->row[b->place[i]].n_flows += (uint32_t)more;
    if (b->place[i] >= p->n_open) {
        p->load += more * (p->quiet ? b->ports[!i]->ceiling : bundle_least(b, p, NULL));
    } else {
        p->open += (uint32_t)more;
        p->load += isinf(p->share) ? 0 : more * p->share;
    }
    if (!p->n_flows)
        p->load = 0;
}

void row_weigh(struct port *p)
{
    p->sets = 0;
    p->closed_most = 0;
    p->load = isinf(p->share) ? 0 : p->open * p->share;
    for (uint32_t j = p->n_open; j < p->n_bundles; j++) {
        double others = others_share(p, j);
        p->load += p->row[j].n_flows * others;
        if (others > p->closed_most)
            p->closed_most = others;
    }
}

bool port_may_rest(const struct sparse *net, const struct port *p)
{
    bool hot = p->link < net->fluid->config.topology->n_hosts && net->fluid->hot[p->link];
    return net->rests && isinf(p->share) && !p->open && (!p->lower || (!hot && p->lower->quiet));
}

/* The neighbours' open crossings change sections. */
static void tell_quiet(struct port *p, bool quiet)
{
    p->quiet = quiet;
    p->tells = 0;
    for (uint32_t j = 0; j < p->n_bundles; j++) {
        struct port *peer = p->row[j].peer;
        uint32_t at = row_place(p->bundles[j], peer);
        if (at < peer->n_open)
            row_move(peer, at, quiet ? SECTION_QUIET : SECTION_TOLD);
    }
}

void port_set_bounds(const struct sparse *net, struct port *p)
{
    const struct fluid_config *c = &net->fluid->config;
    double capacity = net->links[p->link].capacity;
    bool watched = c->hot_per_mille && p->link < c->topology->n_hosts;
    bool hot = watched && net->fluid->hot[p->link];
    p->spared = watched && !hot ? (float)(capacity * (1 - c->hot_per_mille * 1e-3)) : 0;
    p->unused = hot ? (float)(capacity * (1 - c->cool_per_mille * 1e-3)) : INFINITY;
}

void port_rest(const struct sparse *net, struct port *p)
{
    double load = 0;
    for (uint32_t j = 0; j < p->n_bundles; j++)
        load += p->row[j].n_flows * p->row[j].peer->ceiling;
    p->tells = 0;
    double below = 0;
    for (const struct port *q = p->lower; q; q = q->lower)
        below += q->load;
    port_set_bounds(net, p);
    if (!port_stays_quiet(p, load + below))
        return;
    p->load = load;
    tell_quiet(p, true);
}

void port_wake(struct port *p)
{
    tell_quiet(p, false);
    row_weigh(p);
    p->used = -INFINITY;
}
