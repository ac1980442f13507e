/* What operators order of a job: hold, release, requeue, priority; and that a judged request
 * changes nothing and is judged as it is carried out. Each step also from a dump. */
#include "tests/model/script.h"
#include "tests/model/script_dump.h"

#include <errno.h>

enum { SLOTS = 2 };

static void begin(struct script *s, const char *turn)
{
    struct engine_config config = script_config();
    strcpy(config.turn, turn);
    config.framework_jobs_max = 10;
    script_begin(s, &config);
    s->reload = true;
    script_host(s, 0, SLOTS);
}

static enum reason order(struct script *s, enum event_kind kind, uint64_t job)
{
    struct event event = {.kind = kind, .request = ++s->requests};
    event.job_hold.job = job; /* the first field of each */
    if (kind == EVENT_JOB_HOLD)
        event.job_hold.by = "olga";
    script_event(s, event);
    return script_rejection(s);
}

static enum reason prioritise(struct script *s, uint64_t job, int64_t priority)
{
    struct event event = {.kind = EVENT_JOB_UPDATE, .request = ++s->requests};
    event.job_update.job = job;
    event.job_update.estimate_bytes = event.job_update.estimate_ns = -1;
    event.job_update.priority = priority;
    event.job_update.deadline_ns = INT64_MIN;
    script_event(s, event);
    return script_rejection(s);
}

static void submit(struct script *s, uint64_t job, uint32_t maps)
{
    const struct script_job said = {
        .number = job, .maps = maps, .map_ns = SECOND, .reduce_ns = SECOND, .estimate_bytes = -1};
    script_submit(s, &said);
}

static void done(struct script *s, uint64_t job, uint32_t task)
{
    script_attempt(s, EVENT_ATTEMPT_DONE, script_attempt_of(s, job, 0, task), 0);
}

static void nothing_of_a_held_job_starts(void **state)
{
    struct script s;
    (void)state;
    begin(&s, "fifo");
    submit(&s, 1, 4);
    s.now_ns = 5 * SECOND;
    assert_int_equal(order(&s, EVENT_JOB_HOLD, 1), REASON_NONE);
    struct job_view job = script_job_view(&s, 1);
    assert_string_equal(job.held_by, "olga");
    assert_true(job.held_since_ns == 5 * SECOND && job.running == 2 && job.ready == 0);
    assert_int_equal(script_status(&s).tasks_ready, 0);
    submit(&s, 2, 1);
    done(&s, 1, 0);
    assert_int_equal(script_count(&s, DECISION_START), 1);
    assert_non_null(script_start(&s, 2, 0, 0));
    assert_int_equal(script_status(&s).first_job, 2);
    done(&s, 1, 1);
    done(&s, 2, 0);
    assert_int_equal(script_count(&s, DECISION_START), 0);
    assert_int_equal(script_job_view(&s, 1).done, 2);
    assert_int_equal(order(&s, EVENT_JOB_RELEASE, 1), REASON_NONE);
    assert_int_equal(script_count(&s, DECISION_START), 2);
    assert_null(script_job_view(&s, 1).held_by);
    script_end(&s);
}

/* A reduce stage that gets due under the hold stays shut; what is lost meanwhile waits too. */
static void stages_stay_shut(void **state)
{
    static const uint64_t sums[] = {1000};
    const struct script_job said = {1, 2, 0, 1, NULL, 0, SECOND, SECOND, sums, -1};
    struct script s;
    (void)state;
    begin(&s, "fifo");
    script_submit(&s, &said);
    assert_int_equal(order(&s, EVENT_JOB_HOLD, 1), REASON_NONE);
    done(&s, 1, 0);
    script_attempt(&s, EVENT_ATTEMPT_FAILED, script_attempt_of(&s, 1, 0, 1), 0);
    assert_int_equal(script_count(&s, DECISION_START), 0);
    assert_int_equal(script_task_state(&s, 1, 0, 1), TASK_BLOCKED);
    assert_int_equal(order(&s, EVENT_JOB_RELEASE, 1), REASON_NONE);
    s.now_ns = 100 * SECOND; /* one host only: a failed task waits for another at first */
    script_events(&s, NULL, 0);
    done(&s, 1, 1);
    assert_int_equal(script_task_state(&s, 1, 1, 0), TASK_RUNNING);
    assert_int_equal(order(&s, EVENT_JOB_HOLD, 1), REASON_NONE);
    script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 1, 0), 1000);
    assert_int_equal(script_count(&s, DECISION_JOB_DONE), 1);
    script_end(&s);
}

static void a_hold_is_explained(void **state)
{
    struct engine_explanation e;
    struct script s;
    (void)state;
    begin(&s, "fifo");
    submit(&s, 1, 4);
    s.now_ns = 3 * SECOND;
    assert_int_equal(order(&s, EVENT_JOB_HOLD, 1), REASON_NONE);
    s.now_ns = 15 * SECOND;
    script_events(&s, NULL, 0);
    assert_int_equal(engine_explain(s.engine, 1, 0, 3, &e), 0);
    assert_non_null(strstr(e.text, "its job is held by olga for 12.0 s"));
    assert_non_null(strstr(e.text, "`duopolyctl job release 1`"));
    script_end(&s);
}

