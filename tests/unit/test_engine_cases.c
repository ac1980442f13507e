/* Named cases of the engine, most of them once wrong: each says what has to hold. */
#include "tests/model/script.h"

#include "lib/constraint.h"

#include <limits.h>

enum { MEGABYTE = 1000000 };

static void begin(struct script *s, const char *place, const char *network)
{
    struct engine_config config = script_config();
    strcpy(config.place, place);
    strcpy(config.network, network);
    script_begin(s, &config);
}

/* ---- cases as tables: what happens, and what has to hold then -------------------------------- */

enum { KEPT_MAX = 3, STEPS_MAX = 24 };
struct step {
    void (*does)(struct script *s, uint64_t *kept, const struct step *step);
    uint64_t of[5];
};
struct engine_case {
    const char *name, *place, *network;
    bool reload;
    uint32_t congested_share_permille;
    struct step steps[STEPS_MAX]; /* up to the first that does nothing */
};

static void two_stages(struct script *s, uint64_t job, uint32_t maps, uint32_t reduces,
                       uint32_t edge)
{
    script_job_begin(s, job);
    script_stage(s, job, 0, maps, ENGINE_NONE, 0);
    script_stage(s, job, 1, reduces, 0, edge);
    script_bytes(s, job, 1, 0, reduces, MEGABYTE);
    script_job_end(s, job);
}

/* A stage of maps, whose block of map i is on host i. */
static void blocks(struct script *s, uint64_t job, uint32_t maps)
{
    static const uint32_t replicas[] = {0, 1};
    script_job_begin(s, job);
    script_stage(s, job, 0, maps, ENGINE_NONE, 0);
    script_tasks(s, job, 0, maps, MEGABYTE, 1, replicas);
    script_job_end(s, job);
}

/* Stages of one task in a row. */
static void chain(struct script *s, uint64_t job, uint32_t stages)
{
    script_job_begin(s, job);
    for (uint32_t i = 0; i < stages; i++)
        script_stage(s, job, i, 1, i ? i - 1 : ENGINE_NONE, EDGE_BARRIER);
    for (uint32_t i = 1; i < stages; i++)
        script_bytes(s, job, i, i - 1, 1, MEGABYTE);
    script_job_end(s, job);
}

/* A step's own function: `s`, `kept` (attempts that the case remembers) and `step` are its. */
#define STEP(name)                                                                                 \
    static void name(struct script *s __attribute__((unused)),                                     \
                     uint64_t *kept __attribute__((unused)),                                       \
                     const struct step *step __attribute__((unused)))
#define TASK step->of[0], (uint32_t)step->of[1], (uint32_t)step->of[2]

