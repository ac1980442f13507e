#include "controller/engine/engine.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/job_stages.h"
#include "controller/engine/base/numbered.h"
#include "controller/engine/base/tell.h"
#include "controller/engine/books/account.h"
#include "controller/engine/books/at_most.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/eviction.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/losing.h"
#include "controller/engine/books/outputs.h"
#include "controller/engine/books/removal.h"
#include "controller/engine/books/retry.h"
#include "controller/engine/books/split.h"
#include "controller/engine/books/stage.h"
#include "controller/engine/books/users.h"
#include "controller/engine/books/variant.h"
#include "controller/engine/commit/commit.h"
#include "controller/engine/commit/start.h"
#include "controller/engine/facts/attempts.h"
#include "controller/engine/facts/backlog_turns.h"
#include "controller/engine/facts/framework.h"
#include "controller/engine/facts/framework_bytes.h"
#include "controller/engine/facts/framework_grow.h"
#include "controller/engine/facts/framework_skip.h"
#include "controller/engine/facts/hosts.h"
#include "controller/engine/facts/job_orders.h"
#include "controller/engine/facts/outcome.h"
#include "controller/engine/facts/policy_set.h"
#include "controller/engine/facts/rooms.h"
#include "controller/engine/facts/submission.h"
#include "controller/engine/facts/users.h"
#include "controller/engine/place/place.h"
#include "controller/engine/watch/estimate.h"
#include "controller/engine/watch/failing.h"
#include "controller/engine/watch/framework_sizes.h"
#include "controller/engine/watch/gate.h"
#include "controller/engine/watch/hold.h"
#include "controller/engine/watch/lapse.h"
#include "controller/engine/watch/mode.h"
#include "controller/engine/watch/refusal.h"
#include "controller/engine/watch/source.h"
#include "lib/invariant.h"

#include <errno.h>
#include <stdlib.h>

void engine_config_default(struct engine_config *ret_config)
{
    *ret_config = (struct engine_config){
        .seed = 1,
        .epoch = 1,
        .congested_permille = 900,
        .cleared_permille = 800,
        .hold_max_ns = 30000000000,
        .stop_grace_ns = 1000000000,
        .failures_max = 4,
        .reruns_max = 4,
        .losses_max = 2,
        .hosts_count_once = true,
        .lone_sources_max = 1,
        .source_lost_ns = 30000000000,
        .probe_ns = 5000000000,
        .allow_ns = 5000000000,
        .hosts_max = 16384,
        .units_per_host_max = 16,
        .jobs_max = 100000,
        .stages_per_job_max = 1024,
        .finished_max = 10000,
        .shapes_max = 64,
        .tasks_max = 10000000,
        .cells_per_job_max = 10000000,
        .rules = ENGINE_RULES,
    };
    policy_config_default(ret_config);
    level_table_exponential(&ret_config->coflow, 10000000, 8, 8);
    level_table_exponential(&ret_config->macroflow, 1000000, 4, 8);
    level_table_exponential(&ret_config->dclas, 10000000, 10, 8);
}

static int check_table(const char *name, const struct level_table *table, struct err *err)
{
    if (table->levels > ENGINE_LEVELS_MAX)
        return err_set(err, EINVAL, "%s has %u levels, at most %d are possible", name,
                       table->levels, ENGINE_LEVELS_MAX);
    for (uint32_t i = 1; i + 1 < table->levels; i++)
        if (table->threshold_bytes[i] < table->threshold_bytes[i - 1])
            return err_set(err, EINVAL, "%s thresholds must grow, number %u does not", name, i + 1);
    return 0;
}

