#include "testbed/sim/network/maxmin.h"

#include "testbed/sim/network/sparse.h"

#include <errno.h>
#include <math.h>

/* Changes below this part of a capacity or a rate are rounding, not news. */
static const double NOISE = 1e-12;

static bool about(double a, double b)
{
    return a == b || (!isinf(a) && !isinf(b) && fabs(a - b) <= NOISE * a);
}

static inline double lesser(double a, double b)
{
    return a < b ? a : b;
}

static double *share_of(const struct sparse *net, const struct port *p)
{
    return &net->shares[p->id];
}

/* ---- what a port has to share ---- */

static double left_of_link(const struct sparse *net, const struct port *p)
{
    double left = net->links[p->link].capacity;
    if (!p->listed)
        return 0;
    for (const struct port *q = net->links[p->link].first; q != p; q = q->lower)
        left -= q->used;
    return left > 1e-9 * net->links[p->link].capacity ? left : 0;
}

static double least_share(const struct sparse *net, const struct bundle *b, const struct port *but,
                          const struct port *nor)
{
    double least = INFINITY;
    for (uint32_t i = 0; i < b->n_ports; i++) {
        double share = *share_of(net, b->ports[i]);
        if (b->ports[i] != but && b->ports[i] != nor && share < least)
            least = share;
    }
    return least;
}

/* What the other ports of its path let a bundle of port p have. */
static inline double others_share(const struct sparse *net, const struct port *p,
                                  const struct crossing *c)
{
    return c->peer != PORT_NONE ? net->shares[c->peer] : least_share(net, c->bundle, p, NULL);
}

/* What p's flows take if it limits them to `share`. */
struct demand {
    double others; /* bytes a second of those that other ports limit to less */
    uint32_t open; /* the number of all the rest */
};

static struct demand demand_at(const struct sparse *net, const struct port *p, double share)
{
    struct demand d = {0};
    for (uint32_t j = 0; j < p->n_bundles; j++) {
        double others = others_share(net, p, &p->row[j]), less = others < share ? others : 0;
        uint32_t n = p->row[j].n_flows;
        d.others += n * less;
        d.open += others < share ? 0 : n;
    }
    return d;
}

static double load_of(struct demand d, double share)
{
    return d.others + (isinf(share) ? 0 : d.open * share);
}

static void weigh(const struct sparse *net, struct port *p)
{
    double share = *share_of(net, p);
    struct demand d = demand_at(net, p, share);
    p->load = load_of(d, share);
    p->open = d.open;
}

static void want(struct port *p, double share, struct demand d)
{
    p->wants = true;
    p->wanted = share;
    p->wanted_load = load_of(d, share);
    p->wanted_open = d.open;
}

static double fitting(const struct port *p, struct demand d)
{
    double least = p->n_flows ? p->capacity / p->n_flows : 0;
    double share = d.open ? (p->capacity - d.others) / d.open : 0;
    return share > least ? share : least;
}

/* Sets what p wants: the share at which its bundles fill it. WHY it ends: the load is concave in
 * the share, so each step but the first comes from below and leaves fewer flows open, the last one
 * none fewer. WHY a look at what fits then: the first step's load is kept up by additions, which
 * round. WHY not that share itself: what is open must be counted at the very share that is set. */
static void port_want(struct sparse *net, struct port *p)
{
    double now = *share_of(net, p);
    struct demand d = {.others = isinf(now) ? p->load : p->load - p->open * now, .open = p->open};
    net->fluid->visited++;
    for (bool first = true;; first = false) {
        if (!d.open && (!first || d.others <= p->capacity * (1 + NOISE))) {
            want(p, INFINITY, d);
            return;
        }
        double share = fitting(p, d);
        uint32_t before = d.open;
        d = demand_at(net, p, share);
        if ((!first && d.open > before) || (d.open == before && about(fitting(p, d), share))) {
            want(p, share, d);
            return;
        }
    }
}

/* ---- the queue of ports whose share does not fit ---- */

/* The least that the port's share now is or will be. A load that is too large at this share is too
 * large down to the point at which the open flows alone have given it back. */
static inline double least_of_both(const struct port *p, double share)
{
    double over = p->load - p->capacity, tolerated = NOISE * p->capacity;
    if (isinf(share) ? !p->open && over <= tolerated : fabs(over) <= tolerated)
        return INFINITY;
    if (!isinf(share) && over < 0)
        return share;
    double least = p->n_flows ? p->capacity / p->n_flows : 0;
    double bound = p->open && !isinf(share) ? share - over / p->open : 0;
    return bound > least ? bound : least;
}

