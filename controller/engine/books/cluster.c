#include "controller/engine/books/cluster.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/resources.h"
#include "controller/engine/base/tell.h"
#include "controller/engine/books/account.h"
#include "controller/engine/books/attempt.h"
#include "controller/engine/books/limit.h"
#include "controller/engine/books/racks.h"
#include "controller/engine/books/room.h"
#include "controller/engine/books/users.h"
#include "controller/engine/policy/questions.h"
#include "lib/invariant.h"

#include <stdlib.h>
#include <string.h>

bool host_suspect(const struct host *host)
{
    return host->reach.suspect || host->failing.suspect;
}

bool host_up(const struct host *host)
{
    return host->joined && !host->silent && !host->lost && !host->draining && !host_suspect(host);
}

bool host_takes(const struct engine *engine, const struct host *host)
{
    uint32_t attempts = engine->config.host_attempts_max, starts = engine->config.host_starts_max;
    return (!attempts || host->running < attempts) && (!starts || host->sent < starts);
}

struct host *cluster_host(const struct engine *engine, uint32_t index)
{
    return index < engine->n_hosts ? engine->hosts[index] : NULL;
}

struct constraint_host host_words(const struct host *host)
{
    return (struct constraint_host){host->name, host->rack, host->labels};
}

static bool meets(const struct host *host, const struct shape *shape)
{
    const struct constraint_host words = host_words(host);
    return constraint_is_met(shape->constraint, &words);
}

void host_follow_words(const struct engine *engine, struct host *host)
{
    for (uint32_t i = 0; i < engine->n_shapes; i++)
        host->shapes[i]->meets = meets(host, engine->shapes[i]);
}

static void fit_unplace(struct shape *shape, struct fit *fit)
{
    sorted_remove(&shape->by_load, &fit->by_load);
    sorted_remove(&shape->by_tie, &fit->by_tie);
    for (int order = 0; order < ORDERS; order++)
        sorted_remove(&shape->by_receivers[order], &fit->by_receivers[order]);
}

uint64_t host_crowd(const struct host *host)
{
    uint64_t receivers = host->receiving[ORDER_COFLOW].n;
    receivers = receivers < HOST_CROWDED ? receivers : HOST_CROWDED;
    return receivers << 56 | (uint64_t)host->running << 24 | host->index;
}

struct sorted_key host_by_load(const struct host *host)
{
    return (struct sorted_key){(uint64_t)host->disk_hangs << 32 | host->running, host->tie,
                               host->index};
}

static bool wants(const struct engine *engine, enum host_order order)
{
    const struct mode_policy *mode = engine->mode_rule;
    return (engine->place->orders | (mode->orders ? mode->orders(engine) : 0)) & order;
}

static void place_by_receivers(struct shape *shape, struct fit *fit, uint64_t place)
{
    const struct host *host = fit->host;
    for (int order = 0; order < ORDERS; order++) {
        const struct sorted *receiving = &host->receiving[order];
        const struct sorted_node *smallest = sorted_first(receiving);
        uint64_t longest_first = smallest ? ~smallest->key.a : 0;
        struct sorted_key key = {receiving->n, longest_first, host->tie << 40 | place};
        sorted_place(&shape->by_receivers[order], &fit->by_receivers[order], key, longest_first);
    }
}

static void fit_place(const struct engine *engine, struct shape *shape, struct fit *fit)
{
    const struct host *host = fit->host;
    uint64_t place = (uint64_t)host->index << 16 | fit->unit;
    struct sorted_key load = host_by_load(host);
    load.c = place;
    sorted_place(&shape->by_load, &fit->by_load, load, host_crowd(host));
    if (wants(engine, HOSTS_BY_TIE))
        sorted_place(&shape->by_tie, &fit->by_tie, (struct sorted_key){host->tie, place, 0}, 0);
    if (wants(engine, HOSTS_BY_RECEIVERS))
        place_by_receivers(shape, fit, place);
}

void cluster_follow_orders(struct engine *engine)
{
    for (uint32_t i = 0; i < engine->n_hosts; i++)
        for (uint32_t s = 0; engine->hosts[i] && s < engine->n_shapes; s++) {
            struct host_shape *here = engine->hosts[i]->shapes[s];
            if (here->first == ENGINE_NONE)
                continue;
            fit_unplace(engine->shapes[s], &here->fit[here->first]);
            fit_place(engine, engine->shapes[s], &here->fit[here->first]);
        }
}