/* By the rule, with the numbers of the one before it, or of the next one. */
static void a_jobs_turn_is_explained(void **state)
{
    struct engine_explanation e;
    struct script s;
    (void)state;
    begin(&s, "fifo");
    submit(&s, 1, 4);
    assert_int_equal(engine_explain_turn(s.engine, 1, &e), 0);
    assert_string_equal(e.text, "It is 1 of 1 in turn: it was submitted 0.0 s ago.");
    s.now_ns = 3 * SECOND;
    submit(&s, 2, 4);
    s.now_ns = 5 * SECOND;
    submit(&s, 3, 4);
    assert_int_equal(engine_explain_turn(s.engine, 1, &e), 0);
    assert_non_null(strstr(e.text, "It is 1 of 3 in turn: it was submitted 5.0 s ago. Behind it is "
                                   "job 2 ("));
    assert_non_null(strstr(e.text, "): it was submitted 2.0 s ago."));
    assert_int_equal(engine_explain_turn(s.engine, 3, &e), 0);
    assert_non_null(strstr(e.text, "It is 3 of 3 in turn: it was submitted 0.0 s ago. Before it is "
                                   "job 2 ("));
    assert_int_equal(engine_explain_turn(s.engine, 9, &e), -ENOENT);
    script_end(&s);
}

static void what_ran_runs_again(void **state)
{
    struct engine_explanation e;
    struct script s;
    (void)state;
    begin(&s, "fifo");
    submit(&s, 1, 3);
    uint64_t first = script_attempt_of(&s, 1, 0, 0), second = script_attempt_of(&s, 1, 0, 1);
    assert_int_equal(order(&s, EVENT_JOB_REQUEUE, 1), REASON_NONE);
    assert_int_equal(script_count(&s, DECISION_STOP), 2);
    const struct decision *stop = script_decision(&s, DECISION_STOP, 0);
    assert_reason(stop, "requeued");
    assert_true(stop->left == 2 && stop->stop.requeue);
    struct job_view job = script_job_view(&s, 1);
    assert_true(job.evictions == 2 && job.running == 0 && job.ready == 3);
    assert_int_equal(engine_explain(s.engine, 1, 0, 0, &e), 0);
    assert_non_null(strstr(e.text, "an operator had the 2 running tasks of its job run again"));
    script_attempt(&s, EVENT_ATTEMPT_KILLED, first, 0);
    script_attempt(&s, EVENT_ATTEMPT_KILLED, second, 0);
    job = script_job_view(&s, 1);
    assert_int_equal(job.running, 2);
    assert_int_equal(script_task_view(&s, 1, 0, 0).failures, 0);
    script_end(&s);
}

/* With a hold it leaves the cluster. */
static void requeued_under_a_hold_it_waits(void **state)
{
    struct script s;
    (void)state;
    begin(&s, "fifo");
    submit(&s, 1, 3);
    uint64_t first = script_attempt_of(&s, 1, 0, 0);
    assert_int_equal(order(&s, EVENT_JOB_HOLD, 1), REASON_NONE);
    assert_int_equal(order(&s, EVENT_JOB_REQUEUE, 1), REASON_NONE);
    script_attempt(&s, EVENT_ATTEMPT_KILLED, first, 0);
    struct job_view job = script_job_view(&s, 1);
    assert_true(job.running == 0 && job.ready == 0);
    assert_int_equal(script_count(&s, DECISION_START), 0);
    assert_int_equal(order(&s, EVENT_JOB_RELEASE, 1), REASON_NONE);
    assert_int_equal(script_count(&s, DECISION_START), 1);
    script_end(&s);
}

static void priority_moves_the_turn(void **state)
{
    char use[160];
    struct script s;
    (void)state;
    begin(&s, "by-priority");
    submit(&s, 1, 2);
    submit(&s, 2, 1);
    submit(&s, 3, 1);
    engine_say_priority_use(s.engine, use, sizeof(use));
    assert_string_equal(use, "turn by-priority");
    assert_int_equal(prioritise(&s, 3, 7), REASON_NONE);
    assert_int_equal(script_job_view(&s, 3).priority, 7);
    assert_int_equal(script_status(&s).first_job, 3);
    done(&s, 1, 0);
    assert_non_null(script_start(&s, 3, 0, 0));
    assert_int_equal(script_policy(&s, "turn", "fifo"), REASON_NONE);
    engine_say_priority_use(s.engine, use, sizeof(use));
    assert_string_equal(use, "");
    script_end(&s);
}

