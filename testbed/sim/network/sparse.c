#define HASH_NONFATAL_OOM 1
#include "testbed/sim/network/sparse.h"

#include "testbed/sim/network/maxmin.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = UINT32_MAX };

void port_advance(struct port *p, int64_t now_ns)
{
    if (!isinf(p->rate))
        p->served += p->rate * (double)(now_ns - p->at_ns) * 1e-9;
    p->at_ns = now_ns;
}

/* How far `served` may miss an end by rounding. A nanosecond's worth is met exactly, since instants
 * are rounded up. */
static double port_slack(const struct port *p)
{
    return 1e-6 + 1e-15 * p->served;
}

int port_schedule(struct sparse *net, struct port *p)
{
    double at = INFINITY;
    if (p->limited.n && p->rate > 0) {
        double wait = ceil((p->limited.items[0].key - p->served) / p->rate * 1e9);
        at = (double)p->at_ns + (wait > 0 ? wait : 0);
    }
    return heap_set(&net->ends, net->ends_where, at < 9e18 ? at : INFINITY, p->id);
}

int port_mark_dirty(struct sparse *net, struct port *p)
{
    if (p->dirty)
        return 0;
    if (fluid_list_add(&net->dirty[p->level], p))
        return -ENOMEM;
    p->dirty = true;
    if (p->level < net->dirty_from)
        net->dirty_from = p->level;
    if (p->level >= net->dirty_to)
        net->dirty_to = p->level + 1;
    return 0;
}

static struct port *port_make(struct sparse *net, uint32_t link, uint32_t level)
{
    struct port *p = aligned_alloc(64, sizeof(*p));
    if (!p)
        return NULL;
    *p = (struct port){.id = (uint32_t)net->ports.n,
                       .link = link,
                       .level = level,
                       .share = INFINITY,
                       .rate = INFINITY};
    p->at_ns = net->fluid->now_ns;
    if (fluid_grow((void **)&net->ends_where, &net->ends_allocated, net->ports.n + 1,
                   sizeof(uint32_t)) ||
        fluid_grow((void **)&net->unfit_where, &net->unfit_allocated, net->ports.n + 1,
                   sizeof(uint32_t)) ||
        fluid_list_add(&net->ports, p)) {
        free(p);
        return NULL;
    }
    net->ends_where[p->id] = net->unfit_where[p->id] = HEAP_NOWHERE;
    return p;
}

static struct port *port_get(struct sparse *net, uint32_t link, uint32_t level)
{
    struct port **ports = net->levels[level];
    if (!ports)
        ports = net->levels[level] =
            calloc(net->fluid->config.topology->n_links, sizeof(struct port *));
    if (ports && !ports[link])
        ports[link] = port_make(net, link, level);
    return ports ? ports[link] : NULL;
}

/* Lists a port with an empty row. If it is not quiet, the ports above it must report from now on
 * what they leave. */
static int port_list(struct sparse *net, struct port *p)
{
    struct port **at = &net->links[p->link].first;
    while (*at && (*at)->level < p->level)
        at = &(*at)->lower;
    p->lower = *at;
    *at = p;
    p->listed = true;
    p->quiet = port_may_rest(net, p);
    port_set_bounds(net, p);
    for (struct port *q = net->links[p->link].first; q != p && !p->quiet; q = q->lower) {
        if (!q->quiet)
            continue;
        port_wake(q);
        q->changed = true;
        if (port_mark_dirty(net, q))
            return -ENOMEM;
    }
    return 0;
}

static void port_unlist(struct sparse *net, struct port *p)
{
    struct port **at = &net->links[p->link].first;
    while (*at != p)
        at = &(*at)->lower;
    *at = p->lower;
    p->lower = NULL;
    p->used = p->quiet ? -INFINITY : p->used;
    p->listed = p->quiet = false;
}

double bundle_progress(const struct bundle *b)
{
    return b->limit ? b->limit->served - b->offset : 0;
}

static double bundle_progress_at(const struct bundle *b, int64_t now_ns)
{
    if (!b->limit)
        return 0;
    return bundle_progress(b) + b->limit->rate * (double)(now_ns - b->limit->at_ns) * 1e-9;
}

int bundle_schedule(struct sparse *net, struct bundle *b)
{
    struct port *p = b->limit;
    double key = b->flows.n ? b->flows.items[0].key + b->offset : INFINITY;
    if (heap_set(&p->limited, net->limited_where, key, b->id))
        return -ENOMEM;
    return port_schedule(net, p);
}

