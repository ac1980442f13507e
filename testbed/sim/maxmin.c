#include "testbed/sim/maxmin.h"

#include "testbed/sim/fluid_state.h"

#include <errno.h>
#include <math.h>

/* Changes below this part of a capacity are rounding, not news. */
static const double NOISE = 1e-12;

static double left_of_link(const struct fluid *f, const struct port *p)
{
    double left = f->links[p->link].capacity;
    if (!p->listed)
        return 0;
    for (const struct port *q = f->links[p->link].first; q != p; q = q->lower)
        left -= q->used;
    return left > 1e-9 * f->links[p->link].capacity ? left : 0;
}

static bool in_region(const struct fluid *f, const struct port *p)
{
    return p->region == f->solve;
}

static int region_add(struct fluid *f, struct port *p)
{
    if (in_region(f, p))
        return 0;
    p->region = f->solve;
    return fluid_list_add(&f->region, p);
}

/* Dirty by a change above only, and that change left its capacity as it was (a starved level's is 0
 * before and after). */
static bool unaffected(const struct fluid *f, const struct port *p)
{
    return !p->changed &&
           fabs(left_of_link(f, p) - p->capacity) <= NOISE * f->links[p->link].capacity;
}

/* The dirty ports of a level start the region; a port that no bundle crosses any more only loses
 * its use. */
static int region_begin(struct fluid *f, uint32_t level)
{
    struct list *dirty = &f->dirty[level];
    f->solve++;
    f->region.n = f->touched.n = 0;
    for (size_t i = 0; i < dirty->n; i++) {
        struct port *p = dirty->items[i];
        p->dirty = false;
        if (!unaffected(f, p) && region_add(f, p))
            return -ENOMEM;
        p->changed = false;
    }
    dirty->n = 0;
    return 0;
}

/* The port outside with the least share: b can have no more; NULL if it has none that is full. */
static struct port *bounding_port(const struct fluid *f, const struct bundle *b)
{
    struct port *least = NULL;
    for (uint32_t i = 0; i < b->n_ports; i++) {
        struct port *p = b->ports[i];
        if (!in_region(f, p) && !isinf(p->rate) && (!least || p->rate < least->rate))
            least = p;
    }
    return least;
}

/* Ports outside stand in the filling's order with the shares that they have, behind the region's
 * numbers. */
static int gather_bundle(struct fluid *f, struct bundle *b, uint64_t round)
{
    if (b->solve == round)
        return 0;
    b->solve = round;
    b->new_limit = NULL;
    struct port *p = bounding_port(f, b);
    if (p && p->bounds != round) {
        p->bounds = round;
        if (heap_push(&f->fill, NULL, p->rate, (uint32_t)(f->region.n + f->bounding.n)) ||
            fluid_list_add(&f->bounding, p))
            return -ENOMEM;
    }
    return fluid_list_add(&f->solving, b);
}

static int gather(struct fluid *f, uint64_t round)
{
    f->solving.n = f->bounding.n = 0;
    f->fill.n = 0;
    for (size_t i = 0; i < f->region.n; i++) {
        struct port *p = f->region.items[i];
        f->visited++;
        p->free = p->capacity = left_of_link(f, p);
        p->open = p->n_flows;
        p->new_rate = INFINITY;
        p->load = 0;
        for (uint32_t j = 0; j < p->n_bundles; j++)
            if (gather_bundle(f, p->bundles[j], round))
                return -ENOMEM;
        if (p->open && heap_push(&f->fill, NULL, p->free / p->open, (uint32_t)i))
            return -ENOMEM;
    }
    return 0;
}

static void give(struct fluid *f, struct bundle *b, double rate, struct port *limit)
{
    uint32_t n = b->n_flows;
    b->new_limit = limit;
    for (uint32_t i = 0; i < b->n_ports; i++) {
        struct port *p = b->ports[i];
        if (!in_region(f, p))
            continue;
        p->open -= n;
        p->free -= n * rate;
        p->load += n * rate;
    }
}

static void fill_port(struct fluid *f, struct port *p, double share)
{
    p->new_rate = share;
    for (uint32_t j = 0; j < p->n_bundles && p->open; j++)
        if (!p->bundles[j]->new_limit)
            give(f, p->bundles[j], share, p);
}

/* Those of an outside port's bundles that are being solved and have no less anywhere else. */
static void give_bound(struct fluid *f, struct port *p, uint64_t round)
{
    for (uint32_t j = 0; j < p->n_bundles; j++)
        if (p->bundles[j]->solve == round && !p->bundles[j]->new_limit)
            give(f, p->bundles[j], p->rate, p);
}

