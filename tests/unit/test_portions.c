/* Large jobs: what would hold everybody for long is done in portions, and nobody can tell. */
#include "tests/unit/portions_script.h"

static void begin(struct script *s, const char *place, uint32_t ready_max)
{
    struct engine_config config = script_config();
    strcpy(config.place, place);
    config.step_ready_max = ready_max;
    script_begin(s, &config);
}

/* Tasks with these two replicas each. */
static void blocks(struct script *s, uint64_t job)
{
    uint64_t inputs[MANY];
    uint32_t replicas[2 * MANY];
    struct event event = {.kind = EVENT_JOB_TASKS, .request = job};
    for (uint32_t i = 0; i < MANY; i++) {
        inputs[i] = 1000 + i;
        replicas[2 * i] = i % 2;
        replicas[2 * i + 1] = 1 - i % 2;
    }
    event.job_tasks.job = job;
    event.job_tasks.replicas_per_task = 2;
    event.job_tasks.replicas = (struct u32s){replicas, 2 * MANY};
    event.job_tasks.input_bytes = event.job_tasks.compute_ns = (struct u64s){inputs, MANY};
    script_event(s, event);
    assert_int_equal(script_rejection(s), REASON_NONE);
}

static void a_stage_opens_in_portions(void **state)
{
    struct script s;
    (void)state;
    begin(&s, "greedy", AT_ONCE);
    s.reload = true;
    script_host(&s, 0, 3);
    parts(&s, 1, MANY, 0);
    script_job_end(&s, 1);
    assert_int_equal(script_status(&s).tasks_ready, AT_ONCE - 3);
    assert_int_equal(script_count(&s, DECISION_START), 3);
    for (uint64_t seen = AT_ONCE; is_due(&s); seen = script_status(&s).tasks_ready + 3) {
        script_events(&s, NULL, 0);
        assert_true(script_status(&s).tasks_ready + 3 <= seen + AT_ONCE);
    }
    assert_int_equal(script_status(&s).tasks_ready, MANY - 3);
    for (uint32_t t = 0; t < MANY; t++)
        assert_true(script_task_state(&s, 1, 0, t) != TASK_BLOCKED);
    script_end(&s);
}

/* While a large one opens. */
static void a_small_job_is_not_behind_a_large_one(void **state)
{
    struct script s;
    (void)state;
    begin(&s, "greedy", AT_ONCE);
    script_host(&s, 0, 1);
    parts(&s, 1, MANY, 0);
    script_job_end(&s, 1);
    parts(&s, 2, 10, 0);
    assert_true(is_due(&s));
    script_job_end(&s, 2);
    for (uint32_t t = 0; t < 10; t++)
        assert_true(script_task_state(&s, 2, 0, t) != TASK_BLOCKED);
    assert_int_equal(script_task_state(&s, 1, 0, MANY - 1), TASK_BLOCKED);
    script_end(&s);
}

/* Each of two stages' pairs has its bytes, and no host has room until all tasks of the second are
 * ready: then the first question which hosts they prefer is not about all of them. */
static void inputs_are_looked_at_while_a_stage_opens(void **state)
{
    enum { WIDE = 128 };
    struct script s;
    (void)state;
    begin(&s, "joint", 32);
    for (uint32_t h = 0; h < 2; h++)
        script_host(&s, h, WIDE / 2);
    script_job_begin(&s, 1);
    script_stage(&s, 1, 0, WIDE, ENGINE_NONE, EDGE_BARRIER);
    script_stage(&s, 1, 1, WIDE, 0, EDGE_BARRIER);
    struct event event = {.kind = EVENT_JOB_BYTES, .request = 1};
    uint64_t cells[WIDE * WIDE];
    for (uint32_t i = 0; i < WIDE * WIDE; i++)
        cells[i] = 1000 + i % 7;
    event.job_bytes.job = event.job_bytes.stage = 1;
    event.job_bytes.matrix = true;
    event.job_bytes.bytes = (struct u64s){cells, WIDE * WIDE};
    script_event(&s, event);
    script_job_end(&s, 1);
    while (is_due(&s))
        script_events(&s, NULL, 0);
    drain(&s, 0, false);
    drain(&s, 1, false);
    s.reload = true;
    for (uint32_t t = 0; t < WIDE; t++)
        script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, t), 0);
    s.reload = false;
    while (is_due(&s))
        script_events(&s, NULL, 0);
    assert_int_equal(script_status(&s).tasks_ready, WIDE);
    const uint64_t before = script_counters(&s).visits;
    drain(&s, 0, true);
    assert_int_equal(script_count(&s, DECISION_START), 1);
    assert_true(script_counters(&s).visits - before < WIDE * WIDE / 2);
    script_end(&s);
}

