#include "controller/engine/place/affinity.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/say.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/variant.h"
#include "controller/engine/place/affinity_disk.h"
#include "controller/engine/place/affinity_rank.h"

enum progress { PROGRESS_SUM, PROGRESS_RATE };
static const char *const stretches[] = {"asked", "parts"};
static const char *const progresses[] = {"sum", "rate"};
static const struct engine_choice parameter_stretch = {
    {"stretch", ENGINE_UNIT_CHOICE, 0, 1, AFFINITY_ASKED,
     "A crowded disk is shared by what each reader asks for (asked), or evenly (parts)."},
    stretches};
static const struct engine_choice parameter_progress = {
    {"progress", ENGINE_UNIT_CHOICE, 0, 1, PROGRESS_SUM,
     "A stage's progress: submission + time of its started tasks (sum), or that ÷ its age (rate)."},
    progresses};
static const struct engine_parameter parameter_patience = {
    "patience", ENGINE_UNIT_COUNT,
    1,          1000000,
    1000,       "A ready stage goes first after so many starts of others."};
static const char *const downlinks[] = {"alike", "added", "behind"};
static const struct engine_choice parameter_downlink = {
    {"downlink", ENGINE_UNIT_CHOICE, 0, 2, AFFINITY_ALIKE,
     "Where a task's input would wait for a downlink: alike, later by that (added), or behind."},
    downlinks};
static const struct engine_parameter *const parameters[] = {
    &parameter_stretch.parameter,  &parameter_progress.parameter, &parameter_patience,
    &parameter_downlink.parameter, &parameter_profiles,           NULL};

struct affinity_attempt {
    struct affinity_reader reader;
    struct affinity_runners runners;
};
struct affinity_engine {
    struct kinds_engine kinds;
    /* Of the last choice: its task, and what goes to its attempt. */
    uint64_t job;
    uint32_t stage, task;
    struct affinity_runners runners;
};

static const struct field stage_fields[] = {
    FIELD_OF(kinds_stage, since, U64), FIELD_OF(kinds_stage, on_gpus, U64), {0}};
static const struct field attempt_fields[] = {FIELD_OF(affinity_reader, unreported, U32), {0}};

static int64_t value(const struct engine *engine, const struct engine_parameter *parameter)
{
    return policy_value(engine, QUESTION_PLACE, parameter);
}

/* ---- orders within a kind ---- */

static bool way_is_on_gpu(const struct stage *way)
{
    return way->bucket->shape->demand.amount[RES_GPU_MILLI] > 0;
}

static bool has_way_without_gpu(const struct stage *stage)
{
    struct stage *way;
    VARIANT_FOREACH (way, stage->first)
        if (!way_is_on_gpu(way))
            return true;
    return false;
}

static struct sorted_key order_of(const struct engine *engine, const struct stage *stage)
{
    const struct job *job = stage->job;
    uint64_t submitted_ns = (uint64_t)job->submitted_ns;
    if (way_is_on_gpu(stage))
        return (struct sorted_key){kinds_of(stage->first)->on_gpus * 2 + has_way_without_gpu(stage),
                                   submitted_ns, job->number};
    if (value(engine, &parameter_progress.parameter) == PROGRESS_RATE)
        return (struct sorted_key){stage->first->n_started, submitted_ns, job->number};
    return (struct sorted_key){affinity_progress(stage), submitted_ns, job->number};
}

/* ---- facts ---- */

static void init_engine(struct engine *engine, union policy_of of, void *state)
{
    (void)engine;
    (void)of;
    kinds_init(state, order_of);
}

static bool keeps_stage(const void *state)
{
    const struct kinds_stage *kept = state;
    return !kept->stage->variant;
}

static void load_stage(struct engine *engine, union policy_of of, void *state)
{
    (void)state;
    kinds_reorder(engine, of.stage->first);
}

/* Of the last choice, if the attempt is that; of one that is found nothing is known. */
static void take_runners(struct engine *engine, const struct task *task,
                         struct affinity_attempt *kept)
{
    struct affinity_engine *own = engine->kept[QUESTION_PLACE];
    if (task && own->runners.known && own->job == task->stage->job->number &&
        own->stage == task->stage->index && own->task == task->index)
        kept->runners = own->runners;
    own->runners.known = false;
}

static void init_attempt(struct engine *engine, union policy_of of, void *state)
{
    const struct attempt *attempt = of.attempt;
    struct affinity_attempt *kept = state;
    affinity_init_reader(&kept->reader, of.attempt);
    take_runners(engine, attempt->task, kept);
    if (!attempt->task || attempt->resources.amount[RES_GPU_MILLI] <= 0)
        return;
    kinds_of(attempt->task->stage)->on_gpus++;
    kinds_reorder(engine, attempt->task->stage);
}