static int check_config(const struct engine_config *config, struct err *err)
{
    if (config->cleared_permille > config->congested_permille ||
        config->congested_permille > 1000 || config->congested_share_permille > 1000)
        return err_set(err, EINVAL,
                       "congested must clear at or below the per mille at which it begins (%u, "
                       "%u); these and its share of the uplinks (%u) are at most 1000",
                       config->cleared_permille, config->congested_permille,
                       config->congested_share_permille);
    if (config->hosts_max == 0 || config->hosts_max > 1u << 23)
        return err_set(err, EINVAL, "hosts_max is %u, it must be 1 to %u", config->hosts_max,
                       1u << 23);
    if (config->units_per_host_max == 0 || config->units_per_host_max > 1u << 15)
        return err_set(err, EINVAL, "units_per_host_max is %u, it must be 1 to %u",
                       config->units_per_host_max, 1u << 15);
    if (!config->jobs_max || !config->stages_per_job_max || !config->shapes_max ||
        !config->tasks_max || !config->failures_max)
        return err_set(err, EINVAL,
                       "the bounds on jobs, stages, shapes, tasks and failures must be at least 1");
    if (config->hold_max_ns <= 0 || config->mode_dwell_ns < 0 || config->stop_grace_ns < 0 ||
        config->source_lost_ns < 0 || config->probe_ns < 0 ||
        config->allow_ns < (config->framework_jobs_max > 0))
        return err_set(err, EINVAL,
                       "hold_max must be positive, so must allow where frameworks have jobs; "
                       "dwell, grace, source_lost and probe not negative");
    if (config->rules > ENGINE_RULES)
        return err_set(
            err, EINVAL,
            "its decisions follow %u rules, this program knows %u: a later one knows them",
            config->rules, ENGINE_RULES);
    if (policy_check_values(config, err) < 0 || check_table("coflow", &config->coflow, err) ||
        check_table("macroflow", &config->macroflow, err))
        return -EINVAL;
    return check_table("dclas", &config->dclas, err);
}

int engine_create(const struct engine_config *config, struct engine **ret_engine, struct err *err)
{
    int r = check_config(config, err);
    if (r < 0)
        return r;
    struct engine *engine = calloc(1, sizeof(*engine));
    if (!engine)
        return err_set(err, ENOMEM, "no memory for the engine");
    engine->config = *config;
    engine->now_ns = INT64_MIN;
    TAILQ_INIT(&engine->removed);
    TAILQ_INIT(&engine->ways);
    for (int i = 0; i < WAYS_LISTS; i++)
        TAILQ_INIT(&engine->ways_by[i]);
    engine->active.counted = true;
    engine->idle_since_ns = INT64_MAX;
    engine->mode_since_ns = MODE_NEVER_NS;
    engine->hosts = calloc(config->hosts_max, sizeof(struct host *));
    engine->shapes = calloc(config->shapes_max, sizeof(struct shape *));
    r = policy_choose(engine, err);
    if (!engine->hosts || !engine->shapes || users_begin(engine) < 0)
        r = err_set(err, ENOMEM, "no memory for tables of %u hosts", config->hosts_max);
    else if (r == 0 && setjmp(engine->no_memory) == 0)
        policy_begin(engine);
    else if (r == 0)
        r = err_set(err, ENOMEM, "no memory for what policies keep");
    if (r < 0) {
        engine_destroy(engine);
        return r;
    }
    *ret_engine = engine;
    return 0;
}

void engine_destroy(struct engine *engine)
{
    if (!engine)
        return;
    struct sorted_node *node;
    struct attempt *attempt;
    while ((attempt = numbered_after(&engine->attempts, 0)))
        attempt_destroy(engine, attempt);
    while ((node = sorted_first(&engine->jobs)))
        job_destroy(engine, container_of(node, struct job, by_number));
    while ((node = sorted_first(&engine->finished))) {
        struct finished *finished = container_of(node, struct finished, by_number);
        sorted_remove(&engine->finished, node);
        free(finished);
    }
    split_forget(engine);
    while (removal_go_on(engine))
        ;
    losing_done(engine);
    source_done(engine);
    sizes_done(engine);
    cluster_done(engine);
    account_done(engine);
    users_done(engine);
    policy_end(engine);
    numbered_done(&engine->attempts);
    free(engine->backlog.charges);
    free(engine);
}