STEP(do_host)
{
    script_host(s, (uint32_t)step->of[0], step->of[1]);
}
STEP(do_at)
{
    s->now_ns = (int64_t)step->of[0] * SECOND;
}
STEP(do_nothing)
{
    script_events(s, NULL, 0);
}
STEP(do_job)
{
    two_stages(s, step->of[0], (uint32_t)step->of[1], (uint32_t)step->of[2], (uint32_t)step->of[3]);
}
STEP(do_blocks)
{
    blocks(s, step->of[0], (uint32_t)step->of[1]);
}
STEP(do_chain)
{
    chain(s, step->of[0], (uint32_t)step->of[1]);
}
STEP(do_arriving)
{
    script_job_begin(s, step->of[0]);
    script_stage(s, step->of[0], 0, 1, ENGINE_NONE, 0);
}
STEP(do_cancel)
{
    script_cancel(s, step->of[0]);
}
STEP(do_host_event)
{
    script_host_event(s, (enum event_kind)step->of[1], (uint32_t)step->of[0]);
}
STEP(do_load)
{
    script_load(s, (uint32_t)step->of[0], (uint32_t)step->of[1]);
}
STEP(do_end)
{
    script_attempt(s, (enum event_kind)step->of[3], script_attempt_of(s, TASK), 0);
}
STEP(do_keep)
{
    kept[step->of[3]] = script_attempt_of(s, TASK);
    assert_int_not_equal(kept[step->of[3]], 0);
}
STEP(do_say)
{
    kept[step->of[0]] = step->of[1];
}
STEP(do_end_kept)
{
    script_attempt(s, (enum event_kind)step->of[1], kept[step->of[0]], 0);
}
STEP(do_seen)
{
    script_event(s, script_seen_event(kept[step->of[4]], TASK, (uint32_t)step->of[3]));
}
STEP(is_started)
{
    assert_non_null(script_start(s, TASK));
}
STEP(is_started_beside_its_block)
{
    assert_reason(script_start(s, TASK), "local-block");
}
STEP(is_not_started)
{
    assert_null(script_start(s, TASK));
}
STEP(is_state)
{
    assert_int_equal(script_task_state(s, TASK), step->of[3]);
}
STEP(is_attempt)
{
    assert_true(script_attempt_of(s, TASK) == kept[step->of[3]]);
}
STEP(is_later)
{
    assert_true(script_attempt_of(s, TASK) > kept[step->of[3]]);
}
STEP(is_count)
{
    assert_int_equal(script_count(s, (enum decision_kind)step->of[0]), step->of[1]);
}
STEP(is_rejected)
{
    assert_int_equal(script_rejection(s), step->of[0]);
}
STEP(is_stopped)
{
    const struct decision *stop = script_decision(s, DECISION_STOP, 0);
    assert_non_null(stop);
    assert_true(stop->stop.attempt == kept[step->of[0]]);
    assert_int_equal(stop->reason, step->of[1]);
}
STEP(is_start_of_job)
{
    assert_int_equal(script_decision(s, DECISION_START, 0)->start.job, step->of[0]);
}
STEP(are_started_after_hold)
{
    assert_int_equal(script_count(s, DECISION_START), step->of[0]);
    for (size_t i = 0; i < step->of[0]; i++) {
        assert_int_equal(script_decision(s, DECISION_START, i)->reason, REASON_HOLD_EXPIRED);
        assert_int_equal(script_decision(s, DECISION_START, i)->left, step->of[1] * SECOND);
    }
}
STEP(is_hold)
{
    int64_t until_ns = (int64_t)step->of[0] * SECOND;
    assert_int_equal(script_decision(s, DECISION_HOLD, 0)->hold.until_ns, until_ns);
}
STEP(is_held)
{
    struct stage_view view;
    assert_int_equal(engine_stage(s->engine, step->of[0], (uint32_t)step->of[1], &view), 0);
    assert_true(view.held);
    assert_int_equal(view.held_until_ns, step->of[2] * SECOND);
    assert_int_equal(engine_deadline_ns(s->engine), step->of[2] * SECOND);
}
STEP(is_unheld)
{
    assert_int_equal(script_decision(s, DECISION_UNHOLD, 0)->reason, REASON_HOLD_EXPIRED);
}
STEP(is_failures)
{
    struct task_view task;
    assert_int_equal(engine_task(s->engine, TASK, &task), 0);
    assert_int_equal(task.failures, step->of[3]);
}
STEP(is_attempts)
{
    struct engine_status status;
    engine_status(s->engine, &status);
    assert_int_equal(status.attempts, step->of[0]);
}
STEP(is_congested)
{
    struct engine_status status;
    engine_status(s->engine, &status);
    assert_int_equal(status.congested, step->of[0]);
}
STEP(do_empty_claim)
{
    script_event(s, (struct event){.kind = EVENT_CLAIM, .request = 5});
}
#undef STEP
#undef TASK

#define S(does_, ...)                                                                              \
    {                                                                                              \
        .does = (does_), .of = { __VA_ARGS__ }                                                     \
    }
