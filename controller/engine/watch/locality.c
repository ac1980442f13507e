#include "controller/engine/watch/locality.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/table.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/spread.h"
#include "controller/engine/books/stage.h"
#include "controller/engine/books/variant.h"
#include "controller/engine/policy/questions.h"
#include "controller/engine/watch/located.h"
#include "controller/engine/watch/waiting.h"

#include <errno.h>
#include <stdlib.h>

/* A pair's key: maps placed on the host, candidates of the task, ready tasks there. */
enum { PLACED_AT = 40, CANDIDATES_AT = 32, PLACED_MOST = (1 << 24) - 1 };
/* What work on the index costs, in looks at a task. */
enum { PLACING = 8, TELLING = 3 };
_Static_assert(ENGINE_REPLICAS_MAX < 1 << (PLACED_AT - CANDIDATES_AT),
               "candidates need their bits");

static uint64_t maps_of(const struct job *job)
{
    uint64_t maps = 0;
    for (uint32_t s = 0; s < job->n_stages; s++)
        maps += job->stages[s]->n_edges ? 0 : job->stages[s]->n_tasks;
    return maps;
}

uint32_t locality_hosts_of_share(const struct job *job, uint64_t share)
{
    uint64_t maps = maps_of(job);
    return maps && share ? (uint32_t)(maps / share + (maps % share > 0)) : 1;
}

static uint64_t share_of(const struct engine *engine, const struct job *job)
{
    const struct locality_job *kept = engine->place->even ? job->kept[QUESTION_PLACE] : NULL;
    return kept ? kept->share : UINT64_MAX;
}

bool locality_is_even(const struct engine *engine, const struct job *job)
{
    return share_of(engine, job) != UINT64_MAX;
}

uint64_t locality_placed(const struct engine *engine, const struct job *job,
                         const struct host *host)
{
    if (!locality_is_even(engine, job) || (!job->output_hosts && !job->n_running))
        return 0;
    const struct job_host *here = spread_find(job, host);
    return here ? here->outputs + here->attempts : 0;
}

bool locality_anywhere(const struct engine *engine, const struct bucket *bucket)
{
    return bucket->unlocated_stages.n ||
           (bucket->n_maps && !bucket->n_up && locality_is_even(engine, bucket->job));
}

/* Its place among buckets with a map that need not wait for a place. */
static void anywhere_update(const struct engine *engine, struct bucket *bucket)
{
    if (locality_anywhere(engine, bucket) && !bucket->homed)
        sorted_place(&bucket->queues->unlocated, &bucket->by_turn_unlocated, bucket->job->turn, 0);
    else
        sorted_remove(&bucket->queues->unlocated, &bucket->by_turn_unlocated);
}

static struct sorted_key pair_key(const struct engine *engine, const struct local_maps *local,
                                  uint32_t fewest)
{
    const struct bucket *bucket = local->bucket;
    uint64_t random = engine_mix(engine->config.seed, bucket->job->number, local->host->index);
    uint64_t placed = local->placed < PLACED_MOST ? local->placed : PLACED_MOST;
    return (struct sorted_key){placed << PLACED_AT | (uint64_t)fewest << CANDIDATES_AT | local->n,
                               local->host->running, random << 32 | local->host->index};
}

/* Puts the local's best pair into its place among the bucket's pairs. */
static void sort_pair(struct engine *engine, struct local_maps *local)
{
    struct bucket *bucket = local->bucket;
    uint32_t fewest = 1;
    while (fewest <= ENGINE_REPLICAS_MAX && !local->with_candidates[fewest])
        fewest++;
    local->fewest = fewest;
    if (!local->fit || fewest > ENGINE_REPLICAS_MAX) {
        sorted_remove(&bucket->pairs, &local->pair);
        return;
    }
    sorted_place(&bucket->pairs, &local->pair, pair_key(engine, local, fewest), 0);
}

/* Counts the local as `up` and `under`. The bucket's first or last host below its part changes what
 * is refused on all its hosts. */
