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

static void host_with(struct script *s, uint32_t host, uint64_t slots, uint64_t mem,
                      const char *labels)
{
    uint64_t vector[ENGINE_RESOURCES] = {slots, 0, mem};
    struct event event = script_join(host, slots, vector);
    event.host_join.labels = labels;
    script_event(s, event);
}

/* After a restart of the controller jobs come from its store, then hosts join: blocks are found all
 * the same. */
static void test_blocks_on_hosts_that_join_later(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "nats", "cans");
    static const uint32_t replicas[] = {0, 1};
    script_job_begin(&s, 1);
    script_stage(&s, 1, 0, 2, ENGINE_NONE, 0);
    script_tasks(&s, 1, 0, 2, MEGABYTE, 1, replicas);
    script_job_end(&s, 1);
    script_host(&s, 1, 1);
    assert_non_null(script_start(&s, 1, 0, 1));
    assert_reason(script_start(&s, 1, 0, 1), "local-block");
    script_host(&s, 0, 1);
    assert_reason(script_start(&s, 1, 0, 0), "local-block");
    script_end(&s);
}

static void two_stages(struct script *s, uint64_t job, uint32_t maps, uint32_t reduces,
                       uint32_t edge)
{
    script_job_begin(s, job);
    script_stage(s, job, 0, maps, ENGINE_NONE, 0);
    script_stage(s, job, 1, reduces, 0, edge);
    script_bytes(s, job, 1, 0, reduces, MEGABYTE);
    script_job_end(s, job);
}

/* What is pipelined behind a task that has to run again must not take its slot. */
static void test_pipelined_stage_waits_for_a_task_that_runs_again(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "nats", "cans");
    script_host(&s, 0, 2);
    two_stages(&s, 1, 2, 2, EDGE_PIPELINED);
    assert_int_equal(script_task_state(&s, 1, 1, 0), TASK_READY);
    script_attempt(&s, EVENT_ATTEMPT_FAILED, script_attempt_of(&s, 1, 0, 0), 0);
    assert_non_null(script_start(&s, 1, 0, 0));
    assert_null(script_start(&s, 1, 1, 0));
    assert_int_equal(script_task_state(&s, 1, 1, 1), TASK_READY);
    script_host_event(&s, EVENT_HOST_SILENT, 0);
    script_attempt(&s, EVENT_ATTEMPT_KILLED, script_attempt_of(&s, 1, 0, 0), 0);
    assert_int_equal(script_task_state(&s, 1, 0, 0), TASK_READY);
    assert_int_equal(script_task_state(&s, 1, 1, 0), TASK_BLOCKED);
    script_end(&s);
}

/* A map goes with its host while reduces hold the only slots left: they give way, and come again
 * after it. */
static void test_pipelined_stage_gives_way_when_no_slot_is_left(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "greedy", "dclas");
    script_host(&s, 0, 1);
    two_stages(&s, 1, 1, 2, EDGE_PIPELINED);
    script_host(&s, 1, 2);
    uint64_t first = script_attempt_of(&s, 1, 1, 0), second = script_attempt_of(&s, 1, 1, 1);
    assert_int_not_equal(first, 0);
    assert_int_not_equal(second, 0);
    script_host_event(&s, EVENT_HOST_LOST, 0);
    assert_int_equal(script_task_state(&s, 1, 0, 0), TASK_READY);
    script_attempt(&s, EVENT_ATTEMPT_KILLED, first, 0);
    assert_non_null(script_start(&s, 1, 0, 0));
    script_attempt(&s, EVENT_ATTEMPT_KILLED, second, 0);
    assert_non_null(script_start(&s, 1, 1, 0));
    script_end(&s);
}

/* Where another slot is free, nothing is stopped. */
static void test_pipelined_stage_stays_where_a_slot_is_free(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "nats", "cans");
    script_host(&s, 0, 1);
    two_stages(&s, 1, 1, 1, EDGE_PIPELINED);
    script_host(&s, 1, 2);
    script_host_event(&s, EVENT_HOST_LOST, 0);
    assert_non_null(script_start(&s, 1, 0, 0));
    assert_int_equal(script_task_state(&s, 1, 1, 0), TASK_RUNNING);
    script_end(&s);
}

/* A host goes with outputs of two stages in a row: the later one has to run again, so the earlier
 * one has to as well. */