void host_queue_update(struct host_queue *queue, const struct host_shape *here)
{
    const struct sorted_node *first = here->fitting ? sorted_first(&queue->waiting) : NULL;
    if (!first) {
        sorted_remove(&queue->queues->local_hosts, &queue->local_host);
        return;
    }
    struct sorted_key key = {first->key.a, first->key.b, here->host->index};
    sorted_place(&queue->queues->local_hosts, &queue->local_host, key, 0);
}

const struct unit *host_unit(const struct host *host, const struct shape *shape, uint32_t i)
{
    if (!shape->application)
        return host_own_unit(host, i);
    const struct room *room = i ? NULL : room_find(host, shape->application);
    return room ? &room->unit : NULL;
}

/* Units that the shape's tasks run in. */
static uint32_t units_of(const struct host *host, const struct shape *shape)
{
    return shape->application ? 1 : host->n_units;
}

static void unit_refit(struct engine *engine, struct shape *shape, struct host_shape *here,
                       uint32_t i, bool usable, bool takes)
{
    struct fit *fit = &here->fit[i];
    const struct unit *unit = host_unit(here->host, shape, i);
    engine->counters.visits++;
    bool splits =
        unit && !shape->application && resources_split_device(&unit->total, &shape->demand);
    bool possible = here->meets && here->host->joined && unit && !splits &&
                    resources_times(&unit->total, &shape->demand) > 0;
    bool capable = possible && usable;
    int64_t times = takes && unit && !splits ? resources_times(&unit->free, &shape->demand) : 0;
    uint32_t more = (uint32_t)(times > 0) - (uint32_t)(fit->times > 0);
    shape->possible += (uint32_t)possible - (uint32_t)fit->possible;
    shape->capable += (uint32_t)capable - (uint32_t)fit->capable;
    here->capable_units += (uint32_t)capable - (uint32_t)fit->capable;
    shape->times += times - fit->times;
    shape->fitting += more;
    here->fitting += more;
    fit->possible = possible;
    fit->capable = capable;
    fit->times = times;
}

/* The shape's orders hold the host as its first unit with room; units from..to changed. */
static void list_first(const struct engine *engine, struct shape *shape, struct host_shape *here,
                       uint32_t from, uint32_t to)
{
    uint32_t before = here->first, first = before, n = units_of(here->host, shape);
    for (uint32_t i = from; i < to && i < first; i++)
        if (here->fit[i].times > 0)
            first = i;
    while (first < n && here->fit[first].times <= 0)
        first++;
    here->first = first < n ? first : ENGINE_NONE;
    if (before != ENGINE_NONE && before != here->first)
        fit_unplace(shape, &here->fit[before]);
    if (here->first != ENGINE_NONE)
        fit_place(engine, shape, &here->fit[first]);
}

static void shape_refit(struct engine *engine, struct shape *shape, struct host *host,
                        uint32_t from, uint32_t to)
{
    struct host_shape *here = host->shapes[shape->index];
    bool usable = here->meets && host_up(host), takes = usable && host_takes(engine, host);
    bool was_capable = here->capable, was_fitting = here->fitting > 0;
    for (uint32_t i = from; i < to; i++)
        unit_refit(engine, shape, here, i, usable, takes);
    list_first(engine, shape, here, from, to);
    here->capable = here->capable_units > 0;
    bool clean = here->capable && !host->failing.in_a_row;
    shape->capable_hosts += (uint32_t)here->capable - (uint32_t)was_capable;
    shape->clean_hosts += (uint32_t)clean - (uint32_t)here->clean;
    here->clean = clean;
    shape->flips += (here->fitting > 0) != was_fitting;
    /* WHY not of users: all may wait here, and few of them are asked (waiting.h). */
    host_queue_update(&here->all, here);
    if (here->capable != was_capable)
        tell_host_capable(engine, host);
}

static void make_dirty(struct host *host, uint32_t from, uint32_t to)
{
    bool clean = host->dirty_from == host->dirty_to;
    host->dirty_from = clean || from < host->dirty_from ? from : host->dirty_from;
    host->dirty_to = clean || to > host->dirty_to ? to : host->dirty_to;
}

