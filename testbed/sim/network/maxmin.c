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
    return &net->speeds[p->id].share;
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
    return c->peer != PORT_NONE ? net->speeds[c->peer].share : least_share(net, c->bundle, p, NULL);
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
        double others = others_share(net, p, &p->row[j]);
        if (others < share)
            d.others += p->row[j].n_flows * others;
        else
            d.open += p->row[j].n_flows;
    }
    return d;
}

static double load_of(struct demand d, double share)
{
    return d.others + (isinf(share) ? 0 : d.open * share);
}

/* Sets p->wanted, the share at which its bundles fill it, and load and open at the present one. WHY
 * it ends: the load is concave in the share, so each step but the first comes from below and leaves
 * fewer flows open, the last one none fewer. */
static void port_want(struct sparse *net, struct port *p)
{
    double now = *share_of(net, p), least = p->n_flows ? p->capacity / p->n_flows : 0;
    struct demand d = demand_at(net, p, now);
    net->fluid->visited++;
    p->load = load_of(d, now);
    p->open = d.open;
    p->wants = true;
    for (bool first = true;; first = false) {
        if (!d.open && (!first || d.others <= p->capacity * (1 + NOISE))) {
            p->wanted = INFINITY;
            break;
        }
        p->wanted = d.open ? (p->capacity - d.others) / d.open : 0;
        if (p->wanted < least)
            p->wanted = least;
        uint32_t before = d.open;
        d = demand_at(net, p, p->wanted);
        if (d.open == before || (!first && d.open > before))
            break;
    }
    p->wanted_open = d.open;
    p->wanted_load = load_of(d, p->wanted);
}

/* ---- the queue of ports whose share does not fit ---- */

/* The least that the port's share now is or will be. A load that is too large at this share is too
 * large down to the point at which the open flows alone have given it back. */
static double least_of_both(const struct port *p, double share)
{
    double over = p->load - p->capacity, tolerated = NOISE * p->capacity;
    double least = p->n_flows ? p->capacity / p->n_flows : 0;
    if (isinf(share))
        return p->open || over > tolerated ? least : INFINITY;
    if (over < -tolerated)
        return share;
    if (over <= tolerated)
        return INFINITY;
    double bound = p->open ? share - over / p->open : 0;
    return bound > least ? bound : least;
}

static int touch(struct sparse *net, struct port *p)
{
    if (p->solve == net->solves)
        return 0;
    p->solve = net->solves;
    return fluid_list_add(&net->touched, p);
}

static int queue(struct sparse *net, struct port *p, double key)
{
    return heap_set(&net->unfit, net->unfit_where, key, p->id);
}

/* A bundle of `n` flows is limited by the others of its path to `to` instead of `from`. */
static int tell(struct sparse *net, struct port *q, double n_flows, double from, double to)
{
    double share = *share_of(net, q);
    uint32_t n = (uint32_t)n_flows;
    if (share <= from && share <= to)
        return 0;
    if (touch(net, q))
        return -ENOMEM;
    q->load += n_flows * (load_of((struct demand){.open = 1}, lesser(to, share)) -
                          load_of((struct demand){.open = 1}, lesser(from, share)));
    q->open += (to >= share ? n : 0) - (from >= share ? n : 0);
    q->wants = false;
    return queue(net, q, least_of_both(q, share));
}

static int tell_path(struct sparse *net, struct port *p, const struct crossing *c, double from,
                     double to)
{
    const struct bundle *b = c->bundle;
    for (uint32_t i = 0; i < b->n_ports; i++) {
        double others = least_share(net, b, p, b->ports[i]);
        if (b->ports[i] != p &&
            tell(net, b->ports[i], c->n_flows, lesser(from, others), lesser(to, others)))
            return -ENOMEM;
    }
    return 0;
}

static int set_share(struct sparse *net, struct port *p)
{
    double from = *share_of(net, p), to = p->wanted, less = lesser(from, to);
    *share_of(net, p) = to;
    p->load = p->wanted_load;
    p->open = p->wanted_open;
    for (uint32_t j = 0; j < p->n_bundles; j++) {
        const struct crossing *c = &p->row[j];
        if (c->peer == PORT_NONE) {
            if (tell_path(net, p, c, from, to))
                return -ENOMEM;
        } else if (net->speeds[c->peer].share > less &&
                   tell(net, net->ports.items[c->peer], c->n_flows, from, to)) {
            return -ENOMEM;
        }
    }
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
    net->touched.n = 0;
    for (size_t i = 0; i < dirty->n; i++) {
        struct port *p = dirty->items[i];
        double left = left_of_link(net, p);
        bool same = fabs(left - p->capacity) <= NOISE * net->links[p->link].capacity;
        p->dirty = false;
        if (same && !p->changed)
            continue;
        p->capacity = left;
        p->changed = false;
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

/* WHY: with two ports, rates and shares mostly say that the bottleneck stays, without a look at the
 * bundle. */
static bool same_limit(const struct sparse *net, const struct port *p, const struct crossing *c)
{
    static const double SURELY = 1 - 1e-9;
    if (c->peer == PORT_NONE)
        return false;
    struct speed mine = net->speeds[p->id], peer = net->speeds[c->peer];
    return mine.share <= peer.share ? mine.rate < peer.rate * SURELY
                                    : peer.rate < mine.rate * SURELY;
}

/* Bundles that never had a rate have been listed as such. */
static int find_limits(struct sparse *net, const struct port *p)
{
    for (uint32_t j = 0; j < p->n_bundles; j++) {
        const struct crossing *c = &p->row[j];
        if (!same_limit(net, p, c) && c->bundle->limit && find_limit(net, c->bundle))
            return -ENOMEM;
    }
    return 0;
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
    p->rate = net->speeds[p->id].rate = share;
    return port_schedule(net, p);
}

static int commit(struct sparse *net)
{
    for (size_t i = 0; i < net->touched.n; i++)
        if (news(net, net->touched.items[i]))
            port_advance(net->touched.items[i], net->fluid->now_ns);
    for (size_t i = 0; i < net->touched.n; i++)
        if (news(net, net->touched.items[i]) && find_limits(net, net->touched.items[i]))
            return -ENOMEM;
    for (size_t i = 0; i < net->touched.n; i++)
        if (set_rate(net, net->touched.items[i]))
            return -ENOMEM;
    return 0;
}

/* One that came and went within this instant is on the list, too, and has no flows. */
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
