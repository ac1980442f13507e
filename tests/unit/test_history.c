/* Ended jobs and what befell their attempts: found again, within bounds, told in whole
 * sentences. */
#include "tests/unit/test.h"

#include "controller/listeners.h"

#include <stdlib.h>
#include <string.h>

static void end_attempt(struct history *history, uint64_t job, uint32_t task, uint64_t attempt,
                        enum ending_kind kind, const char *words)
{
    const struct ending ending = {.attempt = attempt,
                                  .job = job,
                                  .task = task,
                                  .host = 7,
                                  .kind = kind,
                                  .ended_ns = (int64_t)attempt,
                                  .words = words};
    history_attempt_ended(history, &ending, true);
}

/* Sums are of all tasks, also of those whose endings are not kept; what was not measured is in
 * none. */
static void what_tasks_took_adds_up(void **state)
{
    (void)state;
    struct history *history = history_create(10);
    struct spent sums;
    uint32_t tasks;
    assert_false(history_spent(history, 1, &sums, &tasks));
    end_attempt(history, 1, 0, 1, ENDING_DONE, NULL);
    for (uint32_t i = 0; i < HISTORY_DONE + 10; i++) {
        const struct ending one = {.attempt = 100 + i,
                                   .job = 1,
                                   .task = i,
                                   .kind = ENDING_DONE,
                                   .spent = {true, 1, 2, 3, 4, 5, false}};
        history_attempt_ended(history, &one, true);
        if (i + 1 < HISTORY_DONE)
            history_attempt_ended(history, &one, true); /* told twice */
    }
    uint32_t kept = HISTORY_DONE - 1;
    assert_true(history_spent(history, 1, &sums, &tasks));
    assert_true(tasks == HISTORY_DONE + 10 && sums.wait_ns == tasks &&
                sums.receive_ns == 2 * tasks);
    assert_true(sums.compute_ns == 3 * tasks && sums.received_bytes == 5 * (uint64_t)tasks);
    assert_true(history_attempt(history, 100 + kept - 1) && !history_attempt(history, 100 + kept));
    history_destroy(history);
}

static void end_job(struct history *history, uint64_t job, const char *reason)
{
    struct job_ending ending = {.job = job, .state = JOB_FAILED};
    strcpy(ending.reason, reason);
    history_job_ended(history, &ending);
}

static void endings_are_found_again(void **state)
{
    (void)state;
    struct history *history = history_create(10);
    char words[32] = "boom";
    end_attempt(history, 1, 0, 11, ENDING_FAILED, words);
    strcpy(words, "changed");
    end_attempt(history, 1, 0, 11, ENDING_LOST, "told twice");
    end_attempt(history, 1, 0, 12, ENDING_DONE, NULL);
    end_attempt(history, 1, 0, 13, ENDING_KILLED, "too late");
    end_attempt(history, 1, 1, 14, ENDING_LOST, "lost");
    end_attempt(history, 1, 1, 14, ENDING_KILLED, "heard of again, and stopped");
    assert_int_equal(history_attempt(history, 14)->kind, ENDING_KILLED);
    assert_string_equal(history_attempt(history, 11)->words, "boom");
    assert_int_equal(history_task(history, 1, 0, 0)->attempt, 12);
    assert_int_equal(history_task(history, 1, 0, 1)->attempt, 14);
    assert_null(history_task(history, 1, 1, 0));
    assert_null(history_task(history, 2, 0, 0));
    assert_int_equal(history_failure(history, 1)->attempt, 11);
    assert_int_equal(history_failure_on(history, 7)->attempt, 11);
    assert_null(history_failure_on(history, 8));
    assert_null(history_job(history, 1));
    end_job(history, 1, "why");
    end_job(history, 1, "told twice");
    assert_string_equal(history_job(history, 1)->reason, "why");
    uint64_t place = 0, attempt = 11;
    for (const struct ending *e; (e = history_after(history, 1, place, &place)); attempt++)
        assert_int_equal(e->attempt, attempt);
    assert_int_equal(attempt, 15);
    history_destroy(history);
    history_destroy(NULL);
}

/* Of a job that has gone nothing begins anew: it would stay for ever. */
static void jobs_go_with_the_engines(void **state)
{
    (void)state;
    struct history *history = history_create(3);
    for (uint64_t job = 1; job <= 5; job++) {
        end_attempt(history, job, 0, 100 + job, ENDING_FAILED, "x");
        end_job(history, job, "why");
    }
    for (uint64_t job = 1; job <= 5; job++) {
        assert_int_equal(history_job(history, job) != NULL, job > 2);
        assert_int_equal(history_attempt(history, 100 + job) != NULL, job > 2);
    }
    const struct ending late = {.attempt = 201, .job = 1, .words = "late"};
    history_attempt_ended(history, &late, false);
    assert_null(history_attempt(history, 201));
    history_destroy(history);
}