/* WHY two cases: an attempt changes its unit only; the state of the host, and whether it takes
 * more, change all units. */
void host_touch(struct engine *engine, struct host *host)
{
    bool up = host_up(host), takes = host_takes(engine, host);
    if (up != host->fitted_up || takes != host->fitted_takes)
        make_dirty(host, 0, host->n_units);
    for (uint32_t i = 0; i < engine->n_shapes; i++) {
        struct shape *shape = engine->shapes[i];
        if (shape->application)
            shape_refit(engine, shape, host, 0, 1);
        else
            shape_refit(engine, shape, host, host->dirty_from, host->dirty_to);
    }
    host->dirty_from = host->dirty_to = 0;
    host->fitted_up = up;
    host->fitted_takes = takes;
    engine->changes[engine->n_changes++ % CHANGES] = host->index;
}

void host_draw_tie(struct engine *engine, struct host *host)
{
    host->tie = engine_mix(engine->config.seed, host->index, ++host->tie_draws);
}

struct fit *host_fit(const struct host *host, const struct shape *shape)
{
    struct host_shape *here = host->shapes[shape->index];
    struct fit *best = NULL;
    for (uint32_t i = 0; i < host->n_units; i++)
        if (here->fit[i].times > 0 &&
            (!best || host->units[i].running < host->units[best->unit].running))
            best = &here->fit[i];
    return best;
}

static struct host_shape *host_shape_create(struct engine *engine, struct host *host,
                                            struct shape *shape)
{
    struct host_shape *here =
        engine_allocate(engine, 1, sizeof(*here) + host->n_units * sizeof(here->fit[0]));
    here->host = host;
    here->first = ENGINE_NONE;
    here->meets = meets(host, shape);
    here->all = (struct host_queue){.host = host, .queues = &shape->all};
    TAILQ_INIT(&here->of_users);
    for (uint32_t i = 0; i < host->n_units; i++) {
        here->fit[i].host = host;
        here->fit[i].unit = i;
    }
    return here;
}

static struct shape *find_shape(const struct engine *engine, const struct resources *demand,
                                const char *constraint, const struct shape_of *of)
{
    for (uint32_t i = 0; i < engine->n_shapes; i++) {
        struct shape *shape = engine->shapes[i];
        if (shape->application == of->application && shape->bound == of->bound &&
            resources_equal(&shape->demand, demand) && strcmp(shape->constraint, constraint) == 0)
            return shape;
    }
    return NULL;
}

/* Later shapes move up: their order breaks ties. */
static void shape_drop(struct engine *engine, struct shape *shape)
{
    uint32_t at = shape->index, after = --engine->n_shapes - at;
    for (uint32_t i = 0; i < engine->n_hosts; i++) {
        struct host *host = engine->hosts[i];
        if (!host)
            continue;
        free(host->shapes[at]);
        memmove(&host->shapes[at], &host->shapes[at + 1], after * sizeof(host->shapes[0]));
        host->shapes[engine->n_shapes] = NULL;
    }
    memmove(&engine->shapes[at], &engine->shapes[at + 1], after * sizeof(engine->shapes[0]));
    for (uint32_t i = at; i < engine->n_shapes; i++)
        engine->shapes[i]->index = i;
    users_drop_shape(engine, at);
    account_give_shape(engine, shape);
    free(shape);
}

struct shape *cluster_shape_create(struct engine *engine, const struct resources *demand,
                                   const char *constraint, const struct shape_of *of)
{
    if (engine->n_shapes == engine->config.shapes_max)
        return NULL;
    struct shape *shape = engine_allocate(engine, 1, sizeof(*shape));
    shape->index = engine->n_shapes;
    shape->demand = *demand;
    shape->application = of->application;
    shape->bound = of->bound;
    engine_copy_word(shape->constraint, sizeof(shape->constraint), constraint);
    TAILQ_INIT(&shape->all.moved);
    TAILQ_INIT(&shape->waits);
    engine->shapes[engine->n_shapes++] = shape;
    for (uint32_t i = 0; i < engine->n_hosts; i++) {
        struct host *host = engine->hosts[i];
        if (!host)
            continue;
        host->shapes[shape->index] = host_shape_create(engine, host, shape);
        shape_refit(engine, shape, host, 0, units_of(host, shape));
    }
    return shape;
}