static void count(struct engine *engine, struct local_maps *local, bool up, bool under)
{
    struct bucket *bucket = local->bucket;
    bool refusing = bucket->n_under;
    bool lifts = under && !local->under;
    bucket->n_up += (uint32_t)up - (uint32_t)local->up;
    bucket->n_under += (uint32_t)under - (uint32_t)local->under;
    local->up = up;
    local->under = under;
    bucket->vain &= !lifts && !(refusing && !bucket->n_under);
    if (refusing != (bucket->n_under > 0))
        waiting_place_all(engine, bucket);
    else
        waiting_place(local);
}

static void recount(struct engine *engine, struct local_maps *local)
{
    const struct job *job = local->bucket->job;
    uint64_t share = share_of(engine, job);
    bool up = share != UINT64_MAX && local->host->shapes[local->bucket->shape->index]->capable;
    local->placed = locality_placed(engine, job, local->host);
    count(engine, local, up, up && local->placed < share);
}

const struct engine_parameter parameter_even_wait = {
    "even_wait",
    ENGINE_UNIT_NS,
    0,
    INT64_C(86400000000000),
    0,
    "Maps run evenly over their blocks' hosts and wait for that at most this long; 0 s: never."};

void locality_job_init(struct engine *engine, union policy_of of, void *state)
{
    struct locality_job *kept = state;
    struct job *job = of.job;
    kept->share = policy_value(engine, QUESTION_PLACE, &parameter_even_wait)
                      ? (maps_of(job) + job->hosts - 1) / job->hosts
                      : UINT64_MAX;
    for (uint32_t i = 0; i < job->n_buckets; i++) {
        struct local_maps *local;
        for (uint32_t at = 0; (local = table_next(&job->buckets[i]->locals, &at));)
            recount(engine, local);
        job->buckets[i]->synced = false;
        anywhere_update(engine, job->buckets[i]);
    }
}

void locality_job_grew(struct engine *engine, struct job *job)
{
    locality_job_init(engine, (union policy_of){.job = job}, job->kept[QUESTION_PLACE]);
}

static void host_changed(struct engine *engine, struct host *host)
{
    struct local_maps *local;
    TAILQ_FOREACH (local, &host->locals, on_host) {
        recount(engine, local);
        anywhere_update(engine, local->bucket);
    }
}

static struct local_maps *local_on(const struct bucket *bucket, const struct host *host)
{
    return table_find(&bucket->locals, host->index);
}

static void recount_job(struct engine *engine, struct job *job, struct host *host)
{
    if (!locality_is_even(engine, job))
        return;
    engine->changes[engine->n_changes++ % CHANGES] = host->index;
    for (uint32_t i = 0; i < job->n_buckets; i++) {
        struct local_maps *local = local_on(job->buckets[i], host);
        if (local)
            recount(engine, local);
    }
}

static void begin_on(struct engine *engine, const struct local_maps *local)
{
    struct begun *begun = waiting_begun(local);
    begun->at = engine_grow(engine, begun->at, begun->n);
    begun->at[begun->n++] = local->bucket;
}

static void end_on(const struct local_maps *local)
{
    struct begun *begun = waiting_begun(local);
    uint32_t at = 0;
    while (begun->at[at] != local->bucket)
        at++;
    begun->at[at] = begun->at[--begun->n];
}

void locality_begin(struct engine *engine, struct bucket *bucket)
{
    const struct local_maps *local;
    for (uint32_t at = 0; !bucket->begun && (local = table_next(&bucket->locals, &at));)
        begin_on(engine, local);
    bucket->begun = true;
}

static void local_free(struct local_maps *local)
{
    if (local->bucket->begun)
        end_on(local);
    waiting_gone(local);
    TAILQ_REMOVE(&local->host->locals, local, on_host);
    free(local);
}

