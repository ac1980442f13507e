/* gather: a slot that falls free goes to the job whose task left it, while that has a ready task
 * for which no place is to be waited; all else goes as under greedy.
 *
 * WHY: Spark's FAIR does so by accident. It offers a freed slot to the job with the fewest running
 * tasks, which is the job that has just lost one, so a job's tasks stay where its first ones were,
 * and its reduce tasks find much of their input there. It is a baseline for work whose input has no
 * place (docs/results/joint.md); turn fair goes with it. */
#include "controller/engine/base/ground.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/users.h"
#include "controller/engine/place/place.h"
#include "controller/engine/watch/queues.h"

#define REASON_FREED_SLOT ((enum reason)64)

struct gather_engine {
    struct sorted freed; /* hosts on which something ended in this step, where users divide the
                            cluster by user, then by index */
};
struct gather_host {
    uint64_t attempt, job; /* the newest attempt that ended there in this step, and whose it was */
    struct sorted_node freed;
};

static struct gather_engine *all_of(const struct engine *engine)
{
    return engine->kept[QUESTION_PLACE];
}

static void forget(struct engine *engine, struct gather_host *kept)
{
    sorted_remove(&all_of(engine)->freed, &kept->freed);
}

/* WHY the newest and not the last: all of a host end at once where it is lost, in an order that no
 * dump has. */
static void attempt_over(struct engine *engine, struct attempt *attempt)
{
    struct gather_host *kept = attempt->host->kept[QUESTION_PLACE];
    if (kept->freed.in && attempt->number < kept->attempt)
        return;
    const struct job *job = job_find(engine, attempt->job_number);
    uint64_t user = users_divided(engine) && job ? job->tenant->number : 0;
    kept->attempt = attempt->number;
    kept->job = attempt->job_number;
    sorted_place(&all_of(engine)->freed, &kept->freed,
                 (struct sorted_key){user, attempt->host->index, 0}, 0);
}

static struct task *next_task(struct engine *engine, const struct bucket *bucket)
{
    struct task *map = bucket_first_unlocated(bucket);
    if (map)
        return map;
    return TAILQ_EMPTY(&bucket->reduce_stages) ? NULL : bucket_largest(engine, bucket);
}

/* Of any of its demands for which the host has room. */
static bool goes_back(struct engine *engine, const struct job *job, struct host *host,
                      struct claim *ret_claim)
{
    for (uint32_t i = 0; i < job->n_buckets; i++) {
        const struct bucket *bucket = job->buckets[i];
        bool room = host->shapes[bucket->shape->index]->fitting;
        struct task *task = room ? next_task(engine, bucket) : NULL;
        engine->counters.visits++;
        if (!task)
            continue;
        *ret_claim = (struct claim){task, host_fit(host, bucket->shape), REASON_FREED_SLOT, 0,
                                    host->running};
        return true;
    }
    return false;
}

static struct sorted_node *first_freed(const struct engine *engine)
{
    uint64_t user = engine->asked ? engine->asked->number : 0;
    struct sorted_node *node = sorted_from(&all_of(engine)->freed, (struct sorted_key){user, 0, 0});
    return node && node->key.a == user ? node : NULL;
}

static bool is_asked_for(const struct engine *engine, const struct job *job)
{
    return job && job->by_turn.in && (!engine->asked || job->tenant == engine->asked);
}

/* A host that its job's next task takes is forgotten when it does (chosen). */
static bool gather_pick(struct engine *engine, struct claim *ret_claim)
{
    struct sorted_node *node;
    while ((node = first_freed(engine))) {
        struct gather_host *kept = container_of(node, struct gather_host, freed);
        struct host *host = cluster_host(engine, (uint32_t)node->key.b);
        const struct job *job = job_find(engine, kept->job);
        if (host && is_asked_for(engine, job) && goes_back(engine, job, host, ret_claim))
            return true;
        forget(engine, kept);
    }
    return place_greedy.pick(engine, ret_claim);
}

static bool chosen(struct engine *engine, struct claim *claim)
{
    if (claim->reason == REASON_FREED_SLOT)
        forget(engine, claim->fit->host->kept[QUESTION_PLACE]);
    return true;
}

/* What nobody took in this step is free for everybody. */
static void settle(struct engine *engine)
{
    struct sorted_node *node;
    while ((node = sorted_first(&all_of(engine)->freed)))
        forget(engine, container_of(node, struct gather_host, freed));
}

static void done_host(struct engine *engine, union policy_of of, void *state)
{
    (void)of;
    forget(engine, state);
}

static const struct policy_reason reasons[] = {
    PLACE_PAIR_REASONS,
    PLACE_GREEDY_REASON,
    {DECISION_START, REASON_FREED_SLOT, "freed-slot", NULL, "tasks that ran there",
     "Runs on {host} ({right} tasks), where a task of its job has just ended. "},
    {0}};

const struct place_policy place_gather = {
    .policy = {.name = "gather",
               .state = {[POLICY_ENGINE] = {.size = sizeof(struct gather_engine)},
                         [POLICY_JOB] = {.size = sizeof(struct locality_job),
                                         .init = locality_job_init},
                         [POLICY_HOST] = {.size = sizeof(struct gather_host), .done = done_host}},
               .parameters = place_even_parameters,
               .reasons = reasons,
               .hears.job_grew = locality_job_grew,
               .hears.attempt_over = attempt_over,
               .hears.settle = settle},
    .pick = gather_pick,
    .chosen = chosen,
    .even = true,
};
