#include "testbed/sim/fluid.h"

#define HASH_NONFATAL_OOM 1
#include "testbed/sim/fluid_state.h"
#include "testbed/sim/maxmin.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NONE = UINT32_MAX };

/* ---- tables ---- */

static int grow(void **table, size_t *room, size_t need, size_t size)
{
    if (need <= *room)
        return 0;
    size_t wanted = *room * 2 > need ? *room * 2 : need + 7;
    void *grown = realloc(*table, wanted * size);
    if (!grown)
        return -ENOMEM;
    *table = grown;
    *room = wanted;
    return 0;
}

int fluid_list_add(struct list *l, void *item)
{
    if (grow((void **)&l->items, &l->room, l->n + 1, sizeof(void *)))
        return -ENOMEM;
    l->items[l->n++] = item;
    return 0;
}

static uint32_t ids_take(struct ids *ids)
{
    return ids->n_spare ? ids->spare[--ids->n_spare] : ids->next++;
}

/* Without memory the id is lost, not handed out twice. */
static void ids_give_back(struct ids *ids, uint32_t id)
{
    size_t room = ids->room_spare;
    if (grow((void **)&ids->spare, &room, ids->n_spare + 1, sizeof(uint32_t)) == 0)
        ids->spare[ids->n_spare++] = id;
    ids->room_spare = (uint32_t)room;
}

static int event_add(struct fluid *f, enum fluid_event_kind kind, uint64_t subject,
                     uint32_t per_mille)
{
    if (f->next_event == f->n_events)
        f->next_event = f->n_events = 0;
    if (grow((void **)&f->events, &f->events_room, f->n_events + 1, sizeof(*f->events)))
        return -ENOMEM;
    f->events[f->n_events++] = (struct fluid_event){kind, subject, per_mille};
    return 0;
}

/* ---- ports ---- */

void port_advance(struct port *p, int64_t now_ns)
{
    if (!isinf(p->rate))
        p->served += p->rate * (double)(now_ns - p->at_ns) * 1e-9;
    p->at_ns = now_ns;
}

/* What `served` may miss of an end by rounding: a nanosecond's worth is met exactly, since instants
 * are rounded up. */
static double port_slack(const struct port *p)
{
    return 1e-6 + 1e-15 * p->served;
}

int port_schedule(struct fluid *f, struct port *p)
{
    double at = INFINITY;
    if (p->limited.n && p->rate > 0) {
        double wait = ceil((p->limited.items[0].key - p->served) / p->rate * 1e9);
        at = (double)p->at_ns + (wait > 0 ? wait : 0);
    }
    return heap_set(&f->ends, f->ends_where, at < 9e18 ? at : INFINITY, p->id);
}

int port_mark_dirty(struct fluid *f, struct port *p)
{
    if (p->dirty)
        return 0;
    if (fluid_list_add(&f->dirty[p->level], p))
        return -ENOMEM;
    p->dirty = true;
    if (p->level < f->dirty_from)
        f->dirty_from = p->level;
    if (p->level >= f->dirty_to)
        f->dirty_to = p->level + 1;
    return 0;
}

static struct port *port_make(struct fluid *f, uint32_t link, uint32_t level)
{
    struct port *p = aligned_alloc(64, sizeof(*p));
    if (!p)
        return NULL;
    *p = (struct port){.id = (uint32_t)f->ports.n, .link = link, .level = level, .rate = INFINITY};
    p->at_ns = f->now_ns;
    if (grow((void **)&f->ends_where, &f->ends_room, f->ports.n + 1, sizeof(uint32_t)) ||
        fluid_list_add(&f->ports, p)) {
        free(p);
        return NULL;
    }
    f->ends_where[p->id] = HEAP_NOWHERE;
    return p;
}

static struct port *port_get(struct fluid *f, uint32_t link, uint32_t level)
{
    struct port **ports = f->levels[level];
    if (!ports)
        ports = f->levels[level] = calloc(f->config.topology->n_links, sizeof(struct port *));
    if (ports && !ports[link])
        ports[link] = port_make(f, link, level);
    return ports ? ports[link] : NULL;
}

static void port_list(struct fluid *f, struct port *p)
{
    struct port **at = &f->links[p->link].first;
    while (*at && (*at)->level < p->level)
        at = &(*at)->lower;
    p->lower = *at;
    *at = p;
    p->listed = true;
}