static struct local_maps *get_local(struct engine *engine, struct bucket *bucket, struct host *host)
{
    struct local_maps *local = local_on(bucket, host);
    if (local)
        return local;
    local = engine_allocate(engine, 1, sizeof(*local));
    local->bucket = bucket;
    local->host = host;
    local->fit = bucket->synced && local_fits(local);
    local->fewest = ENGINE_REPLICAS_MAX + 1;
    RB_INIT(&local->stages);
    table_put(engine, &bucket->locals, host->index, local);
    TAILQ_INSERT_TAIL(&host->locals, local, on_host);
    waiting_come(engine, local);
    if (bucket->begun)
        begin_on(engine, local);
    recount(engine, local);
    return local;
}

/* Sets the task's number of candidates; its pairs on all its hosts move. */
static void set_candidates(struct engine *engine, struct task *task, uint32_t candidates)
{
    for (uint32_t i = 0; i < task->n_refs; i++) {
        struct local_maps *local = task->refs[i].local;
        struct located *located = task->refs[i].located;
        local->with_candidates[task->candidates]--;
        local->with_candidates[candidates]++;
        located->with_candidates[task->candidates]--;
        located->with_candidates[candidates]++;
        engine->counters.visits++;
        if (candidates < local->fewest || !local->with_candidates[local->fewest])
            sort_pair(engine, local);
    }
    task->candidates = candidates;
}

static uint32_t fitting_refs(const struct task *task)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < task->n_refs; i++)
        n += task->refs[i].local->fit;
    return n;
}

/* The task's block on the host is its next ref. */
static void add_ref(struct engine *engine, struct task *task, struct host *host)
{
    struct local_maps *local = get_local(engine, task->stage->bucket, host);
    struct located *located = located_get(engine, local, task->stage);
    struct local_ref *ref = &task->refs[task->n_refs];
    *ref = (struct local_ref){
        .local = local, .located = located, .task = task->index, .index = (uint16_t)task->n_refs++};
    located_insert(located, ref);
    located->with_candidates[0]++;
    local->with_candidates[0]++;
    located->n++;
    if (!local->n++)
        waiting_place(local);
}

static void add(struct engine *engine, struct task *task)
{
    struct bucket *bucket = task->stage->bucket;
    const uint32_t *replicas = task_replicas(task);
    task->refs = engine_allocate(engine, task->stage->replicas_per_task, sizeof(*task->refs));
    task->n_refs = task->candidates = 0;
    for (uint32_t i = 0; i < task_n_replicas(task); i++) {
        bool skip = replicas[i] >= engine->config.hosts_max;
        for (uint32_t j = 0; j < i; j++)
            skip |= replicas[j] == replicas[i];
        if (skip)
            continue;
        /* WHY adopted when unknown: after a restart of the controller jobs come from its store
         * before any host joins. */
        add_ref(engine, task, cluster_adopt(engine, replicas[i]));
    }
    bucket->vain = false;
    for (uint32_t i = 0; i < task->n_refs; i++)
        task->refs[i].of = (uint16_t)task->n_refs;
    /* WHY also for a bucket whose index is not followed now: it still records which of its hosts
     * fit. */
    uint32_t fitting = fitting_refs(task);
    if (!bucket->synced && !fitting)
        return;
    set_candidates(engine, task, fitting);
    for (uint32_t i = 0; i < task->n_refs; i++)
        sort_pair(engine, task->refs[i].local);
}

/* So many tasks left it. */
static void local_left(struct engine *engine, struct local_maps *local, uint32_t n)
{
    struct bucket *bucket = local->bucket;
    local->n -= n;
    if (local->n) {
        if (bucket->synced)
            sort_pair(engine, local);
        return;
    }
    if (bucket->pairs.n)
        sorted_remove(&bucket->pairs, &local->pair);
    count(engine, local, false, false);
    waiting_leave(local);
    table_drop(&bucket->locals, local->host->index);
    local_free(local);
}

