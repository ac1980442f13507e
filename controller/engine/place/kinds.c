#include "controller/engine/place/kinds.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/table.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/users.h"
#include "controller/engine/books/variant.h"
#include "controller/engine/place/affinity_model.h"

#include <stdlib.h>
#include <string.h>

const struct engine_parameter parameter_profiles = {
    "profiles",
    ENGINE_UNIT_COUNT,
    1,
    100000,
    1000,
    "So many kinds of ready stages are told apart; tasks of others are taken to read nothing."};

void kinds_init(struct kinds_engine *all,
                struct sorted_key (*order)(const struct engine *, const struct stage *))
{
    TAILQ_INIT(&all->all);
    all->order = order;
}

/* ---- which kind ---- */

static void find_times(const struct stage *stage, struct kind *kind)
{
    struct stage *way;
    VARIANT_FOREACH (way, stage->first) {
        uint64_t ns = kinds_lone_ns(way);
        if (!profile_is_known(&way->profile))
            continue;
        if (!kind->best_ns || ns < kind->best_ns)
            kind->best_ns = ns;
        if (!way->bucket->shape->demand.amount[RES_GPU_MILLI] &&
            (!kind->without_gpu_ns || ns < kind->without_gpu_ns))
            kind->without_gpu_ns = ns;
    }
}

static bool is_alike(const struct kind *a, const struct kind *b)
{
    return a->shape == b->shape && a->user == b->user && a->stage == b->stage &&
           a->known == b->known && a->best_ns == b->best_ns &&
           a->without_gpu_ns == b->without_gpu_ns &&
           memcmp(&a->profile, &b->profile, sizeof(a->profile)) == 0;
}

static struct kind *find_kind(struct engine *engine, const struct kind *wanted)
{
    struct kind *kind;
    TAILQ_FOREACH (kind, &kinds_all(engine)->all, of_engine) {
        engine->counters.visits++;
        if (is_alike(kind, wanted))
            return kind;
    }
    return NULL;
}

static struct kind *make_kind(struct engine *engine, const struct kind *wanted)
{
    struct kind *kind = engine_allocate(engine, 1, sizeof(*kind));
    *kind = *wanted;
    kinds_all(engine)->n_known += kind->known;
    TAILQ_INSERT_TAIL(&kinds_all(engine)->all, kind, of_engine);
    return kind;
}

static struct kind *kind_for(struct engine *engine, struct stage *stage, bool *ret_full)
{
    struct kind wanted = {.shape = stage->bucket->shape,
                          .user = users_divided(engine) ? stage->job->tenant : NULL,
                          .stage = stage->index,
                          .known = profile_is_known(&stage->profile)};
    *ret_full = false;
    if (wanted.known) {
        wanted.profile = stage->profile;
        find_times(stage, &wanted);
    }
    struct kind *kind = find_kind(engine, &wanted);
    if (!kind && wanted.known &&
        kinds_all(engine)->n_known >= policy_value(engine, QUESTION_PLACE, &parameter_profiles)) {
        *ret_full = true;
        wanted = (struct kind){.shape = wanted.shape, .user = wanted.user, .stage = wanted.stage};
        kind = find_kind(engine, &wanted);
    }
    return kind ? kind : make_kind(engine, &wanted);
}

static void drop_kind(struct engine *engine, struct kind *kind)
{
    kinds_all(engine)->n_known -= kind->known;
    TAILQ_REMOVE(&kinds_all(engine)->all, kind, of_engine);
    free(kind);
}

/* ---- which stages ---- */

static void reorder(struct engine *engine, struct kinds_stage *kept)
{
    struct kind *kind = kept->kind;
    struct stage *stage = kept->stage;
    if (!kind)
        return;
    sorted_place(&kind->in_order, &kept->in_order, kinds_all(engine)->order(engine, stage), 0);
    sorted_place(&kind->waiting, &kept->waiting,
                 (struct sorted_key){kinds_of(stage->first)->since, stage->job->number, 0}, 0);
}

static void join(struct engine *engine, struct stage *stage)
{
    struct kinds_stage *kept = kinds_of(stage);
    if (!kept->kind)
        kept->kind = kind_for(engine, stage, &kept->full);
    reorder(engine, kept);
}

static void leave(struct engine *engine, struct kinds_stage *kept)
{
    struct kind *kind = kept->kind;
    if (!kind)
        return;
    sorted_remove(&kind->in_order, &kept->in_order);
    sorted_remove(&kind->waiting, &kept->waiting);
    kept->kind = NULL;
    if (!kind->in_order.n)
        drop_kind(engine, kind);
}