#define HOST(host, slots)               S(do_host, host, slots)
#define AT(seconds)                     S(do_at, seconds)
#define TURN                            S(do_nothing, 0)
#define JOB(job, maps, reduces, edge)   S(do_job, job, maps, reduces, EDGE_##edge)
#define BLOCKS(job, maps)               S(do_blocks, job, maps)
#define CHAIN(job, stages)              S(do_chain, job, stages)
#define ARRIVING(job)                   S(do_arriving, job)
#define CANCEL(job)                     S(do_cancel, job)
#define EMPTY_CLAIM                     S(do_empty_claim, 0)
#define SILENT(host)                    S(do_host_event, host, EVENT_HOST_SILENT)
#define LOST(host)                      S(do_host_event, host, EVENT_HOST_LOST)
#define FORGET(host)                    S(do_host_event, host, EVENT_HOST_FORGET)
#define LOAD(host, permille)            S(do_load, host, permille)
#define DONE(job, stage, task)          S(do_end, job, stage, task, EVENT_ATTEMPT_DONE)
#define FAILED(job, stage, task)        S(do_end, job, stage, task, EVENT_ATTEMPT_FAILED)
#define KILLED(job, stage, task)        S(do_end, job, stage, task, EVENT_ATTEMPT_KILLED)
#define KEEP(n, job, stage, task)       S(do_keep, job, stage, task, n)
#define SAY(n, attempt)                 S(do_say, n, attempt)
#define DONE_KEPT(n)                    S(do_end_kept, n, EVENT_ATTEMPT_DONE)
#define KILLED_KEPT(n)                  S(do_end_kept, n, EVENT_ATTEMPT_KILLED)
#define SEEN(n, job, stage, task, host) S(do_seen, job, stage, task, host, n)
#define STARTED(job, stage, task)       S(is_started, job, stage, task)
#define STARTED_LOCAL(job, stage, task) S(is_started_beside_its_block, job, stage, task)
#define NOT_STARTED(job, stage, task)   S(is_not_started, job, stage, task)
#define IS(job, stage, task, state)     S(is_state, job, stage, task, TASK_##state)
#define HAS(n, job, stage, task)        S(is_attempt, job, stage, task, n)
#define LATER(n, job, stage, task)      S(is_later, job, stage, task, n)
#define FAILURES(job, stage, task, n)   S(is_failures, job, stage, task, n)
#define COUNT(decision, n)              S(is_count, DECISION_##decision, n)
#define REJECTED(reason)                S(is_rejected, REASON_##reason)
#define STOPPED(n, reason)              S(is_stopped, n, REASON_##reason)
#define FIRST_START(job)                S(is_start_of_job, job)
#define STARTED_AFTER_HOLD(n, seconds)  S(are_started_after_hold, n, seconds)
#define HOLD(until)                     S(is_hold, until)
#define HELD(job, stage, until)         S(is_held, job, stage, until)
#define UNHELD                          S(is_unheld, 0)
#define ATTEMPTS(n)                     S(is_attempts, n)
#define CONGESTED(yes)                  S(is_congested, yes)

/* A small reduce task receives on host 1, where four of a larger job would stall; all slots but
 * that one are free. */
#define FOUR_WOULD_STALL                                                                           \
    HOST(0, 2), JOB(1, 1, 1, BARRIER), JOB(2, 1, 4, BARRIER), SILENT(0), DONE(1, 0, 0),            \
        DONE(2, 0, 0), HOST(1, 8), STARTED(1, 1, 0), COUNT(START, 1), HOLD(30)

#define OURS(n) (UINT64_C(1) << 32 | (n)) /* an attempt's number of this epoch */

