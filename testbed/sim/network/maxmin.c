#include "testbed/sim/network/maxmin.h"

#include "testbed/sim/network/sparse.h"

#include <errno.h>
#include <math.h>

/* Changes below this part of a capacity or a rate are rounding, not news. */
static const double NOISE = 1e-12;

/* ---- the region ---- */

static double left_of_link(const struct sparse *net, const struct port *p)
{
    double left = net->links[p->link].capacity;
    if (!p->listed)
        return 0;
    for (const struct port *q = net->links[p->link].first; q != p; q = q->lower)
        left -= q->used;
    return left > 1e-9 * net->links[p->link].capacity ? left : 0;
}

/* The dirty ports of a level start the region. One that is dirty by a change above only, which left
 * its capacity as it was, is not (a starved level's is 0 before and after). */
static int region_begin(struct sparse *net, uint32_t level)
{
    struct list *dirty = &net->dirty[level];
    net->region.n = 0;
    for (size_t i = 0; i < dirty->n; i++) {
        struct port *p = dirty->items[i];
        double left = left_of_link(net, p);
        bool same = fabs(left - p->capacity) <= NOISE * net->links[p->link].capacity;
        p->dirty = false;
        if (same && !p->changed)
            continue;
        p->capacity = left;
        p->changed = false;
        if (fluid_list_add(&net->region, p))
            return -ENOMEM;
    }
    dirty->n = 0;
    return 0;
}

static bool about(double a, double b)
{
    return fabs(a - b) <= NOISE * a;
}

/* ---- bundles, as port p has them in its row ---- */

/* With two ports on its path, a bundle has the smaller share: its line need not be read. */
static inline double old_rate(const struct port *p, const struct crossing *c)
{
    if (c->peer)
        return p->rate < c->peer->rate ? p->rate : c->peer->rate;
    return c->bundle->limit ? c->bundle->limit->rate : 0;
}

/* Shares that are about equal do not say which of the two it is. */
static bool limited_by(const struct port *p, const struct crossing *c)
{
    bool less = c->peer && !c->fresh && p->rate < c->peer->rate * (1 - 1000 * NOISE);
    return less || c->bundle->limit == p;
}

/* What it has got in this filling, or a negative number. Where the filling passed a port outside,
 * it kept what it had. p itself has not given yet. */
static inline double given(const struct sparse *net, const struct port *p, const struct crossing *c)
{
    double rate = INFINITY;
    struct port *const *ports = c->peer ? &c->peer : c->bundle->ports;
    uint32_t n = c->peer ? 1 : c->bundle->n_ports;
    for (uint32_t i = 0; i < n; i++) {
        const struct port *q = ports[i];
        if (q->state < net->filling + PORT_PASSED)
            continue;
        double has = q->state == net->filling + PORT_DONE ? q->share : old_rate(p, c);
        rate = has < rate ? has : rate;
    }
    return isinf(rate) ? -1 : rate;
}

/* Whether it is filled now: a port of it is in the region, and none has given. */
static inline bool in_region(const struct sparse *net, const struct port *p,
                             const struct crossing *c)
{
    if (c->peer)
        return c->peer->state == net->filling + PORT_JOINED;
    for (uint32_t i = 0; i < c->bundle->n_ports; i++)
        if (c->bundle->ports[i]->state == net->filling + PORT_JOINED)
            return given(net, p, c) < 0;
    return false;
}

/* ---- filling ---- */

static int queue(struct sparse *net, const struct port *p, double key, bool bounds)
{
    return heap_push(&net->fill, NULL, key, p->id * 2 + bounds);
}

static int queue_bound(struct sparse *net, struct port *q, double *least)
{
    if (q->state >= net->filling + PORT_JOINED || isinf(q->rate))
        return 0;
    if (q->rate < *least)
        *least = q->rate;
    if (q->state == net->filling + PORT_BOUNDS)
        return 0;
    q->state = net->filling + PORT_BOUNDS;
    return queue(net, q, q->rate, true);
}

/* Ports outside stand in the filling's order with the shares that they have; *ret_least is the
 * least of the bundle's. */
static int queue_bounds(struct sparse *net, const struct crossing *c, double *ret_least)
{
    *ret_least = INFINITY;
    if (c->peer)
        return queue_bound(net, c->peer, ret_least);
    for (uint32_t i = 0; i < c->bundle->n_ports; i++)
        if (queue_bound(net, c->bundle->ports[i], ret_least))
            return -ENOMEM;
    return 0;
}