/* Least share first; a port whose share rose since it was queued goes back. */
static int fill(struct fluid *f, uint64_t round)
{
    while (f->fill.n) {
        struct heap_item top = heap_pop(&f->fill, NULL);
        if (top.id >= f->region.n) {
            give_bound(f, f->bounding.items[top.id - f->region.n], round);
            continue;
        }
        struct port *p = f->region.items[top.id];
        if (!p->open)
            continue;
        double share = p->free > 0 ? p->free / p->open : 0;
        if (share <= top.key * (1 + NOISE))
            fill_port(f, p, share);
        else if (heap_push(&f->fill, NULL, share, top.id))
            return -ENOMEM;
    }
    return 0;
}

static double old_rate(const struct bundle *b)
{
    return b->limit ? b->limit->rate : 0;
}

static double new_rate(const struct fluid *f, const struct bundle *b)
{
    return in_region(f, b->new_limit) ? b->new_limit->new_rate : b->new_limit->rate;
}

static int add_deltas(struct fluid *f, const struct bundle *b, uint64_t round)
{
    double delta = b->n_flows * (new_rate(f, b) - old_rate(b));
    if (delta == 0)
        return 0;
    for (uint32_t i = 0; i < b->n_ports; i++) {
        struct port *p = b->ports[i];
        if (in_region(f, p))
            continue;
        if (p->solve_mark != round) {
            p->solve_mark = round;
            p->delta = 0;
            if (fluid_list_add(&f->touched, p))
                return -ENOMEM;
        }
        p->delta += delta;
    }
    return 0;
}

static bool must_join(const struct port *p)
{
    double noise = NOISE * (p->capacity + p->used);
    if (!isinf(p->rate))
        return fabs(p->delta) > noise;
    return p->used + p->delta > p->capacity + noise;
}

/* Ports outside whose condition the new rates would break join; *ret_grew says whether there were
 * any. */
static int spread(struct fluid *f, uint64_t round, bool *ret_grew)
{
    size_t before = f->region.n;
    f->touched.n = 0;
    for (size_t i = 0; i < f->solving.n; i++)
        if (add_deltas(f, f->solving.items[i], round))
            return -ENOMEM;
    for (size_t i = 0; i < f->touched.n; i++)
        if (must_join(f->touched.items[i]) && region_add(f, f->touched.items[i]))
            return -ENOMEM;
    *ret_grew = f->region.n > before;
    return 0;
}

/* The bundle's count goes on from where it was, on its new bottleneck's counter. */
static int move_bundle(struct fluid *f, struct bundle *b)
{
    if (b->limit == b->new_limit)
        return 0;
    double progress = 0;
    struct port *left = b->limit;
    if (left) {
        port_advance(left, f->now_ns);
        progress = bundle_progress(b);
        heap_take(&left->limited, f->limited_where, b->id);
        if (!in_region(f, left) && port_schedule(f, left))
            return -ENOMEM;
    }
    port_advance(b->new_limit, f->now_ns);
    b->limit = b->new_limit;
    b->offset = b->limit->served - progress;
    return bundle_schedule(f, b);
}

/* The link's use changed by what this level's did: levels below have another capacity. */
static int use_changed(struct fluid *f, struct port *p, double used)
{
    struct link *link = &f->links[p->link];
    double delta = used - p->used;
    p->used = used;
    if (fabs(delta) <= NOISE * link->capacity)
        return 0;
    for (struct port *q = p->listed ? p->lower : link->first; q; q = q->lower)
        if (q->level > p->level && port_mark_dirty(f, q))
            return -ENOMEM;
    return f->config.hot_per_mille && p->link < f->config.topology->n_hosts
               ? fluid_list_add(&f->uplinks, link)
               : 0;
}

static int commit(struct fluid *f)
{
    for (size_t i = 0; i < f->region.n; i++)
        port_advance(f->region.items[i], f->now_ns);
    for (size_t i = 0; i < f->solving.n; i++)
        if (move_bundle(f, f->solving.items[i]))
            return -ENOMEM;
    for (size_t i = 0; i < f->region.n; i++) {
        struct port *p = f->region.items[i];
        p->rate = p->new_rate;
        if (use_changed(f, p, p->load) || port_schedule(f, p))
            return -ENOMEM;
    }
    for (size_t i = 0; i < f->touched.n; i++) {
        struct port *p = f->touched.items[i];
        if (!in_region(f, p) && use_changed(f, p, p->used + p->delta))
            return -ENOMEM;
    }
    return 0;
}

static int solve_level(struct fluid *f, uint32_t level)
{
    bool grew = true;
    if (region_begin(f, level))
        return -ENOMEM;
    while (grew) {
        uint64_t round = ++f->round;
        if (gather(f, round) || fill(f, round) || spread(f, round, &grew))
            return -ENOMEM;
    }
    return commit(f);
}

int maxmin_solve(struct fluid *f)
{
    for (uint32_t level = f->dirty_from; level < f->dirty_to; level++)
        if (f->dirty[level].n && solve_level(f, level))
            return -ENOMEM;
    f->dirty_from = f->config.levels;
    f->dirty_to = 0;
    return 0;
}