static const struct engine_case engine_cases[] = {
    /* After a restart of the controller jobs come from its store, then hosts join: blocks are found
     * all the same. */
    {"blocks_on_hosts_that_join_later", "nats", "cans",
     .steps = {BLOCKS(1, 2), HOST(1, 1), STARTED(1, 0, 1), STARTED_LOCAL(1, 0, 1), HOST(0, 1),
               STARTED_LOCAL(1, 0, 0)}},
    /* What is pipelined behind a task that has to run again must not take its slot. */
    {"pipelined_stage_waits_for_a_task_that_runs_again", "nats", "cans",
     .steps = {HOST(0, 2), JOB(1, 2, 2, PIPELINED), IS(1, 1, 0, READY), FAILED(1, 0, 0),
               STARTED(1, 0, 0), NOT_STARTED(1, 1, 0), IS(1, 1, 1, READY), SILENT(0),
               KILLED(1, 0, 0), IS(1, 0, 0, READY), IS(1, 1, 0, BLOCKED)}},
    /* A map goes with its host while reduces hold the only slots left: they give way, and come
     * again after it. */
    {"pipelined_stage_gives_way_when_no_slot_is_left", "greedy", "dclas",
     .steps = {HOST(0, 1), JOB(1, 1, 2, PIPELINED), HOST(1, 2), KEEP(0, 1, 1, 0), KEEP(1, 1, 1, 1),
               LOST(0), IS(1, 0, 0, READY), KILLED_KEPT(0), STARTED(1, 0, 0), KILLED_KEPT(1),
               STARTED(1, 1, 0)}},
    /* Where another slot is free, nothing is stopped. */
    {"pipelined_stage_stays_where_a_slot_is_free", "nats", "cans",
     .steps = {HOST(0, 1), JOB(1, 1, 1, PIPELINED), HOST(1, 2), LOST(0), STARTED(1, 0, 0),
               IS(1, 1, 0, RUNNING)}},
    /* A host goes with outputs of two stages in a row: the later one has to run again, so the
     * earlier one has to as well. */
    {"lost_host_with_outputs_of_stages_in_a_row", "nats", "cans",
     .steps = {HOST(0, 1), CHAIN(1, 3), DONE(1, 0, 0), DONE(1, 1, 0), IS(1, 2, 0, RUNNING), LOST(0),
               IS(1, 0, 0, READY), IS(1, 1, 0, BLOCKED), IS(1, 2, 0, BLOCKED)}},
    /* hold_max is a task's longest wait for a slot that is there, whatever else of its stage starts
     * meanwhile; then it is all its tasks' end of waiting. */
    {"hold_max_is_not_begun_anew", "nats", "cans", .reload = true,
     .steps = {FOUR_WOULD_STALL, AT(20), HOST(2, 1), COUNT(START, 1), HELD(2, 1, 30), AT(30), TURN,
               UNHELD, STARTED_AFTER_HOLD(3, 30)}},
    /* Late tasks do not go before the first job's: only what that leaves is theirs. */
    {"late_tasks_take_what_is_left", "nats", "cans", .reload = true,
     .steps = {FOUR_WOULD_STALL, AT(29), JOB(3, 7, 1, BARRIER), COUNT(START, 7), AT(31), TURN,
               COUNT(START, 0), DONE(3, 0, 0), FIRST_START(2), JOB(4, 1, 1, BARRIER), DONE(3, 0, 1),
               COUNT(START, 1), FIRST_START(4)}},
    /* A claim of nothing is answered too. */
    {"empty_claim_is_answered", "nats", "cans", .steps = {EMPTY_CLAIM, REJECTED(BAD_VALUE)}},
    /* A job that has not arrived whole runs nothing: what claims to be of it is nobody's. */
    {"attempt_of_an_arriving_job", "nats", "cans",
     .steps = {HOST(0, 2), ARRIVING(1), SAY(0, 77), SEEN(0, 1, 0, 0, 0), STOPPED(0, ORPHAN),
               CANCEL(1), DONE_KEPT(0), COUNT(JOB_DONE, 0)}},
    /* A number of our own epoch that we never gave is adopted and never given again. */
    {"attempt_numbers_are_never_reused", "nats", "cans",
     .steps = {HOST(0, 9), SAY(0, OURS(1)), SAY(1, OURS(2)), SEEN(0, 9, 0, 0, 0),
               SEEN(1, 9, 0, 0, 0), JOB(1, 3, 1, BARRIER), ATTEMPTS(5), LATER(1, 1, 0, 0),
               LATER(1, 1, 0, 1), LATER(1, 1, 0, 2)}},
    /* Its host was lost and is heard again while another attempt does the work: it is stopped, and
     * no failure of it counts; but it may have ended already. */
    {"a_replaced_attempt_is_stopped_when_it_is_seen_again", "nats", "cans",
     .steps = {HOST(0, 1), JOB(1, 1, 1, BARRIER), KEEP(0, 1, 0, 0), LOST(0), HOST(1, 1),
               KEEP(1, 1, 0, 0), LATER(0, 1, 0, 0), HOST(0, 1), SEEN(0, 1, 0, 0, 0), COUNT(STOP, 1),
               STOPPED(0, REPLACED), KILLED_KEPT(0), IS(1, 0, 0, RUNNING), FAILURES(1, 0, 0, 0),
               SEEN(0, 1, 0, 0, 0), DONE_KEPT(0), STOPPED(1, REPLACED), IS(1, 0, 0, DONE),
               HAS(0, 1, 0, 0)}},
    /* After a restart two hosts come with an attempt each, the older one first; then comes one that
     * is older still, and one of another's numbers is done. */
    {"of_two_attempts_that_are_found_the_newest_counts", "nats", "cans",
     .steps = {JOB(1, 1, 1, BARRIER), SAY(0, OURS(50)), SAY(1, OURS(51)), SAY(2, 7),
               SEEN(0, 1, 0, 0, 0), SEEN(2, 1, 0, 0, 0), COUNT(STOP, 0), SEEN(1, 1, 0, 0, 1),
               COUNT(STOP, 1), STOPPED(0, REPLACED), SAY(0, OURS(49)), SEEN(0, 1, 0, 0, 0),
               STOPPED(0, REPLACED), DONE_KEPT(2), STOPPED(1, REPLACED)}},
    /* Who reports crossings only says nothing again when others join or go: the share of the
     * uplinks that are busy is another one all the same: 1 of 7, 2 of 7, 2 of 6. */
    {"congestion_follows_who_joins", "nats", "cans", .reload = true,
     .congested_share_permille = 300,
     .steps = {HOST(0, 1), HOST(1, 1), HOST(2, 1), HOST(3, 1), HOST(4, 1), HOST(5, 1), HOST(6, 1),
               LOAD(0, 950), LOAD(1, 850), CONGESTED(false), LOAD(1, 950), CONGESTED(false),
               LOST(6), CONGESTED(false), FORGET(6), CONGESTED(true), HOST(6, 1),
               CONGESTED(false)}},
};

