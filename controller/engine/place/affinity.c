#include "controller/engine/place/affinity.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/table.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/users.h"
#include "controller/engine/books/variant.h"
#include "controller/engine/place/affinity_model.h"

#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

enum { RATE_LOOKS = 64 };
/* Of a task whose profile is not known, for its stage's progress. */
#define UNKNOWN_NS UINT64_C(1000000000)
/* Of times in progress. WHY: products of two and a number of tasks stay in 128 bits. */
#define TIME_MOST ((uint64_t)1 << 53)

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
static const struct engine_parameter parameter_profiles = {
    "profiles",
    ENGINE_UNIT_COUNT,
    1,
    100000,
    1000,
    "So many kinds of ready stages are told apart; tasks of others are taken to read nothing."};
static const struct engine_parameter *const parameters[] = {
    &parameter_stretch.parameter, &parameter_progress.parameter, &parameter_patience,
    &parameter_profiles, NULL};

/* Ready stages that look alike. */
struct class
{
    struct shape *shape;
    struct user *user; /* whose they are, where somebody divides; else NULL */
    uint32_t stage;    /* their number in their jobs */
    bool known;        /* else those without a profile, or beyond the bound */
    struct profile profile;
    uint64_t best_ns; /* the least of their lone times in any way; 0: not known */
    struct sorted in_order, waiting;
    TAILQ_ENTRY(class) of_engine;
};
struct affinity_engine {
    TAILQ_HEAD(, class) classes;
    uint32_t n_known;
};
/* With each way to run a stage; the first one has what is counted for all. */
struct affinity_stage {
    struct stage *stage;
    struct class *class; /* while a task is ready */
    bool full;           /* it has a profile, and there was no room for its class */
    uint64_t since;      /* the number of its last start, or of the last one when it became ready */
    uint64_t on_gpus;    /* attempts */
    struct sorted_node in_order, waiting;
};
struct affinity_attempt {
    uint32_t unreported; /* 1: its host had not confirmed it at its last report */
};

static const struct field stage_fields[] = {
    FIELD_OF(affinity_stage, since, U64), FIELD_OF(affinity_stage, on_gpus, U64), {0}};
static const struct field attempt_fields[] = {FIELD_OF(affinity_attempt, unreported, U32), {0}};

static struct affinity_engine *all_of(const struct engine *engine)
{
    return engine->kept[QUESTION_PLACE];
}

static struct affinity_stage *kept_of(const struct stage *stage)
{
    return stage->kept[QUESTION_PLACE];
}

static bool is_on_gpu(const struct shape *shape)
{
    return shape->demand.amount[RES_GPU_MILLI] > 0;
}

static int64_t value(const struct engine *engine, const struct engine_parameter *parameter)
{
    return policy_value(engine, QUESTION_PLACE, parameter);
}

/* ---- classes ---- */

static uint64_t best_ns_of(const struct stage *stage)
{
    uint64_t best_ns = UINT64_MAX;
    struct stage *way;
    VARIANT_FOREACH (way, stage->first)
        if (profile_is_known(&way->profile) && affinity_lone_ns(&way->profile) < best_ns)
            best_ns = affinity_lone_ns(&way->profile);
    return best_ns;
}

static bool is_alike(const struct class *a, const struct class *b)
{
    return a->shape == b->shape && a->user == b->user && a->stage == b->stage &&
           a->known == b->known && a->best_ns == b->best_ns &&
           memcmp(&a->profile, &b->profile, sizeof(a->profile)) == 0;
}

static struct class *find_class(struct engine *engine, const struct class *wanted)
{
    struct class *class;
    TAILQ_FOREACH (class, &all_of(engine)->classes, of_engine) {
        engine->counters.visits++;
        if (is_alike(class, wanted))
            return class;
    }
    return NULL;
}

static struct class *make_class(struct engine *engine, const struct class *wanted)
{
    struct class *class = engine_allocate(engine, 1, sizeof(*class));
    *class = *wanted;
    all_of(engine)->n_known += class->known;
    TAILQ_INSERT_TAIL(&all_of(engine)->classes, class, of_engine);
    return class;
}

static struct class *class_for(struct engine *engine, struct stage *stage, bool *ret_full)
{
    struct class wanted = {.shape = stage->bucket->shape,
                           .user = users_divided(engine) ? stage->job->tenant : NULL,
                           .stage = stage->index,
                           .known = profile_is_known(&stage->profile)};
    *ret_full = false;
    if (wanted.known) {
        wanted.profile = stage->profile;
        wanted.best_ns = best_ns_of(stage);
    }
    struct class *class = find_class(engine, &wanted);
    if (!class && wanted.known && all_of(engine)->n_known >= value(engine, &parameter_profiles)) {
        *ret_full = true;
        wanted = (struct class){.shape = wanted.shape, .user = wanted.user, .stage = wanted.stage};
        class = find_class(engine, &wanted);
    }
    return class ? class : make_class(engine, &wanted);
}