static void (*const handlers[EVENT_KINDS])(struct engine *, const struct event *) = {
    [EVENT_JOB_BEGIN] = job_begin,
    [EVENT_JOB_STAGE] = job_stage,
    [EVENT_JOB_TASKS] = job_tasks,
    [EVENT_JOB_BYTES] = job_bytes,
    [EVENT_JOB_END] = job_end,
    [EVENT_JOB_UPDATE] = job_update,
    [EVENT_JOB_CANCEL] = job_cancel,
    [EVENT_CLAIM] = commit_claim,
    [EVENT_POLICY_SET] = policy_set,
    [EVENT_POLICY_PARAMETER] = policy_parameter,
    [EVENT_USER_SET] = user_set,
    [EVENT_USER_LEAVE] = user_leave,
    [EVENT_JOB_PROFILE] = job_profile,
    [EVENT_HOST_DRAIN] = cluster_drain,
    [EVENT_HOST_JOIN] = cluster_join,
    [EVENT_HOST_CHANGE] = cluster_change,
    [EVENT_HOST_SILENT] = cluster_silent,
    [EVENT_HOST_LOST] = cluster_lost,
    [EVENT_HOST_BACK] = cluster_back,
    [EVENT_HOST_LOAD] = cluster_load,
    [EVENT_ATTEMPT_SEEN] = attempt_seen,
    [EVENT_ATTEMPT_GRANTED] = attempt_seen,
    [EVENT_ATTEMPT_QUEUED] = attempt_queued,
    [EVENT_ATTEMPT_STARTED] = attempt_started,
    [EVENT_ATTEMPT_REFUSED] = attempt_refused,
    [EVENT_ATTEMPT_PROGRESS] = attempt_progress,
    [EVENT_ATTEMPT_RECEIVED] = attempt_received,
    [EVENT_ATTEMPT_DONE] = attempt_done,
    [EVENT_ATTEMPT_FAILED] = attempt_failed,
    [EVENT_ATTEMPT_KILLED] = attempt_killed,
    [EVENT_ATTEMPT_LOST] = attempt_lost,
    [EVENT_OUTPUT_LOST] = job_output_lost,
    [EVENT_SOURCE_STALLED] = source_stalled,
    [EVENT_SOURCE_FLOWS] = source_flows,
    [EVENT_HOST_FORGET] = cluster_forget,
    [EVENT_FRAMEWORK_JOB] = framework_job,
    [EVENT_FRAMEWORK_STAGE] = framework_stage,
    [EVENT_FRAMEWORK_TASKS] = framework_tasks,
    [EVENT_FRAMEWORK_BYTES] = framework_bytes,
    [EVENT_FRAMEWORK_STARTED] = framework_started,
    [EVENT_FRAMEWORK_DONE] = framework_done,
    [EVENT_FRAMEWORK_END] = framework_end,
    [EVENT_FRAMEWORK_ROOM] = room_told,
    [EVENT_FRAMEWORK_OWNER] = account_owner,
    [EVENT_JOB_SUBMITTER] = account_submitter,
    [EVENT_JOB_HOLD] = job_hold,
    [EVENT_JOB_RELEASE] = job_release,
    [EVENT_JOB_REQUEUE] = job_requeue,
    [EVENT_FRAMEWORK_GROW] = framework_grow,
};

/* Of requests that are judged before they change anything. */
static struct obstacle (*const obstacles[EVENT_KINDS])(const struct engine *,
                                                       const struct event *) = {
    [EVENT_JOB_UPDATE] = job_update_obstacle,
    [EVENT_JOB_CANCEL] = job_cancel_obstacle,
    [EVENT_POLICY_SET] = policy_set_obstacle,
    [EVENT_POLICY_PARAMETER] = policy_parameter_obstacle,
    [EVENT_USER_SET] = user_set_obstacle,
    [EVENT_USER_LEAVE] = user_leave_obstacle,
    [EVENT_HOST_DRAIN] = cluster_drain_obstacle,
    [EVENT_JOB_HOLD] = job_hold_obstacle,
    [EVENT_JOB_RELEASE] = job_release_obstacle,
    [EVENT_JOB_REQUEUE] = job_requeue_obstacle,
};

static bool is_judged(const struct event *event)
{
    return event->kind < EVENT_KINDS && obstacles[event->kind];
}

