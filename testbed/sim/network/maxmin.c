#include "testbed/sim/network/maxmin.h"

#include "testbed/sim/network/sparse.h"

#include <errno.h>
#include <math.h>

/* Changes below this part of a capacity or a rate are rounding. */
static const double NOISE = 1e-12;

static bool about(double a, double b)
{
    return a == b || (!isinf(a) && !isinf(b) && fabs(a - b) <= NOISE * a);
}

static inline double lesser(double a, double b)
{
    return a < b ? a : b;
}

static double left_of_link(const struct sparse *net, const struct port *p)
{
    double left = net->links[p->link].capacity;
    if (!p->listed)
        return 0;
    for (const struct port *q = net->links[p->link].first; q != p; q = q->lower)
        left -= q->quiet ? q->load : q->used;
    return left > 1e-9 * net->links[p->link].capacity ? left : 0;
}

/* What p's flows take if p limits them to `share`. */
struct demand {
    double others; /* bytes a second of those that other ports limit to less */
    uint32_t open; /* the number of all others */
};

static void add_demand(const struct port *p, uint32_t from, uint32_t to, double share,
                       struct demand *d)
{
    for (uint32_t j = from; j < to; j++) {
        double others = others_share(p, j);
        uint32_t n = others < share ? p->row[j].n_flows : 0;
        d->others += n ? n * others : 0;
        d->open -= n;
    }
}

static struct demand demand_at(const struct port *p, double share)
{
    struct demand d = {.open = p->n_flows};
    add_demand(p, 0, p->n_told, share, &d);
    add_demand(p, p->n_open, p->n_bundles, share, &d);
    return d;
}

static double load_of(struct demand d, double share)
{
    return d.others + (isinf(share) ? 0 : d.open * share);
}

static struct demand demand_now(const struct port *p)
{
    return (struct demand){p->load - (isinf(p->share) ? 0 : p->open * p->share), p->open};
}

static double fitting(const struct port *p, struct demand d)
{
    double least = p->n_flows ? p->capacity / p->n_flows : 0;
    double share = d.open ? (p->capacity - d.others) / d.open : 0;
    return share > least ? share : least;
}

/* WHY: setting a share mostly waits for the neighbours' memory. */
static void fetch_told(const struct port *p)
{
    for (uint32_t j = 0; j < p->n_told; j++)
        __builtin_prefetch(p->row[j].peer, 1);
}

/* Whether the same bundles are open at that share. */
static bool same_are_open(const struct port *p, double share)
{
    if (share <= p->closed_most)
        return false;
    for (uint32_t j = 0; share > p->share && j < p->n_told; j++)
        if (others_share(p, j) < share)
            return false;
    return true;
}

/* WHY it ends: the load is concave in the share, so each step except the first comes from below and
 * leaves fewer flows open; the last one leaves the same. */
static double search_share(struct port *p)
{
    row_weigh(p);
    struct demand d = demand_now(p);
    for (bool first = true;; first = false) {
        if (!d.open && (!first || d.others <= p->capacity * (1 + NOISE)))
            return INFINITY;
        double share = fitting(p, d);
        uint32_t before = d.open;
        d = demand_at(p, share);
        if ((!first && d.open > before) || (d.open == before && about(fitting(p, d), share)))
            return share;
    }
}

/* The share at which p's bundles fill it. Mostly the open ones stay open, and what they leave to
 * each other is known. */
static double wanted_share(struct sparse *net, struct port *p)
{
    enum { SETS_MAX = 256 };
    struct demand d = demand_now(p);
    net->fluid->visited++;
    if (p->sets++ < SETS_MAX) {
        if (!d.open && d.others <= p->capacity * (1 + NOISE))
            return INFINITY;
        double share = fitting(p, d);
        if (d.open && same_are_open(p, share))
            return share;
    }
    return search_share(p);
}

/* The lesser of the port's share and its future share. A load that is too large at this share stays
 * so down to the point at which the open flows alone have compensated it. */
static inline double least_of_both(const struct port *p)
{
    double over = p->load - p->capacity, tolerated = NOISE * p->capacity;
    double least = p->n_flows ? p->capacity / p->n_flows : 0;
    if (p->quiet)
        return p->open || !port_stays_quiet(p, p->load) ? least : INFINITY;
    if (isinf(p->share) ? !p->open && over <= tolerated : p->open && fabs(over) <= tolerated)
        return INFINITY;
    if (!isinf(p->share) && over <= tolerated)
        return p->share;
    double bound = p->open && !isinf(p->share) ? p->share - over / p->open : 0;
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
    __builtin_prefetch(&p->row);
    return heap_set(&net->unfit, net->unfit_where, key, p->id);
}

/* What a flow takes of a port with that share, if the others allow it `others`. */
static inline double taken(double share, double others)
{
    return others < share ? others : isinf(share) ? 0 : share;
}

