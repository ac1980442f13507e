#include "controller/engine/place/affinity.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/say.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/variant.h"
#include "controller/engine/place/affinity_model.h"
#include "controller/engine/place/affinity_runners.h"
#include "controller/engine/place/kinds.h"

__extension__ typedef unsigned __int128 wide;

enum { RATE_LOOKS = 64 };
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
static const struct engine_parameter *const parameters[] = {
    &parameter_stretch.parameter, &parameter_progress.parameter, &parameter_patience,
    &parameter_profiles, NULL};

struct affinity_attempt {
    uint32_t unreported; /* 1: its host had not confirmed it at its last report */
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
static const struct field attempt_fields[] = {FIELD_OF(affinity_attempt, unreported, U32), {0}};

static int64_t value(const struct engine *engine, const struct engine_parameter *parameter)
{
    return policy_value(engine, QUESTION_PLACE, parameter);
}

/* ---- orders within a kind ---- */

/* By `sum`. */
static uint64_t progress_of(const struct stage *stage)
{
    wide ns =
        (wide)stage->first->n_started * kinds_lone_ns(stage) + (uint64_t)stage->job->submitted_ns;
    return ns < UINT64_MAX ? (uint64_t)ns : UINT64_MAX;
}

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
    return (struct sorted_key){progress_of(stage), submitted_ns, job->number};
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
    kept->unreported = 1;
    take_runners(engine, attempt->task, kept);
    if (!attempt->task || attempt->resources.amount[RES_GPU_MILLI] <= 0)
        return;
    kinds_of(attempt->task->stage)->on_gpus++;
    kinds_reorder(engine, attempt->task->stage);
}

static bool keeps_attempt(const void *state)
{
    return !((const struct affinity_attempt *)state)->unreported;
}

static void disk_reported(struct engine *engine, struct host *host)
{
    struct attempt *attempt;
    TAILQ_FOREACH (attempt, &host->attempts, on_host) {
        struct affinity_attempt *kept = attempt->kept[QUESTION_PLACE];
        engine->counters.visits++;
        kept->unreported = attempt->state == ATTEMPT_SENT;
    }
}

/* ---- a choice ---- */

/* A stage that may go next on the host, and what speaks for it. */
struct choice_of {
    struct stage *stage;
    struct kind *kind;
    uint64_t predicted_ns, lone_ns;
};
/* The best ones, the first first. */
struct ranking {
    uint32_t n, seen;
    struct choice_of at[1 + AFFINITY_RUNNERS];
};
struct round {
    struct engine *engine;
    struct host *host;
    struct affinity_disk disk;
    enum affinity_stretch stretch;
};

static struct affinity_disk disk_of(struct engine *engine, const struct host *host)
{
    wide asked = (wide)host->disk_bytes_s * host->disk_permille / 1000;
    struct affinity_disk disk = {host->disk_bytes_s,
                                 asked < KINDS_TIME_MOST ? (uint64_t)asked : KINDS_TIME_MOST,
                                 host->disk_readers, host->disk_hangs};
    const struct attempt *attempt;
    TAILQ_FOREACH (attempt, &host->attempts, on_host) {
        const struct affinity_attempt *kept = attempt->kept[QUESTION_PLACE];
        const struct stage *stage = attempt->task ? attempt->task->stage : NULL;
        engine->counters.visits++;
        if (!stage || !kept->unreported || attempt->variant > stage->n_others)
            continue;
        const struct stage *way = attempt->variant ? stage->others[attempt->variant - 1] : stage;
        affinity_add_reader(&disk, &way->profile);
    }
    return disk;
}

static struct stage *stage_in(struct sorted_node *node)
{
    return container_of(node, struct kinds_stage, in_order)->stage;
}

static struct choice_of choice_in(const struct round *round, struct kind *kind, struct stage *stage)
{
    return (struct choice_of){stage, kind,
                              affinity_predict_ns(&kind->profile, &round->disk, round->stretch),
                              affinity_lone_ns(&kind->profile)};
}

static bool is_earlier(const struct stage *a, const struct stage *b)
{
    struct sorted_key x = {(uint64_t)a->job->submitted_ns, a->job->number, a->index},
                      y = {(uint64_t)b->job->submitted_ns, b->job->number, b->index};
    return sorted_compare(x, y) < 0;
}

static bool goes_before(const struct choice_of *a, const struct choice_of *b)
{
    struct sorted_key x = kinds_of(a->stage)->in_order.key, y = kinds_of(b->stage)->in_order.key;
    int order = sorted_compare(x, y);
    return order ? order < 0 : a->stage->index < b->stage->index;
}

static bool is_less_delayed(const struct round *round, const struct choice_of *a,
                            const struct choice_of *b)
{
    (void)round;
    int delay = affinity_compare(a->predicted_ns, a->lone_ns, b->predicted_ns, b->lone_ns);
    return delay ? delay < 0 : goes_before(a, b);
}