static void drop_class(struct engine *engine, struct class *class)
{
    all_of(engine)->n_known -= class->known;
    TAILQ_REMOVE(&all_of(engine)->classes, class, of_engine);
    free(class);
}

/* ---- orders within a class ---- */

static uint64_t lone_ns(const struct stage *stage)
{
    uint64_t ns =
        profile_is_known(&stage->profile) ? affinity_lone_ns(&stage->profile) : UNKNOWN_NS;
    return ns < TIME_MOST ? ns : TIME_MOST;
}

/* By `sum`. */
static uint64_t progress_of(const struct stage *stage)
{
    wide ns = (wide)stage->first->n_started * lone_ns(stage) + (uint64_t)stage->job->submitted_ns;
    return ns < UINT64_MAX ? (uint64_t)ns : UINT64_MAX;
}

static bool has_way_without_gpu(const struct stage *stage)
{
    struct stage *way;
    VARIANT_FOREACH (way, stage->first)
        if (!is_on_gpu(way->bucket->shape))
            return true;
    return false;
}

static struct sorted_key order_of(const struct engine *engine, const struct stage *stage)
{
    const struct job *job = stage->job;
    uint64_t submitted_ns = (uint64_t)job->submitted_ns;
    if (is_on_gpu(stage->bucket->shape))
        return (struct sorted_key){kept_of(stage->first)->on_gpus * 2 + has_way_without_gpu(stage),
                                   submitted_ns, job->number};
    if (value(engine, &parameter_progress.parameter) == PROGRESS_RATE)
        return (struct sorted_key){stage->first->n_started, submitted_ns, job->number};
    return (struct sorted_key){progress_of(stage), submitted_ns, job->number};
}

static void reorder(struct engine *engine, struct affinity_stage *kept)
{
    struct class *class = kept->class;
    struct stage *stage = kept->stage;
    if (!class)
        return;
    sorted_place(&class->in_order, &kept->in_order, order_of(engine, stage), 0);
    sorted_place(&class->waiting, &kept->waiting,
                 (struct sorted_key){kept_of(stage->first)->since, stage->job->number, 0}, 0);
}

static void join(struct engine *engine, struct stage *stage)
{
    struct affinity_stage *kept = kept_of(stage);
    if (!kept->class)
        kept->class = class_for(engine, stage, &kept->full);
    reorder(engine, kept);
}

static void leave(struct engine *engine, struct affinity_stage *kept)
{
    struct class *class = kept->class;
    if (!class)
        return;
    sorted_remove(&class->in_order, &kept->in_order);
    sorted_remove(&class->waiting, &kept->waiting);
    kept->class = NULL;
    if (!class->in_order.n)
        drop_class(engine, class);
}

static void reorder_ways(struct engine *engine, struct stage *first)
{
    struct stage *way;
    VARIANT_FOREACH (way, first)
        reorder(engine, kept_of(way));
}

/* ---- facts ---- */

static void init_engine(struct engine *engine, union policy_of of, void *state)
{
    struct affinity_engine *all = state;
    (void)engine;
    (void)of;
    TAILQ_INIT(&all->classes);
}

/* WHY only its last way: an order looks at what all have. */
static void init_stage(struct engine *engine, union policy_of of, void *state)
{
    struct affinity_stage *kept = state;
    struct stage *first = of.stage->first, *way;
    kept->stage = of.stage;
    kept->since = of.stage->variant ? 0 : engine->attempt_counter;
    if (of.stage->variant < first->n_others)
        return;
    VARIANT_FOREACH (way, first)
        if (way->n_ready)
            join(engine, way);
}

static void done_stage(struct engine *engine, union policy_of of, void *state)
{
    (void)of;
    leave(engine, state);
}

static bool keeps_stage(const void *state)
{
    const struct affinity_stage *kept = state;
    return !kept->stage->variant;
}

static void load_stage(struct engine *engine, union policy_of of, void *state)
{
    (void)state;
    reorder_ways(engine, of.stage->first);
}

static void init_attempt(struct engine *engine, union policy_of of, void *state)
{
    const struct attempt *attempt = of.attempt;
    struct affinity_attempt *kept = state;
    kept->unreported = 1;
    if (!attempt->task || attempt->resources.amount[RES_GPU_MILLI] <= 0)
        return;
    kept_of(attempt->task->stage)->on_gpus++;
    reorder_ways(engine, attempt->task->stage);
}