static void port_unlist(struct fluid *f, struct port *p)
{
    struct port **at = &f->links[p->link].first;
    while (*at != p)
        at = &(*at)->lower;
    *at = p->lower;
    p->lower = NULL;
    p->listed = false;
}

/* ---- bundles ---- */

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

int bundle_schedule(struct fluid *f, struct bundle *b)
{
    struct port *p = b->limit;
    double key = b->flows.n ? b->flows.items[0].key + b->offset : INFINITY;
    if (heap_set(&p->limited, f->limited_where, key, b->id))
        return -ENOMEM;
    return port_schedule(f, p);
}

static int bundle_join(struct fluid *f, struct bundle *b, uint32_t i)
{
    struct port *p = port_get(f, b->key.links[i], b->key.level);
    size_t room = p ? p->room : 0;
    if (!p || grow((void **)&p->row, &room, p->n_bundles + 1, sizeof(*p->row)))
        return -ENOMEM;
    p->room = (uint32_t)room;
    b->ports[i] = p;
    b->place[i] = p->n_bundles;
    p->row[p->n_bundles++] = (struct crossing){.bundle = b, .fresh = true};
    if (!p->listed)
        port_list(f, p);
    return 0;
}

/* The last bundle of the list takes the empty place, and is told so. */
static void bundle_leave(struct fluid *f, struct bundle *b, uint32_t i)
{
    struct port *p = b->ports[i];
    p->row[b->place[i]] = p->row[--p->n_bundles];
    struct bundle *last = p->row[b->place[i]].bundle;
    for (uint32_t j = 0; j < last->key.n; j++)
        if (last->ports[j] == p)
            last->place[j] = b->place[i];
    if (!p->n_bundles)
        port_unlist(f, p);
}

static struct bundle *bundle_blank(struct fluid *f)
{
    if (f->spare_bundles.n)
        return f->spare_bundles.items[--f->spare_bundles.n];
    size_t size = (sizeof(struct bundle) + 63) / 64 * 64;
    struct bundle *b = aligned_alloc(64, size);
    if (!b)
        return NULL;
    memset(b, 0, size);
    b->id = (uint32_t)f->bundles_by_id.n;
    if (grow((void **)&f->limited_where, &f->limited_room, b->id + 1u, sizeof(uint32_t)) ||
        fluid_list_add(&f->bundles_by_id, b)) {
        free(b);
        return NULL;
    }
    f->limited_where[b->id] = HEAP_NOWHERE;
    return b;
}

static struct bundle *bundle_get(struct fluid *f, const struct bundle_key *key)
{
    struct bundle *b;
    HASH_FIND(hh, f->bundles, key, sizeof(*key), b);
    if (b)
        return b;
    b = bundle_blank(f);
    if (!b)
        return NULL;
    b->key = *key;
    b->n_ports = key->n;
    b->limit = NULL;
    b->offset = 0;
    HASH_ADD(hh, f->bundles, key, sizeof(b->key), b);
    if (!b->hh.tbl)
        return NULL;
    for (uint32_t i = 0; i < key->n; i++)
        if (bundle_join(f, b, i))
            return NULL;
    for (uint32_t i = 0; i < 2 && key->n == 2; i++)
        b->ports[i]->row[b->place[i]].peer = b->ports[!i];
    return b;
}

static int bundle_drop(struct fluid *f, struct bundle *b)
{
    if (b->limit && bundle_schedule(f, b))
        return -ENOMEM;
    for (uint32_t i = 0; i < b->key.n; i++)
        bundle_leave(f, b, i);
    HASH_DELETE(hh, f->bundles, b);
    return fluid_list_add(&f->spare_bundles, b);
}

static int bundle_count(struct fluid *f, struct bundle *b, int more)
{
    b->n_flows += (uint32_t)more;
    for (uint32_t i = 0; i < b->key.n; i++) {
        b->ports[i]->n_flows += (uint32_t)more;
        b->ports[i]->row[b->place[i]].n_flows = b->n_flows;
        b->ports[i]->changed = true;
        if (port_mark_dirty(f, b->ports[i]))
            return -ENOMEM;
    }
    return 0;
}

/* ---- flows ---- */