static void test_lost_host_with_outputs_of_stages_in_a_row(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "nats", "cans");
    script_host(&s, 0, 1);
    script_job_begin(&s, 1);
    script_stage(&s, 1, 0, 1, ENGINE_NONE, 0);
    script_stage(&s, 1, 1, 1, 0, EDGE_BARRIER);
    script_stage(&s, 1, 2, 1, 1, EDGE_BARRIER);
    script_bytes(&s, 1, 1, 0, 1, MEGABYTE);
    script_bytes(&s, 1, 2, 1, 1, MEGABYTE);
    script_job_end(&s, 1);
    script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, 0), 0);
    script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 1, 0), 0);
    assert_int_equal(script_task_state(&s, 1, 2, 0), TASK_RUNNING);
    script_host_event(&s, EVENT_HOST_LOST, 0);
    assert_int_equal(script_task_state(&s, 1, 0, 0), TASK_READY);
    assert_int_equal(script_task_state(&s, 1, 1, 0), TASK_BLOCKED);
    assert_int_equal(script_task_state(&s, 1, 2, 0), TASK_BLOCKED);
    script_end(&s);
}

/* A small reduce task receives on host 1, where four of a larger job would stall; all slots but
 * that one are free. */
static void four_would_stall(struct script *s)
{
    begin(s, "nats", "cans");
    s->reload = true;
    script_host(s, 0, 2);
    two_stages(s, 1, 1, 1, EDGE_BARRIER);
    two_stages(s, 2, 1, 4, EDGE_BARRIER);
    script_host_event(s, EVENT_HOST_SILENT, 0);
    script_attempt(s, EVENT_ATTEMPT_DONE, script_attempt_of(s, 1, 0, 0), 0);
    script_attempt(s, EVENT_ATTEMPT_DONE, script_attempt_of(s, 2, 0, 0), 0);
    script_host(s, 1, 8);
    assert_non_null(script_start(s, 1, 1, 0));
    assert_int_equal(script_count(s, DECISION_START), 1);
}

/* hold_max is a task's longest wait for a slot that is there, whatever else of its stage starts
 * meanwhile; then it is all its tasks' end of waiting. */
static void test_hold_max_is_not_begun_anew(void **state)
{
    (void)state;
    struct script s;
    struct stage_view view;
    four_would_stall(&s);
    assert_int_equal(script_decision(&s, DECISION_HOLD, 0)->hold.until_ns, 30 * SECOND);
    s.now_ns = 20 * SECOND;
    script_host(&s, 2, 1);
    assert_int_equal(script_count(&s, DECISION_START), 1);
    assert_int_equal(engine_deadline_ns(s.engine), 30 * SECOND);
    assert_int_equal(engine_stage(s.engine, 2, 1, &view), 0);
    assert_true(view.held && view.held_until_ns == 30 * SECOND);
    s.now_ns = 30 * SECOND;
    script_events(&s, NULL, 0);
    assert_int_equal(script_decision(&s, DECISION_UNHOLD, 0)->reason, REASON_HOLD_EXPIRED);
    assert_int_equal(script_count(&s, DECISION_START), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(script_decision(&s, DECISION_START, i)->reason, REASON_HOLD_EXPIRED);
        assert_int_equal(script_decision(&s, DECISION_START, i)->left, 30 * SECOND);
    }
    script_end(&s);
}

/* Late tasks do not go before the first job's: only what that leaves is theirs. */
static void test_late_tasks_take_what_is_left(void **state)
{
    (void)state;
    struct script s;
    four_would_stall(&s);
    s.now_ns = 29 * SECOND;
    two_stages(&s, 3, 7, 1, EDGE_BARRIER);
    assert_int_equal(script_count(&s, DECISION_START), 7);
    s.now_ns = 31 * SECOND;
    script_events(&s, NULL, 0);
    assert_int_equal(script_count(&s, DECISION_START), 0);
    script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 3, 0, 0), 0);
    assert_int_equal(script_decision(&s, DECISION_START, 0)->start.job, 2);
    two_stages(&s, 4, 1, 1, EDGE_BARRIER);
    script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 3, 0, 1), 0);
    assert_int_equal(script_count(&s, DECISION_START), 1);
    assert_int_equal(script_decision(&s, DECISION_START, 0)->start.job, 4);
    script_end(&s);
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