static struct bundle *bundle_blank(struct sparse *net)
{
    if (net->spare_bundles.n)
        return net->spare_bundles.items[--net->spare_bundles.n];
    size_t size = (sizeof(struct bundle) + 63) / 64 * 64;
    struct bundle *b = aligned_alloc(64, size);
    if (!b)
        return NULL;
    memset(b, 0, size);
    b->id = (uint32_t)net->bundles_by_id.n;
    if (fluid_grow((void **)&net->limited_where, &net->limited_allocated, b->id + 1u,
                   sizeof(uint32_t)) ||
        fluid_list_add(&net->bundles_by_id, b)) {
        free(b);
        return NULL;
    }
    net->limited_where[b->id] = HEAP_NOWHERE;
    return b;
}

static int bundle_join(struct sparse *net, struct bundle *b)
{
    for (uint32_t i = 0; i < b->n_ports; i++) {
        struct port *p = b->ports[i] = port_get(net, b->key.links[i], b->key.level);
        if (!p || (!p->listed && port_list(net, p)))
            return -ENOMEM;
    }
    for (uint32_t i = 0; i < b->n_ports; i++)
        if (row_join(b, i))
            return -ENOMEM;
    return 0;
}

static struct bundle *bundle_get(struct sparse *net, const struct bundle_key *key)
{
    struct bundle *b;
    HASH_FIND(hh, net->bundles, key, sizeof(*key), b);
    if (b)
        return b;
    b = bundle_blank(net);
    if (!b)
        return NULL;
    b->key = *key;
    b->n_ports = key->n;
    b->limit = NULL;
    b->offset = 0;
    HASH_ADD(hh, net->bundles, key, sizeof(b->key), b);
    if (!b->hh.tbl)
        return NULL;
    return bundle_join(net, b) || fluid_list_add(&net->fresh, b) ? NULL : b;
}

static int bundle_drop(struct sparse *net, struct bundle *b)
{
    if (b->limit && bundle_schedule(net, b))
        return -ENOMEM;
    for (uint32_t i = 0; i < b->n_ports; i++) {
        row_leave(b, i);
        if (!b->ports[i]->n_bundles)
            port_unlist(net, b->ports[i]);
    }
    HASH_DELETE(hh, net->bundles, b);
    return fluid_list_add(&net->spare_bundles, b);
}

static int bundle_count(struct sparse *net, struct bundle *b, int more)
{
    b->n_flows += (uint32_t)more;
    for (uint32_t i = 0; i < b->n_ports; i++) {
        row_count(b, i, more);
        b->ports[i]->changed = true;
        if (port_mark_dirty(net, b->ports[i]))
            return -ENOMEM;
    }
    return 0;
}

static int flow_allocated(struct sparse *net, uint32_t id)
{
    size_t allocated = net->flows_allocated;
    if (fluid_grow((void **)&net->flows_where, &allocated, id + 1u, sizeof(uint32_t)) ||
        fluid_grow((void **)&net->flows, &net->flows_allocated, id + 1u, sizeof(*net->flows)))
        return -ENOMEM;
    net->flows_where[id] = HEAP_NOWHERE;
    return 0;
}

/* Puts flow `id` with `bytes` left on the path of its level; a later start in the same bundle ends
 * at a later count. */
static int flow_enter(struct sparse *net, uint32_t id, uint32_t source, double bytes)
{
    const struct macroflow *m = &net->fluid->macroflows[net->flows[id].macroflow];
    struct topology_path path = topology_path(net->fluid->config.topology, source, m->target, id);
    struct bundle_key key = {.level = m->level, .n = path.n};
    memcpy(key.links, path.links, path.n * sizeof(uint32_t));
    struct bundle *b = bundle_get(net, &key);
    if (!b)
        return -ENOMEM;
    net->flows[id].bundle = b;
    net->flows[id].end = bundle_progress_at(b, net->fluid->now_ns) + bytes;
    if (heap_push(&b->flows, net->flows_where, net->flows[id].end, id) || bundle_count(net, b, 1))
        return -ENOMEM;
    return b->limit ? bundle_schedule(net, b) : 0;
}

/* Takes the flow off its bundle, ended or not. */
static int flow_leave(struct sparse *net, uint32_t id)
{
    struct bundle *b = net->flows[id].bundle;
    heap_take(&b->flows, net->flows_where, id);
    net->flows[id].bundle = NULL;
    if (bundle_count(net, b, -1))
        return -ENOMEM;
    if (!b->flows.n)
        return bundle_drop(net, b);
    return b->limit ? bundle_schedule(net, b) : 0;
}

static double flow_left(const struct sparse *net, uint32_t id)
{
    const struct flow *flow = &net->flows[id];
    double left =
        flow->bundle ? flow->end - bundle_progress_at(flow->bundle, net->fluid->now_ns) : 0;
    return left > 0 ? left : 0;
}