struct shape *cluster_shape(struct engine *engine, const struct resources *demand,
                            const char *constraint, const struct shape_of *of,
                            struct account *account)
{
    struct shape *shape = find_shape(engine, demand, constraint, of);
    if (shape)
        return shape;
    for (uint32_t i = engine->n_shapes; i-- > 0;)
        if (!engine->shapes[i]->users)
            shape_drop(engine, engine->shapes[i]);
    shape = cluster_shape_create(engine, demand, constraint, of);
    if (!shape || account_take_shape(engine, shape, account))
        return shape;
    shape_drop(engine, shape);
    return NULL;
}

int64_t shape_times(const struct engine *engine, const struct shape *shape)
{
    return shape->bound && limit_is_reached(account_known(engine, shape->bound)) ? 0 : shape->times;
}

/* The part of a host's uplink in the sum. WHY bounded: a host may report any rate, and the sum over
 * a million hosts must not wrap; 8 Tbit/s are more than a host has. */
static uint64_t summed_uplink(const struct host *host)
{
    const uint64_t most = UINT64_C(1) << 43;
    return host->uplink_bps < most ? host->uplink_bps : most;
}

void host_leave_sums(struct engine *engine, const struct host *host)
{
    if (!host_up(host))
        return;
    for (uint32_t i = 0; i < host->n_units; i++) {
        resources_subtract(&engine->total, &host->units[i].total);
        resources_subtract(&engine->free, &host->units[i].free);
    }
    resources_subtract(&engine->total, &host->beyond);
    resources_subtract(&engine->free, &host->room_free);
    assert(engine->up > 0 && engine->uplink_bps >= summed_uplink(host));
    engine->uplink_bps -= summed_uplink(host);
    racks_leave(engine, host, summed_uplink(host));
    engine->up--;
}

void host_enter_sums(struct engine *engine, struct host *host)
{
    make_dirty(host, 0, host->n_units);
    if (!host_up(host))
        return;
    for (uint32_t i = 0; i < host->n_units; i++) {
        resources_add(&engine->total, &host->units[i].total);
        resources_add(&engine->free, &host->units[i].free);
    }
    resources_add(&engine->total, &host->beyond);
    resources_add(&engine->free, &host->room_free);
    engine->uplink_bps += summed_uplink(host);
    racks_enter(engine, host, summed_uplink(host));
    engine->up++;
}

struct unit *host_own_unit(const struct host *host, uint32_t unit)
{
    return &host->units[unit < host->n_units ? unit : host->n_units - 1];
}

static struct unit *unit_of(const struct attempt *attempt)
{
    return attempt->room ? &attempt->room->unit : host_own_unit(attempt->host, attempt->unit);
}

void host_occupy(struct engine *engine, const struct attempt *attempt, bool occupy)
{
    struct host *host = attempt->host;
    struct unit *here = unit_of(attempt);
    const struct resources *resources = &attempt->resources;
    void (*count)(struct resources *, const struct resources *) =
        occupy ? resources_subtract : resources_add;
    if (attempt->room)
        count(&host->room_free, resources);
    else
        make_dirty(host, (uint32_t)(here - host->units), (uint32_t)(here - host->units) + 1);
    if (occupy) {
        resources_subtract(&here->free, resources);
        here->running++;
        host->running++;
    } else {
        resources_add(&here->free, resources);
        here->running--;
        host->running--;
    }
    if (host_up(host))
        count(&engine->free, resources);
}

struct host *cluster_adopt(struct engine *engine, uint32_t index)
{
    if (index >= engine->config.hosts_max) {
        engine->counters.ignored_facts++;
        return NULL;
    }
    if (index >= engine->n_hosts)
        engine->n_hosts = index + 1;
    if (engine->hosts[index])
        return engine->hosts[index];
    struct host *host = engine_allocate(engine, 1, sizeof(*host));
    host->index = index;
    host->n_units = 1;
    host->units = engine_allocate(engine, 1, sizeof(*host->units));
    TAILQ_INIT(&host->attempts);
    TAILQ_INIT(&host->block_readers);
    TAILQ_INIT(&host->locals);
    TAILQ_INIT(&host->outputs);
    host_draw_tie(engine, host);
    host->shapes = engine_allocate(engine, engine->config.shapes_max, sizeof(struct host_shape *));
    for (uint32_t i = 0; i < engine->n_shapes; i++)
        host->shapes[i] = host_shape_create(engine, host, engine->shapes[i]);
    engine->hosts[index] = host;
    policy_begin_host(engine, host);
    return host;
}