static int touch(struct sparse *net, struct port *p)
{
    if (p->solve == net->solves)
        return 0;
    p->solve = net->solves;
    return fluid_list_add(&net->touched, p);
}

static inline int queue(struct sparse *net, struct port *p, double key)
{
    if (isinf(key) && net->unfit_where[p->id] == HEAP_NOWHERE)
        return 0;
    return heap_set(&net->unfit, net->unfit_where, key, p->id);
}

/* What a flow takes of a port with that share, if others let it have `others`. */
static inline double taken(double share, double others)
{
    return others < share ? others : isinf(share) ? 0 : share;
}

/* Others limit a bundle of `n` flows to `to` instead of `from`; one of these is less than the share
 * of q. */
static inline int tell(struct sparse *net, struct port *q, double share, uint32_t n, double from,
                       double to)
{
    if (q->solve != net->solves && touch(net, q))
        return -ENOMEM;
    q->load += n * (taken(share, to) - taken(share, from));
    q->open += (to < share ? 0 : n) - (from < share ? 0 : n);
    q->wants = false;
    return queue(net, q, least_of_both(q, share));
}

static int tell_path(struct sparse *net, struct port *p, const struct crossing *c, double from,
                     double to)
{
    const struct bundle *b = c->bundle;
    for (uint32_t i = 0; i < b->n_ports; i++) {
        struct port *q = b->ports[i];
        double others = least_share(net, b, p, q), share = *share_of(net, q);
        if (q != p && share > lesser(lesser(from, to), others) &&
            tell(net, q, share, c->n_flows, lesser(from, others), lesser(to, others)))
            return -ENOMEM;
    }
    return 0;
}

/* Tells the other ports of a path that p's share was `from`, and notes the bundle where p may come
 * to limit it or to limit it no more: `low` and `high` are a little beyond both of p's shares. */
static inline int tell_others(struct sparse *net, struct port *p, const struct crossing *c,
                              double from, double low, double high)
{
    double to = *share_of(net, p), others = others_share(net, p, c);
    if (others >= low && others <= high && fluid_list_add(&net->moved, c->bundle))
        return -ENOMEM;
    if (c->peer == PORT_NONE)
        return tell_path(net, p, c, from, to);
    return others > lesser(from, to)
               ? tell(net, net->ports.items[c->peer], others, c->n_flows, from, to)
               : 0;
}

static int set_share(struct sparse *net, struct port *p)
{
    static const double LITTLE = 1e-9;
    double from = *share_of(net, p), to = p->wanted;
    double low = lesser(from, to) * (1 - LITTLE), high = (from < to ? to : from) * (1 + LITTLE);
    *share_of(net, p) = to;
    p->load = p->wanted_load;
    p->open = p->wanted_open;
    for (uint32_t j = 0; j < p->n_bundles; j++)
        if (tell_others(net, p, &p->row[j], from, low, high))
            return -ENOMEM;
    return 0;
}

/* A share that is to fall waits until all that are less have been set. One that is to rise does so
 * at once, since nothing below is open any more. */
static int settle(struct sparse *net, struct port *p, double from)
{
    if (!p->wants)
        port_want(net, p);
    double share = *share_of(net, p);
    if (about(p->wanted, share))
        return 0;
    if (p->wanted < share && p->wanted > from * (1 + NOISE))
        return queue(net, p, p->wanted);
    p->wants = false;
    return set_share(net, p);
}

static int settle_all(struct sparse *net)
{
    double from = 0;
    while (net->unfit.n) {
        struct heap_item top = heap_pop(&net->unfit, net->unfit_where);
        from = top.key > from ? top.key : from;
        if (settle(net, net->ports.items[top.id], from))
            return -ENOMEM;
    }
    return 0;
}

/* The level's dirty ports are the first that may not fit. One that is dirty by a change above only,
 * which left its capacity as it was, does (a starved level's is 0 before and after). */
