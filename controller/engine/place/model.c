/* model: GPUs to the stages that gain most by them, the rest by turn. The baseline of affinity, and
 * as that source's second policy: "resource allocation by the heterogeneous model" (HDAS, 1.2).
 *
 * What a stage gains by GPUs (4): its lone time without one ÷ the mean time of its tasks while each
 * of the host's g GPUs has one of them, which all read at once. The formula is lost in the source's
 * text; k = g is the case in which GPUs are given. A stage that runs on GPUs alone gains most. What
 * has no profile gains nothing. It does not look at what is asked of disks, which is its weakness.
 * With turn drf the rest is divided as the source divides it.
 *
 * Who gains less than others gets no GPU while these have ready tasks; slots go by turn. O(kinds of
 * ready stages) a choice (kinds.h). */
#include "controller/engine/base/ground.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/place/kinds.h"

#define REASON_GAINS_MOST ((enum reason)115)
#define REASON_NEXT_TURN  ((enum reason)116)

/* "Gains": so many thousandths; of stages that run on GPUs alone. */
#define GAIN_MOST INT64_C(1000000000)

static struct sorted_key order_of(const struct engine *engine, const struct stage *stage)
{
    (void)engine;
    return stage->job->turn;
}

static void init_engine(struct engine *engine, union policy_of of, void *state)
{
    (void)engine;
    (void)of;
    kinds_init(state, order_of);
}

static void turn_moved(struct engine *engine, struct job *job, bool passed)
{
    (void)passed;
    for (uint32_t s = 0; s < job->n_stages; s++)
        if (kinds_of(job->stages[s]))
            kinds_reorder(engine, job->stages[s]);
}

static uint64_t gpus_of(const struct host *host)
{
    int64_t milli = 0;
    for (uint32_t u = 0; u < host->n_units; u++)
        milli += host->units[u].total.amount[RES_GPU_MILLI];
    return milli > 1000 ? (uint64_t)milli / 1000 : 1;
}

static int64_t gain(const struct kind *kind, const struct host *host)
{
    struct affinity_disk disk = {.bytes_s = host->disk_bytes_s};
    if (!kind->known)
        return 0;
    for (uint64_t others = gpus_of(host) - 1; others; others--)
        affinity_add_reader(&disk, &kind->profile);
    uint64_t ns = affinity_predict_ns(&kind->profile, &disk, AFFINITY_ASKED);
    uint64_t milli = kind->without_gpu_ns * 1000 / ns;
    return kind->without_gpu_ns && milli < (uint64_t)GAIN_MOST ? (int64_t)milli : GAIN_MOST;
}

static bool is_sooner(const struct kind *a, const struct kind *b)
{
    const struct stage *x = kind_first(a), *y = kind_first(b);
    int order = sorted_compare(x->job->turn, y->job->turn);
    if (order)
        return order < 0;
    return x->index != y->index ? x->index < y->index : x->variant < y->variant;
}

/* The first of the group: with a GPU the kind that gains most, of equals by turn; else by turn. */
static struct kind *find_in(struct engine *engine, struct kinds_group *group,
                            const struct host *host, int64_t *ret_gain)
{
    struct kind *kind = NULL, *best = NULL;
    while ((kind = kinds_after(group, kind))) {
        engine->counters.visits++;
        int64_t one = group_is_on_gpu(group) ? gain(kind, host) : 0;
        if (best && (one < *ret_gain || (one == *ret_gain && !is_sooner(kind, best))))
            continue;
        best = kind;
        *ret_gain = one;
    }
    return best;
}

static struct kind *find(struct engine *engine, const struct host *host, bool gpu,
                         int64_t *ret_gain)
{
    struct kinds_group *group = NULL;
    struct kind *best = NULL;
    while ((group = kinds_group_after(engine, group))) {
        int64_t one = 0;
        engine->counters.visits++;
        if (group_is_on_gpu(group) != gpu || !kinds_fit(engine, group, host))
            continue;
        struct kind *kind = find_in(engine, group, host, &one);
        if (best && (one < *ret_gain || (one == *ret_gain && !is_sooner(kind, best))))
            continue;
        best = kind;
        *ret_gain = one;
    }
    return best;
}

static bool model_pick(struct engine *engine, struct claim *ret_claim)
{
    struct host *host = kinds_next_host(engine);
    int64_t gained = 0;
    if (!host)
        return false;
    struct kind *kind = find(engine, host, true, &gained);
    enum reason reason = kind ? REASON_GAINS_MOST : REASON_NEXT_TURN;
    kind = kind ? kind : find(engine, host, false, &gained);
    *ret_claim = (struct claim){kinds_next_task(kind_first(kind), host),
                                host_fit(host, kind->group->shape), reason, gained, host->running};
    return true;
}

static const struct engine_parameter *const parameters[] = {&parameter_profiles, NULL};

static const struct policy_reason reasons[] = {
    {DECISION_START, REASON_GAINS_MOST, "gains-most",
     "thousandths of its time without a GPU, by that with one", "tasks that ran there",
     "Runs on a GPU of {host} ({right} tasks) because its stage gained most by it: {left} "
     "thousandths of the time that it takes without, by that beside its like. "},
    {DECISION_START, REASON_NEXT_TURN, "next-turn", NULL, "tasks that ran there",
     "Runs on {host} ({right} tasks) because it was its job's turn, and no GPU was free there for "
     "any. "},
    {0}};

const struct place_policy place_model = {
    .policy = {.name = "model",
               .state = {[POLICY_ENGINE] = {.size = sizeof(struct kinds_engine),
                                            .init = init_engine},
                         [POLICY_STAGE] = {.size = sizeof(struct kinds_stage),
                                           .init = kinds_init_stage,
                                           .done = kinds_done_stage}},
               .reasons = reasons,
               .parameters = parameters,
               .hears.task_ready = kinds_task_ready,
               .hears.stage_empty = kinds_stage_empty,
               .hears.task_moved = kinds_task_moved,
               .hears.turn_moved = turn_moved,
               .hears.job_changes_queues = kinds_job_changes_queues,
               .hears.profile_changed = kinds_profile_changed},
    .pick = model_pick,
    .chooses_way = true,
};