/* WHY a bound: the sum over all units of all hosts must not pass INT64_MAX. Only a mistake exceeds
 * it: 57 TB with 10 000 hosts of 16 units. */
int64_t cluster_amount(const struct engine *engine, int64_t amount)
{
    int64_t most =
        INT64_MAX / ((int64_t)engine->config.hosts_max * engine->config.units_per_host_max);
    return amount < most ? amount : most;
}

void host_replace_units(struct engine *engine, struct host *host, const struct u64s *vectors)
{
    uint32_t n = vectors->n / ENGINE_RESOURCES;
    if (n > engine->config.units_per_host_max)
        n = engine->config.units_per_host_max;
    if (!n)
        return;
    struct unit *units = engine_allocate(engine, n, sizeof(*units));
    for (uint32_t i = 0; i < n; i++)
        for (int r = 0; r < ENGINE_RESOURCES; r++) {
            int64_t amount = clamp_i64(vectors->at[i * ENGINE_RESOURCES + (uint32_t)r]);
            units[i].total.amount[r] = units[i].free.amount[r] = cluster_amount(engine, amount);
        }
    for (uint32_t i = 0; i < engine->n_shapes; i++) {
        struct host_shape *old = host->shapes[i];
        for (uint32_t u = 0; u < host->n_units; u++) {
            fit_unplace(engine->shapes[i], &old->fit[u]);
            assert(engine->shapes[i]->times >= old->fit[u].times &&
                   engine->shapes[i]->capable >= old->fit[u].capable &&
                   engine->shapes[i]->possible >= old->fit[u].possible);
            engine->shapes[i]->times -= old->fit[u].times;
            engine->shapes[i]->fitting -= old->fit[u].times > 0;
            engine->shapes[i]->capable -= old->fit[u].capable;
            engine->shapes[i]->possible -= old->fit[u].possible;
        }
    }
    free(host->units);
    host->units = units;
    host->n_units = n;
    host->dirty_from = 0;
    host->dirty_to = n;
    host->running = 0;
    struct attempt *attempt;
    TAILQ_FOREACH (attempt, &host->attempts, on_host) {
        host->running++;
        if (attempt->room)
            continue;
        struct unit *here = unit_of(attempt);
        resources_subtract(&here->free, &attempt->resources);
        here->running++;
    }
    room_take(host);
    for (uint32_t i = 0; i < engine->n_shapes; i++) {
        struct host_shape *old = host->shapes[i],
                          *new = host_shape_create(engine, host, engine->shapes[i]);
        new->all.waiting = old->all.waiting;
        new->capable = old->capable;
        new->clean = old->clean;
        sorted_remove(&engine->shapes[i]->all.local_hosts, &old->all.local_host);
        TAILQ_CONCAT(&new->of_users, &old->of_users, of_shape);
        host->shapes[i] = new;
        free(old);
    }
}

void cluster_set_suspect(struct engine *engine, struct host *host, bool *which, bool suspect)
{
    if (*which == suspect)
        return;
    host_leave_sums(engine, host);
    assert(engine->suspects >= host_suspect(host));
    engine->suspects -= host_suspect(host);
    *which = suspect;
    engine->suspects += host_suspect(host);
    host_enter_sums(engine, host);
    host_touch(engine, host);
    tell_cluster_changed(engine);
}

void cluster_done(struct engine *engine)
{
    for (uint32_t i = 0; i < engine->n_hosts; i++) {
        struct host *host = engine->hosts[i];
        if (!host)
            continue;
        policy_end_host(engine, host);
        room_done(host);
        for (uint32_t s = 0; s < engine->n_shapes; s++)
            free(host->shapes[s]);
        free(host->begun.at);
        free(host->shapes);
        free(host->units);
        free(host->unit_names);
        free(host);
    }
    for (uint32_t i = 0; i < engine->n_shapes; i++)
        free(engine->shapes[i]);
    room_applications_done(engine);
    racks_done(engine);
    free(engine->hosts);
    free(engine->shapes);
}