static int level_begin(struct sparse *net, uint32_t level)
{
    struct list *dirty = &net->dirty[level];
    net->solves++;
    net->touched.n = net->moved.n = 0;
    for (size_t i = 0; i < dirty->n; i++) {
        struct port *p = dirty->items[i];
        double left = left_of_link(net, p);
        bool same = fabs(left - p->capacity) <= NOISE * net->links[p->link].capacity;
        p->dirty = false;
        if (same && !p->changed)
            continue;
        p->capacity = left;
        p->changed = false;
        weigh(net, p);
        port_want(net, p);
        p->wants = p->wanted < *share_of(net, p);
        if (touch(net, p) || queue(net, p, lesser(p->wanted, *share_of(net, p))))
            return -ENOMEM;
    }
    dirty->n = 0;
    return 0;
}

/* ---- the new rates ---- */

static bool news(const struct sparse *net, const struct port *p)
{
    return *share_of(net, p) != p->rate;
}

/* A port whose rate changes is scheduled when it has the new one. */
static int take_or_put(struct sparse *net, struct port *p, double key, uint32_t bundle)
{
    if (heap_set(&p->limited, net->limited_where, key, bundle))
        return -ENOMEM;
    return news(net, p) ? 0 : port_schedule(net, p);
}

/* The bundle's count goes on from where it was, on its new bottleneck's counter. */
static int move_bundle(struct sparse *net, struct bundle *b, struct port *to)
{
    double progress = 0;
    if (b->limit) {
        port_advance(b->limit, net->fluid->now_ns);
        progress = bundle_progress(b);
        if (take_or_put(net, b->limit, INFINITY, b->id))
            return -ENOMEM;
    }
    port_advance(to, net->fluid->now_ns);
    b->limit = to;
    b->offset = to->served - progress;
    return take_or_put(net, to, b->flows.items[0].key + b->offset, b->id);
}

/* A bundle that never had a rate is on another list; one that came and went within this instant may
 * be, and has no flows. */
static int find_limit(struct sparse *net, struct bundle *b)
{
    struct port *least = b->ports[0];
    for (uint32_t i = 1; i < b->n_ports; i++)
        if (*share_of(net, b->ports[i]) < *share_of(net, least))
            least = b->ports[i];
    if (b->limit && *share_of(net, b->limit) <= *share_of(net, least) * (1 + NOISE))
        return 0;
    return move_bundle(net, b, least);
}

/* The link's use changed by what this level's did: levels below have another capacity. */
static int use_changed(struct sparse *net, struct port *p, double used)
{
    struct link *link = &net->links[p->link];
    double delta = used - p->used;
    p->used = used;
    if (fabs(delta) <= NOISE * link->capacity)
        return 0;
    for (struct port *q = p->listed ? p->lower : link->first; q; q = q->lower)
        if (q->level > p->level && port_mark_dirty(net, q))
            return -ENOMEM;
    return net->fluid->config.hot_per_mille && p->link < net->fluid->config.topology->n_hosts
               ? fluid_list_add(&net->uplinks, link)
               : 0;
}

static int set_rate(struct sparse *net, struct port *p)
{
    double share = *share_of(net, p);
    if (use_changed(net, p, isinf(share) ? p->load : p->capacity))
        return -ENOMEM;
    if (!news(net, p))
        return 0;
    p->rate = share;
    return port_schedule(net, p);
}

static int commit(struct sparse *net)
{
    for (size_t i = 0; i < net->touched.n; i++)
        if (news(net, net->touched.items[i]))
            port_advance(net->touched.items[i], net->fluid->now_ns);
    for (size_t i = 0; i < net->moved.n; i++)
        if (((struct bundle *)net->moved.items[i])->limit && find_limit(net, net->moved.items[i]))
            return -ENOMEM;
    for (size_t i = 0; i < net->touched.n; i++)
        if (set_rate(net, net->touched.items[i]))
            return -ENOMEM;
    return 0;
}

static int place_fresh(struct sparse *net)
{
    for (size_t i = 0; i < net->fresh.n; i++) {
        struct bundle *b = net->fresh.items[i];
        if (b->n_flows && !b->limit && find_limit(net, b))
            return -ENOMEM;
    }
    net->fresh.n = 0;
    return 0;
}

int maxmin_solve(struct sparse *net)
{
    for (uint32_t level = net->dirty_from; level < net->dirty_to; level++)
        if (net->dirty[level].n && (level_begin(net, level) || settle_all(net) || commit(net)))
            return -ENOMEM;
    net->dirty_from = net->fluid->config.levels;
    net->dirty_to = 0;
    return place_fresh(net);
}