static void done_attempt(struct engine *engine, union policy_of of, void *state)
{
    struct affinity_attempt *kept = state;
    (void)engine;
    (void)of;
    affinity_drop_reader(&kept->reader);
}

static bool keeps_attempt(const void *state)
{
    return !((const struct affinity_attempt *)state)->reader.unreported;
}

static void attempt_leaves(struct engine *engine, struct attempt *attempt)
{
    struct affinity_attempt *kept = attempt->kept[QUESTION_PLACE];
    (void)engine;
    affinity_drop_reader(&kept->reader);
}

static void profile_changed(struct engine *engine, struct stage *stage)
{
    kinds_profile_changed(engine, stage);
    affinity_readers_profiled(engine, stage);
}

/* ---- a choice ---- */

static struct claim claim_of(const struct affinity_round *round, const struct affinity_choice *one,
                             enum reason reason)
{
    const struct kinds_stage *kept = kinds_of(one->stage);
    struct claim claim = {kinds_next_task(one->stage, round->host),
                          host_fit(round->host, one->kind->group->shape), reason,
                          clamp_i64(one->predicted_ns), clamp_i64(one->lone_ns)};
    if (reason == REASON_PATIENCE) {
        claim.left = clamp_i64(affinity_waited(round->engine, one->stage));
        claim.right = value(round->engine, &parameter_patience);
    } else if (!one->kind->known) {
        claim.reason = kept->full ? REASON_PROFILES_FULL : REASON_NO_PROFILE;
        claim.left = 0;
        claim.right = kept->full ? kinds_all(round->engine)->n_known : round->host->running;
    }
    return claim;
}

/* How the one stands beside the chosen one, in the number by which they were compared. */
static uint64_t number_of(const struct affinity_round *round, enum affinity_by by,
                          const struct affinity_choice *chosen, const struct affinity_choice *one)
{
    const struct stage *stage = one->stage;
    if (by == AFFINITY_BY_WAIT)
        return affinity_waited(round->engine, stage);
    if (by == AFFINITY_BY_DELAY)
        return 0;
    if (by == AFFINITY_BY_SUM) {
        uint64_t its = affinity_progress_there(round, one),
                 least = affinity_progress_there(round, chosen);
        return its > least ? its - least : 0;
    }
    uint64_t age = (uint64_t)(round->engine->now_ns - stage->job->submitted_ns);
    engine_wide done =
        (engine_wide)stage->first->n_started * kinds_lone_ns(stage) + affinity_added_ns(round, one);
    engine_wide permille = done * 1000 / (age + !age);
    return permille < UINT64_MAX ? (uint64_t)permille : UINT64_MAX;
}

/* For the attempt that follows from the claim. */
static void keep_runners(const struct affinity_round *round, const struct affinity_ranking *ranking,
                         enum affinity_by by, const struct claim *claim)
{
    struct affinity_engine *own = round->engine->kept[QUESTION_PLACE];
    own->job = claim->task->stage->job->number;
    own->stage = claim->task->stage->index;
    own->task = claim->task->index;
    own->runners = (struct affinity_runners){.known = true,
                                             .by = by,
                                             .downlinks = round->downlink != AFFINITY_ALIKE,
                                             .n = ranking->n - 1,
                                             .others = (uint32_t)ranking->seen - 1,
                                             .wait_ns = ranking->at[0].wait_ns};
    for (uint32_t i = 0; i < own->runners.n; i++) {
        const struct affinity_choice *one = &ranking->at[i + 1];
        own->runners.at[i] = (struct affinity_compared){one->stage->job->number,
                                                        one->stage->index,
                                                        one->stage->variant,
                                                        one->predicted_ns,
                                                        one->lone_ns,
                                                        one->wait_ns,
                                                        number_of(round, by, &ranking->at[0], one)};
    }
}