static bool keeps_attempt(const void *state)
{
    return !((const struct affinity_attempt *)state)->unreported;
}

static void task_ready(struct engine *engine, struct task *task)
{
    struct stage *stage = task->stage;
    if (stage->first->n_ready == 1 && !stage->variant && !kept_of(stage)->class)
        kept_of(stage)->since = engine->attempt_counter;
    join(engine, stage);
}

static void stage_empty(struct engine *engine, struct stage *stage)
{
    leave(engine, kept_of(stage));
}

static void task_moved(struct engine *engine, struct task *task, enum task_state before)
{
    if (task->state == TASK_RUNNING && before != TASK_RUNNING)
        kept_of(task->stage)->since = engine->attempt_counter;
    reorder_ways(engine, task->stage);
}

static void job_changes_queues(struct engine *engine, struct job *job, struct user *before)
{
    (void)before;
    for (uint32_t s = 0; s < job->n_stages; s++) {
        struct stage *way;
        VARIANT_FOREACH (way, job->stages[s]) {
            if (!kept_of(way) || !kept_of(way)->class)
                continue;
            leave(engine, kept_of(way));
            join(engine, way);
        }
    }
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
    struct class *class;
    uint64_t predicted_ns, lone_ns;
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
    struct affinity_disk disk = {
        host->disk_bytes_s, asked < TIME_MOST ? (uint64_t)asked : TIME_MOST, host->disk_readers};
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

static bool may_look(const struct engine *engine, const struct class *class)
{
    return (!engine->asked || class->user == engine->asked) &&
           shape_times(engine, class->shape) > 0;
}

/* The order of shape->by_load. */
static bool is_less_loaded(const struct host *a, const struct host *b)
{
    struct sorted_key x = {a->running, a->tie, a->index}, y = {b->running, b->tie, b->index};
    return sorted_compare(x, y) < 0;
}

static struct host *next_host(struct engine *engine)
{
    struct host *best = NULL;
    struct class *class;
    TAILQ_FOREACH (class, &all_of(engine)->classes, of_engine) {
        engine->counters.visits++;
        if (!may_look(engine, class))
            continue;
        struct host *host = place_least_loaded(class->shape)->host;
        if (!best || is_less_loaded(host, best))
            best = host;
    }
    return best;
}

static bool fits(const struct round *round, const struct class *class)
{
    return may_look(round->engine, class) && host_fit(round->host, class->shape);
}

static struct stage *stage_in(struct sorted_node *node)
{
    return container_of(node, struct affinity_stage, in_order)->stage;
}

static struct choice_of choice_in(const struct round *round, struct class *class,
                                  struct stage *stage)
{
    return (struct choice_of){stage, class,
                              affinity_predict_ns(&class->profile, &round->disk, round->stretch),
                              affinity_lone_ns(&class->profile)};
}

static bool is_earlier(const struct stage *a, const struct stage *b)
{
    struct sorted_key x = {(uint64_t)a->job->submitted_ns, a->job->number, a->index},
                      y = {(uint64_t)b->job->submitted_ns, b->job->number, b->index};
    return sorted_compare(x, y) < 0;
}

static bool goes_before(const struct choice_of *a, const struct choice_of *b)
{
    struct sorted_key x = kept_of(a->stage)->in_order.key, y = kept_of(b->stage)->in_order.key;
    int order = sorted_compare(x, y);
    return order ? order < 0 : a->stage->index < b->stage->index;
}

static bool is_less_delayed(const struct choice_of *a, const struct choice_of *b)
{
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
        age[i] = ns < 1 ? 1 : ns < TIME_MOST ? ns : TIME_MOST;
        done[i] = (wide)of[i]->first->n_started * lone_ns(of[i]);
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
        affinity_compare(a->class->best_ns, a->predicted_ns, b->class->best_ns, b->predicted_ns);
    return part ? part > 0 : is_earlier(a->stage, b->stage);
}

/* The slowest of its class by `rate`: of each number of started tasks the earliest job. */
static struct stage *slowest_by_rate(const struct round *round, const struct class *class)
{
    struct sorted_node *node = sorted_first(&class->in_order);
    struct stage *slowest = stage_in(node);
    for (int looks = 1; node && looks < RATE_LOOKS; looks++) {
        node = sorted_from(&class->in_order, (struct sorted_key){node->key.a + 1, 0, 0});
        round->engine->counters.visits++;
        if (node && compare_rates(round->engine, stage_in(node), slowest) < 0)
            slowest = stage_in(node);
    }
    return slowest;
}

static struct stage *first_of(const struct round *round, const struct class *class)
{
    bool rate = value(round->engine, &parameter_progress.parameter) == PROGRESS_RATE;
    return rate && !is_on_gpu(class->shape) ? slowest_by_rate(round, class)
                                            : stage_in(sorted_first(&class->in_order));
}

static bool find_best(const struct round *round, bool gpu, struct choice_of *ret_best)
{
    struct class *class;
    ret_best->stage = NULL;
    TAILQ_FOREACH (class, &all_of(round->engine)->classes, of_engine) {
        round->engine->counters.visits++;
        if (is_on_gpu(class->shape) != gpu || !fits(round, class))
            continue;
        struct choice_of one = choice_in(round, class, first_of(round, class));
        if (!ret_best->stage ||
            (gpu ? is_less_delayed(&one, ret_best) : is_slower(round, &one, ret_best)))
            *ret_best = one;
    }
    return ret_best->stage;
}

static uint64_t waited(const struct engine *engine, const struct stage *stage)
{
    return engine->attempt_counter - kept_of(stage->first)->since;
}

/* Of a stage that may run in several ways there, on a GPU before others, else by preference. */
static bool waits_longer(const struct choice_of *a, const struct choice_of *b)
{
    int order = sorted_compare(kept_of(a->stage)->waiting.key, kept_of(b->stage)->waiting.key);
    if (order)
        return order < 0;
    bool gpu = is_on_gpu(a->class->shape), other = is_on_gpu(b->class->shape);
    if (a->stage->first != b->stage->first)
        return a->stage->index < b->stage->index;
    return gpu != other ? gpu : a->stage->variant < b->stage->variant;
}

static bool find_overdue(const struct round *round, struct choice_of *ret_best)
{
    uint64_t patience = (uint64_t)value(round->engine, &parameter_patience);
    struct class *class;
    ret_best->stage = NULL;
    TAILQ_FOREACH (class, &all_of(round->engine)->classes, of_engine) {
        struct stage *stage =
            container_of(sorted_first(&class->waiting), struct affinity_stage, waiting)->stage;
        round->engine->counters.visits++;
        if (waited(round->engine, stage) < patience || !fits(round, class))
            continue;
        struct choice_of one = choice_in(round, class, stage);
        if (!ret_best->stage || waits_longer(&one, ret_best))
            *ret_best = one;
    }
    return ret_best->stage;
}

/* Its next task: one whose block is there, else its first map, else its largest reduce task. */
static struct task *next_task(const struct stage *stage, const struct host *host)
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

static struct claim claim_of(const struct round *round, const struct choice_of *one,
                             enum reason reason)
{
    const struct affinity_stage *kept = kept_of(one->stage);
    struct claim claim = {next_task(one->stage, round->host),
                          host_fit(round->host, one->class->shape), reason,
                          clamp_i64(one->predicted_ns), clamp_i64(one->lone_ns)};
    if (reason == REASON_PATIENCE) {
        claim.left = clamp_i64(waited(round->engine, one->stage));
        claim.right = value(round->engine, &parameter_patience);
    } else if (!one->class->known) {
        claim.reason = kept->full ? REASON_PROFILES_FULL : REASON_NO_PROFILE;
        claim.left = 0;
        claim.right = kept->full ? all_of(round->engine)->n_known : round->host->running;
    }
    return claim;
}

static bool affinity_pick(struct engine *engine, struct claim *ret_claim)
{
    struct round round = {.engine = engine, .host = next_host(engine)};
    struct choice_of one;
    if (!round.host)
        return false;
    round.disk = disk_of(engine, round.host);
    round.stretch = (enum affinity_stretch)value(engine, &parameter_stretch.parameter);
    if (find_overdue(&round, &one))
        *ret_claim = claim_of(&round, &one, REASON_PATIENCE);
    else if (find_best(&round, true, &one))
        *ret_claim = claim_of(&round, &one, REASON_LEAST_DELAYED);
    else if (find_best(&round, false, &one))
        *ret_claim = claim_of(&round, &one, REASON_SLOWEST);
    return one.stage;
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
                         [POLICY_STAGE] = {.size = sizeof(struct affinity_stage),
                                           .init = init_stage,
                                           .done = done_stage,
                                           .fields = stage_fields,
                                           .keeps = keeps_stage,
                                           .load = load_stage},
                         [POLICY_ATTEMPT] = {.size = sizeof(struct affinity_attempt),
                                             .init = init_attempt,
                                             .fields = attempt_fields,
                                             .keeps = keeps_attempt}},
               .reasons = reasons,
               .parameters = parameters,
               .hears.task_ready = task_ready,
               .hears.stage_empty = stage_empty,
               .hears.task_moved = task_moved,
               .hears.job_changes_queues = job_changes_queues,
               .hears.disk_reported = disk_reported},
    .pick = affinity_pick,
    .chooses_way = true,
};