static double share_of(double left, uint32_t open)
{
    return left > 0 ? left / open : 0;
}

/* Port p joins a filling that has given all rates below `from`. *ret_late: it should have joined
 * before, because its share is less or its bundles get more than it gave them. */
static int join(struct sparse *net, struct port *p, double from, bool *ret_late)
{
    double sure = p->capacity, least;
    uint32_t unsure = 0;
    bool rises = false, behind = p->rate < from * (1 - NOISE);
    net->fluid->visited++;
    p->state = net->filling + PORT_JOINED;
    p->share = INFINITY;
    p->free = p->capacity;
    p->open = 0;
    for (uint32_t j = 0; j < p->n_bundles; j++) {
        const struct crossing *c = &p->row[j];
        least = given(net, p, c);
        if (least >= 0)
            p->free -= c->n_flows * least;
        else if (p->open += c->n_flows, queue_bounds(net, c, &least))
            return -ENOMEM;
        if (least < from)
            sure -= c->n_flows * least;
        else
            unsure += c->n_flows;
        rises |= behind && limited_by(p, c);
    }
    if (unsure)
        *ret_late |= rises || share_of(sure, unsure) < from * (1 - NOISE);
    else
        *ret_late |= rises || sure < -NOISE * net->links[p->link].capacity;
    return p->open ? queue(net, p, share_of(p->free, p->open), false) : 0;
}

static int join_later(struct sparse *net, struct port *p)
{
    if (fluid_list_add(&net->region, p))
        return -ENOMEM;
    p->state = net->filling + PORT_JOINED;
    return fluid_list_add(&net->joining, p);
}

static int join_all(struct sparse *net, double from, bool *ret_late)
{
    for (size_t i = 0; i < net->joining.n; i++)
        if (join(net, net->joining.items[i], from, ret_late))
            return -ENOMEM;
    net->joining.n = 0;
    return 0;
}

static bool overloaded(const struct port *p)
{
    return p->used + p->delta > p->capacity + NOISE * (p->capacity + p->used);
}

/* A port outside is told that a bundle of it has another rate than before. One that is full, or now
 * carries too much, joins. */
static int tell(struct sparse *net, struct port *q, double delta)
{
    if (!isinf(q->rate))
        return join_later(net, q);
    if (q->delta == 0 && fluid_list_add(&net->touched, q))
        return -ENOMEM;
    q->delta += delta;
    return delta > 0 && overloaded(q) ? join_later(net, q) : 0;
}

/* The bundle gets `rate` from p, its bottleneck. */
static int give(struct sparse *net, struct port *p, struct crossing *c, double rate)
{
    double n = c->n_flows, old = old_rate(p, c);
    bool news = !about(rate, old);
    struct port *const *ports = c->peer ? &c->peer : c->bundle->ports;
    uint32_t n_ports = c->peer ? 1 : c->bundle->n_ports;
    for (uint32_t i = 0; i < n_ports; i++) {
        struct port *q = ports[i];
        if (q == p)
            continue;
        if (q->state == net->filling + PORT_JOINED) {
            q->open -= c->n_flows;
            q->free -= n * rate;
        } else if (news && tell(net, q, n * (rate - old))) {
            return -ENOMEM;
        }
    }
    if (limited_by(p, c))
        return 0;
    c->bundle->new_limit = p;
    return fluid_list_add(&net->moved, c->bundle);
}

/* All that has not yet been given is now given, p limiting it. */
static int fill_port(struct sparse *net, struct port *p, double rate)
{
    for (uint32_t j = 0; j < p->n_bundles && p->open; j++) {
        struct crossing *c = &p->row[j];
        if (given(net, p, c) >= 0)
            continue;
        p->open -= c->n_flows;
        p->free -= c->n_flows * rate;
        if (give(net, p, c, rate))
            return -ENOMEM;
    }
    p->share = rate;
    p->state = net->filling + PORT_DONE;
    return 0;
}

/* Port p outside has no more than its old share for those of its bundles that are being filled;
 * where that is not what they had, its share cannot stay. */