static void remove_task(struct engine *engine, struct task *task)
{
    for (uint32_t i = 0; i < task->n_refs; i++) {
        __builtin_prefetch(&task->refs[i].local->bucket);
        __builtin_prefetch(task->refs[i].located);
    }
    for (uint32_t i = 0; i < task->n_refs; i++) {
        __builtin_prefetch(TAILQ_NEXT(task->refs[i].local, on_host));
        __builtin_prefetch(task->refs[i].local->on_host.tqe_prev);
    }
    for (uint32_t i = 0; i < task->n_refs; i++) {
        struct local_ref *ref = &task->refs[i];
        struct located *located = ref->located;
        engine->counters.visits++;
        TAILQ_REMOVE(&located->refs, ref, link);
        located->with_candidates[task->candidates]--;
        ref->local->with_candidates[task->candidates]--;
        if (!--located->n)
            located_end(located);
        local_left(engine, ref->local, 1);
    }
    free(task->refs);
    task->refs = NULL;
    task->n_refs = task->candidates = 0;
}

static void fit_changed(struct engine *engine, const struct located *located, bool fit)
{
    const struct local_ref *ref;
    TAILQ_FOREACH (ref, &located->refs, link) {
        struct task *task = ref_task(ref);
        set_candidates(engine, task, task->candidates + (fit ? 1 : -1u));
    }
}

/* Looks at one host again. */
static void refresh(struct engine *engine, struct local_maps *local)
{
    engine->counters.visits++;
    bool fit = local_fits(local);
    if (fit != local->fit) {
        local->fit = fit;
        for (const struct located *on = located_on(local); on; on = located_next(on))
            fit_changed(engine, on, fit);
    }
    sort_pair(engine, local);
}

static void look_at_all(struct engine *engine, struct bucket *bucket)
{
    struct local_maps *local;
    for (uint32_t at = 0; (local = table_next(&bucket->locals, &at));)
        refresh(engine, local);
}

static void look_at_changes(struct engine *engine, struct bucket *bucket)
{
    for (uint64_t i = bucket->seen; i < engine->n_changes; i++) {
        struct local_maps *local = table_find(&bucket->locals, engine->changes[i % CHANGES]);
        engine->counters.visits++;
        if (local)
            refresh(engine, local);
    }
}

static uint64_t cost_of_looking(const struct engine *engine, const struct bucket *bucket)
{
    uint64_t behind = engine->n_changes - bucket->seen;
    bool all = !bucket->synced || behind > CHANGES || behind > bucket->locals.n;
    return all ? bucket->locals.n : behind;
}

static void synchronise(struct engine *engine, struct bucket *bucket)
{
    if (cost_of_looking(engine, bucket) == engine->n_changes - bucket->seen && bucket->synced)
        look_at_changes(engine, bucket);
    else
        look_at_all(engine, bucket);
    bucket->synced = true;
    bucket->seen = engine->n_changes;
    bucket->seen_flips = bucket->shape->flips;
    bucket->looked = 0;
}

/* The best pair and its task: the first on that host with this few candidates. */
struct best {
    struct local_maps *local;
    struct sorted_key key;
    struct task *task;
};

static uint32_t candidates_of(struct sorted_key key)
{
    return (uint32_t)(key.a >> CANDIDATES_AT) & ((1u << (PLACED_AT - CANDIDATES_AT)) - 1);
}

static struct best best_by_index(struct engine *engine, struct bucket *bucket)
{
    synchronise(engine, bucket);
    struct sorted_node *first = sorted_first(&bucket->pairs);
    if (!first)
        return (struct best){0};
    struct best best = {container_of(first, struct local_maps, pair), first->key, NULL};
    best.task = located_with(best.local, candidates_of(best.key));
    return best;
}

/* Of its task. WHY not by way of the task: that would be one more cache miss for each of many. */
static uint32_t candidates_now(const struct local_ref *ref)
{
    const struct local_ref *refs = ref - ref->index;
    uint32_t n = 0;
    for (uint32_t i = 0; i < ref->of; i++)
        n += local_fits(refs[i].local);
    return n;
}