static void a_job_keeps_its_bounds(void **state)
{
    (void)state;
    struct history *history = history_create(3);
    for (uint32_t i = 0; i < 2 * HISTORY_DONE; i++) {
        end_attempt(history, 1, i, 10000 + i, ENDING_DONE, NULL);
        end_attempt(history, 1, i, 20000 + i, ENDING_FAILED, "x");
    }
    assert_non_null(history_attempt(history, 10000));
    assert_non_null(history_attempt(history, 10000 + HISTORY_DONE - 1));
    assert_null(history_attempt(history, 10000 + HISTORY_DONE));
    assert_non_null(history_attempt(history, 20000 + 2 * HISTORY_DONE - 1));
    assert_non_null(history_attempt(history, 20000 + 2 * HISTORY_DONE - HISTORY_OTHERS));
    assert_null(history_attempt(history, 20000 + 2 * HISTORY_DONE - HISTORY_OTHERS - 1));
    history_destroy(history);
}

static void all_jobs_together_keep_theirs(void **state)
{
    (void)state;
    struct history *history = history_create(1000000);
    for (uint64_t i = 1; i <= HISTORY_ENDINGS + 10; i++)
        end_attempt(history, i, 0, i, ENDING_DONE, NULL);
    assert_null(history_attempt(history, 10));
    assert_non_null(history_attempt(history, 11));
    history_destroy(history);
}

static struct job_split split_of(uint64_t job, struct stage_split *stages, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        stages[i] = (struct stage_split){.stage = i, .ns = {[SPLIT_TURN] = (int64_t)job + i}};
    return (struct job_split){
        .job = job, .lasted_ns = (int64_t)job, .n_stages = n, .stages = stages};
}

/* Of a job that has ended; with its stages as long as there are not too many in all. */
static void where_a_jobs_time_went_is_kept(void **state)
{
    (void)state;
    enum { OLD = 3 };
    static struct stage_split stages[SPLIT_STAGES];
    const uint64_t jobs = OLD + HISTORY_STAGES / SPLIT_STAGES;
    struct history *history = history_create(1000000);
    struct job_split split = split_of(1, stages, 2);
    history_job_split(history, &split);
    assert_null(history_split(history, 1)); /* it has not ended */
    for (uint64_t job = 1; job <= jobs; job++) {
        end_job(history, job, "");
        split = split_of(job, stages, SPLIT_STAGES);
        history_job_split(history, &split);
        history_job_split(history, &split); /* told twice */
    }
    for (uint64_t job = 1; job <= jobs; job++) {
        const struct job_split *kept = history_split(history, job);
        assert_int_equal(kept->lasted_ns, job);
        assert_int_equal(kept->n_stages, job > OLD ? SPLIT_STAGES : 0);
        for (uint32_t i = 0; i < kept->n_stages; i++)
            assert_int_equal(kept->stages[i].ns[SPLIT_TURN], job + i);
    }
    history_destroy(history);
}

/* Attempts of a task that were not done: how many, and the newest. */
static void a_tasks_other_attempts_are_counted(void **state)
{
    (void)state;
    struct history *history = history_create(10);
    uint32_t n;
    assert_null(history_others(history, 1, 0, 0, &n));
    end_attempt(history, 1, 0, 11, ENDING_FAILED, "first");
    end_attempt(history, 1, 1, 12, ENDING_FAILED, "another task's");
    end_attempt(history, 1, 0, 13, ENDING_LOST, "second");
    end_attempt(history, 1, 0, 14, ENDING_DONE, NULL);
    assert_string_equal(history_others(history, 1, 0, 0, &n)->words, "second");
    assert_int_equal(n, 2);
    assert_null(history_others(history, 1, 0, 2, &n));
    assert_int_equal(n, 0);
    history_destroy(history);
}

static void a_peers_words_are_made_harmless(void **state)
{
    (void)state;
    char words[8];
    fact_words("a\x1b[2J\n\x7f\xc3\xa9", words, sizeof(words));
    assert_string_equal(words, "a?[2J??");
    fact_words("short", words, sizeof(words));
    assert_string_equal(words, "short");
}

static void step(struct engine *engine, struct event event, struct decisions *decisions)
{
    event.request = 1;
    assert_int_equal(engine_step(engine, 1, &event, 1, decisions), 0);
}