int engine_judge(const struct engine *engine, const struct event *request,
                 struct decision *ret_rejection)
{
    struct obstacle obstacle = {REASON_UNSUPPORTED, 0, 0};
    if (is_judged(request))
        obstacle = obstacles[request->kind](engine, request);
    if (obstacle.reason == REASON_NONE)
        return 0;
    *ret_rejection = (struct decision){.kind = DECISION_REJECT,
                                       .reason = obstacle.reason,
                                       .left = obstacle.left,
                                       .right = obstacle.right};
    ret_rejection->reject.request = request->request;
    ret_rejection->reject.event = request->kind;
    return -EPERM;
}

void engine_apply(struct engine *engine, const struct event *event)
{
    struct obstacle obstacle = {REASON_NONE, 0, 0};
    if (event->kind >= EVENT_KINDS || !handlers[event->kind])
        return;
    if (is_judged(event))
        obstacle = obstacles[event->kind](engine, event);
    if (obstacle.reason == REASON_NONE)
        handlers[event->kind](engine, event);
    else
        engine_reject(engine, event, obstacle.reason, obstacle.left, obstacle.right);
}

static void pass_time(struct engine *engine, int64_t now_ns)
{
    int64_t passed = engine->now_ns == INT64_MIN ? 0 : now_ns - engine->now_ns;
    if (engine->division->pass)
        engine->division->pass(engine, now_ns);
    if (engine->held_stages && engine->free.amount[RES_SLOTS] > 0)
        engine->counters.held_slot_ns =
            (int64_t)((uint64_t)engine->counters.held_slot_ns +
                      (uint64_t)passed * (uint64_t)engine->free.amount[RES_SLOTS]);
    if (engine->mode == MODE_SLOT_STARVED)
        engine->counters.starved_ns += passed;
    engine->now_ns = now_ns;
}

/* Inputs of starts for each task that may be made ready. WHY bounded: a start sends its host all
 * its inputs. */
enum { INPUTS = 4 };

/* False: this step has begun as many as it may; the next step continues. */
static bool may_start(struct engine *engine)
{
    uint32_t most = engine->config.step_starts_max;
    uint64_t inputs_max = (uint64_t)engine->config.step_ready_max * INPUTS;
    engine->cut_short =
        (most && engine->step_starts >= most) || (inputs_max && engine->step_inputs >= inputs_max);
    return !engine->cut_short;
}

static uint64_t inputs_of(const struct stage *stage)
{
    uint64_t inputs = 0;
    for (uint32_t i = 0; i < stage->n_edges; i++)
        inputs += job_stage_at(stage->job, stage->edges[i].parent)->n_tasks;
    return inputs;
}

/* Starts the claim's task if the commit policy admits it. */
static void commit(struct engine *engine, struct claim *claim)
{
    checked(at_most_room(claim->task->stage, claim->fit->host));
    struct policy_why why = {0};
    if (engine->commit->admits(engine, claim, &why)) {
        if (engine->division->charge)
            engine->division->charge(engine, claim);
        engine->step_starts++;
        engine->step_inputs += inputs_of(claim->task->stage);
        attempt_start(engine, claim);
    } else {
        refusal_take(engine, claim->task->stage->first, why);
    }
    mode_update(engine);
}

/* Places retried tasks and probes, which no policy places; true when something was placed. */
static bool place_failed(struct engine *engine)
{
    struct claim claim;
    bool placed = false;
    while (may_start(engine) && (failing_pick(engine, &claim) || retry_pick(engine, &claim))) {
        variant_prefer(&claim);
        commit(engine, &claim);
        placed = true;
    }
    return placed;
}

static bool pick(struct engine *engine, struct claim *ret_claim)
{
    bool found;
    do
        found = engine->division->pick ? engine->division->pick(engine, ret_claim)
                                       : engine->place->pick(engine, ret_claim);
    while (found && engine->place->chosen && !engine->place->chosen(engine, ret_claim));
    return found;
}

static bool asks_to_evict(struct engine *engine, struct eviction *ret_eviction)
{
    const struct users_policy *division = engine->division;
    const struct place_policy *place = engine->place;
    return (division->evict && division->evict(engine, ret_eviction)) ||
           (place->evict && place->evict(engine, ret_eviction));
}

/* WHY before anything is placed: what a policy offers in this step (users_policy.pick) is not open
 * yet, so it may count what comes back. */