/* By `rate`: −1, 0 or 1. WHY the age ≥ 1: a stage may be asked for in the step of its job. */
static int compare_rates(const struct engine *engine, const struct stage *a, const struct stage *b)
{
    const struct stage *of[2] = {a, b};
    wide done[2];
    uint64_t age[2];
    for (int i = 0; i < 2; i++) {
        uint64_t ns = (uint64_t)(engine->now_ns - of[i]->job->submitted_ns);
        age[i] = ns < 1 ? 1 : ns < KINDS_TIME_MOST ? ns : KINDS_TIME_MOST;
        done[i] = (wide)of[i]->first->n_started * kinds_lone_ns(of[i]);
    }
    wide left = done[0] * age[1], right = done[1] * age[0];
    return left < right ? -1 : left > right;
}

static int compare_progress(const struct engine *engine, const struct stage *a,
                            const struct stage *b)
{
    if (value(engine, &parameter_progress.parameter) == PROGRESS_RATE)
        return compare_rates(engine, a, b);
    uint64_t x = progress_of(a), y = progress_of(b);
    return x < y ? -1 : x > y;
}

static bool is_slower(const struct round *round, const struct choice_of *a,
                      const struct choice_of *b)
{
    int progress = compare_progress(round->engine, a->stage, b->stage);
    if (progress)
        return progress < 0;
    /* best ÷ predicted, the largest first */
    int part =
        affinity_compare(a->kind->best_ns, a->predicted_ns, b->kind->best_ns, b->predicted_ns);
    return part ? part > 0 : is_earlier(a->stage, b->stage);
}

/* The slowest of its kind by `rate`: of each number of started tasks the earliest job. */
static struct stage *slowest_by_rate(const struct round *round, const struct kind *kind)
{
    struct sorted_node *node = sorted_first(&kind->in_order);
    struct stage *slowest = stage_in(node);
    for (int looks = 1; node && looks < RATE_LOOKS; looks++) {
        node = sorted_from(&kind->in_order, (struct sorted_key){node->key.a + 1, 0, 0});
        round->engine->counters.visits++;
        if (node && compare_rates(round->engine, stage_in(node), slowest) < 0)
            slowest = stage_in(node);
    }
    return slowest;
}

static struct stage *first_of(const struct round *round, const struct kind *kind)
{
    bool rate = value(round->engine, &parameter_progress.parameter) == PROGRESS_RATE;
    return rate && !kind_is_on_gpu(kind) ? slowest_by_rate(round, kind) : kind_first(kind);
}

typedef bool choice_order(const struct round *round, const struct choice_of *a,
                          const struct choice_of *b);

static void rank(const struct round *round, const struct choice_of *one, choice_order *goes_first,
                 struct ranking *ranking)
{
    const uint32_t most = sizeof(ranking->at) / sizeof(ranking->at[0]);
    uint32_t at = ranking->n;
    ranking->seen++;
    while (at && goes_first(round, one, &ranking->at[at - 1])) {
        if (at < most)
            ranking->at[at] = ranking->at[at - 1];
        at--;
    }
    if (at == most)
        return;
    ranking->at[at] = *one;
    ranking->n += ranking->n < most;
}

static bool find_best(const struct round *round, bool gpu, struct ranking *ret_ranking)
{
    struct kind *kind;
    *ret_ranking = (struct ranking){0};
    TAILQ_FOREACH (kind, &kinds_all(round->engine)->all, of_engine) {
        round->engine->counters.visits++;
        if (kind_is_on_gpu(kind) != gpu || !kinds_fit(round->engine, kind, round->host))
            continue;
        const struct choice_of one = choice_in(round, kind, first_of(round, kind));
        rank(round, &one, gpu ? is_less_delayed : is_slower, ret_ranking);
    }
    return ret_ranking->n > 0;
}

static uint64_t waited(const struct engine *engine, const struct stage *stage)
{
    return engine->attempt_counter - kinds_of(stage->first)->since;
}

/* Of a stage that may run in several ways there, on a GPU before others, else by preference. */
static bool waits_longer(const struct round *round, const struct choice_of *a,
                         const struct choice_of *b)
{
    (void)round;
    int order = sorted_compare(kinds_of(a->stage)->waiting.key, kinds_of(b->stage)->waiting.key);
    if (order)
        return order < 0;
    bool gpu = kind_is_on_gpu(a->kind), other = kind_is_on_gpu(b->kind);
    if (a->stage->first != b->stage->first)
        return a->stage->index < b->stage->index;
    return gpu != other ? gpu : a->stage->variant < b->stage->variant;
}

