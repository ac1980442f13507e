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

static void put(struct sparse *net, struct port *p, uint32_t at, struct crossing c)
{
    struct bundle *b = net->bundles_by_id.items[c.bundle];
    p->row[at] = c;
    for (uint32_t i = 0; i < b->n_ports; i++)
        if (b->ports[i] == p)
            b->place[i] = at;
}

void row_move(struct sparse *net, struct port *p, uint32_t at, enum section to)
{
    enum section from = at < p->n_open ? SECTION_OPEN : SECTION_CLOSED;
    struct crossing c = p->row[at];
    if (from == to)
        return;
    uint32_t other = to == SECTION_OPEN ? p->n_open++ : --p->n_open;
    if (other != at)
        put(net, p, at, p->row[other]);
    put(net, p, other, c);
}

int row_join(struct sparse *net, struct bundle *b, uint32_t i)
{
    struct port *p = b->ports[i];
    size_t room = p->room;
    if (fluid_grow((void **)&p->row, &room, p->n_bundles + 1, sizeof(*p->row)))
        return -ENOMEM;
    p->room = (uint32_t)room;
    b->place[i] = p->n_bundles++;
    p->row[b->place[i]] =
        (struct crossing){.peer = b->n_ports == 2 ? b->ports[!i] : NULL, .bundle = b->id};
    double others = bundle_least(b, p, NULL);
    if (others >= p->share)
        row_move(net, p, b->place[i], SECTION_OPEN);
    else if (others > p->closed_most)
        p->closed_most = others;
    return 0;
}

void row_leave(struct sparse *net, struct bundle *b, uint32_t i)
{
    struct port *p = b->ports[i];
    row_move(net, p, b->place[i], SECTION_CLOSED);
    uint32_t last = --p->n_bundles;
    if (b->place[i] != last)
        put(net, p, b->place[i], p->row[last]);
    if (!last)
        p->closed_most = 0;
}

void row_count(struct bundle *b, uint32_t i, int more)
{
    struct port *p = b->ports[i];
    p->n_flows += (uint32_t)more;
    p->row[b->place[i]].n_flows += (uint32_t)more;
    if (b->place[i] >= p->n_open) {
        p->load += more * bundle_least(b, p, NULL);
    } else {
        p->open += (uint32_t)more;
        p->load += isinf(p->share) ? 0 : more * p->share;
    }
    if (!p->n_flows)
        p->load = 0;
}