static int flow_room(struct fluid *f, uint32_t id)
{
    size_t room = f->flows_room;
    if (grow((void **)&f->flows_where, &room, id + 1u, sizeof(uint32_t)) ||
        grow((void **)&f->flows, &f->flows_room, id + 1u, sizeof(*f->flows)))
        return -ENOMEM;
    f->flows_where[id] = HEAP_NOWHERE;
    return 0;
}

/* Puts flow `id` with `bytes` to go on the path of its level; a later start of the same bundle ends
 * at a later count. */
static int flow_enter(struct fluid *f, uint32_t id, uint32_t source, double bytes)
{
    const struct macroflow *m = &f->macroflows[f->flows[id].macroflow];
    struct topology_path path = topology_path(f->config.topology, source, m->target, id);
    struct bundle_key key = {.level = m->level, .n = path.n};
    memcpy(key.links, path.links, path.n * sizeof(uint32_t));
    struct bundle *b = bundle_get(f, &key);
    if (!b)
        return -ENOMEM;
    f->flows[id].bundle = b;
    f->flows[id].end = bundle_progress_at(b, f->now_ns) + bytes;
    if (heap_push(&b->flows, f->flows_where, f->flows[id].end, id) || bundle_count(f, b, 1))
        return -ENOMEM;
    return b->limit ? bundle_schedule(f, b) : 0;
}

/* Takes the flow off its bundle, ended or not. */
static int flow_leave(struct fluid *f, uint32_t id)
{
    struct bundle *b = f->flows[id].bundle;
    heap_take(&b->flows, f->flows_where, id);
    f->flows[id].bundle = NULL;
    if (bundle_count(f, b, -1))
        return -ENOMEM;
    if (!b->flows.n)
        return bundle_drop(f, b);
    return b->limit ? bundle_schedule(f, b) : 0;
}

static double flow_left(const struct fluid *f, uint32_t id)
{
    const struct flow *flow = &f->flows[id];
    double left = flow->bundle ? flow->end - bundle_progress_at(flow->bundle, f->now_ns) : 0;
    return left > 0 ? left : 0;
}

static int flow_end(struct fluid *f, uint32_t id)
{
    struct macroflow *m = &f->macroflows[f->flows[id].macroflow];
    if (flow_leave(f, id))
        return -ENOMEM;
    return --m->n_left ? 0 : event_add(f, FLUID_ENDED, f->flows[id].macroflow, 0);
}

static int port_end_flows(struct fluid *f, struct port *p)
{
    port_advance(p, f->now_ns);
    while (p->limited.n && p->limited.items[0].key <= p->served + port_slack(p)) {
        struct bundle *b = f->bundles_by_id.items[p->limited.items[0].id];
        if (flow_end(f, b->flows.items[0].id))
            return -ENOMEM;
    }
    if (port_schedule(f, p))
        return -ENOMEM;
    /* Rounded to this very instant, yet not reached: it is reached in the next one. */
    if (f->ends_where[p->id] != HEAP_NOWHERE &&
        f->ends.items[f->ends_where[p->id]].key <= (double)f->now_ns)
        return heap_set(&f->ends, f->ends_where, nextafter((double)f->now_ns + 1, INFINITY), p->id);
    return 0;
}

/* ---- Macroflows ---- */

static int macroflow_make(struct fluid *f, uint32_t n_sources, uint32_t *ret_id)
{
    uint32_t id = ids_take(&f->macroflow_ids);
    if (grow((void **)&f->macroflows, &f->macroflows_room, id + 1u, sizeof(*f->macroflows)))
        return -ENOMEM;
    uint32_t *flows = malloc((n_sources ? n_sources : 1) * sizeof(*flows));
    f->macroflows[id] = (struct macroflow){.flows = flows, .n_sources = n_sources, .alive = true};
    if (!flows)
        return -ENOMEM;
    *ret_id = id;
    return 0;
}

static void macroflow_free(struct fluid *f, uint32_t id)
{
    struct macroflow *m = &f->macroflows[id];
    for (uint32_t i = 0; i < m->n_sources; i++)
        if (m->flows[i] != NONE)
            ids_give_back(&f->flow_ids, m->flows[i]);
    free(m->flows);
    m->flows = NULL;
    m->alive = false;
    ids_give_back(&f->macroflow_ids, id);
}