static bool find_overdue(const struct round *round, struct ranking *ret_ranking)
{
    uint64_t patience = (uint64_t)value(round->engine, &parameter_patience);
    struct kind *kind;
    *ret_ranking = (struct ranking){0};
    TAILQ_FOREACH (kind, &kinds_all(round->engine)->all, of_engine) {
        struct stage *stage =
            container_of(sorted_first(&kind->waiting), struct kinds_stage, waiting)->stage;
        round->engine->counters.visits++;
        if (waited(round->engine, stage) < patience || !kinds_fit(round->engine, kind, round->host))
            continue;
        const struct choice_of one = choice_in(round, kind, stage);
        rank(round, &one, waits_longer, ret_ranking);
    }
    return ret_ranking->n > 0;
}

static struct claim claim_of(const struct round *round, const struct choice_of *one,
                             enum reason reason)
{
    const struct kinds_stage *kept = kinds_of(one->stage);
    struct claim claim = {kinds_next_task(one->stage, round->host),
                          host_fit(round->host, one->kind->shape), reason,
                          clamp_i64(one->predicted_ns), clamp_i64(one->lone_ns)};
    if (reason == REASON_PATIENCE) {
        claim.left = clamp_i64(waited(round->engine, one->stage));
        claim.right = value(round->engine, &parameter_patience);
    } else if (!one->kind->known) {
        claim.reason = kept->full ? REASON_PROFILES_FULL : REASON_NO_PROFILE;
        claim.left = 0;
        claim.right = kept->full ? kinds_all(round->engine)->n_known : round->host->running;
    }
    return claim;
}

/* How the one stands beside the chosen one, in the number by which they were compared. */
static uint64_t number_of(const struct round *round, enum affinity_by by,
                          const struct choice_of *chosen, const struct choice_of *one)
{
    const struct stage *stage = one->stage;
    if (by == AFFINITY_BY_WAIT)
        return waited(round->engine, stage);
    if (by == AFFINITY_BY_SUM)
        return progress_of(stage) - progress_of(chosen->stage);
    if (by == AFFINITY_BY_DELAY)
        return 0;
    uint64_t age = (uint64_t)(round->engine->now_ns - stage->job->submitted_ns);
    wide permille = (wide)stage->first->n_started * kinds_lone_ns(stage) * 1000 / (age + !age);
    return permille < UINT64_MAX ? (uint64_t)permille : UINT64_MAX;
}

/* For the attempt that follows from the claim. */
static void keep_runners(const struct round *round, const struct ranking *ranking,
                         enum affinity_by by, const struct claim *claim)
{
    struct affinity_engine *own = round->engine->kept[QUESTION_PLACE];
    own->job = claim->task->stage->job->number;
    own->stage = claim->task->stage->index;
    own->task = claim->task->index;
    own->runners = (struct affinity_runners){
        .known = true, .by = by, .n = ranking->n - 1, .others = ranking->seen - 1};
    for (uint32_t i = 0; i < own->runners.n; i++) {
        const struct choice_of *one = &ranking->at[i + 1];
        own->runners.at[i] = (struct affinity_compared){
            one->stage->job->number, one->stage->index, one->stage->variant,
            one->predicted_ns,       one->lone_ns,      number_of(round, by, &ranking->at[0], one)};
    }
}

static bool affinity_pick(struct engine *engine, struct claim *ret_claim)
{
    struct round round = {.engine = engine, .host = kinds_next_host(engine)};
    bool rate = value(engine, &parameter_progress.parameter) == PROGRESS_RATE;
    enum reason reason = REASON_SLOWEST;
    enum affinity_by by = rate ? AFFINITY_BY_RATE : AFFINITY_BY_SUM;
    struct ranking ranking;
    if (!round.host)
        return false;
    round.disk = disk_of(engine, round.host);
    round.stretch = (enum affinity_stretch)value(engine, &parameter_stretch.parameter);
    if (find_overdue(&round, &ranking)) {
        reason = REASON_PATIENCE;
        by = AFFINITY_BY_WAIT;
    } else if (find_best(&round, true, &ranking)) {
        reason = REASON_LEAST_DELAYED;
        by = AFFINITY_BY_DELAY;
    } else if (!find_best(&round, false, &ranking)) {
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
        const struct host *host = kind && shape_times(engine, kind->shape) > 0
                                      ? place_least_loaded(kind->shape)->host
                                      : NULL;
        if (!host || !kind_waits_for_disk(kind, host))
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
                         [POLICY_ATTEMPT] = {.size = sizeof(struct affinity_attempt),
                                             .init = init_attempt,
                                             .fields = attempt_fields,
                                             .keeps = keeps_attempt}},
               .reasons = reasons,
               .parameters = parameters,
               .hears.task_ready = kinds_task_ready,
               .hears.stage_empty = kinds_stage_empty,
               .hears.task_moved = kinds_task_moved,
               .hears.job_changes_queues = kinds_job_changes_queues,
               .hears.profile_changed = kinds_profile_changed,
               .hears.disk_reported = disk_reported},
    .pick = affinity_pick,
    .explain = affinity_explain,
    .chooses_way = true,
};