/* A claim of nothing is answered too. */
static void test_empty_claim_is_answered(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "nats", "cans");
    struct event claim = {.kind = EVENT_CLAIM, .request = 5};
    script_event(&s, claim);
    assert_int_equal(script_rejection(&s), REASON_BAD_VALUE);
    script_end(&s);
}

/* ---- facts that surprise --------------------------------------------------------------------- */

/* A job that has not arrived whole runs nothing: what claims to be of it is nobody's. */
static void test_attempt_of_an_arriving_job(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "nats", "cans");
    script_host(&s, 0, 2);
    script_job_begin(&s, 1);
    script_stage(&s, 1, 0, 1, ENGINE_NONE, 0);
    script_event(&s, script_seen_event(77, 1, 0, 0, 0));
    assert_int_equal(script_decision(&s, DECISION_STOP, 0)->reason, REASON_ORPHAN);
    script_cancel(&s, 1);
    script_attempt(&s, EVENT_ATTEMPT_DONE, 77, 0);
    assert_int_equal(script_count(&s, DECISION_JOB_DONE), 0);
    script_end(&s);
}

/* A number of our own epoch that we never gave is adopted and never given again. */
static void test_attempt_numbers_are_never_reused(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "nats", "cans");
    script_host(&s, 0, 9);
    script_event(&s, script_seen_event(UINT64_C(1) << 32 | 1, 9, 0, 0, 0));
    script_event(&s, script_seen_event(UINT64_C(1) << 32 | 2, 9, 0, 0, 0));
    two_stages(&s, 1, 3, 1, EDGE_BARRIER);
    struct engine_status status;
    engine_status(s.engine, &status);
    assert_int_equal(status.attempts, 5);
    for (uint32_t t = 0; t < 3; t++)
        assert_true(script_attempt_of(&s, 1, 0, t) > (UINT64_C(1) << 32 | 2));
    script_end(&s);
}

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

/* Its host was lost and is heard again while another attempt does the work: it is stopped, and no
 * failure of it counts; but it may have ended already. */
static void test_a_replaced_attempt_is_stopped_when_it_is_seen_again(void **state)
{
    (void)state;
    struct script s;
    struct task_view task;
    begin(&s, "nats", "cans");
    script_host(&s, 0, 1);
    two_stages(&s, 1, 1, 1, EDGE_BARRIER);
    uint64_t old = script_attempt_of(&s, 1, 0, 0);
    script_host_event(&s, EVENT_HOST_LOST, 0);
    script_host(&s, 1, 1);
    uint64_t new = script_attempt_of(&s, 1, 0, 0);
    assert_int_not_equal(old, new);
    script_host(&s, 0, 1);
    script_event(&s, script_seen_event(old, 1, 0, 0, 0));
    assert_int_equal(script_count(&s, DECISION_STOP), 1);
    assert_int_equal(script_decision(&s, DECISION_STOP, 0)->stop.attempt, old);
    assert_int_equal(script_decision(&s, DECISION_STOP, 0)->reason, REASON_REPLACED);
    script_attempt(&s, EVENT_ATTEMPT_KILLED, old, 0);
    engine_task(s.engine, 1, 0, 0, &task);
    assert_int_equal(task.state, TASK_RUNNING);
    assert_int_equal(task.failures, 0);
    script_event(&s, script_seen_event(old, 1, 0, 0, 0));
    script_attempt(&s, EVENT_ATTEMPT_DONE, old, 0);
    assert_int_equal(script_decision(&s, DECISION_STOP, 0)->stop.attempt, new);
    engine_task(s.engine, 1, 0, 0, &task);
    assert_int_equal(task.state, TASK_DONE);
    assert_int_equal(task.attempt, old);
    script_end(&s);
}

/* After a restart two hosts come with an attempt each, the older one first. */
static void test_of_two_attempts_that_are_found_the_newest_counts(void **state)
{
    (void)state;
    struct script s;
    const uint64_t old = UINT64_C(1) << 32 | 50, new = old + 1, foreign = 7;
    begin(&s, "nats", "cans");
    two_stages(&s, 1, 1, 1, EDGE_BARRIER);
    script_event(&s, script_seen_event(old, 1, 0, 0, 0));
    script_event(&s, script_seen_event(foreign, 1, 0, 0, 0));
    assert_int_equal(script_count(&s, DECISION_STOP), 0);
    script_event(&s, script_seen_event(new, 1, 0, 0, 1));
    assert_int_equal(script_count(&s, DECISION_STOP), 1);
    assert_int_equal(script_decision(&s, DECISION_STOP, 0)->stop.attempt, old);
    script_event(&s, script_seen_event(old - 1, 1, 0, 0, 0));
    assert_int_equal(script_decision(&s, DECISION_STOP, 0)->stop.attempt, old - 1);
    script_attempt(&s, EVENT_ATTEMPT_DONE, foreign, 0);
    assert_int_equal(script_decision(&s, DECISION_STOP, 0)->stop.attempt, new);
    script_end(&s);
}