/* Of the stage's tasks there the first with fewer candidates than *fewest; else `first`. A task
 * whose other hosts have no room ends the search. */
static const struct local_ref *look_at_stage(struct engine *engine, const struct located *located,
                                             uint32_t *fewest, const struct local_ref *first)
{
    const struct local_ref *ref;
    TAILQ_FOREACH (ref, &located->refs, link) {
        uint32_t candidates = candidates_now(ref);
        located->local->bucket->looked++;
        engine->counters.visits++;
        if (candidates < *fewest) {
            *fewest = candidates;
            first = ref;
        }
        if (*fewest == 1)
            break;
    }
    return first;
}

/* For a host with room. */
static void look_at_host(struct engine *engine, struct local_maps *local, struct best *best)
{
    struct sorted_key least = pair_key(engine, local, 1);
    uint32_t fewest = UINT32_MAX;
    const struct local_ref *first = NULL;
    if (best->local && sorted_compare(least, best->key) >= 0)
        return;
    for (const struct located *on = located_on(local); on && fewest != 1; on = located_next(on))
        first = look_at_stage(engine, on, &fewest, first);
    struct sorted_key key = pair_key(engine, local, fewest);
    if (!best->local || sorted_compare(key, best->key) < 0)
        *best = (struct best){local, key, ref_task(first)};
}

/* What updating the index may cost, in looks at a task: placing each host that may have changed,
 * and where room came or went, updating each task there, on all its hosts. */
static uint64_t cost_of_index(const struct engine *engine, const struct bucket *bucket)
{
    uint64_t tasks = bucket->n_maps / bucket->locals.n, looks = cost_of_looking(engine, bucket);
    uint64_t flips = bucket->synced ? bucket->shape->flips - bucket->seen_flips : looks;
    return looks * PLACING + (flips < looks ? flips : looks) * TELLING * tasks;
}

static bool may_take(const struct local_maps *local, bool even)
{
    return local && local_fits(local) && !(even && local_refused(local));
}

/* Of the hosts that changed since none took a map of the bucket: no other does now, as what else
 * may change that forgets it (`vain`). False: that is not known, or fewer hosts have room, or maps
 * of the bucket. */
static bool best_by_changes(struct engine *engine, const struct bucket *bucket, bool even,
                            struct best *ret_best)
{
    uint64_t behind = engine->n_changes - bucket->vain_at;
    *ret_best = (struct best){0};
    if (!bucket->vain || bucket->vain_even != even || behind >= bucket->shape->by_load.n ||
        behind >= bucket->locals.n || behind > CHANGES)
        return false;
    for (uint64_t i = bucket->vain_at; i < engine->n_changes; i++) {
        struct local_maps *local = table_find(&bucket->locals, engine->changes[i % CHANGES]);
        engine->counters.visits++;
        if (may_take(local, even))
            look_at_host(engine, local, ret_best);
    }
    return true;
}

/* False: given up, since it took as many looks as the index would. WHY counted over all picks since
 * the last update of the index: so the cost is at most twice that of the cheaper way. */
static bool best_by_room(struct engine *engine, struct bucket *bucket, bool even,
                         struct best *ret_best)
{
    uint64_t most = cost_of_index(engine, bucket);
    const struct sorted *room = &bucket->shape->by_load;
    bool few = room->n < bucket->locals.n;
    uint64_t left = few ? room->n : bucket->locals.n;
    struct sorted_node *node = sorted_first(room);
    *ret_best = (struct best){0};
    /* WHY before the first look: it takes at least as many as are left. */
    if (left && bucket->looked + left > most)
        return false;
    for (uint32_t at = 0; left && bucket->looked < most; left--) {
        struct local_maps *local =
            few ? local_on(bucket, container_of(node, struct fit, by_load)->host)
                : table_next(&bucket->locals, &at);
        node = few ? sorted_next(node) : NULL;
        engine->counters.visits++;
        bucket->looked++;
        if (may_take(local, even))
            look_at_host(engine, local, ret_best);
    }
    return !left;
}

