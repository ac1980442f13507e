#include "testbed/sim/network/fluid.h"

#include "testbed/sim/network/fluid_state.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* A dense network takes 16 bytes per pair of hosts and level in use, so with few levels it may be
 * larger. Measured at 32 slots, load .8, 8 levels: a third less time than a sparse one at 300
 * hosts, the same at 500, more than twice as much at 1000. */
enum { DENSE_HOSTS_MAX = 256, DENSE_FEW_LEVELS = 16, DENSE_HOSTS_MAX_FEW_LEVELS = 384 };

int fluid_grow(void **table, size_t *allocated, size_t need, size_t size)
{
    if (need <= *allocated)
        return 0;
    size_t wanted = *allocated * 2 > need ? *allocated * 2 : need + 7;
    void *grown = realloc(*table, wanted * size);
    if (!grown)
        return -ENOMEM;
    *table = grown;
    *allocated = wanted;
    return 0;
}

int fluid_list_add(struct list *l, void *item)
{
    if (fluid_grow((void **)&l->items, &l->allocated, l->n + 1, sizeof(void *)))
        return -ENOMEM;
    l->items[l->n++] = item;
    return 0;
}

uint32_t fluid_ids_take(struct ids *ids)
{
    return ids->n_spare ? ids->spare[--ids->n_spare] : ids->next++;
}

/* Without memory the id is lost; it is never used twice. */
void fluid_ids_give_back(struct ids *ids, uint32_t id)
{
    size_t allocated = ids->room_spare;
    if (fluid_grow((void **)&ids->spare, &allocated, ids->n_spare + 1, sizeof(uint32_t)) == 0)
        ids->spare[ids->n_spare++] = id;
    ids->room_spare = (uint32_t)allocated;
}

static int event_add(struct fluid *f, enum fluid_event_kind kind, uint64_t subject,
                     uint32_t per_mille)
{
    if (f->next_event == f->n_events)
        f->next_event = f->n_events = 0;
    if (fluid_grow((void **)&f->events, &f->events_allocated, f->n_events + 1, sizeof(*f->events)))
        return -ENOMEM;
    f->events[f->n_events++] = (struct fluid_event){kind, subject, per_mille};
    return 0;
}

static uint64_t event_order(const struct fluid *f, const struct fluid_event *e)
{
    return e->kind == FLUID_ENDED ? f->macroflows[e->subject].subject : e->subject;
}

/* WHY: a method may find events of one instant in any order. */
static void events_sort(struct fluid *f, size_t from)
{
    for (size_t i = from + 1; i < f->n_events; i++) {
        struct fluid_event e = f->events[i];
        size_t at = i;
        for (; at > from && event_order(f, &f->events[at - 1]) > event_order(f, &e); at--)
            f->events[at] = f->events[at - 1];
        f->events[at] = e;
    }
}

int fluid_flow_ended(struct fluid *f, uint32_t macroflow)
{
    return --f->macroflows[macroflow].n_left ? 0 : event_add(f, FLUID_ENDED, macroflow, 0);
}

int fluid_uplink_used(struct fluid *f, uint32_t host, double used_bytes_s)
{
    const struct fluid_config *c = &f->config;
    uint32_t use = (uint32_t)lround(used_bytes_s / topology_link_bytes_s(c->topology, host) * 1000);
    bool hot = f->hot[host] ? use >= c->cool_per_mille : use > c->hot_per_mille;
    bool news = hot != f->hot[host];
    f->hot[host] = hot;
    return news ? event_add(f, hot ? FLUID_HOT : FLUID_COOL, host, use) : 0;
}

static int macroflow_make(struct fluid *f, uint32_t *ret_id)
{
    uint32_t id = fluid_ids_take(&f->macroflow_ids);
    if (fluid_grow((void **)&f->macroflows, &f->macroflows_allocated, id + 1u,
                   sizeof(*f->macroflows)))
        return -ENOMEM;
    *ret_id = id;
    return 0;
}

static void macroflow_free(struct fluid *f, uint32_t id)
{
    f->method->forget(f, id);
    f->macroflows[id].alive = false;
    fluid_ids_give_back(&f->macroflow_ids, id);
}

static bool on_network(const struct fluid *f, uint32_t target, const struct fluid_source *source)
{
    return source->bytes > 0 && !(f->config.local_free && source->host == target);
}

static int start_flows(struct fluid *f, uint32_t id, const struct fluid_source *sources,
                       uint32_t n_sources)
{
    struct macroflow *m = &f->macroflows[id];
    struct fluid_source *some = NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_sources; i++) {
        m->bytes += sources[i].bytes;
        n += on_network(f, m->target, &sources[i]);
    }
    if (n < n_sources) {
        some = malloc((n ? n : 1) * sizeof(*some));
        if (!some)
            return -ENOMEM;
        n = 0;
        for (uint32_t i = 0; i < n_sources; i++)
            if (on_network(f, m->target, &sources[i]))
                some[n++] = sources[i];
    }
    int r = n ? f->method->start(f, id, some ? some : sources, n) : 0;
    free(some);
    return r;
}