static const struct step *step_now; /* for the sentence of a step that fails */

static void test_case(void **state)
{
    const struct engine_case *c = *state;
    struct engine_config config = script_config();
    uint64_t kept[KEPT_MAX] = {0};
    struct script s;
    strcpy(config.place, c->place);
    strcpy(config.network, c->network);
    if (c->congested_share_permille)
        config.congested_share_permille = c->congested_share_permille;
    script_begin(&s, &config);
    s.reload = c->reload;
    for (const struct step *step = c->steps; step < c->steps + STEPS_MAX && step->does; step++) {
        step_now = step;
        step->does(&s, kept, step);
    }
    step_now = NULL;
    script_end(&s);
}

/* A failed assertion names its own place, not the row. */
static int say_step(void **state)
{
    const struct engine_case *c = *state;
    if (step_now)
        print_error("%s: step %td\n", c->name, step_now - c->steps + 1);
    step_now = NULL;
    return 0;
}

/* ---- cases that look at more ----------------------------------------------------------------- */

static void host_with(struct script *s, uint32_t host, uint64_t slots, uint64_t mem,
                      const char *labels)
{
    uint64_t vector[ENGINE_RESOURCES] = {slots, 0, mem};
    struct event event = script_join(host, slots, vector);
    event.host_join.labels = labels;
    script_event(s, event);
}

/* Locality goes before the order of stages, also when they have different demands. */
static void test_local_pair_over_all_demands_of_a_job(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "nats", "cans");
    static const uint32_t at_1[] = {1};
    script_host(&s, 1, 0);
    host_with(&s, 0, 4, 4, "");
    script_job_begin(&s, 1);
    struct event other = script_stage_event(1, 1, 1, NULL, NULL);
    other.job_stage.demand.amount[RES_MEM_BYTES] = 4;
    static const uint32_t at_0[] = {0};
    script_stage(&s, 1, 0, 1, ENGINE_NONE, 0);
    script_event(&s, other);
    script_tasks(&s, 1, 0, 1, MEGABYTE, 1, at_1);
    script_tasks(&s, 1, 1, 1, MEGABYTE, 1, at_0);
    script_job_end(&s, 1);
    assert_int_equal(script_count(&s, DECISION_START), 2);
    assert_int_equal(script_decision(&s, DECISION_START, 0)->start.stage, 1);
    assert_reason(script_decision(&s, DECISION_START, 0), "local-block");
    script_end(&s);
}

/* An engine may go while maps wait for a slot next to their blocks. */
static void test_engine_ends_with_waiting_maps(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "nats", "cans");
    static const uint32_t replicas[] = {0, 1};
    script_host(&s, 0, 0);
    script_job_begin(&s, 1);
    script_stage(&s, 1, 0, 1, ENGINE_NONE, 0);
    script_tasks(&s, 1, 0, 1, MEGABYTE, 2, replicas);
    script_end(&s);
}

/* ---- requests that are out of bounds --------------------------------------------------------- */

static void test_replicas_must_stay_as_many(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "nats", "cans");
    uint32_t replicas[ENGINE_REPLICAS_MAX * 2] = {0};
    script_job_begin(&s, 1);
    script_stage(&s, 1, 0, 2, ENGINE_NONE, 0);
    script_tasks(&s, 1, 0, 0, 0, 1, replicas);
    assert_int_equal(script_rejection(&s), REASON_NONE);
    script_tasks(&s, 1, 0, 2, 0, ENGINE_REPLICAS_MAX, replicas);
    assert_int_equal(script_rejection(&s), REASON_BAD_VALUE);
    script_end(&s);
}

static enum reason try_stage(struct script *s, struct event stage)
{
    script_event(s, stage);
    return script_rejection(s);
}