/* One host, one job of one task with command 'c', started. */
static uint64_t scene_start(struct engine **ret_engine, struct decisions *decisions)
{
    static const uint64_t units[ENGINE_RESOURCES] = {1};
    struct engine_config config;
    struct engine *engine;
    struct event event = {.kind = EVENT_HOST_JOIN};
    engine_config_default(&config);
    config.failures_max = 1;
    assert_int_equal(engine_create(&config, &engine, NULL), 0);
    event.host_join.generation = 1;
    event.host_join.name = "w3";
    event.host_join.rack = event.host_join.labels = "";
    event.host_join.units = (struct u64s){units, ENGINE_RESOURCES};
    step(engine, event, decisions);
    event = (struct event){.kind = EVENT_JOB_BEGIN};
    event.job_begin.job = 5;
    event.job_begin.name = "j";
    step(engine, event, decisions);
    event = (struct event){.kind = EVENT_JOB_STAGE};
    event.job_stage.job = 5;
    event.job_stage.tasks = 1;
    event.job_stage.command = "c";
    event.job_stage.constraint = "";
    event.job_stage.demand.amount[RES_SLOTS] = 1;
    step(engine, event, decisions);
    event = (struct event){.kind = EVENT_JOB_END};
    event.job_end.job = 5;
    step(engine, event, decisions);
    *ret_engine = engine;
    for (size_t i = 0; i < decisions->n; i++)
        if (decisions->at[i].kind == DECISION_START)
            return decisions->at[i].start.attempt;
    fail_msg("nothing started");
    return 0;
}

static void event_tell(struct history *history, const struct engine *engine,
                       const struct event *before, const struct event *event, const char *words)
{
    const struct fact_sources sources = {
        .engine = engine, .now_ns = 1, .before = before, .words = words};
    struct audience audience = {.users = {[LISTENER_HISTORY] = history}};
    audience_event(&audience, &sources, event);
}

static void sentence_is(enum event_kind kind, int64_t exit_status, const char *words,
                        const char *expected)
{
    struct decisions decisions = {0};
    struct engine *engine;
    struct job_fact fact;
    struct history *history = history_create(3);
    uint64_t attempt = scene_start(&engine, &decisions);
    struct event event = {.kind = kind};
    event.attempt.attempt = attempt;
    event.attempt.exit_status = exit_status;
    event_tell(history, engine, NULL, &event, words);
    step(engine, event, &decisions);
    const struct decision *failed = decisions.at;
    while (failed->kind != DECISION_JOB_FAILED)
        assert_true(++failed < decisions.at + decisions.n);
    job_fact_of(history, engine, failed, "", &fact);
    assert_string_equal(fact.ending.reason, expected);
    assert_string_equal(fact.ending.host, "w3");
    assert_true(fact.ending.attempt == attempt && fact.ending.job == 5 &&
                fact.ending.state == JOB_FAILED);
    decisions_done(&decisions);
    engine_destroy(engine);
    history_destroy(history);
}

static void sentences_name_host_attempt_and_words(void **state)
{
    (void)state;
    sentence_is(EVENT_ATTEMPT_FAILED, 2, "no such file",
                "task 5/0/0 failed 1 time; attempt 4294967297 ('c') on w3 ended with exit code 2: "
                "no such file");
    sentence_is(EVENT_ATTEMPT_FAILED, 1, "",
                "task 5/0/0 failed 1 time; attempt 4294967297 ('c') on w3 ended with exit code 1 "
                "and wrote nothing to standard error");
    sentence_is(EVENT_ATTEMPT_FAILED, -9, "\033[31mred",
                "task 5/0/0 failed 1 time; attempt 4294967297 ('c') on w3 was killed by signal 9: "
                "?[31mred");
    sentence_is(EVENT_ATTEMPT_REFUSED, 0, "no such command",
                "task 5/0/0 failed 1 time; attempt 4294967297 ('c') on w3 was refused: no such "
                "command");
}

/* The host is that of the attempt which made the last one. */
static void an_output_lost_too_often_is_said(void **state)
{
    (void)state;
    struct decisions decisions = {0};
    struct engine *engine;
    struct job_fact fact;
    struct history *history = history_create(3);
    uint64_t attempt = scene_start(&engine, &decisions);
    struct event event = {.kind = EVENT_ATTEMPT_DONE};
    struct decision failed = {
        .kind = DECISION_JOB_FAILED, .reason = REASON_TOO_MANY_RERUNS, .left = 4};
    event.attempt.attempt = attempt;
    event_tell(history, engine, NULL, &event, "");
    failed.job_failed.job = 5;
    failed.job_failed.attempt = attempt;
    job_fact_of(history, engine, &failed, "", &fact);
    assert_string_equal(fact.ending.reason,
                        "the output of task 5/0/0 was lost, or no host could fetch it, "
                        "4 times, last on w3");
    assert_string_equal(fact.ending.host, "w3");
    failed.reason = REASON_TOO_MANY_LOSSES;
    job_fact_of(history, engine, &failed, "", &fact);
    assert_string_equal(fact.ending.reason,
                        "task 5/0/0 was lost with 4 hosts, last with w3: it is suspect "
                        "of taking them down");
    decisions_done(&decisions);
    engine_destroy(engine);
    history_destroy(history);
}

