#include "controller/engine/watch/queues.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/books/stage.h"
#include "controller/engine/books/users.h"
#include "controller/engine/policy/questions.h"
#include "controller/engine/watch/homes.h"
#include "controller/engine/watch/locality.h"

/* The smallest transfer into the bucket's ready reduce tasks, in the order that the network follows
 * in slot-rich mode. */
static uint64_t smallest_transfer(struct engine *engine, struct bucket *bucket)
{
    uint64_t least = UINT64_MAX;
    struct stage *stage;
    TAILQ_FOREACH (stage, &bucket->reduce_stages, of_bucket) {
        engine->counters.visits++;
        uint64_t bytes = engine->network->order(MODE_SLOT_RICH) == ORDER_COFLOW
                             ? stage_coflow_bytes(stage)
                             : sorted_first(&stage->ready_reduces)->key.a;
        if (bytes < least)
            least = bytes;
    }
    return least;
}

static uint64_t reduce_value(struct engine *engine, struct bucket *bucket)
{
    return engine->place->reduce_value ? engine->place->reduce_value(engine, bucket)
                                       : smallest_transfer(engine, bucket);
}

static void place_by_turn(struct sorted *set, struct sorted_node *node, const struct job *job,
                          bool in, uint64_t value)
{
    if (in)
        sorted_place(set, node, job->turn, value);
    else
        sorted_remove(set, node);
}

void bucket_update(struct engine *engine, struct bucket *bucket)
{
    struct queues *queues = bucket->queues;
    bool reduces = !TAILQ_EMPTY(&bucket->reduce_stages);
    uint64_t of_maps = engine->place->map_value ? engine->place->map_value(engine, bucket) : 0;
    place_by_turn(&queues->maps, &bucket->by_turn_maps, bucket->job, bucket->n_maps > 0, of_maps);
    place_by_turn(&queues->reduces, &bucket->by_turn_reduces, bucket->job, reduces,
                  reduces ? reduce_value(engine, bucket) : 0);
    users_count(engine, bucket, bucket->n_maps > 0, reduces);
    users_moved(bucket->job);
}

struct task *stage_first_map(const struct stage *stage)
{
    struct sorted_node *node = sorted_first(&stage->ready_maps);
    return node ? container_of(node, struct task, ready) : NULL;
}

struct task *bucket_first_map(const struct bucket *bucket)
{
    const struct sorted_node *node = sorted_first(&bucket->map_stages);
    return node ? stage_first_map(container_of(node, struct stage, of_maps)) : NULL;
}

struct task *bucket_next_map(const struct task *map)
{
    struct sorted_node *node = sorted_next(&map->ready);
    if (node)
        return container_of(node, struct task, ready);
    node = sorted_next(&map->stage->of_maps);
    return node ? stage_first_map(container_of(node, struct stage, of_maps)) : NULL;
}

struct task *stage_first_unlocated(const struct stage *stage)
{
    struct sorted_node *node = sorted_first(&stage->unlocated);
    return node ? container_of(node, struct task, ready_unlocated) : NULL;
}

struct task *bucket_first_unlocated(const struct bucket *bucket)
{
    const struct sorted_node *node = sorted_first(&bucket->unlocated_stages);
    return node ? stage_first_unlocated(container_of(node, struct stage, of_unlocated)) : NULL;
}

struct task *bucket_largest(struct engine *engine, const struct bucket *bucket)
{
    struct task *largest = NULL;
    struct stage *stage;
    TAILQ_FOREACH (stage, &bucket->reduce_stages, of_bucket) {
        engine->counters.visits++;
        struct sorted_key equal = {sorted_last(&stage->ready_reduces)->key.a, 0, 0};
        struct task *task =
            container_of(sorted_from(&stage->ready_reduces, equal), struct task, ready);
        if (!largest || task->bytes > largest->bytes ||
            (task->bytes == largest->bytes && stage->index < largest->stage->index))
            largest = task;
    }
    return largest;
}