static int macroflow_add_flow(struct fluid *f, uint32_t id, uint32_t i,
                              const struct fluid_source *source)
{
    uint32_t flow = ids_take(&f->flow_ids);
    if (flow_room(f, flow))
        return -ENOMEM;
    f->macroflows[id].flows[i] = flow;
    f->macroflows[id].n_left++;
    f->flows[flow] = (struct flow){.macroflow = id};
    return flow_enter(f, flow, source->host, (double)source->bytes);
}

int fluid_start(struct fluid *f, uint32_t target, uint32_t level,
                const struct fluid_source *sources, uint32_t n_sources, uint64_t subject,
                uint32_t *ret_id)
{
    uint32_t id;
    if (macroflow_make(f, n_sources, &id))
        return -ENOMEM;
    struct macroflow *m = &f->macroflows[id];
    m->subject = subject;
    m->target = target;
    m->level = level;
    for (uint32_t i = 0; i < n_sources; i++) {
        m->flows[i] = NONE;
        m->bytes += sources[i].bytes;
    }
    for (uint32_t i = 0; i < n_sources; i++) {
        bool local = f->config.local_free && sources[i].host == target;
        if (sources[i].bytes > 0 && !local && macroflow_add_flow(f, id, i, &sources[i]))
            return -ENOMEM;
    }
    *ret_id = id;
    return m->n_left ? 0 : event_add(f, FLUID_ENDED, id, 0);
}

int fluid_set_level(struct fluid *f, uint32_t id, uint32_t level)
{
    struct macroflow *m = &f->macroflows[id];
    if (m->level == level)
        return 0;
    m->level = level;
    for (uint32_t i = 0; i < m->n_sources; i++) {
        uint32_t flow = m->flows[i];
        if (flow == NONE || !f->flows[flow].bundle)
            continue;
        double left = flow_left(f, flow);
        uint32_t source = f->flows[flow].bundle->key.links[0];
        if (flow_leave(f, flow) || flow_enter(f, flow, source, left))
            return -ENOMEM;
    }
    return 0;
}

int fluid_stop(struct fluid *f, uint32_t id)
{
    struct macroflow *m = &f->macroflows[id];
    for (uint32_t i = 0; i < m->n_sources; i++)
        if (m->flows[i] != NONE && f->flows[m->flows[i]].bundle && flow_leave(f, m->flows[i]))
            return -ENOMEM;
    if (m->n_left) {
        macroflow_free(f, id);
        return 0;
    }
    /* It ended at this instant and nobody was told yet: its event frees it, without being seen. */
    m->alive = false;
    return 0;
}

int64_t fluid_received_bytes(const struct fluid *f, uint32_t id)
{
    const struct macroflow *m = &f->macroflows[id];
    double left = 0;
    for (uint32_t i = 0; i < m->n_sources; i++)
        if (m->flows[i] != NONE)
            left += flow_left(f, m->flows[i]);
    int64_t received = m->bytes - (int64_t)ceil(left);
    return received > 0 ? received : 0;
}

/* ---- time ---- */

int64_t fluid_now_ns(const struct fluid *f)
{
    return f->now_ns;
}

static uint32_t link_per_mille(const struct link *link)
{
    double used = 0;
    for (const struct port *p = link->first; p; p = p->lower)
        used += p->used;
    return (uint32_t)lround(used / link->capacity * 1000);
}

static int report_uplinks(struct fluid *f)
{
    for (size_t i = 0; i < f->uplinks.n; i++) {
        struct link *link = f->uplinks.items[i];
        uint32_t use = link_per_mille(link);
        bool hot = link->hot ? use >= f->config.cool_per_mille : use > f->config.hot_per_mille;
        if (hot != link->hot &&
            event_add(f, hot ? FLUID_HOT : FLUID_COOL, (uint64_t)(link - f->links), use))
            return -ENOMEM;
        link->hot = hot;
    }
    f->uplinks.n = 0;
    return 0;
}

int fluid_solve(struct fluid *f)
{
    return maxmin_solve(f) || report_uplinks(f) ? -ENOMEM : 0;
}

int fluid_next_ns(struct fluid *f, int64_t *ret_ns)
{
    if (fluid_solve(f))
        return -ENOMEM;
    if (f->next_event < f->n_events)
        *ret_ns = f->now_ns;
    else
        *ret_ns = f->ends.n ? (int64_t)f->ends.items[0].key : FLUID_NEVER;
    return 0;
}