/* One that the engine does not know, for it ended while no controller listened, is told as seen and
 * as ended. */
static void only_its_end_ends_what_was_just_seen(void **state)
{
    (void)state;
    const uint64_t number = 99;
    struct decisions decisions = {0};
    struct engine *engine;
    struct history *history = history_create(3);
    struct event seen = {.kind = EVENT_ATTEMPT_SEEN}, event = {.kind = EVENT_ATTEMPT_PROGRESS};
    scene_start(&engine, &decisions);
    seen.attempt_seen.attempt = event.attempt.attempt = number;
    seen.attempt_seen.job = 5;
    event_tell(history, engine, &seen, &event, "");
    assert_null(history_attempt(history, number));
    event.kind = EVENT_ATTEMPT_LOST;
    event_tell(history, engine, NULL, &event, "");
    assert_null(history_attempt(history, number));
    event_tell(history, engine, &seen, &event, "its host has no room");
    assert_int_equal(history_attempt(history, number)->kind, ENDING_LOST);
    assert_string_equal(history_attempt(history, number)->words,
                        "attempt 99 ('c') on w3 was lost: its host has no room");
    decisions_done(&decisions);
    engine_destroy(engine);
    history_destroy(history);
}

/* Also one that joins again after another boot. */
static void a_lost_host_ends_what_ran_there(void **state)
{
    (void)state;
    struct decisions decisions = {0};
    struct engine *engine;
    struct history *history = history_create(3);
    const uint64_t attempt = scene_start(&engine, &decisions);
    struct event event = {.kind = EVENT_HOST_JOIN};
    event.host_join.generation = 1;
    event_tell(history, engine, NULL, &event, "");
    assert_null(history_attempt(history, attempt)); /* the same boot: nothing is lost */
    event.host_join.generation = 2;
    event_tell(history, engine, NULL, &event, "");
    assert_int_equal(history_attempt(history, attempt)->kind, ENDING_LOST);
    assert_int_equal(history_attempt(history, attempt)->exit_status, 0);
    decisions_done(&decisions);
    engine_destroy(engine);
    history_destroy(history);
}

static void on_job_over(void *user, const struct job_fact *fact)
{
    const struct history **history = user;
    assert_true(history_job(*history, fact->ending.job)->state == JOB_CANCELLED);
    assert_string_equal(fact->job.name, "j");
    *history = NULL;
}

/* Who is told of an end can ask about it. */
static void clients_are_told_last(void **state)
{
    (void)state;
    struct decisions decisions = {0};
    struct engine *engine;
    struct history *history = history_create(3);
    const struct history *asked = history;
    struct clients clients = {.job_over = on_job_over, .user = &asked};
    const struct audience audience = {
        .users = {[LISTENER_HISTORY] = history, [LISTENER_CLIENTS] = &clients}};
    const struct decision failed = {
        .kind = DECISION_JOB_FAILED, .reason = REASON_CANCELLED, .job_failed.job = 5};
    struct job_fact fact;
    scene_start(&engine, &decisions);
    job_fact_of(history, engine, &failed, "ann", &fact);
    assert_string_equal(fact.ending.reason, "cancelled by ann");
    audience_job_over(&audience, &fact);
    assert_null(asked);
    decisions_done(&decisions);
    engine_destroy(engine);
    history_destroy(history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(endings_are_found_again),
        cmocka_unit_test(what_tasks_took_adds_up),
        cmocka_unit_test(jobs_go_with_the_engines),
        cmocka_unit_test(a_job_keeps_its_bounds),
        cmocka_unit_test(all_jobs_together_keep_theirs),
        cmocka_unit_test(where_a_jobs_time_went_is_kept),
        cmocka_unit_test(a_tasks_other_attempts_are_counted),
        cmocka_unit_test(a_peers_words_are_made_harmless),
        cmocka_unit_test(sentences_name_host_attempt_and_words),
        cmocka_unit_test(an_output_lost_too_often_is_said),
        cmocka_unit_test(only_its_end_ends_what_was_just_seen),
        cmocka_unit_test(a_lost_host_ends_what_ran_there),
        cmocka_unit_test(clients_are_told_last),
    };
    return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