static void evict_asked(struct engine *engine)
{
    struct eviction eviction;
    while (may_start(engine) && asks_to_evict(engine, &eviction)) {
        engine->step_starts++;
        eviction_do(engine, &eviction);
        mode_update(engine);
    }
}

/* Older recordings were made by a controller that did this for all jobs in one step. */
static void step_aside(struct engine *engine)
{
    const bool bounded = engine_follows(engine, RULE_ASIDE_WAITS);
    while ((!bounded || may_start(engine)) && lapse_step_aside(engine))
        ;
}

/* True when claims were proposed, even if none was admitted. */
static bool place_ready(struct engine *engine)
{
    struct claim claim;
    bool proposed = place_failed(engine);
    step_aside(engine);
    while (engine->n_ready && may_start(engine) && pick(engine, &claim)) {
        proposed = true;
        if (lapse_set_apart(engine, claim.task->stage))
            continue;
        if (!engine->place->chooses_way)
            variant_prefer(&claim);
        commit(engine, &claim);
        step_aside(engine);
    }
    return proposed;
}

/* Applies the events; true when all were ignored. */
static bool apply_all(struct engine *engine, const struct event *events, size_t n)
{
    bool ignored = true;
    for (size_t i = 0; i < n; i++) {
        uint64_t before = engine->counters.ignored_facts;
        engine_apply(engine, &events[i]);
        ignored = ignored && engine->counters.ignored_facts != before;
    }
    return ignored;
}

int engine_step(struct engine *engine, int64_t now_ns, const struct event *events, size_t n,
                struct decisions *decisions)
{
    int64_t deadline_ns = engine_deadline_ns(engine);
    decisions->n = 0;
    decisions->idle = false;
    engine->out = decisions;
    /* WHY nothing is unwound: running out of memory leaves indexes half changed, so the engine is
     * not used again. */
    if (setjmp(engine->no_memory))
        return -ENOMEM;
    split_forget(engine);
    pass_time(engine, now_ns > engine->now_ns ? now_ns : engine->now_ns);
    engine->counters.steps++;
    engine->counters.events += n;
    engine->step_ready = 0;
    engine->step_looks = 0;
    engine->step_freed = 0;
    engine->backlog.n_charges = 0;
    bool ignored = apply_all(engine, events, n);
    backlog_look(engine);
    estimate_go_on(engine);
    refusal_go_on(engine);
    backlog_open(engine);
    tell_expire(engine);
    mode_update(engine);
    engine->step_starts = 0;
    engine->step_inputs = 0;
    engine->cut_short = false;
    evict_asked(engine);
    bool proposed = place_ready(engine);
    /* WHY not in a step that was cut short: a task that waits then waits for the rest of the work,
     * not for a slot. */
    while (may_start(engine) && hold_mark(engine))
        proposed |= place_ready(engine);
    if (engine->division->over)
        engine->division->over(engine);
    if (!engine->cut_short)
        gate_mark(engine);
    tell_settle(engine);
    backlog_free(engine);
    engine->out = NULL;
    assert(decisions->n <= decisions->capacity);
    checked(engine->up <= engine->joined);
    decisions->idle = ignored && !decisions->n && engine->now_ns < deadline_ns &&
                      engine_deadline_ns(engine) == deadline_ns && !proposed;
    return 0;
}

static int64_t sooner(const struct engine *engine, const struct listener *listener, int64_t first)
{
    int64_t due = listener->deadline_ns ? listener->deadline_ns(engine) : INT64_MAX;
    return due < first ? due : first;
}

int64_t engine_deadline_ns(const struct engine *engine)
{
    const int64_t deadlines[] = {mode_deadline_ns(engine), retry_deadline_ns(engine)};
    bool more = engine->cut_short || engine_has_backlog(engine) || engine->rekeyed;
    int64_t first = more ? engine->now_ns : INT64_MAX;
    for (size_t i = 0; i < sizeof(deadlines) / sizeof(deadlines[0]); i++)
        first = deadlines[i] < first ? deadlines[i] : first;
    for (int i = 0; engine_listeners[i]; i++)
        first = sooner(engine, engine_listeners[i], first);
    for (enum question q = 0; q < QUESTIONS; q++)
        first = sooner(engine, &engine->policies[q]->hears, first);
    return first;
}