static uint32_t next_variant(const struct bucket *bucket)
{
    const struct task *map = bucket_first_map(bucket);
    const struct stage *stage = map ? map->stage : TAILQ_FIRST(&bucket->reduce_stages);
    return stage ? stage->variant : 0;
}

bool bucket_is_sooner(const struct bucket *a, const struct bucket *b)
{
    int order = sorted_compare(a->job->turn, b->job->turn);
    return order ? order < 0 : a->job->n_choices && next_variant(a) < next_variant(b);
}

void queues_reorder(struct engine *engine, struct job *job)
{
    for (uint32_t i = 0; i < job->n_buckets; i++)
        bucket_update(engine, job->buckets[i]);
}

static void turn_moved(struct engine *engine, struct job *job, bool passed)
{
    (void)passed;
    queues_reorder(engine, job);
}

static void task_moves(struct engine *engine, struct task *task)
{
    bucket_update(engine, task->stage->bucket);
}

static void ready_left(struct engine *engine, struct stage *stage)
{
    bucket_update(engine, stage->bucket);
}

static void job_withdrawn(struct engine *engine, struct job *job)
{
    for (uint32_t i = 0; i < job->n_buckets; i++) {
        struct bucket *bucket = job->buckets[i];
        sorted_remove(&bucket->queues->maps, &bucket->by_turn_maps);
        sorted_remove(&bucket->queues->reduces, &bucket->by_turn_reduces);
        users_count(engine, bucket, false, false);
    }
    users_moved(job);
}

static void carry(const struct engine *engine, struct sorted *from, struct sorted *to,
                  struct sorted_node *node)
{
    uint64_t value = engine_follows(engine, RULE_VALUES_CARRIED) ? node->value : UINT64_MAX;
    if (!node->in)
        return;
    sorted_remove(from, node);
    sorted_insert(to, node, node->key, value);
}

static void change_queues(struct engine *engine, struct bucket *bucket, struct queues *to)
{
    struct queues *from = bucket->queues;
    struct host *home = bucket->home;
    users_count(engine, bucket, false, false);
    homes_place(bucket, NULL);
    carry(engine, &from->maps, &to->maps, &bucket->by_turn_maps);
    carry(engine, &from->reduces, &to->reduces, &bucket->by_turn_reduces);
    locality_change_queues(engine, bucket, to);
    homes_place(bucket, home);
    users_count(engine, bucket, bucket->by_turn_maps.in, bucket->by_turn_reduces.in);
    users_moved(bucket->job);
}

static void job_changes_queues(struct engine *engine, struct job *job, struct user *before)
{
    struct stage *stage;
    (void)before;
    TAILQ_FOREACH (stage, &job->waiting, of_job)
        if (stage->overdue)
            carry(engine, &stage->bucket->queues->overdue,
                  &users_queues(engine, job->tenant, stage->bucket->shape)->overdue,
                  &stage->waiting);
    for (uint32_t i = 0; i < job->n_buckets; i++)
        change_queues(engine, job->buckets[i],
                      users_queues(engine, job->tenant, job->buckets[i]->shape));
}

/* What else decides where tasks of the job may start. */
static void job_moves(struct engine *engine, struct job *job)
{
    (void)engine;
    users_moved(job);
}

static void job_on_host(struct engine *engine, struct job *job, struct host *host)
{
    (void)engine, (void)host;
    users_moved(job);
}

static void task_moved(struct engine *engine, struct task *task, enum task_state before)
{
    (void)engine, (void)before;
    users_moved(task->stage->job);
}

const struct listener queues_hears = {.task_ready = task_moves,
                                      .task_unready = task_moves,
                                      .ready_left = ready_left,
                                      .task_moved = task_moved,
                                      .job_grew = job_moves,
                                      .outputs_moved = job_moves,
                                      .job_on_host = job_on_host,
                                      .turn_moved = turn_moved,
                                      .job_withdrawn = job_withdrawn,
                                      .job_changes_queues = job_changes_queues};