static void test_stage_values_out_of_range(void **state)
{
    (void)state;
    struct script s;
    static const uint32_t parent[] = {0}, edge[] = {EDGE_PIPELINED + 1};
    char word[ENGINE_NAME_MAX + 1], words[CONSTRAINT_MAX + 1];
    memset(word, 'x', sizeof(word));
    memset(words, 'x', sizeof(words));
    word[ENGINE_NAME_MAX] = words[CONSTRAINT_MAX] = 0;
    begin(&s, "nats", "cans");
    script_job_begin(&s, 1);
    struct event negative = script_stage_event(1, 0, 1, NULL, NULL), constraint = negative,
                 command = negative;
    negative.job_stage.demand.amount[RES_MEM_BYTES] = -1;
    constraint.job_stage.constraint = words;
    command.job_stage.command = word;
    assert_int_equal(try_stage(&s, negative), REASON_BAD_VALUE);
    assert_int_equal(try_stage(&s, constraint), REASON_BAD_VALUE);
    assert_int_equal(try_stage(&s, command), REASON_BAD_VALUE);
    script_stage(&s, 1, 0, 1, ENGINE_NONE, 0);
    assert_int_equal(script_rejection(&s), REASON_NONE);
    assert_int_equal(try_stage(&s, script_stage_event(1, 1, 1, parent, edge)), REASON_BAD_VALUE);
    struct event kind = script_begin_event(2, "2"), estimate = kind;
    kind.job_begin.job_kind = JOB_UNKNOWN + 1;
    estimate.job_begin.estimate_bytes = -2;
    assert_int_equal(try_stage(&s, kind), REASON_BAD_VALUE);
    assert_int_equal(try_stage(&s, estimate), REASON_BAD_VALUE);
    script_end(&s);
}

/* What no known host meets is refused with the term that fails; a host that comes, or gets another
 * label, meets it. */
static void test_constraints(void **state)
{
    (void)state;
    static const struct {
        const char *constraint, *words;
    } cases[] = {
        {"big", "none has label 'big'"},
        {"ssd & big", "none that meets 'ssd' meets 'big'"},
        {"ssd & (rack=r1 | big) & host=h9 & big",
         "none that meets 'ssd & (rack=r1 | big)' meets 'host=h9'"},
        {"rack=r2 | host=h9", "none meets 'rack=r2 | host=h9'"},
        {"!ssd", "none meets '!ssd'"},
        {"ssd &", "none meets 'ssd &'"},
    };
    uint64_t vector[ENGINE_RESOURCES] = {4};
    struct script s;
    char text[512];
    begin(&s, "greedy", "none");
    struct event join = script_join(0, 4, vector);
    join.host_join.labels = "spot,ssd";
    join.host_join.rack = "r1";
    script_event(&s, join);
    for (uint64_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct event stage = script_stage_event(i + 1, 0, 1, NULL, NULL);
        stage.job_stage.constraint = cases[i].constraint;
        script_job_begin(&s, i + 1);
        script_event(&s, stage);
        script_job_end(&s, i + 1);
        assert_int_equal(script_rejection(&s), REASON_NEVER_FITS);
        engine_say_never_fits(s.engine, i + 1, 0, text, sizeof(text));
        if (!strstr(text, "no known host could ever run a task of stage 0: ") ||
            !strstr(text, cases[i].words))
            fail_msg("%s: %s", cases[i].constraint, text);
        script_cancel(&s, i + 1);
    }
    struct event stage = script_stage_event(9, 0, 1, NULL, NULL);
    stage.job_stage.constraint = "!ssd | rack=r2";
    script_event(&s, script_join(1, 4, vector));
    script_host_event(&s, EVENT_HOST_SILENT, 1);
    script_job_begin(&s, 9);
    script_event(&s, stage);
    script_job_end(&s, 9);
    assert_int_equal(script_rejection(&s), REASON_NONE);
    assert_int_equal(script_count(&s, DECISION_START), 0);
    join.kind = EVENT_HOST_CHANGE;
    join.host_join.rack = "r2";
    script_event(&s, join);
    assert_int_equal(script_count(&s, DECISION_START), 1);
    assert_int_equal(script_start(&s, 9, 0, 0)->start.host, 0);
    script_end(&s);
}

/* The rejection names the stage, not the number of its demand. */
static void test_never_fits_names_the_stage(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "nats", "cans");
    script_host(&s, 0, 1);
    script_job_begin(&s, 1);
    script_stage(&s, 1, 0, 1, ENGINE_NONE, 0);
    script_stage(&s, 1, 1, 1, ENGINE_NONE, 0);
    struct event large = script_stage_event(1, 2, 1, NULL, NULL);
    large.job_stage.demand.amount[RES_SLOTS] = 2;
    script_event(&s, large);
    script_job_end(&s, 1);
    assert_int_equal(script_rejection(&s), REASON_NEVER_FITS);
    assert_int_equal(script_decision(&s, DECISION_REJECT, 0)->left, 2);
    char text[256];
    engine_say_never_fits(s.engine, 1, 2, text, sizeof(text));
    assert_string_equal(text, "no known host could ever run a task of stage 2: it needs slots 2 in "
                              "one unit; the most that a unit has is slots 1");
    engine_say_never_fits(s.engine, 1, 3, text, sizeof(text));
    assert_string_equal(text, "");
    uint32_t stage;
    assert_int_equal(engine_job_obstacle(s.engine, 1, &stage), REASON_NEVER_FITS);
    assert_int_equal(stage, 2);
    assert_int_equal(engine_job_obstacle(s.engine, 9, &stage), REASON_UNKNOWN_JOB);
    script_end(&s);
}