static uint64_t key_of(const struct script *s, uint64_t job)
{
    struct job_view view;
    assert_int_equal(engine_job(s->engine, job, &view), 0);
    return view.key;
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
    assert_true(key_of(&s, 2) < key_of(&s, 3) && key_of(&s, 3) < key_of(&s, 1));
    /* 4 s ÷ slots, and bytes over as many Gb/s, of the hosts at which they had last more than
     * doubled: 1, 3, 7, 15. */
    assert_int_equal(key_of(&s, 1), 4 * SECOND / 15 + 800 * INT64_C(1000000) / 15);
    /* One host more or less moves nobody. */
    uint64_t before = key_of(&s, 1);
    script_host_event(&s, EVENT_HOST_LOST, 3);
    assert_int_equal(key_of(&s, 1), before);
    script_end(&s);
}

static bool is_congested(const struct script *s)
{
    struct engine_status status;
    engine_status(s->engine, &status);
    return status.congested;
}

/* Who reports crossings only says nothing again when others join or go: the share of the uplinks
 * that are busy is another one all the same. */
static void test_congestion_follows_who_joins(void **state)
{
    (void)state;
    struct script s;
    struct engine_config config = script_config();
    config.congested_share_permille = 300;
    script_begin(&s, &config);
    s.reload = true;
    for (uint32_t h = 0; h < 7; h++)
        script_host(&s, h, 1);
    script_load(&s, 0, 950);
    script_load(&s, 1, 850);
    assert_false(is_congested(&s)); /* 1 of 7 */
    script_load(&s, 1, 950);
    assert_false(is_congested(&s)); /* 2 of 7 */
    script_host_event(&s, EVENT_HOST_LOST, 6);
    assert_false(is_congested(&s));
    script_host_event(&s, EVENT_HOST_FORGET, 6);
    assert_true(is_congested(&s)); /* 2 of 6 */
    script_host(&s, 6, 1);
    assert_false(is_congested(&s));
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
        cmocka_unit_test(test_blocks_on_hosts_that_join_later),
        cmocka_unit_test(test_pipelined_stage_waits_for_a_task_that_runs_again),
        cmocka_unit_test(test_pipelined_stage_gives_way_when_no_slot_is_left),
        cmocka_unit_test(test_pipelined_stage_stays_where_a_slot_is_free),
        cmocka_unit_test(test_lost_host_with_outputs_of_stages_in_a_row),
        cmocka_unit_test(test_hold_max_is_not_begun_anew),
        cmocka_unit_test(test_late_tasks_take_what_is_left),
        cmocka_unit_test(test_local_pair_over_all_demands_of_a_job),
        cmocka_unit_test(test_engine_ends_with_waiting_maps),
        cmocka_unit_test(test_replicas_must_stay_as_many),
        cmocka_unit_test(test_stage_values_out_of_range),
        cmocka_unit_test(test_constraints),
        cmocka_unit_test(test_never_fits_names_the_stage),
        cmocka_unit_test(test_empty_claim_is_answered),
        cmocka_unit_test(test_attempt_of_an_arriving_job),
        cmocka_unit_test(test_attempt_numbers_are_never_reused),
        cmocka_unit_test(test_seen_again_while_computing),
        cmocka_unit_test(test_seen_in_an_impossible_phase),
        cmocka_unit_test(test_a_replaced_attempt_is_stopped_when_it_is_seen_again),
        cmocka_unit_test(test_of_two_attempts_that_are_found_the_newest_counts),
        cmocka_unit_test(test_bytes_of_adopted_attempts_count),
        cmocka_unit_test(test_adopted_attempts_are_told_their_levels),
        cmocka_unit_test(test_keys_follow_the_cluster),
        cmocka_unit_test(test_congestion_follows_who_joins),
        cmocka_unit_test(test_absurd_amounts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