static void what_cannot_be_ordered_is_rejected(void **state)
{
    static const enum event_kind kinds[] = {EVENT_JOB_HOLD, EVENT_JOB_RELEASE, EVENT_JOB_REQUEUE};
    const uint64_t of_framework = UINT64_C(5) << ENGINE_APPLICATION_SHIFT;
    struct script s;
    (void)state;
    begin(&s, "fifo");
    submit(&s, 1, 1);
    script_offer(&s, of_framework, 1);
    script_job_begin(&s, 2);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        assert_int_equal(order(&s, kinds[i], 9), REASON_UNKNOWN_JOB);
        assert_int_equal(order(&s, kinds[i], of_framework), REASON_UNSUPPORTED);
        assert_int_equal(order(&s, kinds[i], 2), REASON_BAD_STATE);
    }
    assert_int_equal(order(&s, EVENT_JOB_RELEASE, 1), REASON_BAD_STATE);
    assert_int_equal(order(&s, EVENT_JOB_HOLD, 1), REASON_NONE);
    assert_int_equal(order(&s, EVENT_JOB_HOLD, 1), REASON_BAD_STATE);
    script_end(&s);
}

static struct event event_of(enum event_kind kind)
{
    struct event event = {.kind = kind, .request = 77};
    switch (kind) {
    case EVENT_POLICY_SET:
        event.policy_set.question = "turn";
        event.policy_set.name = "sjf";
        break;
    case EVENT_POLICY_PARAMETER:
        event.policy_parameter.word = "even_wait";
        event.policy_parameter.value = SECOND;
        break;
    case EVENT_USER_SET:
        event.user_set.user = 7;
        event.user_set.share = 3;
        event.user_set.name = "ann";
        break;
    case EVENT_USER_LEAVE:
        event.user_leave.user = 8;
        break;
    case EVENT_JOB_UPDATE:
        event.job_update.job = 1;
        event.job_update.priority = 9;
        break;
    case EVENT_HOST_DRAIN:
        break;
    default:
        event.job_hold.job = kind == EVENT_JOB_RELEASE ? 2 : 1;
        event.job_hold.by = kind == EVENT_JOB_HOLD ? "olga" : NULL;
    }
    return event;
}

/* The same request about what is not there. */
static struct event wrong_of(enum event_kind kind)
{
    struct event event = event_of(kind);
    if (kind == EVENT_POLICY_SET)
        event.policy_set.name = "nonsense";
    else if (kind == EVENT_POLICY_PARAMETER)
        event.policy_parameter.value = -1;
    else if (kind == EVENT_USER_SET)
        event.user_set.share = 0;
    else if (kind == EVENT_USER_LEAVE)
        event.user_leave.user = 99;
    else if (kind == EVENT_HOST_DRAIN)
        event.host_drain.host = 9;
    else
        event.job_hold.job = 99;
    return event;
}

static void begin_judged(struct script *s)
{
    begin(s, "fifo");
    script_user(s, 8, "bob", 1);
    submit(s, 1, 4);
    submit(s, 2, 1);
    order(s, EVENT_JOB_HOLD, 2);
}

/* Each request that has an obstacle: judged, the engine is as it was; carried out, it is another,
 * and decides as it was judged. */
static void judging_changes_nothing(void **state)
{
    static const enum event_kind kinds[] = {
        EVENT_JOB_UPDATE,  EVENT_JOB_CANCEL,      EVENT_JOB_HOLD, EVENT_JOB_RELEASE,
        EVENT_JOB_REQUEUE, EVENT_POLICY_SET,      EVENT_USER_SET, EVENT_USER_LEAVE,
        EVENT_HOST_DRAIN,  EVENT_POLICY_PARAMETER};
    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct script s;
        struct decision rejection;
        begin_judged(&s);
        struct event event = event_of(kinds[i]), wrong = wrong_of(kinds[i]);
        uint64_t before = engine_digest(s.engine);
        assert_int_equal(engine_judge(s.engine, &event, &rejection), 0);
        assert_int_equal(engine_judge(s.engine, &wrong, &rejection), -EPERM);
        assert_true(rejection.reject.request == 77 && rejection.reject.event == kinds[i]);
        assert_true(engine_digest(s.engine) == before);
        script_event(&s, wrong);
        const struct decision *real = script_decision(&s, DECISION_REJECT, 0);
        assert_non_null(real);
        assert_true(real->reason == rejection.reason && real->left == rejection.left &&
                    real->right == rejection.right);
        assert_true(engine_digest(s.engine) == before);
        script_event(&s, event);
        assert_int_equal(script_rejection(&s), REASON_NONE);
        assert_true(engine_digest(s.engine) != before);
        script_end(&s);
    }
}

static void parts_of_jobs_are_not_judged(void **state)
{
    struct decision rejection;
    struct script s;
    (void)state;
    begin(&s, "fifo");
    struct event event = script_begin_event(5, "five");
    assert_int_equal(engine_judge(s.engine, &event, &rejection), -EPERM);
    assert_int_equal(rejection.reason, REASON_UNSUPPORTED);
    script_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_of_a_held_job_starts),
        cmocka_unit_test(stages_stay_shut),
        cmocka_unit_test(a_hold_is_explained),
        cmocka_unit_test(a_jobs_turn_is_explained),
        cmocka_unit_test(what_ran_runs_again),
        cmocka_unit_test(requeued_under_a_hold_it_waits),
        cmocka_unit_test(priority_moves_the_turn),
        cmocka_unit_test(what_cannot_be_ordered_is_rejected),
        cmocka_unit_test(judging_changes_nothing),
        cmocka_unit_test(parts_of_jobs_are_not_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