/* ---- facts that surprise --------------------------------------------------------------------- */

/* A new session's inventory says that an attempt computes by now: its downlink is free. */
static void test_seen_again_while_computing(void **state)
{
    (void)state;
    struct script s;
    struct host_view host;
    begin(&s, "greedy", "cans");
    script_host(&s, 0, 1);
    two_stages(&s, 1, 1, 1, EDGE_BARRIER);
    script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, 0), 0);
    script_attempt(&s, EVENT_ATTEMPT_KILLED, script_attempt_of(&s, 1, 1, 0), 0);
    script_host_event(&s, EVENT_HOST_SILENT, 0);
    script_attempt(&s, EVENT_ATTEMPT_KILLED, script_attempt_of(&s, 1, 1, 0), 0);
    script_host(&s, 1, 1);
    uint64_t attempt = script_attempt_of(&s, 1, 1, 0);
    engine_host(s.engine, 1, &host);
    assert_int_equal(host.receiving, 1);
    struct event seen = script_seen_event(attempt, 1, 1, 0, 1);
    seen.attempt_seen.phase = ATTEMPT_COMPUTING;
    seen.attempt_seen.received_bytes = MEGABYTE;
    script_event(&s, seen);
    engine_host(s.engine, 1, &host);
    assert_int_equal(host.receiving, 0);
    script_end(&s);
}

/* A phase that no running attempt can have is not believed. */
static void test_seen_in_an_impossible_phase(void **state)
{
    (void)state;
    struct script s;
    struct attempt_view view;
    begin(&s, "nats", "cans");
    script_host(&s, 0, 1);
    two_stages(&s, 1, 2, 1, EDGE_BARRIER);
    uint64_t own = script_attempt_of(&s, 1, 0, 0);
    struct event seen = script_seen_event(own, 1, 0, 0, 0);
    seen.attempt_seen.phase = 99;
    script_event(&s, seen);
    assert_int_equal(engine_attempt(s.engine, own, &view), 0);
    assert_true(view.state <= ATTEMPT_COMPUTING);
    seen.attempt_seen.attempt = 5;
    seen.attempt_seen.task = 1;
    seen.attempt_seen.phase = ATTEMPT_DONE;
    script_event(&s, seen);
    assert_int_equal(engine_attempt(s.engine, 5, &view), 0);
    assert_true(view.state <= ATTEMPT_COMPUTING);
    script_end(&s);
}

/* D-CLAS after a restart of the controller: what adopted attempts have received counts. */
static void test_bytes_of_adopted_attempts_count(void **state)
{
    (void)state;
    struct script s;
    struct attempt_view view;
    begin(&s, "nats", "dclas");
    script_host(&s, 0, 1);
    script_host(&s, 1, 1);
    two_stages(&s, 1, 1, 2, EDGE_BARRIER);
    struct event seen = script_seen_event(5, 1, 1, 0, 1);
    seen.attempt_seen.received_bytes = 10 * MEGABYTE;
    script_event(&s, seen);
    engine_attempt(s.engine, 5, &view);
    assert_int_equal(view.coflow_level, 1);
    script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, 0), 0);
    engine_attempt(s.engine, script_attempt_of(&s, 1, 1, 1), &view);
    assert_int_equal(view.coflow_level, 1);
    script_end(&s);
}

/* A host marks as whoever started the attempt told it: who adopts it says its levels, once; nobody
 * tells those of an orphan. */
static void test_adopted_attempts_are_told_their_levels(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "nats", "cans");
    script_host(&s, 0, 1);
    script_host(&s, 1, 1);
    two_stages(&s, 1, 1, 2, EDGE_BARRIER);
    script_event(&s, script_seen_event(5, 1, 1, 0, 1));
    assert_int_equal(script_count(&s, DECISION_LEVEL), 1);
    const struct decision *level = script_decision(&s, DECISION_LEVEL, 0);
    struct attempt_view view;
    engine_attempt(s.engine, 5, &view);
    assert_int_equal(level->reason, REASON_ADOPTED);
    assert_int_equal(level->level.attempt, 5);
    assert_int_equal(level->level.host, 1);
    assert_int_equal(level->level.coflow_level, view.coflow_level);
    assert_int_equal(level->level.macroflow_level, view.macroflow_level);
    assert_int_equal(level->left, view.coflow_bytes);
    assert_int_equal(level->right, view.macroflow_bytes);
    script_event(&s, script_seen_event(5, 1, 1, 0, 1));
    assert_int_equal(script_count(&s, DECISION_LEVEL), 0);
    script_event(&s, script_seen_event(6, 9, 0, 0, 1));
    assert_int_equal(script_count(&s, DECISION_LEVEL), 0);
    script_end(&s);
}