/* At any moment: it is gone at once, and so is all that it held. */
static void a_job_that_is_cancelled_is_gone_at_once(void **state)
{
    (void)state;
    for (int steps = 0; steps < 30; steps += 7) {
        struct script s;
        begin(&s, steps % 2 ? "nats" : "greedy", AT_ONCE);
        script_host(&s, 0, 2);
        script_host(&s, 1, 2);
        script_job_begin(&s, 1);
        script_stage(&s, 1, 0, MANY, ENGINE_NONE, EDGE_BARRIER);
        blocks(&s, 1);
        script_job_end(&s, 1);
        for (int i = 0; i < steps; i++)
            script_events(&s, NULL, 0);
        parts(&s, 2, 5, 0);
        script_job_end(&s, 2);
        script_cancel(&s, 1);
        struct job_view view;
        assert_int_equal(engine_job(s.engine, 1, &view), 0);
        assert_int_equal(view.state, JOB_CANCELLED);
        assert_false(is_due(&s));
        assert_true(engine_tidy(s.engine));
        s.reload = true;
        script_events(&s, NULL, 0);
        s.reload = false;
        for (uint32_t t = 0; t < 5; t++)
            assert_true(script_task_state(&s, 2, 0, t) != TASK_BLOCKED);
        script_end(&s);
    }
}

/* It is over while its memory is not: the same name may come again, and what is tidied ends. */
static void memory_comes_back_in_portions(void **state)
{
    struct script s;
    int portions = 0;
    (void)state;
    begin(&s, "greedy", 0);
    parts(&s, 1, MANY, MANY);
    script_job_end(&s, 1);
    assert_int_equal(script_status(&s).tasks_ready, MANY);
    script_cancel(&s, 1);
    assert_int_equal(script_status(&s).tasks_ready, 0);
    parts(&s, 2, MANY, 0);
    while (engine_tidy(s.engine))
        portions++;
    assert_in_range(portions, 2 * MANY / 2048, 2 * MANY / 512);
    script_cancel(&s, 2);
    script_end(&s);
}

static void prepare(struct script *s, uint64_t job)
{
    int portions = 0;
    while (engine_prepare(s->engine, job, 777) > 0)
        portions++;
    assert_true(portions > MANY / 777);
}

/* What was prepared is decided as what was not, and dumped alike. */
static void preparing_changes_nothing(void **state)
{
    struct script s[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        begin(&s[i], "nats", AT_ONCE);
        script_host(&s[i], 0, 2);
        parts(&s[i], 1, MANY, 999);
        parts(&s[i], 2, 10, 0);
        if (i)
            prepare(&s[i], 1);
        script_job_end(&s[i], 2);
        script_job_end(&s[i], 1);
    }
    assert_int_equal(engine_digest(s[0].engine), engine_digest(s[1].engine));
    for (uint32_t t = 0; t < MANY; t++) {
        struct task_view views[2];
        for (int i = 0; i < 2; i++)
            assert_int_equal(engine_task(s[i].engine, 1, 0, t, &views[i]), 0);
        assert_int_equal(views[0].output_bytes, views[1].output_bytes);
    }
    for (int i = 0; i < 2; i++)
        script_end(&s[i]);
}

/* It may be cancelled half prepared, and takes no part any more. */
static void what_is_prepared_is_whole(void **state)
{
    struct script s;
    (void)state;
    begin(&s, "greedy", AT_ONCE);
    parts(&s, 1, MANY, MANY);
    assert_int_equal(engine_prepare(s.engine, 1, MANY * 2 + 10), 1);
    script_stage(&s, 1, 2, 1, 0, EDGE_BARRIER);
    assert_int_equal(script_rejection(&s), REASON_BAD_STATE);
    script_cancel(&s, 1);
    assert_int_equal(engine_prepare(s.engine, 1, 1), 0);
    script_job_begin(&s, 3);
    assert_int_equal(engine_prepare(s.engine, 3, 1), 0);
    script_end(&s);
}

struct running {
    uint32_t n;
    bool seen[64];
};

static void running_note(void *context, const struct attempt_view *attempt)
{
    struct running *running = context;
    running->n++;
    assert_false(running->seen[attempt->task]);
    running->seen[attempt->task] = true;
}