int fluid_start(struct fluid *f, uint32_t target, uint32_t level,
                const struct fluid_source *sources, uint32_t n_sources, uint64_t subject,
                uint32_t *ret_id)
{
    uint32_t id;
    if (macroflow_make(f, &id))
        return -ENOMEM;
    f->macroflows[id] = (struct macroflow){
        .subject = subject, .target = target, .level = level, .wanted_level = level, .alive = true};
    if (start_flows(f, id, sources, n_sources))
        return -ENOMEM;
    *ret_id = id;
    return f->macroflows[id].n_left ? 0 : event_add(f, FLUID_ENDED, id, 0);
}

int fluid_set_level(struct fluid *f, uint32_t id, uint32_t level)
{
    struct macroflow *m = &f->macroflows[id];
    m->wanted_level = level;
    if (m->moving || level == m->level || !m->n_left)
        return 0;
    if (fluid_grow((void **)&f->moving, &f->moving_allocated, f->n_moving + 1, sizeof(*f->moving)))
        return -ENOMEM;
    f->moving[f->n_moving++] = id;
    m->moving = true;
    return 0;
}

/* A Macroflow whose id was reused meanwhile is not moving. */
static int move_all(struct fluid *f)
{
    for (size_t i = 0; i < f->n_moving; i++) {
        struct macroflow *m = &f->macroflows[f->moving[i]];
        if (!m->moving)
            continue;
        m->moving = false;
        if (m->n_left && m->wanted_level != m->level &&
            f->method->move(f, f->moving[i], m->wanted_level))
            return -ENOMEM;
    }
    f->n_moving = 0;
    return 0;
}

int fluid_stop(struct fluid *f, uint32_t id)
{
    if (f->method->stop(f, id))
        return -ENOMEM;
    if (f->macroflows[id].n_left) {
        macroflow_free(f, id);
        return 0;
    }
    /* It ended at this instant without a report yet: its event frees it unseen. */
    f->macroflows[id].alive = false;
    return 0;
}

int64_t fluid_received_bytes(const struct fluid *f, uint32_t id)
{
    int64_t received = f->macroflows[id].bytes - (int64_t)ceil(f->method->left_bytes(f, id));
    return received > 0 ? received : 0;
}

int64_t fluid_now_ns(const struct fluid *f)
{
    return f->now_ns;
}

int fluid_solve(struct fluid *f)
{
    bool waiting = f->next_event < f->n_events;
    size_t from = waiting ? f->n_events : 0;
    if (move_all(f) || f->method->solve(f))
        return -ENOMEM;
    events_sort(f, from);
    return 0;
}

int fluid_next_ns(struct fluid *f, int64_t *ret_ns)
{
    if (fluid_solve(f))
        return -ENOMEM;
    *ret_ns = f->next_event < f->n_events ? f->now_ns : f->method->next_ns(f);
    return 0;
}

int fluid_advance(struct fluid *f, int64_t now_ns)
{
    if (fluid_solve(f))
        return -ENOMEM;
    size_t from = f->next_event < f->n_events ? f->n_events : 0;
    f->now_ns = now_ns;
    if (f->method->end(f))
        return -ENOMEM;
    events_sort(f, from);
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

static const struct fluid_method *dense_method(bool plain)
{
#ifdef FLUID_DENSE_AVX2
    if (!plain && __builtin_cpu_supports("avx2"))
        return &fluid_dense_avx2;
#endif
    (void)plain;
    return &fluid_dense;
}

static const struct fluid_method *choose_method(const struct fluid_config *c)
{
    uint32_t most = c->levels <= DENSE_FEW_LEVELS ? DENSE_HOSTS_MAX_FEW_LEVELS : DENSE_HOSTS_MAX;
    bool alike = c->topology->n_racks == 1 && !c->topology->own_bytes_s;
    bool small = c->topology->n_hosts <= most && alike;
    return small && !c->sparse ? dense_method(c->plain) : &fluid_sparse;
}

int fluid_create(const struct fluid_config *config, struct fluid **ret_fluid, struct err *err)
{
    int r = check_config(config, err);
    if (r)
        return r;
    struct fluid *f = calloc(1, sizeof(*f));
    if (f) {
        f->config = *config;
        f->method = choose_method(config);
        f->hot = calloc(config->topology->n_hosts, sizeof(*f->hot));
    }
    if (!f || !f->hot || f->method->create(f)) {
        fluid_destroy(f);
        return err_set(err, ENOMEM, "not enough memory for a network of %u links",
                       config->topology->n_links);
    }
    *ret_fluid = f;
    return 0;
}

void fluid_destroy(struct fluid *f)
{
    if (!f)
        return;
    f->method->destroy(f);
    free(f->macroflows);
    free(f->macroflow_ids.spare);
    free(f->moving);
    free(f->events);
    free(f->hot);
    free(f);
}