/* Levels below have another capacity. */
static int mark_lower(struct sparse *net, struct port *p)
{
    struct port *q = p->listed ? p->lower : net->links[p->link].first;
    for (; q; q = q->lower)
        if (q->level > p->level && port_mark_dirty(net, q))
            return -ENOMEM;
    return 0;
}

/* Bundle `at` of port p opens or closes. When closed, p limits it no more. */
static int cross(struct sparse *net, struct port *p, uint32_t at, bool open)
{
    struct crossing c = p->row[at];
    struct bundle *b = p->bundles[at];
    p->open += open ? c.n_flows : -c.n_flows;
    row_move(p, at, open ? row_open_section(&c) : SECTION_CLOSED);
    return open ? 0 : fluid_list_add(&net->moved, b);
}

/* Other ports limit bundle `at` of port p, which is also one of q, to `to` instead of `from`; one
 * of these is less than the share of q. */
static inline int tell(struct sparse *net, struct port *q, const struct port *p, uint32_t at,
                       double from, double to)
{
    bool was_open = from >= q->share, open = to >= q->share;
    if (!q->quiet && q->solve != net->solves && touch(net, q))
        return -ENOMEM;
    q->tells++;
    q->load += p->row[at].n_flows * (taken(q->share, to) - taken(q->share, from));
    if (!open && to > q->closed_most)
        q->closed_most = to;
    if (q->quiet && mark_lower(net, q))
        return -ENOMEM;
    if (was_open != open && cross(net, q, row_place(p->bundles[at], q), open))
        return -ENOMEM;
    return queue(net, q, least_of_both(q));
}

static int tell_path(struct sparse *net, const struct port *p, uint32_t at, double from, double to)
{
    const struct bundle *b = p->bundles[at];
    for (uint32_t i = 0; i < b->n_ports; i++) {
        struct port *q = b->ports[i];
        double others = bundle_least(b, p, q);
        if (q != p && q->share > lesser(lesser(from, to), others) &&
            tell(net, q, p, at, lesser(from, others), lesser(to, others)))
            return -ENOMEM;
    }
    return 0;
}

/* Tells the other ports of a path that p's share was `from`. */
static inline int tell_others(struct sparse *net, const struct port *p, uint32_t at, double from)
{
    struct port *peer = p->row[at].peer;
    if (!peer)
        return tell_path(net, p, at, from, p->share);
    return peer->share > lesser(from, p->share) ? tell(net, peer, p, at, from, p->share) : 0;
}

/* For bundles that were open: `others_load` is what limits the closed ones. WHY backwards: a
 * crossing that closes changes places with the last one told. */
static int tell_open(struct sparse *net, struct port *p, double from, double *others_load)
{
    for (uint32_t j = p->n_told; j-- > 0;) {
        double others = others_share(p, j);
        if (tell_others(net, p, j, from))
            return -ENOMEM;
        if (others >= p->share)
            continue;
        *others_load += p->row[j].n_flows * others;
        if (others > p->closed_most)
            p->closed_most = others;
        if (cross(net, p, j, false))
            return -ENOMEM;
    }
    return 0;
}

/* For bundles that were closed: their others learn only that p limits them now. */
static int tell_closed(struct sparse *net, struct port *p, double from, double *others_load)
{
    double most = 0;
    for (uint32_t j = p->n_open; j < p->n_bundles; j++) {
        double others = others_share(p, j);
        if (others < p->share) {
            most = others > most ? others : most;
            continue;
        }
        *others_load -= p->row[j].n_flows * others;
        if (tell_others(net, p, j, from) || cross(net, p, j, true))
            return -ENOMEM;
    }
    p->closed_most = most;
    return 0;
}

/* Quiet ports know only that a finite share is not above its ceiling. The ceiling moves when the
 * share leaves a range, with some room above it, so that this is rare. */
static int tell_quiet(struct sparse *net, struct port *p, double from)
{
    static const double ABOVE = 1.03;
    double before = isinf(from) ? from : p->ceiling, to = p->share;
    if (isinf(to) || (to <= before && !isinf(before) && to >= CEILING_LEAST * before))
        return 0;
    p->ceiling = ABOVE * to;
    for (uint32_t j = p->n_told; j < p->n_open; j++)
        if (tell(net, p->row[j].peer, p, j, before, p->ceiling))
            return -ENOMEM;
    return 0;
}

static int set_share(struct sparse *net, struct port *p, double to)
{
    double from = p->share, others = demand_now(p).others;
    bool may_open = to <= p->closed_most;
    p->share = to;
    p->tells = 0;
    if (tell_quiet(net, p, from) || tell_open(net, p, from, &others) ||
        (may_open && tell_closed(net, p, from, &others)))
        return -ENOMEM;
    p->load = load_of((struct demand){others, p->open}, to);
    return 0;
}

/* A falling share waits until all lesser ones have been set. A rising one is set at once, since
 * nothing below is open any more. */