static int flow_end(struct sparse *net, uint32_t id)
{
    return flow_leave(net, id) || fluid_flow_ended(net->fluid, net->flows[id].macroflow) ? -ENOMEM
                                                                                         : 0;
}

static int port_end_flows(struct sparse *net, struct port *p)
{
    port_advance(p, net->fluid->now_ns);
    while (p->limited.n && p->limited.items[0].key <= p->served + port_slack(p)) {
        struct bundle *b = net->bundles_by_id.items[p->limited.items[0].id];
        if (flow_end(net, b->flows.items[0].id))
            return -ENOMEM;
    }
    if (port_schedule(net, p))
        return -ENOMEM;
    /* Rounded to this very instant, but not reached: it is reached in the next one. */
    if (net->ends_where[p->id] != HEAP_NOWHERE &&
        net->ends.items[net->ends_where[p->id]].key <= (double)net->fluid->now_ns)
        return heap_set(&net->ends, net->ends_where,
                        nextafter((double)net->fluid->now_ns + 1, INFINITY), p->id);
    return 0;
}

static int start(struct fluid *f, uint32_t id, const struct fluid_source *sources, uint32_t n)
{
    struct sparse *net = f->net;
    struct macroflow *m = &f->macroflows[id];
    struct sparse_flows *flows = malloc(sizeof(*flows) + n * sizeof(uint32_t));
    if (!flows)
        return -ENOMEM;
    m->flows = flows;
    for (flows->n = 0; flows->n < n; flows->n++) {
        uint32_t flow = fluid_ids_take(&net->flow_ids);
        if (flow_allocated(net, flow))
            return -ENOMEM;
        flows->ids[flows->n] = flow;
        net->flows[flow] = (struct flow){.macroflow = id};
        if (flow_enter(net, flow, sources[flows->n].host, (double)sources[flows->n].bytes))
            return -ENOMEM;
        m->n_left++;
    }
    return 0;
}

static int move(struct fluid *f, uint32_t id, uint32_t to_level)
{
    struct sparse *net = f->net;
    const struct sparse_flows *flows = f->macroflows[id].flows;
    f->macroflows[id].level = to_level;
    for (uint32_t i = 0; i < flows->n; i++) {
        uint32_t flow = flows->ids[i];
        if (!net->flows[flow].bundle)
            continue;
        double left = flow_left(net, flow);
        uint32_t source = net->flows[flow].bundle->key.links[0];
        if (flow_leave(net, flow) || flow_enter(net, flow, source, left))
            return -ENOMEM;
    }
    return 0;
}

static int stop(struct fluid *f, uint32_t id)
{
    struct sparse *net = f->net;
    const struct sparse_flows *flows = f->macroflows[id].flows;
    for (uint32_t i = 0; flows && i < flows->n; i++)
        if (net->flows[flows->ids[i]].bundle && flow_leave(net, flows->ids[i]))
            return -ENOMEM;
    return 0;
}

static void forget(struct fluid *f, uint32_t id)
{
    struct sparse *net = f->net;
    struct sparse_flows *flows = f->macroflows[id].flows;
    for (uint32_t i = 0; flows && i < flows->n; i++)
        fluid_ids_give_back(&net->flow_ids, flows->ids[i]);
    free(flows);
    f->macroflows[id].flows = NULL;
}

static double left_bytes(const struct fluid *f, uint32_t id)
{
    const struct sparse_flows *flows = f->macroflows[id].flows;
    double left = 0;
    for (uint32_t i = 0; flows && i < flows->n; i++)
        left += flow_left(f->net, flows->ids[i]);
    return left;
}

static double link_used(const struct link *link)
{
    double used = 0;
    for (const struct port *p = link->first; p; p = p->lower)
        used += p->quiet ? p->load : p->used;
    return used;
}

static int solve(struct fluid *f)
{
    struct sparse *net = f->net;
    if (maxmin_solve(net))
        return -ENOMEM;
    for (size_t i = 0; i < net->uplinks.n; i++) {
        const struct link *link = net->uplinks.items[i];
        if (fluid_uplink_used(f, (uint32_t)(link - net->links), link_used(link)))
            return -ENOMEM;
    }
    net->uplinks.n = 0;
    return 0;
}

static int64_t next_ns(const struct fluid *f)
{
    const struct sparse *net = f->net;
    return net->ends.n ? (int64_t)net->ends.items[0].key : FLUID_NEVER;
}

static int end(struct fluid *f)
{
    struct sparse *net = f->net;
    while (net->ends.n && net->ends.items[0].key <= (double)f->now_ns)
        if (port_end_flows(net, net->ports.items[net->ends.items[0].id]))
            return -ENOMEM;
    return 0;
}

