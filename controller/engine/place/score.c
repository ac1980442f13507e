/* Filter and score (Kubernetes' scheduler): the first task in turn goes where the sum of weighted
 * scores of 0 to SCORE is highest among those hosts that its constraint leaves. Scores, with the
 * weights that they have there:
 *
 *   1  NodeResourcesFit, LeastAllocated: the part of each demanded resource that stays free
 *   1  NodeResourcesBalancedAllocation: these parts do not differ
 *   2  NodeAffinity: the utility of the wishes that the host meets, of the most that one does
 *   2  PodTopologySpread: the fewer tasks of the same job run there
 *
 * WHY at most CANDIDATES hosts, the least loaded ones: a decision looks at no more, and there, too,
 * not all nodes are scored but so many at least (minFeasibleNodesToFind).
 *
 * Source: Kubernetes 1.30, pkg/scheduler: apis/config/v1/default_plugins.go, schedule_one.go,
 * framework/plugins. */
#include "controller/engine/books/spread.h"
#include "controller/engine/books/wishes.h"
#include "controller/engine/place/place.h"
#include "controller/engine/watch/queues.h"

#define REASON_SCORE ((enum reason)81)

enum { CANDIDATES = 100, SCORE = 100 };

/* What normalises the scores of one decision. */
struct most {
    uint64_t utility, tasks;
};

static uint64_t tasks_of_job(const struct job *job, const struct host *host)
{
    const struct job_host *here = spread_find(job, host);
    return here ? here->attempts : 0;
}

static int64_t free_part(const struct unit *unit, const struct resources *demand, int resource)
{
    int64_t total = unit->total.amount[resource],
            left = unit->free.amount[resource] - demand->amount[resource];
    return total > 0 && left > 0 ? (int64_t)((__int128)left * SCORE / total) : 0;
}

/* Least allocated, and balanced: of the resources that the task demands. */
static int64_t score_of_resources(const struct unit *unit, const struct resources *demand)
{
    int64_t sum = 0, least = SCORE, most = 0, n = 0;
    for (int r = 0; r < ENGINE_RESOURCES; r++) {
        if (demand->amount[r] <= 0)
            continue;
        int64_t part = free_part(unit, demand, r);
        sum += part;
        least = part < least ? part : least;
        most = part > most ? part : most;
        n++;
    }
    return n ? sum / n + SCORE - (most - least) : 0;
}

static int64_t score_of(const struct stage *stage, const struct fit *fit, const struct most *most)
{
    const struct host *host = fit->host;
    int64_t score = score_of_resources(&host->units[fit->unit], &stage->bucket->shape->demand);
    if (most->utility)
        score += (int64_t)(2 * SCORE * wishes_utility(stage, host) / most->utility);
    if (most->tasks)
        score +=
            (int64_t)(2 * SCORE * (most->tasks - tasks_of_job(stage->job, host)) / most->tasks);
    return score;
}

static struct fit *fit_of(struct sorted_node *node)
{
    return container_of(node, struct fit, by_load);
}

static struct most most_of(struct engine *engine, const struct stage *stage)
{
    struct most most = {0, 0};
    struct sorted_node *node = sorted_first(&stage->bucket->shape->by_load);
    for (int i = 0; node && i < CANDIDATES; i++, node = sorted_next(node)) {
        uint64_t utility = wishes_utility(stage, fit_of(node)->host),
                 tasks = tasks_of_job(stage->job, fit_of(node)->host);
        engine->counters.visits++;
        most.utility = utility > most.utility ? utility : most.utility;
        most.tasks = tasks > most.tasks ? tasks : most.tasks;
    }
    return most;
}

/* Of equal scores the least loaded host's. */
static struct fit *best_of(struct engine *engine, const struct stage *stage, int64_t *ret_score)
{
    const struct most most = most_of(engine, stage);
    struct sorted_node *node = sorted_first(&stage->bucket->shape->by_load);
    struct fit *best = NULL;
    *ret_score = -1;
    for (int i = 0; node && i < CANDIDATES; i++, node = sorted_next(node)) {
        int64_t score = score_of(stage, fit_of(node), &most);
        engine->counters.visits++;
        if (score <= *ret_score)
            continue;
        *ret_score = score;
        best = fit_of(node);
    }
    return best;
}

static bool score_pick(struct engine *engine, struct claim *ret_claim)
{
    struct bucket *bucket = place_first_bucket(engine);
    int64_t score;
    if (!bucket)
        return false;
    struct task *map = bucket_first_map(bucket);
    struct task *task = map ? map : bucket_largest(engine, bucket);
    struct fit *fit = best_of(engine, task->stage, &score);
    *ret_claim = (struct claim){task, fit, REASON_SCORE, score, fit->host->running};
    return true;
}

static const struct policy_reason reasons[] = {
    {DECISION_START, REASON_SCORE, "score", "the host's score", "tasks that ran there",
     "Runs on {host}, whose score {left} was the highest ({right} tasks ran there). "},
    {0}};

const struct place_policy place_score = {
    .policy = {.name = "filter-score", .reasons = reasons},
    .pick = score_pick,
};