void kinds_reorder(struct engine *engine, struct stage *first)
{
    struct stage *way;
    VARIANT_FOREACH (way, first)
        reorder(engine, kinds_of(way));
}

/* WHY only its last way: an order looks at what all have. */
void kinds_init_stage(struct engine *engine, union policy_of of, void *state)
{
    struct kinds_stage *kept = state;
    struct stage *first = of.stage->first, *way;
    kept->stage = of.stage;
    kept->since = of.stage->variant ? 0 : engine->attempt_counter;
    if (of.stage->variant < first->n_others)
        return;
    VARIANT_FOREACH (way, first)
        if (way->n_ready)
            join(engine, way);
}

void kinds_done_stage(struct engine *engine, union policy_of of, void *state)
{
    (void)of;
    leave(engine, state);
}

void kinds_task_ready(struct engine *engine, struct task *task)
{
    struct stage *stage = task->stage;
    if (stage->first->n_ready == 1 && !stage->variant && !kinds_of(stage)->kind)
        kinds_of(stage)->since = engine->attempt_counter;
    join(engine, stage);
}

void kinds_stage_empty(struct engine *engine, struct stage *stage)
{
    leave(engine, kinds_of(stage));
}

void kinds_task_moved(struct engine *engine, struct task *task, enum task_state before)
{
    if (task->state == TASK_RUNNING && before != TASK_RUNNING)
        kinds_of(task->stage)->since = engine->attempt_counter;
    kinds_reorder(engine, task->stage);
}

void kinds_profile_changed(struct engine *engine, struct stage *stage)
{
    struct stage *way;
    VARIANT_FOREACH (way, stage) {
        if (!kinds_of(way) || !kinds_of(way)->kind)
            continue;
        leave(engine, kinds_of(way));
        join(engine, way);
    }
}

void kinds_job_changes_queues(struct engine *engine, struct job *job, struct user *before)
{
    (void)before;
    for (uint32_t s = 0; s < job->n_stages; s++)
        kinds_profile_changed(engine, job->stages[s]);
}

/* ---- what a choice asks ---- */

static bool may_look(const struct engine *engine, const struct kind *kind)
{
    return (!engine->asked || kind->user == engine->asked) && shape_times(engine, kind->shape) > 0;
}

/* WHY one look: a host whose disk hangs comes behind all others in that order. */
static struct host *next_host(const struct kind *kind)
{
    struct host *host = place_least_loaded(kind->shape)->host;
    return kind_waits_for_disk(kind, host) ? NULL : host;
}

struct host *kinds_next_host(struct engine *engine)
{
    struct host *best = NULL;
    struct kind *kind;
    TAILQ_FOREACH (kind, &kinds_all(engine)->all, of_engine) {
        engine->counters.visits++;
        if (!may_look(engine, kind))
            continue;
        struct host *host = next_host(kind);
        if (host && (!best || sorted_compare(host_by_load(host), host_by_load(best)) < 0))
            best = host;
    }
    return best;
}

bool kinds_fit(const struct engine *engine, const struct kind *kind, const struct host *host)
{
    return may_look(engine, kind) && !kind_waits_for_disk(kind, host) &&
           host_fit(host, kind->shape);
}

struct stage *kind_first(const struct kind *kind)
{
    return container_of(sorted_first(&kind->in_order), struct kinds_stage, in_order)->stage;
}

uint64_t kinds_lone_ns(const struct stage *stage)
{
    uint64_t ns =
        profile_is_known(&stage->profile) ? affinity_lone_ns(&stage->profile) : KINDS_UNKNOWN_NS;
    return ns < KINDS_TIME_MOST ? ns : KINDS_TIME_MOST;
}

struct task *kinds_next_task(const struct stage *stage, const struct host *host)
{
    const struct bucket *bucket = stage->bucket;
    const struct local_maps *local = table_find(&bucket->locals, host->index);
    const struct local_ref *ref = local ? TAILQ_FIRST(&local->refs) : NULL;
    if (ref && ref->task->stage == stage)
        return ref->task;
    struct sorted_node *map =
        sorted_from(&bucket->ready_maps, (struct sorted_key){stage->index, 0, 0});
    if (map && map->key.a == stage->index)
        return container_of(map, struct task, ready);
    struct sorted_key largest = {sorted_last(&stage->ready_reduces)->key.a, 0, 0};
    return container_of(sorted_from(&stage->ready_reduces, largest), struct task, ready);
}