static bool affinity_pick(struct engine *engine, struct claim *ret_claim)
{
    struct affinity_round round = {.engine = engine, .host = kinds_next_host(engine)};
    enum reason reason = REASON_SLOWEST;
    struct affinity_ranking ranking;
    if (!round.host)
        return false;
    round.disk = affinity_disk_of(engine, round.host);
    round.stretch = (enum affinity_stretch)value(engine, &parameter_stretch.parameter);
    round.downlink = (enum affinity_downlink)value(engine, &parameter_downlink.parameter);
    round.rate = value(engine, &parameter_progress.parameter) == PROGRESS_RATE;
    round.gpu = true;
    enum affinity_by by = round.rate ? AFFINITY_BY_RATE : AFFINITY_BY_SUM;
    if (affinity_find_overdue(&round, (uint64_t)value(engine, &parameter_patience), &ranking)) {
        reason = REASON_PATIENCE;
        by = AFFINITY_BY_WAIT;
    } else if (affinity_find_best(&round, &ranking)) {
        reason = REASON_LEAST_DELAYED;
        by = AFFINITY_BY_DELAY;
    } else {
        round.gpu = false;
        if (!affinity_find_best(&round, &ranking))
            return false;
    }
    *ret_claim = claim_of(&round, &ranking.at[0], reason);
    keep_runners(&round, &ranking, by, ret_claim);
    return true;
}

/* A ready task that reads, in some way for which only hosts have room whose disks hang. */
static void explain_ready(const struct engine *engine, const struct stage *first,
                          struct engine_explanation *e)
{
    struct stage *way;
    VARIANT_FOREACH (way, (struct stage *)(uintptr_t)first) {
        const struct kind *kind = kinds_of(way)->kind;
        const struct shape *shape = way->bucket->shape;
        const struct host *host =
            kind && shape_times(engine, shape) > 0 ? place_least_loaded(shape)->host : NULL;
        if (!host || !group_waits_for_disk(kind->group, host))
            continue;
        say(e,
            " As %s it reads, and each host with room has a disk that answers nothing, as %s: it "
            "was predicted never to end there.",
            way->command, host->name);
        say_fact(e, "disk_hangs", "%s", host->name);
        return;
    }
}

static void affinity_explain(const struct engine *engine, const struct task *task,
                             struct engine_explanation *e)
{
    const struct attempt *attempt = task->attempts;
    if (!attempt) {
        explain_ready(engine, task->stage->first, e);
        return;
    }
    const struct affinity_attempt *kept = attempt->kept[QUESTION_PLACE];
    affinity_say_runners(&kept->runners, e);
}

static const struct policy_reason reasons[] = {
    {DECISION_START, REASON_LEAST_DELAYED, "least-delayed",
     "ns that it was predicted to take there", "ns that it takes alone",
     "Runs on a GPU of {host}, where its task was to be delayed least: it was predicted to take "
     "{left.1s} s there, alone it takes {right.1s} s. "},
    {DECISION_START, REASON_SLOWEST, "slowest", "ns that it was predicted to take there",
     "ns that it takes alone",
     "Runs on {host} because its stage had the slowest progress: it was predicted to take "
     "{left.1s} s there, alone it takes {right.1s} s. "},
    {DECISION_START, REASON_PATIENCE, "patience", "starts of others since its stage's last",
     "after how many it goes first",
     "Runs on {host} because its stage was passed over for {left} starts; after {right} it goes "
     "first. "},
    {DECISION_START, REASON_NO_PROFILE, "no-profile", NULL, "tasks that ran there",
     "Runs on {host} ({right} tasks), taken to read nothing: its stage has no profile. "},
    {DECISION_START, REASON_PROFILES_FULL, "profiles-full", NULL, "kinds of stages told apart",
     "Runs on {host}, taken to read nothing: its profile is beyond the {right} that are told "
     "apart (profiles). "},
    {0}};

const struct place_policy place_affinity = {
    .policy = {.name = "affinity",
               .state = {[POLICY_ENGINE] = {.size = sizeof(struct affinity_engine),
                                            .init = init_engine},
                         [POLICY_STAGE] = {.size = sizeof(struct kinds_stage),
                                           .init = kinds_init_stage,
                                           .done = kinds_done_stage,
                                           .fields = stage_fields,
                                           .keeps = keeps_stage,
                                           .load = load_stage},
                         [POLICY_HOST] = {.size = sizeof(struct affinity_readers),
                                          .init = affinity_init_readers},
                         [POLICY_ATTEMPT] = {.size = sizeof(struct affinity_attempt),
                                             .init = init_attempt,
                                             .done = done_attempt,
                                             .fields = attempt_fields,
                                             .keeps = keeps_attempt}},
               .reasons = reasons,
               .parameters = parameters,
               .hears.task_ready = kinds_task_ready,
               .hears.stage_empty = kinds_stage_empty,
               .hears.task_moved = kinds_task_moved,
               .hears.job_changes_queues = kinds_job_changes_queues,
               .hears.attempt_leaves = attempt_leaves,
               .hears.profile_changed = profile_changed,
               .hears.disk_reported = affinity_readers_reported},
    .pick = affinity_pick,
    .explain = affinity_explain,
    .chooses_way = true,
};