static struct best best_on(struct engine *engine, const struct bucket *bucket,
                           const struct host *host, bool even)
{
    struct best best = {0};
    struct local_maps *local = local_on(bucket, host);
    if (may_take(local, even))
        look_at_host(engine, local, &best);
    return best;
}

static void remember_vain(const struct engine *engine, struct bucket *bucket, bool even)
{
    if (engine->asked_host)
        return;
    bucket->vain = true;
    bucket->vain_even = even;
    bucket->vain_at = engine->n_changes;
}

int locality_best_pair(struct engine *engine, struct bucket *bucket, bool even,
                       struct task **ret_task, struct fit **ret_fit, uint32_t *ret_candidates,
                       uint32_t *ret_here)
{
    struct best best;
    if (engine->asked_host)
        best = best_on(engine, bucket, engine->asked_host, even);
    else if (!best_by_changes(engine, bucket, even, &best) &&
             !best_by_room(engine, bucket, even, &best))
        best = best_by_index(engine, bucket);
    if (!best.local || (even && local_refused(best.local))) {
        remember_vain(engine, bucket, even);
        return -ENOENT;
    }
    *ret_task = best.task;
    *ret_fit = host_fit(best.local->host, bucket->shape);
    *ret_candidates = candidates_of(best.key);
    *ret_here = best.local->n;
    return 0;
}

static void withdraw(struct bucket *bucket)
{
    struct local_maps *local;
    waiting_forget(bucket);
    for (uint32_t at = 0; (local = table_next(&bucket->locals, &at));) {
        waiting_leave(local);
        local_free(local);
    }
    table_done(&bucket->locals);
    bucket->pairs = (struct sorted){0};
    bucket->n_up = bucket->n_under = 0;
}

static void job_leaves(struct engine *engine, struct job *job)
{
    struct stage *way;
    for (uint32_t i = 0; i < job->n_buckets; i++) {
        engine->counters.visits += job->buckets[i]->locals.n;
        withdraw(job->buckets[i]);
    }
    for (uint32_t s = 0; s < job->n_stages; s++)
        VARIANT_FOREACH (way, job->stages[s])
            located_forget(way);
}

/* WHY its tasks keep their refs: nobody reads them before they are freed (stage.c). */
static void ready_left(struct engine *engine, struct stage *stage)
{
    struct located *located;
    while ((located = LIST_FIRST(&stage->located))) {
        struct local_maps *local = located->local;
        const uint32_t n = located->n;
        engine->counters.visits++;
        for (uint32_t c = 0; c <= ENGINE_REPLICAS_MAX; c++)
            local->with_candidates[c] -= located->with_candidates[c];
        located_end(located);
        local_left(engine, local, n);
    }
    sorted_remove(&stage->bucket->unlocated_stages, &stage->of_unlocated);
    stage->unlocated = (struct sorted){0};
    anywhere_update(engine, stage->bucket);
}

bool locality_has_room(struct engine *engine, const struct bucket *bucket)
{
    const struct sorted *room = &bucket->shape->by_load;
    bool few = room->n < bucket->locals.n, found = false;
    uint64_t left = few ? room->n : bucket->locals.n;
    struct sorted_node *node = sorted_first(room);
    for (uint32_t at = 0; left && !found; left--) {
        const struct local_maps *local =
            few ? local_on(bucket, container_of(node, struct fit, by_load)->host)
                : table_next(&bucket->locals, &at);
        node = few ? sorted_next(node) : NULL;
        engine->counters.visits++;
        found = local && local_fits(local);
    }
    return found;
}

static const struct begun *begun_on(const struct host *host, const struct queues *queues)
{
    static const struct begun none;
    const struct host_queue *queue = queues->user ? table_find(&queues->hosts, host->index) : NULL;
    return !queues->user ? &host->begun : queue ? &queue->begun : &none;
}

