#include "controller/engine/place/kinds.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/table.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/users.h"
#include "controller/engine/books/variant.h"
#include "controller/engine/watch/located.h"
#include "controller/engine/watch/queues.h"

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
    all->order = order;
}

/* ---- groups ---- */

struct kinds_group *kinds_group_after(const struct engine *engine, const struct kinds_group *group)
{
    uint64_t whose = engine->asked ? (uint64_t)engine->asked->number + 1 : 0;
    struct sorted_node *node =
        group ? sorted_next(&group->of_engine)
              : sorted_from(&kinds_all(engine)->groups, (struct sorted_key){whose, 0, 0});
    return node && node->key.a == whose ? container_of(node, struct kinds_group, of_engine) : NULL;
}

static struct kinds_group *find_group(struct engine *engine, const struct kinds_group *wanted)
{
    struct sorted_node *node =
        sorted_from(&kinds_all(engine)->groups, (struct sorted_key){wanted->whose, 0, 0});
    for (; node && node->key.a == wanted->whose; node = sorted_next(node)) {
        struct kinds_group *group = container_of(node, struct kinds_group, of_engine);
        engine->counters.visits++;
        if (group->shape == wanted->shape && group->reads == wanted->reads)
            return group;
    }
    return NULL;
}

static struct kinds_group *make_group(struct engine *engine, const struct kinds_group *wanted)
{
    struct kinds_group *group = engine_allocate(engine, 1, sizeof(*group));
    struct kinds_engine *all = kinds_all(engine);
    *group = *wanted;
    group->waiting.counted = true;
    sorted_insert(&all->groups, &group->of_engine,
                  (struct sorted_key){group->whose, all->made++, 0}, 0);
    return group;
}

static void drop_group(struct engine *engine, struct kinds_group *group)
{
    sorted_remove(&kinds_all(engine)->groups, &group->of_engine);
    free(group);
}

/* ---- a group's tree ---- */

static const struct kind_least nothing = {AFFINITY_BOUND_OF_NONE,
                                          {UINT64_MAX, UINT64_MAX, UINT64_MAX}};

static void add(struct kind_least *least, const struct kind *kind)
{
    if (!kind)
        return;
    least->bound = affinity_bound_join(&least->bound, &kind->below.bound);
    if (sorted_compare(kind->below.first, least->first) < 0)
        least->first = kind->below.first;
}

static void augment(struct kind *kind)
{
    kind->below = kind->own;
    add(&kind->below, RB_LEFT(kind, of_group));
    add(&kind->below, RB_RIGHT(kind, of_group));
}