static double rate_from(const struct fluid *f, uint32_t id, uint32_t host)
{
    const struct sparse *net = f->net;
    const struct sparse_flows *flows = f->macroflows[id].flows;
    for (uint32_t i = 0; flows && i < flows->n; i++) {
        const struct bundle *b = net->flows[flows->ids[i]].bundle;
        if (b && b->key.links[0] == host)
            return b->limit->rate;
    }
    return 0;
}

/* A quiet port knows only a ceiling of its load. */
static double port_used(const struct port *p)
{
    double used = p->quiet ? 0 : p->used;
    for (uint32_t i = 0; p->quiet && i < p->n_bundles; i++)
        used += p->bundles[i]->n_flows * p->bundles[i]->limit->rate;
    return used;
}

static void downlinks(const struct fluid *f, double *ret_bytes_s)
{
    const struct sparse *net = f->net;
    uint32_t hosts = f->config.topology->n_hosts;
    for (uint32_t h = 0; h < hosts; h++) {
        ret_bytes_s[h] = 0;
        for (const struct port *p = net->links[hosts + h].first; p; p = p->lower)
            ret_bytes_s[h] += port_used(p);
    }
}

static int each(const struct fluid *f, bundle_rate_fn fn, void *context)
{
    const struct sparse *net = f->net;
    int r = 0;
    for (const struct bundle *b = net->bundles; b && !r; b = b->hh.next) {
        struct bundle_rate bundle = {
            .level = b->key.level, .n = b->flows.n, .rate = b->limit->rate, .path.n = b->key.n};
        memcpy(bundle.path.links, b->key.links, sizeof(b->key.links));
        r = fn(context, &bundle);
    }
    return r;
}

static int create(struct fluid *f)
{
    uint32_t n_links = f->config.topology->n_links, levels = f->config.levels;
    struct sparse *net = f->net = calloc(1, sizeof(*net));
    if (!net)
        return -ENOMEM;
    net->fluid = f;
    net->rests = f->config.topology->n_racks == 1;
    net->links = calloc(n_links, sizeof(*net->links));
    net->levels = calloc(levels, sizeof(*net->levels));
    net->dirty = calloc(levels, sizeof(*net->dirty));
    net->dirty_from = levels;
    if (!net->links || !net->levels || !net->dirty)
        return -ENOMEM;
    for (uint32_t i = 0; i < n_links; i++)
        net->links[i].capacity = topology_link_bytes_s(f->config.topology, i);
    return 0;
}

static void free_ports(struct sparse *net)
{
    for (size_t i = 0; i < net->ports.n; i++) {
        struct port *p = net->ports.items[i];
        free(p->row);
        free(p->bundles);
        heap_done(&p->limited);
        free(p);
    }
    for (uint32_t i = 0; net->levels && i < net->fluid->config.levels; i++)
        free(net->levels[i]);
    for (uint32_t i = 0; net->dirty && i < net->fluid->config.levels; i++)
        free(net->dirty[i].items);
}

static void free_bundles(struct sparse *net)
{
    HASH_CLEAR(hh, net->bundles);
    for (size_t i = 0; i < net->bundles_by_id.n; i++) {
        heap_done(&((struct bundle *)net->bundles_by_id.items[i])->flows);
        free(net->bundles_by_id.items[i]);
    }
}

static void free_tables(struct sparse *net)
{
    struct list *lists[] = {&net->ports,   &net->spare_bundles, &net->bundles_by_id, &net->fresh,
                            &net->touched, &net->moved,         &net->uplinks};
    void *tables[] = {net->links,       net->levels,         net->dirty,
                      net->ends_where,  net->limited_where,  net->flows,
                      net->flows_where, net->flow_ids.spare, net->unfit_where};
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
        free(lists[i]->items);
    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
        free(tables[i]);
    heap_done(&net->ends);
    heap_done(&net->unfit);
}

static void destroy(struct fluid *f)
{
    struct sparse *net = f->net;
    if (!net)
        return;
    for (uint32_t i = 0; i < f->macroflow_ids.next && i < f->macroflows_allocated; i++)
        free(f->macroflows[i].flows);
    free_ports(net);
    free_bundles(net);
    free_tables(net);
    free(net);
}

const struct fluid_method fluid_sparse = {
    .create = create,
    .destroy = destroy,
    .start = start,
    .move = move,
    .stop = stop,
    .forget = forget,
    .left_bytes = left_bytes,
    .solve = solve,
    .next_ns = next_ns,
    .end = end,
    .rate_from = rate_from,
    .downlinks = downlinks,
    .each = each,
};