/* Jobs that come before any host does, as after a restart of the controller, stand in the order of
 * their sizes among those that come later. */
static void test_keys_follow_the_cluster(void **state)
{
    (void)state;
    struct script s;
    uint64_t sums[3][1] = {{100 * MEGABYTE}, {10 * MEGABYTE}, {40 * MEGABYTE}};
    begin(&s, "nats", "cans");
    s.reload = true;
    for (uint64_t number = 1; number <= 3; number++) {
        struct script_job job = {
            number, 4, 0, 1, NULL, 0, SECOND, 0, sums[number - 1], (int64_t)sums[number - 1][0]};
        if (number == 3)
            for (uint32_t h = 0; h < 20; h++)
                script_host(&s, h, 1);
        script_submit(&s, &job);
    }
    assert_true(script_job_view(&s, 2).key < script_job_view(&s, 3).key &&
                script_job_view(&s, 3).key < script_job_view(&s, 1).key);
    /* 4 s ÷ slots, and bytes over as many Gb/s, of the hosts at which they had last more than
     * doubled: 1, 3, 7, 15. */
    assert_int_equal(script_job_view(&s, 1).key, 4 * SECOND / 15 + 800 * INT64_C(1000000) / 15);
    /* One host more or less moves nobody. */
    uint64_t before = script_job_view(&s, 1).key;
    script_host_event(&s, EVENT_HOST_LOST, 3);
    assert_int_equal(script_job_view(&s, 1).key, before);
    script_end(&s);
}

/* Amounts that add up beyond 64 bits are nonsense, but they are facts: nothing breaks. */
static void test_absurd_amounts(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "nats", "cans");
    for (uint32_t h = 0; h < 4; h++) {
        uint64_t vector[ENGINE_RESOURCES] = {INT64_MAX, UINT64_MAX, INT64_MAX, 1, 2, 3};
        script_event(&s, script_join(h, 0, vector));
    }
    struct engine_status status;
    engine_status(s.engine, &status);
    assert_true(status.slots > INT64_C(1) << 40 && status.slots < INT64_MAX);
    assert_true(status.slots_free == status.slots);
    two_stages(&s, 1, 4, 2, EDGE_BARRIER);
    struct event seen = script_seen_event(5, 99, 0, 0, 0);
    seen.attempt_seen.resources.amount[RES_SLOTS] = INT64_MAX;
    script_event(&s, seen);
    seen.attempt_seen.attempt = 6;
    seen.attempt_seen.resources.amount[RES_SLOTS] = INT64_MIN;
    script_event(&s, seen);
    s.now_ns = INT64_C(1000) * SECOND;
    script_events(&s, NULL, 0);
    script_attempt(&s, EVENT_ATTEMPT_DONE, 5, 0);
    script_attempt(&s, EVENT_ATTEMPT_DONE, 6, 0);
    script_host_event(&s, EVENT_HOST_LOST, 1);
    script_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_local_pair_over_all_demands_of_a_job),
        cmocka_unit_test(test_engine_ends_with_waiting_maps),
        cmocka_unit_test(test_replicas_must_stay_as_many),
        cmocka_unit_test(test_stage_values_out_of_range),
        cmocka_unit_test(test_constraints),
        cmocka_unit_test(test_never_fits_names_the_stage),
        cmocka_unit_test(test_seen_again_while_computing),
        cmocka_unit_test(test_seen_in_an_impossible_phase),
        cmocka_unit_test(test_bytes_of_adopted_attempts_count),
        cmocka_unit_test(test_adopted_attempts_are_told_their_levels),
        cmocka_unit_test(test_keys_follow_the_cluster),
        cmocka_unit_test(test_absurd_amounts),
    };
    struct CMUnitTest cases[sizeof(engine_cases) / sizeof(engine_cases[0])];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        cases[i] = (struct CMUnitTest){engine_cases[i].name, test_case, NULL, say_step,
                                       (void *)(uintptr_t)&engine_cases[i]};
    int failed = cmocka_run_group_tests_name("tables", cases, NULL, NULL);
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