/* WHY by what a task reads first: subtrees are told apart by it most often. */
static int compare_kinds(const struct kind *a, const struct kind *b)
{
    const struct profile *p = &a->profile, *q = &b->profile;
    const uint64_t x[] = {a->bound.reading, p->read_bytes, p->read_bytes_s,
                          p->before,        p->compute_ns, a->best_ns,
                          a->stage,         a->known,      a->without_gpu_ns},
                   y[] = {b->bound.reading, q->read_bytes, q->read_bytes_s,
                          q->before,        q->compute_ns, b->best_ns,
                          b->stage,         b->known,      b->without_gpu_ns};
    for (size_t i = 0; i < sizeof(x) / sizeof(x[0]); i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

#undef RB_AUGMENT
#define RB_AUGMENT(kind) augment(kind)
RB_GENERATE_INTERNAL(kind_tree, kind, of_group, compare_kinds, __attribute__((unused)) static)

/* WHY it may stop where nothing changes: all above was right before. So who comes or goes is
 * `nothing` then. */
static void set_own(struct kind *kind, const struct kind_least *own)
{
    kind->own = *own;
    for (; kind; kind = RB_PARENT(kind, of_group)) {
        const struct kind_least before = kind->below;
        augment(kind);
        if (memcmp(&before, &kind->below, sizeof(before)) == 0)
            return;
    }
}

/* Its first stage in order, or the one that waits longest, may be another one. */
static void follow(struct kind *kind)
{
    const struct kind_least own = {kind->bound, sorted_first(&kind->in_order)->key};
    sorted_place(&kind->group->waiting, &kind->longest, sorted_first(&kind->waiting)->key, 0);
    if (sorted_compare(own.first, kind->own.first))
        set_own(kind, &own);
}

struct kind *kinds_after(struct kinds_group *group, struct kind *kind)
{
    return kind ? kind_tree_RB_NEXT(kind) : RB_MIN(kind_tree, &group->kinds);
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

/* The one that is like it; NULL: there is none. The wanted one's group becomes the one that is like
 * that, if there is one. */
static struct kind *find_kind(struct engine *engine, struct kind *wanted)
{
    struct kinds_group *group = find_group(engine, wanted->group);
    wanted->lone_ns = affinity_lone_ns(&wanted->profile);
    wanted->bound = affinity_bound_of(&wanted->profile, kind_by_ns(wanted));
    if (!group)
        return NULL;
    wanted->group = group;
    return RB_FIND(kind_tree, &group->kinds, wanted);
}

/* WHY n: a group that is not only wanted has kinds. */
static struct kind *make_kind(struct engine *engine, const struct kind *wanted)
{
    struct kind *kind = engine_allocate(engine, 1, sizeof(*kind));
    *kind = *wanted;
    if (!wanted->group->n)
        kind->group = make_group(engine, wanted->group);
    kind->own = kind->below = nothing;
    kinds_all(engine)->n_known += kind->known;
    kind->group->n++;
    RB_INSERT(kind_tree, &kind->group->kinds, kind);
    return kind;
}

static struct kind *kind_for(struct engine *engine, struct stage *stage, bool *ret_full)
{
    struct kinds_group group = {
        .shape = stage->bucket->shape,
        .whose = users_divided(engine) ? (uint64_t)stage->job->tenant->number + 1 : 0,
        .reads = stage->profile.read_bytes};
    struct kind wanted = {
        .group = &group, .stage = stage->index, .known = profile_is_known(&stage->profile)};
    *ret_full = false;
    if (wanted.known) {
        wanted.profile = stage->profile;
        find_times(stage, &wanted);
    }
    struct kind *kind = find_kind(engine, &wanted);
    if (!kind && wanted.known &&
        kinds_all(engine)->n_known >= policy_value(engine, QUESTION_PLACE, &parameter_profiles)) {
        *ret_full = true;
        group.reads = false;
        wanted = (struct kind){.group = &group, .stage = wanted.stage};
        kind = find_kind(engine, &wanted);
    }
    return kind ? kind : make_kind(engine, &wanted);
}

static void drop_kind(struct engine *engine, struct kind *kind)
{
    struct kinds_group *group = kind->group;
    kinds_all(engine)->n_known -= kind->known;
    group->n--;
    sorted_remove(&group->waiting, &kind->longest);
    set_own(kind, &nothing);
    RB_REMOVE(kind_tree, &group->kinds, kind);
    if (!group->n)
        drop_group(engine, group);
    free(kind);
}

/* ---- which stages ---- */

static struct sorted_key waiting_key(const struct stage *stage)
{
    bool slot = stage->bucket->shape->demand.amount[RES_GPU_MILLI] <= 0;
    return (struct sorted_key){kinds_of(stage->first)->since, stage->job->number,
                               (uint64_t)stage->index << 32 | (uint64_t)slot << 16 |
                                   stage->variant};
}

static void reorder(struct engine *engine, struct kinds_stage *kept)
{
    struct kind *kind = kept->kind;
    struct stage *stage = kept->stage;
    if (!kind)
        return;
    sorted_place(&kind->in_order, &kept->in_order, kinds_all(engine)->order(engine, stage), 0);
    sorted_place(&kind->waiting, &kept->waiting, waiting_key(stage), 0);
    follow(kind);
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
    if (kind->in_order.n)
        follow(kind);
    else
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
    if (task_state(task) == TASK_RUNNING && before != TASK_RUNNING)
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

/* WHY one look: a host whose disk hangs comes behind all others in that order. */
static struct host *next_host(const struct kinds_group *group)
{
    struct host *host = place_least_loaded(group->shape)->host;
    return group_waits_for_disk(group, host) ? NULL : host;
}

struct host *kinds_next_host(struct engine *engine)
{
    struct host *best = NULL;
    struct kinds_group *group = NULL;
    while ((group = kinds_group_after(engine, group))) {
        engine->counters.visits++;
        if (shape_times(engine, group->shape) <= 0)
            continue;
        struct host *host = next_host(group);
        if (host && (!best || sorted_compare(host_by_load(host), host_by_load(best)) < 0))
            best = host;
    }
    return best;
}

bool kinds_fit(const struct engine *engine, const struct kinds_group *group,
               const struct host *host)
{
    return shape_times(engine, group->shape) > 0 && !group_waits_for_disk(group, host) &&
           host_fit(host, group->shape);
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
    const struct local_maps *local = table_find(&stage->bucket->locals, host->index);
    const struct located *located = local ? located_on(local) : NULL;
    if (located && located->stage == stage)
        return located_first(located);
    struct task *map = stage_first_map(stage);
    if (map)
        return map;
    struct sorted_key largest = {sorted_last(&stage->ready_reduces)->key.a, 0, 0};
    return container_of(sorted_from(&stage->ready_reduces, largest), struct task, ready);
}