int fluid_advance(struct fluid *f, int64_t now_ns)
{
    if (fluid_solve(f))
        return -ENOMEM;
    f->now_ns = now_ns;
    while (f->ends.n && f->ends.items[0].key <= (double)now_ns)
        if (port_end_flows(f, f->ports.items[f->ends.items[0].id]))
            return -ENOMEM;
    return 0;
}

bool fluid_poll(struct fluid *f, struct fluid_event *ret_event)
{
    while (f->next_event < f->n_events) {
        struct fluid_event event = f->events[f->next_event++];
        bool tell = true;
        if (event.kind == FLUID_ENDED) {
            uint32_t id = (uint32_t)event.subject;
            tell = f->macroflows[id].alive;
            event.subject = f->macroflows[id].subject;
            macroflow_free(f, id);
        }
        *ret_event = event;
        if (tell)
            return true;
    }
    return false;
}

/* ---- creation ---- */

static int check_config(const struct fluid_config *c, struct err *err)
{
    if (c->levels < 1 || c->levels > FLUID_LEVELS_MAX)
        return err_set(err, EINVAL, "a network has 1 to %d levels, not %u", FLUID_LEVELS_MAX,
                       c->levels);
    if (c->hot_per_mille && (c->hot_per_mille > 1000 || c->cool_per_mille > c->hot_per_mille))
        return err_set(err, EINVAL,
                       "uplinks turn hot over %u and cool under %u per mille: not an interval",
                       c->hot_per_mille, c->cool_per_mille);
    return 0;
}

int fluid_create(const struct fluid_config *config, struct fluid **ret_fluid, struct err *err)
{
    int rc = check_config(config, err);
    if (rc)
        return rc;
    uint32_t n_links = config->topology->n_links;
    struct fluid *f = calloc(1, sizeof(*f));
    if (f) {
        f->config = *config;
        f->links = calloc(n_links, sizeof(*f->links));
        f->levels = calloc(config->levels, sizeof(*f->levels));
        f->dirty = calloc(config->levels, sizeof(*f->dirty));
        f->dirty_from = config->levels;
    }
    if (!f || !f->links || !f->levels || !f->dirty) {
        fluid_destroy(f);
        return err_set(err, ENOMEM, "not enough memory for a network of %u links", n_links);
    }
    for (uint32_t i = 0; i < n_links; i++)
        f->links[i].capacity = topology_link_bytes_s(config->topology, i);
    *ret_fluid = f;
    return 0;
}

static void free_ports(struct fluid *f)
{
    for (size_t i = 0; i < f->ports.n; i++) {
        struct port *p = f->ports.items[i];
        free(p->row);
        heap_done(&p->limited);
        free(p);
    }
    for (uint32_t i = 0; f->levels && i < f->config.levels; i++)
        free(f->levels[i]);
}

static void free_bundles(struct fluid *f)
{
    HASH_CLEAR(hh, f->bundles);
    for (size_t i = 0; i < f->bundles_by_id.n; i++) {
        heap_done(&((struct bundle *)f->bundles_by_id.items[i])->flows);
        free(f->bundles_by_id.items[i]);
    }
}

static void free_tables(struct fluid *f)
{
    struct list *lists[] = {&f->ports,   &f->spare_bundles, &f->bundles_by_id, &f->region,
                            &f->touched, &f->moved,         &f->joining,       &f->uplinks};
    void *tables[] = {
        f->links, f->levels,      f->dirty,          f->ends_where, f->limited_where,
        f->flows, f->flows_where, f->flow_ids.spare, f->macroflows, f->macroflow_ids.spare,
        f->events};
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
        free(lists[i]->items);
    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
        free(tables[i]);
    heap_done(&f->ends);
    heap_done(&f->fill);
}

void fluid_destroy(struct fluid *f)
{
    if (!f)
        return;
    free_ports(f);
    for (uint32_t i = 0; f->dirty && i < f->config.levels; i++)
        free(f->dirty[i].items);
    for (uint32_t i = 0; i < f->macroflow_ids.next && i < f->macroflows_room; i++)
        if (f->macroflows[i].flows)
            free(f->macroflows[i].flows);
    free_bundles(f);
    free_tables(f);
    free(f);
}