static int settle(struct sparse *net, struct port *p, double from)
{
    fetch_told(p);
    double wanted = wanted_share(net, p);
    if (about(wanted, p->share))
        return 0;
    if (wanted < p->share && wanted > from * (1 + NOISE))
        return queue(net, p, wanted);
    return touch(net, p) || set_share(net, p, wanted) ? -ENOMEM : 0;
}

/* A quiet port's load may no longer fit: adds it up without ceilings, and so for the levels above,
 * which are solved. */
static int wake(struct sparse *net, struct port *p)
{
    port_wake(p);
    for (struct port *q = net->links[p->link].first; q && q != p; q = q->lower) {
        if (!q->quiet)
            continue;
        port_wake(q);
        q->capacity = left_of_link(net, q);
        q->used = q->load;
    }
    p->capacity = left_of_link(net, p);
    return touch(net, p) || queue(net, p, least_of_both(p)) ? -ENOMEM : 0;
}

/* Fetches the port that is probably next, so that its row is in the cache when needed. */
static void fetch_next(const struct sparse *net)
{
    enum { CROSSINGS_A_LINE = 64 / sizeof(struct crossing) };
    if (!net->unfit.n)
        return;
    const struct port *p = net->ports.items[net->unfit.items[0].id];
    for (uint32_t j = 0; j < p->n_told; j += CROSSINGS_A_LINE)
        __builtin_prefetch(&p->row[j]);
}

static int settle_all(struct sparse *net)
{
    double from = 0;
    while (net->unfit.n) {
        struct heap_item top = heap_pop(&net->unfit, net->unfit_where);
        struct port *p = net->ports.items[top.id];
        from = top.key > from ? top.key : from;
        fetch_next(net);
        if (p->quiet ? wake(net, p) : settle(net, p, from))
            return -ENOMEM;
    }
    return 0;
}

/* The level's dirty ports are the first that may not fit. A port that is dirty only by a change
 * above, which left its capacity the same, fits (a starved level's is 0 before and after). */
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
        net->fluid->visited++;
        if (same && !p->changed)
            continue;
        p->capacity = left;
        p->changed = false;
        if ((p->quiet ? mark_lower(net, p) : touch(net, p)) || queue(net, p, least_of_both(p)))
            return -ENOMEM;
    }
    dirty->n = 0;
    return 0;
}

static bool news(const struct port *p)
{
    return p->share != p->rate;
}

/* A port whose rate changes is scheduled once it has the new one. */
static int take_or_put(struct sparse *net, struct port *p, double key, uint32_t bundle)
{
    if (heap_set(&p->limited, net->limited_where, key, bundle))
        return -ENOMEM;
    return news(p) ? 0 : port_schedule(net, p);
}

/* The bundle's count continues on its new bottleneck's counter. */
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
 * be there without flows. */
static int find_limit(struct sparse *net, struct bundle *b)
{
    struct port *least = b->ports[0];
    for (uint32_t i = 1; i < b->n_ports; i++)
        if (b->ports[i]->share < least->share)
            least = b->ports[i];
    if (b->limit && b->limit->share <= least->share)
        return 0;
    return move_bundle(net, b, least);
}

/* The link's use changed by what this level's did. */
static int use_changed(struct sparse *net, struct port *p, double used)
{
    struct link *link = &net->links[p->link];
    double delta = used - p->used;
    p->used = used;
    if (fabs(delta) <= NOISE * link->capacity)
        return 0;
    if (mark_lower(net, p))
        return -ENOMEM;
    return net->fluid->config.hot_per_mille && p->link < net->fluid->config.topology->n_hosts
               ? fluid_list_add(&net->uplinks, link)
               : 0;
}

static int set_rate(struct sparse *net, struct port *p)
{
    double share = p->share;
    if (use_changed(net, p, isinf(share) ? p->load : p->capacity))
        return -ENOMEM;
    if (!news(p))
        return 0;
    p->rate = share;
    return port_schedule(net, p);
}

/* WHY so late: resting and waking costs as much as this many tells. */
static int let_rest(struct sparse *net, struct port *p)
{
    enum { TELLS = 8 };
    if (p->quiet || p->tells <= TELLS * p->n_bundles || !p->listed || !port_may_rest(net, p))
        return 0;
    port_rest(net, p);
    return p->quiet ? mark_lower(net, p) : 0;
}

static int commit(struct sparse *net)
{
    for (size_t i = 0; i < net->touched.n; i++)
        if (news(net->touched.items[i]))
            port_advance(net->touched.items[i], net->fluid->now_ns);
    for (size_t i = 0; i < net->moved.n; i++)
        if (((struct bundle *)net->moved.items[i])->limit && find_limit(net, net->moved.items[i]))
            return -ENOMEM;
    for (size_t i = 0; i < net->touched.n; i++)
        if (set_rate(net, net->touched.items[i]))
            return -ENOMEM;
    for (size_t i = 0; i < net->touched.n; i++)
        if (let_rest(net, net->touched.items[i]))
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