/* Each of those that run all the while once, whatever ends meanwhile; and no portion has more. */
static void what_runs_of_a_stage_is_told_in_portions(void **state)
{
    enum { TASKS = 50, SLOTS = 40, PORTION = 7, ENDED = 3 };
    struct running running = {0};
    struct script s;
    uint32_t next = 0;
    (void)state;
    begin(&s, "greedy", TASKS);
    script_host(&s, 0, SLOTS);
    parts(&s, 1, TASKS, 0);
    script_job_end(&s, 1);
    for (uint32_t before = 0; next < TASKS; before = running.n) {
        next = engine_stage_attempts_from(s.engine, 1, 0, next, PORTION, running_note, &running);
        assert_in_range(running.n - before, 0, PORTION);
        if (next == PORTION) {
            drain(&s, 0, false);
            script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, ENDED), 0);
            script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, SLOTS - 1), 0);
        }
    }
    assert_int_equal(next, TASKS);
    assert_int_equal(running.n, SLOTS - 1);
    assert_int_equal(engine_stage_attempts_from(s.engine, 1, 0, TASKS, 1, running_note, &running),
                     UINT32_MAX);
    assert_int_equal(engine_stage_attempts_from(s.engine, 2, 0, 0, 1, running_note, &running),
                     UINT32_MAX);
    assert_int_equal(running.n, SLOTS - 1);
    script_end(&s);
}

/* Whatever was done of it: none of its tasks is looked at for the order of jobs. */
static void another_turn_policy_looks_at_no_task(void **state)
{
    const char *name;
    struct script s;
    (void)state;
    begin(&s, "greedy", MANY);
    script_host(&s, 0, 2);
    parts(&s, 1, MANY, 0);
    script_job_end(&s, 1);
    script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, 0), 0);
    for (unsigned i = 0; (name = engine_policy_name("turn", i)); i++) {
        struct event event = {.kind = EVENT_POLICY_SET};
        const uint64_t before = script_counters(&s).visits;
        event.policy_set.question = "turn";
        event.policy_set.name = name;
        script_event(&s, event);
        assert_string_equal(engine_policy(s.engine, "turn"), name);
        assert_in_range(script_counters(&s).visits - before, 0, 100);
    }
    script_end(&s);
}

/* One job of many. Short maps and many bytes, or the other way round: which kind comes first
 * depends on slots and links. */
static void one_of_many(struct script *s, uint64_t job)
{
    const bool has_maps = job % 2;
    uint64_t compute_ns = has_maps ? 100000000000 : 1, sum = has_maps ? 1 : 1000000000;
    script_job_begin(s, job);
    script_stage(s, job, 0, 1, ENGINE_NONE, EDGE_BARRIER);
    struct event event = {.kind = EVENT_JOB_TASKS, .request = job};
    event.job_tasks.job = job;
    event.job_tasks.input_bytes = event.job_tasks.compute_ns = (struct u64s){&compute_ns, 1};
    script_event(s, event);
    script_stage(s, job, 1, 1, 0, EDGE_BARRIER);
    event = (struct event){.kind = EVENT_JOB_BYTES, .request = job};
    event.job_bytes.job = job;
    event.job_bytes.stage = 1;
    event.job_bytes.bytes = (struct u64s){&sum, 1};
    script_event(s, event);
    script_job_end(s, job);
}

/* A host with far more slots than all others comes: the keys of all jobs follow in portions, and in
 * the end the order is as if they had followed at once. */
static void keys_follow_the_cluster_in_portions(void **state)
{
    enum { JOBS = 200, PORTION = 16 };
    static const char *const turns[] = {"sjf", "srpt"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct script s;
        struct engine_config config = script_config();
        uint32_t steps = 1;
        strcpy(config.turn, turns[i]);
        config.step_tasks_max = PORTION;
        script_begin(&s, &config);
        s.reload = true;
        script_host(&s, 0, 1);
        for (uint64_t job = 1; job <= JOBS; job++)
            one_of_many(&s, job);
        assert_true(engine_job_place(s.engine, JOBS) <= JOBS / 2);
        const uint64_t visits = script_counters(&s).visits;
        drain(&s, 0, false);
        script_host(&s, 1, 5000);
        assert_true(script_counters(&s).visits - visits < JOBS);
        drain(&s, 1, false);
        for (; is_due(&s); steps++)
            script_events(&s, NULL, 0);
        assert_in_range(steps, JOBS / PORTION - 2, JOBS / PORTION + 1);
        for (uint64_t job = 1; job <= JOBS; job++)
            assert_int_equal(engine_job_place(s.engine, job) <= JOBS / 2, job % 2);
        script_end(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stage_opens_in_portions),
        cmocka_unit_test(a_small_job_is_not_behind_a_large_one),
        cmocka_unit_test(inputs_are_looked_at_while_a_stage_opens),
        cmocka_unit_test(a_job_that_is_cancelled_is_gone_at_once),
        cmocka_unit_test(memory_comes_back_in_portions),
        cmocka_unit_test(preparing_changes_nothing),
        cmocka_unit_test(what_is_prepared_is_whole),
        cmocka_unit_test(what_runs_of_a_stage_is_told_in_portions),
        cmocka_unit_test(another_turn_policy_looks_at_no_task),
        cmocka_unit_test(keys_follow_the_cluster_in_portions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