static int bound(struct sparse *net, struct port *p)
{
    for (uint32_t j = 0; j < p->n_bundles; j++) {
        const struct crossing *c = &p->row[j];
        if (in_region(net, p, c) && !about(p->rate, old_rate(p, c)))
            return join_later(net, p);
    }
    for (uint32_t j = 0; j < p->n_bundles; j++) {
        struct crossing *c = &p->row[j];
        if (in_region(net, p, c) && give(net, p, c, p->rate))
            return -ENOMEM;
    }
    p->state = net->filling + PORT_PASSED;
    return 0;
}

/* A port whose share rose since it was queued goes back. */
static int fill_next(struct sparse *net, struct heap_item top)
{
    struct port *p = net->ports.items[top.id / 2];
    if (top.id % 2)
        return p->state == net->filling + PORT_BOUNDS ? bound(net, p) : 0;
    if (!p->open)
        return 0;
    double share = share_of(p->free, p->open);
    if (share > top.key * (1 + NOISE))
        return queue(net, p, share, false);
    return fill_port(net, p, about(share, p->rate) ? p->rate : share);
}

/* Once through, least share first; *ret_late: a port joined too late, so all anew with it. */
static int fill(struct sparse *net, bool *ret_late)
{
    double from = 0;
    net->filling += PORT_STATES;
    net->fill.n = 0;
    net->touched.n = net->moved.n = net->joining.n = 0;
    for (size_t i = 0; i < net->region.n; i++)
        ((struct port *)net->region.items[i])->state = net->filling + PORT_JOINED;
    for (size_t i = 0, n = net->region.n; i < n; i++)
        if (join(net, net->region.items[i], 0, ret_late))
            return -ENOMEM;
    while (net->fill.n && !*ret_late) {
        struct heap_item top = heap_pop(&net->fill, NULL);
        from = fmax(from, top.key);
        if (fill_next(net, top) || join_all(net, from, ret_late))
            return -ENOMEM;
    }
    return 0;
}

/* ---- the new rates ---- */

/* The bundle's count goes on from where it was, on its new bottleneck's counter. */
static int move_bundle(struct sparse *net, struct bundle *b)
{
    double progress = 0;
    struct port *left = b->limit;
    if (left) {
        port_advance(left, net->fluid->now_ns);
        progress = bundle_progress(b);
        heap_take(&left->limited, net->limited_where, b->id);
        if (left->state <= net->filling && port_schedule(net, left))
            return -ENOMEM;
    }
    port_advance(b->new_limit, net->fluid->now_ns);
    for (uint32_t i = 0; !b->limit && i < b->n_ports; i++)
        b->ports[i]->row[b->place[i]].fresh = false;
    b->limit = b->new_limit;
    b->offset = b->limit->served - progress;
    return bundle_schedule(net, b);
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

static int commit(struct sparse *net)
{
    for (size_t i = 0; i < net->region.n; i++)
        port_advance(net->region.items[i], net->fluid->now_ns);
    for (size_t i = 0; i < net->moved.n; i++)
        if (move_bundle(net, net->moved.items[i]))
            return -ENOMEM;
    for (size_t i = 0; i < net->region.n; i++) {
        struct port *p = net->region.items[i];
        p->rate = p->share;
        p->delta = 0;
        if (use_changed(net, p, p->capacity - p->free) || port_schedule(net, p))
            return -ENOMEM;
    }
    for (size_t i = 0; i < net->touched.n; i++) {
        struct port *p = net->touched.items[i];
        if (p->delta != 0 && use_changed(net, p, p->used + p->delta))
            return -ENOMEM;
        p->delta = 0;
    }
    return 0;
}

static void forget(struct sparse *net)
{
    for (size_t i = 0; i < net->touched.n; i++)
        ((struct port *)net->touched.items[i])->delta = 0;
}

static int solve_level(struct sparse *net, uint32_t level)
{
    bool late = true;
    if (region_begin(net, level))
        return -ENOMEM;
    while (late) {
        late = false;
        if (fill(net, &late))
            return -ENOMEM;
        if (late)
            forget(net);
    }
    return commit(net);
}

int maxmin_solve(struct sparse *net)
{
    for (uint32_t level = net->dirty_from; level < net->dirty_to; level++)
        if (net->dirty[level].n && solve_level(net, level))
            return -ENOMEM;
    net->dirty_from = net->fluid->config.levels;
    net->dirty_to = 0;
    return 0;
}