struct bucket *locality_first_begun(struct engine *engine, const struct shape *shape,
                                    const struct queues *queues,
                                    bool (*counts)(const struct bucket *bucket))
{
    struct bucket *best = NULL;
    for (struct sorted_node *node = sorted_first(&shape->by_load); node; node = sorted_next(node)) {
        const struct begun *begun = begun_on(container_of(node, struct fit, by_load)->host, queues);
        for (uint32_t i = 0; i < begun->n; i++) {
            struct bucket *bucket = begun->at[i];
            engine->counters.visits++;
            if (bucket->shape == shape && counts(bucket) &&
                (!best || sorted_compare(bucket->by_turn_maps.key, best->by_turn_maps.key) < 0))
                best = bucket;
        }
    }
    return best;
}

/* A framework may know a block's place and not its size. */
static bool has_block(const struct task *task)
{
    return task->stage->replicas && (task->input_bytes || task->stage->job->framework);
}

static void unlocated_add(struct task *task)
{
    struct stage *stage = task->stage;
    if (!stage->unlocated.n)
        sorted_insert(&stage->bucket->unlocated_stages, &stage->of_unlocated,
                      (struct sorted_key){stage->index, 0, 0}, 0);
    sorted_insert(&stage->unlocated, &task->ready_unlocated, (struct sorted_key){task->index, 0, 0},
                  0);
}

static void unlocated_remove(struct task *task)
{
    struct stage *stage = task->stage;
    sorted_remove(&stage->unlocated, &task->ready_unlocated);
    if (!stage->unlocated.n)
        sorted_remove(&stage->bucket->unlocated_stages, &stage->of_unlocated);
}

static void task_ready(struct engine *engine, struct task *task)
{
    if (!task->bytes && has_block(task))
        add(engine, task);
    if (!task->bytes && !task->n_refs)
        unlocated_add(task);
    anywhere_update(engine, task->stage->bucket);
}

static void task_unready(struct engine *engine, struct task *task)
{
    if (!task->bytes) {
        unlocated_remove(task);
        remove_task(engine, task);
    }
    anywhere_update(engine, task->stage->bucket);
}

void locality_change_queues(struct engine *engine, struct bucket *bucket, struct queues *queues)
{
    struct local_maps *local;
    for (uint32_t at = 0; bucket->begun && (local = table_next(&bucket->locals, &at));)
        end_on(local);
    sorted_remove(&bucket->queues->unlocated, &bucket->by_turn_unlocated);
    waiting_change_queues(engine, bucket, queues);
    for (uint32_t at = 0; bucket->begun && (local = table_next(&bucket->locals, &at));)
        begin_on(engine, local);
    anywhere_update(engine, bucket);
}

void locality_reorder(struct engine *engine, struct job *job)
{
    for (uint32_t i = 0; i < job->n_buckets; i++) {
        anywhere_update(engine, job->buckets[i]);
        waiting_move(job->buckets[i]);
    }
}

static void turn_moved(struct engine *engine, struct job *job, bool passed)
{
    (void)passed;
    locality_reorder(engine, job);
}

static void job_withdrawn(struct engine *engine, struct job *job)
{
    job_leaves(engine, job);
    for (uint32_t i = 0; i < job->n_buckets; i++) {
        struct bucket *bucket = job->buckets[i];
        bucket->unlocated_stages = (struct sorted){0};
        sorted_remove(&bucket->queues->unlocated, &bucket->by_turn_unlocated);
    }
}

const struct listener locality_hears = {.task_ready = task_ready,
                                        .task_unready = task_unready,
                                        .job_leaves = job_leaves,
                                        .ready_left = ready_left,
                                        .turn_moved = turn_moved,
                                        .job_on_host = recount_job,
                                        .host_capable = host_changed,
                                        .job_withdrawn = job_withdrawn,
                                        .job_gone = job_leaves};
