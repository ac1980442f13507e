/* What follows from a fact about a large job is done in portions, and nobody can tell. */
#include "tests/unit/portions_script.h"

enum { FRAMEWORKS = 1 << 4 };
#define FOREIGN_JOB (UINT64_C(1) << 63 | 1)

static void begin_changes(struct script *s, const char *place, uint32_t ready_max,
                          uint32_t tasks_max)
{
    struct engine_config config = script_config();
    strcpy(config.place, place);
    config.framework_jobs_max = FRAMEWORKS;
    config.step_ready_max = ready_max;
    config.step_tasks_max = tasks_max;
    script_begin(s, &config);
}

static struct event told_stage(uint32_t stage, uint32_t tasks)
{
    return script_framework_stage(FOREIGN_JOB, stage, tasks, stage > 0);
}

/* All that one map has for them. */
static void told_row(struct script *s, uint64_t first)
{
    static uint64_t bytes[MANY];
    struct event event = {.kind = EVENT_FRAMEWORK_BYTES};
    for (uint32_t i = 0; i < MANY; i++)
        bytes[i] = first + i;
    event.framework_bytes.job = FOREIGN_JOB;
    event.framework_bytes.stage = 1;
    event.framework_bytes.form = BYTES_ROW;
    event.framework_bytes.bytes = (struct u64s){bytes, MANY};
    script_event(s, event);
}

/* Each piece is what its tasks read: none of the others leaves the queues for it. */
static void what_some_tasks_read_closes_nothing(void **state)
{
    enum { PIECE = 100 };
    struct script s;
    uint64_t inputs[PIECE];
    uint32_t replicas[PIECE];
    (void)state;
    begin_changes(&s, "nats", AT_ONCE, AT_ONCE);
    script_event(&s, told_stage(0, MANY));
    while (is_due(&s))
        script_events(&s, NULL, 0);
    assert_int_equal(script_status(&s).tasks_ready, MANY);
    s.reload = true;
    for (uint32_t i = 0; i < PIECE; i++) {
        inputs[i] = 1000 + i;
        replicas[i] = i % 3;
    }
    for (uint32_t first = 0; first < 3 * PIECE; first += PIECE) {
        struct event event = {.kind = EVENT_FRAMEWORK_TASKS};
        event.job_tasks.job = FOREIGN_JOB;
        event.job_tasks.first = first;
        event.job_tasks.replicas_per_task = 1;
        event.job_tasks.replicas = (struct u32s){replicas, PIECE};
        event.job_tasks.input_bytes = event.job_tasks.compute_ns = (struct u64s){inputs, PIECE};
        s.now_ns += SECOND;
        script_event(&s, event);
        assert_int_equal(script_status(&s).tasks_ready, MANY);
        assert_false(is_due(&s));
    }
    script_host(&s, 2, 1);
    assert_int_equal(script_decision(&s, DECISION_ALLOW, 0)->allow.task % PIECE % 3, 2);
    script_end(&s);
}

static uint32_t sized(const struct script *s, uint64_t first)
{
    struct task_view view;
    uint32_t n = 0;
    for (uint32_t t = 0; t < MANY; t++) {
        assert_int_equal(engine_task(s->engine, FOREIGN_JOB, 1, t, &view), 0);
        n += view.bytes == first + t && !view.guessed;
    }
    return n;
}

static void sizes_follow_in_portions(void **state)
{
    struct script s;
    uint32_t n;
    (void)state;
    begin_changes(&s, "greedy", 0, AT_ONCE);
    s.reload = true;
    script_event(&s, told_stage(0, 1));
    script_event(&s, told_stage(1, MANY));
    while (is_due(&s))
        script_events(&s, NULL, 0);
    told_row(&s, 1000);
    assert_int_equal(sized(&s, 1000), AT_ONCE);
    script_events(&s, NULL, 0);
    assert_int_equal(sized(&s, 1000), 2 * AT_ONCE);
    for (n = 2 * AT_ONCE; is_due(&s); n = sized(&s, 1000)) {
        assert_true(sized(&s, 1000) <= n + AT_ONCE);
        script_events(&s, NULL, 0);
    }
    assert_int_equal(n, MANY);
    script_end(&s);
}

static uint32_t done(const struct script *s)
{
    uint32_t n = 0;
    struct task_view view;
    for (uint32_t t = 0; t < MANY && engine_task(s->engine, FOREIGN_JOB, 0, t, &view) == 0; t++)
        n += view.state == TASK_DONE;
    return n;
}

static uint32_t made(const struct script *s)
{
    uint32_t n = 0;
    struct task_view view;
    while (engine_task(s->engine, FOREIGN_JOB, 0, n, &view) == 0)
        n++;
    return n;
}

/* They are counted at once; none is offered before all are there, also where they are told again
 * and again. */
static void tasks_are_made_in_portions(void **state)
{
    struct script s;
    struct job_view view;
    (void)state;
    begin_changes(&s, "greedy", 0, AT_ONCE);
    s.reload = true;
    script_host(&s, 0, 3);
    script_event(&s, told_stage(0, MANY));
    assert_int_equal(engine_job(s.engine, FOREIGN_JOB, &view), 0);
    assert_int_equal(view.tasks, MANY);
    assert_in_range(made(&s), 1, 4 * AT_ONCE);
    for (uint32_t before = made(&s); before < MANY; before = made(&s)) {
        assert_in_range(before, 1, MANY - 1);
        assert_int_equal(script_status(&s).tasks_ready, 0);
        assert_true(is_due(&s));
        script_event(&s, told_stage(0, MANY));
        assert_in_range(made(&s), before + 1, before + 4 * AT_ONCE);
    }
    assert_int_equal(script_count(&s, DECISION_ALLOW), 3);
    assert_int_equal(script_status(&s).tasks_ready, MANY - 3);
    script_end(&s);
}

/* So does a dump that is made meanwhile. */
static void an_open_stage_that_grows_opens_the_rest(void **state)
{
    enum { FIRST = 100, ALL = 300 };
    struct script s;
    (void)state;
    begin_changes(&s, "greedy", 0, 10);
    script_event(&s, told_stage(0, FIRST));
    while (is_due(&s))
        script_events(&s, NULL, 0);
    assert_int_equal(script_status(&s).tasks_ready, FIRST);
    s.reload = true;
    script_event(&s, told_stage(0, ALL));
    assert_true(is_due(&s));
    while (is_due(&s))
        script_events(&s, NULL, 0);
    assert_int_equal(script_status(&s).tasks_ready, ALL);
    script_end(&s);
}

/* Tasks that reports imply, though nobody announced them. */
static void a_stage_grows_for_facts_to_come(void **state)
{
    enum { MADE = 4 * AT_ONCE };
    struct script s;
    struct event grow = {.kind = EVENT_FRAMEWORK_GROW};
    (void)state;
    begin_changes(&s, "greedy", 0, AT_ONCE);
    s.reload = true;
    grow.framework_grow.job = FOREIGN_JOB;
    grow.framework_grow.tasks = MANY;
    assert_int_equal(engine_growth(s.engine, FOREIGN_JOB, 0, MADE), GROWTH_NEAR);
    assert_int_equal(engine_growth(s.engine, FOREIGN_JOB, 0, MADE + 1), GROWTH_FAR);
    script_event(&s, grow);
    for (uint32_t before = 0; made(&s) < MANY; script_events(&s, NULL, 0)) {
        assert_in_range(made(&s), before + 1, before + MADE);
        before = made(&s);
        assert_int_equal(engine_growth(s.engine, FOREIGN_JOB, 0, MANY),
                         MANY - before <= MADE ? GROWTH_NEAR : GROWTH_UNDER_WAY);
        assert_true(is_due(&s));
    }
    assert_int_equal(script_status(&s).tasks_ready, 0);
    script_event(&s, told_stage(0, MANY));
    while (is_due(&s))
        script_events(&s, NULL, 0);
    assert_int_equal(script_status(&s).tasks_ready, MANY);
    assert_int_equal(engine_growth(s.engine, FOREIGN_JOB, 0, 2 * MANY), GROWTH_FAR);
    struct event end = {.kind = EVENT_FRAMEWORK_END};
    end.framework_end.job = FOREIGN_JOB;
    end.framework_end.outcome = JOB_DONE;
    script_event(&s, end);
    assert_int_equal(engine_growth(s.engine, FOREIGN_JOB, 0, 2 * MANY), GROWTH_NEAR);
    script_end(&s);
}

static void all_done(struct script *s)
{
    static struct event events[MANY];
    for (uint32_t t = 0; t < MANY; t++) {
        events[t] = (struct event){.kind = EVENT_FRAMEWORK_DONE};
        events[t].framework_task.job = FOREIGN_JOB;
        events[t].framework_task.task = t;
        events[t].framework_task.host = t == MANY - 1;
    }
    script_events(s, events, MANY);
}

/* Only the last is on host 1. It may be lost before it is counted. */
static void outputs_are_counted_in_portions(void **state)
{
    (void)state;
    for (int loses = 0; loses < 2; loses++) {
        struct script s;
        uint32_t steps = 0;
        struct event lose = {.kind = EVENT_OUTPUT_LOST};
        lose.output_lost.job = FOREIGN_JOB;
        lose.output_lost.task = MANY - 1;
        begin_changes(&s, "greedy", 0, AT_ONCE);
        script_event(&s, told_stage(0, MANY));
        while (is_due(&s))
            script_events(&s, NULL, 0);
        all_done(&s);
        assert_int_equal(script_host_view(&s, 0).jobs_outputs, 0);
        s.reload = true;
        script_event(&s, told_stage(1, 3));
        assert_int_equal(script_host_view(&s, 0).jobs_outputs, 1);
        if (loses)
            script_event(&s, lose);
        for (; is_due(&s); steps++) {
            assert_int_equal(script_host_view(&s, 1).jobs_outputs, 0);
            script_events(&s, NULL, 0);
        }
        assert_in_range(steps, MANY / AT_ONCE - 2, 2 * MANY / AT_ONCE);
        assert_int_equal(script_host_view(&s, 1).jobs_outputs, !loses);
        script_end(&s);
    }
}

/* What is told of one of them is kept; and what is over before has nothing to make. */
static void a_fact_makes_all_up_to_its_task(void **state)
{
    struct script s;
    (void)state;
    begin_changes(&s, "greedy", 0, AT_ONCE);
    s.reload = true;
    script_event(&s, told_stage(0, MANY));
    struct event done_one = {.kind = EVENT_FRAMEWORK_DONE};
    done_one.framework_task.job = FOREIGN_JOB;
    done_one.framework_task.task = MANY - 2;
    done_one.framework_task.host = ENGINE_NONE;
    script_event(&s, done_one);
    assert_in_range(made(&s), MANY - 1, MANY);
    assert_int_equal(done(&s), 1);
    while (is_due(&s))
        script_events(&s, NULL, 0);
    assert_int_equal(script_status(&s).tasks_ready, MANY - 1);
    script_event(&s, told_stage(0, 3 * MANY));
    assert_true(is_due(&s));
    struct event end = {.kind = EVENT_FRAMEWORK_END};
    end.framework_end.job = FOREIGN_JOB;
    end.framework_end.outcome = JOB_DONE;
    script_event(&s, end);
    assert_false(is_due(&s));
    script_end(&s);
}

/* Also where it was offered before, and where it is said again and again; what reads from it waits
 * for the last. */
static void a_stage_is_skipped_in_portions(void **state)
{
    (void)state;
    for (int offered = 0; offered < 2; offered++) {
        struct script s;
        struct event skip = told_stage(0, MANY);
        skip.framework_stage.phase = FRAMEWORK_SKIPPED;
        begin_changes(&s, "greedy", 0, AT_ONCE);
        if (offered)
            script_event(&s, told_stage(0, MANY));
        while (is_due(&s))
            script_events(&s, NULL, 0);
        assert_int_equal(script_status(&s).tasks_ready, offered ? MANY : 0);
        s.reload = true;
        script_event(&s, skip);
        script_event(&s, told_stage(1, 7));
        assert_in_range(done(&s), 0, 2 * AT_ONCE);
        uint32_t steps = 0;
        for (uint32_t before = done(&s); before < MANY; before = done(&s), steps++) {
            assert_int_equal(script_status(&s).tasks_ready, offered ? MANY - before : 0);
            assert_true(is_due(&s));
            script_event(&s, skip);
            assert_in_range(done(&s), before, before + AT_ONCE);
        }
        assert_in_range(steps, MANY / AT_ONCE - 2, 2 * MANY / AT_ONCE);
        while (is_due(&s))
            script_events(&s, NULL, 0);
        assert_int_equal(done(&s), MANY);
        assert_int_equal(script_status(&s).tasks_ready, 7);
        script_end(&s);
    }
}

enum { WRITERS = 200, READERS = 20 };

static uint64_t number_of(uint32_t stage, uint32_t task)
{
    return UINT64_C(1) << 63 | (stage * WRITERS + task + 1);
}

/* Map `map` has the bytes `first`, `first` + 1, … for the reduce tasks. */
static void told_map(struct script *s, uint32_t map, uint64_t first)
{
    uint64_t bytes[READERS];
    struct event event = {.kind = EVENT_FRAMEWORK_BYTES};
    for (uint32_t i = 0; i < READERS; i++)
        bytes[i] = first + i;
    event.framework_bytes.job = FOREIGN_JOB;
    event.framework_bytes.stage = 1;
    event.framework_bytes.form = BYTES_ROW;
    event.framework_bytes.first = map;
    event.framework_bytes.bytes = (struct u64s){bytes, READERS};
    script_event(s, event);
}

/* Maps done on host 0, which tell all but the last row, and all reduce tasks running on host 1. */
static void reduce_tasks_run(struct script *s)
{
    script_host(s, 0, WRITERS);
    script_host(s, 1, READERS);
    script_event(s, told_stage(0, WRITERS));
    script_event(s, told_stage(1, READERS));
    for (uint32_t m = 0; m < WRITERS; m++) {
        struct event done = {.kind = EVENT_FRAMEWORK_DONE};
        script_started(s, number_of(0, m), FOREIGN_JOB, 0, m, 0);
        done.framework_task.attempt = number_of(0, m);
        done.framework_task.job = FOREIGN_JOB;
        done.framework_task.task = m;
        script_event(s, done);
        if (m + 1 < WRITERS)
            told_map(s, m, 1000);
    }
    for (uint32_t r = 0; r < READERS; r++)
        script_started(s, number_of(1, r), FOREIGN_JOB, 1, r, 1);
    while (is_due(s))
        script_events(s, NULL, 0);
}

/* How many have all their bytes by what is told of them now, 1 000 a map and the last one's. */
static uint32_t measured(const struct script *s, uint64_t last)
{
    struct engine_explanation e;
    uint32_t n = 0;
    for (uint32_t r = 0; r < READERS; r++) {
        assert_int_equal(engine_explain(s->engine, FOREIGN_JOB, 1, r, &e), 0);
        for (uint32_t i = 0; i < e.facts; i++)
            n += !strcmp(e.fact[i].name, "network_bytes") &&
                 strtoull(e.fact[i].value, NULL, 10) == (WRITERS - 1) * (1000 + r) + last + r;
    }
    return n;
}

/* Each has 200 of them, and a step looks at 512: nobody waits for all of them. */
static void inputs_of_running_tasks_are_measured_in_portions(void **state)
{
    for (uint64_t last = 5000; last < 7000; last += 1000) {
        struct script s;
        (void)state;
        begin_changes(&s, "neat", 0, 32);
        s.reload = last == 5000;
        reduce_tasks_run(&s);
        told_map(&s, WRITERS - 1, last);
        for (uint32_t n = measured(&s, last); is_due(&s); n = measured(&s, last)) {
            assert_in_range(n, 0, READERS - 1);
            script_events(&s, NULL, 0);
            assert_in_range(measured(&s, last), n, n + 3);
        }
        assert_int_equal(measured(&s, last), READERS);
        told_map(&s, 0, 1001);
        assert_in_range(measured(&s, last + 1), 0, 3);
        script_framework_end(&s, FOREIGN_JOB);
        assert_false(is_due(&s));
        script_end(&s);
    }
}

/* They are told otherwise before they are sized, again and again: the last are sized, too. */
static void who_tells_again_and_again_sizes_all(void **state)
{
    struct script s;
    (void)state;
    begin_changes(&s, "greedy", 0, AT_ONCE);
    script_event(&s, told_stage(0, 1));
    script_event(&s, told_stage(1, MANY));
    for (int i = 0; i < 2 * MANY / AT_ONCE; i++)
        script_event(&s, told_stage(1, MANY));
    struct task_view view;
    assert_int_equal(engine_task(s.engine, FOREIGN_JOB, 1, MANY - 1, &view), 0);
    assert_true(view.guessed && view.bytes > 1);
    while (is_due(&s))
        script_events(&s, NULL, 0);
    struct event end = {.kind = EVENT_FRAMEWORK_END};
    end.framework_end.job = FOREIGN_JOB;
    end.framework_end.outcome = JOB_DONE;
    script_event(&s, told_stage(1, MANY));
    script_event(&s, end);
    assert_false(is_due(&s));
    script_end(&s);
}

/* Maps done on host 0, and reduces of which none could start. */
static void maps_done(struct script *s, uint32_t maps, uint32_t reduces)
{
    parts(s, 1, maps, reduces);
    script_host(s, 0, maps);
    script_job_end(s, 1);
    drain(s, 0, false);
    for (uint32_t t = 0; t < maps; t++)
        script_attempt(s, EVENT_ATTEMPT_DONE, script_attempt_of(s, 1, 0, t), 0);
}

static uint32_t lost(const struct script *s, uint32_t maps)
{
    uint32_t n = 0;
    for (uint32_t t = 0; t < maps; t++)
        n += script_task_state(s, 1, 0, t) != TASK_DONE;
    return n;
}

static void outputs_are_lost_in_portions(void **state)
{
    enum { MAPS = 2000, PORTION = 300 };
    struct script s;
    (void)state;
    begin_changes(&s, "greedy", 0, PORTION);
    maps_done(&s, MAPS, MAPS);
    s.reload = true;
    script_host_event(&s, EVENT_HOST_LOST, 0);
    for (uint32_t n = 0; n < MAPS; script_events(&s, NULL, 0)) {
        assert_in_range(lost(&s, MAPS), n + 1, n + PORTION);
        n = lost(&s, MAPS);
        assert_int_equal(is_due(&s), n < MAPS);
    }
    script_end(&s);
}

/* While outputs of host 0 are being lost another host has its number, and does what had not run
 * before. */
static void what_is_done_there_later_stays(void **state)
{
    enum { MAPS = 2000, PORTION = 300 };
    struct script s;
    (void)state;
    begin_changes(&s, "greedy", 0, PORTION);
    parts(&s, 1, MAPS, MAPS);
    script_host(&s, 0, MAPS - 1);
    script_job_end(&s, 1);
    drain(&s, 0, false);
    for (uint32_t t = 0; t < MAPS - 1; t++)
        script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, t), 0);
    s.reload = true;
    script_host_event(&s, EVENT_HOST_LOST, 0);
    script_host_event(&s, EVENT_HOST_FORGET, 0);
    const uint64_t slots[ENGINE_RESOURCES] = {MAPS};
    struct event join = script_join(0, MAPS, slots);
    join.host_join.generation = 2;
    script_event(&s, join);
    script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, MAPS - 1), 0);
    assert_true(is_due(&s));
    while (is_due(&s))
        script_events(&s, NULL, 0);
    assert_int_equal(script_task_state(&s, 1, 0, MAPS - 1), TASK_DONE);
    assert_int_equal(lost(&s, MAPS), MAPS - 1);
    script_end(&s);
}

static void who_is_over_has_nothing_to_lose(void **state)
{
    enum { MAPS = 500, PORTION = 10 };
    struct script s;
    (void)state;
    begin_changes(&s, "greedy", 0, PORTION);
    maps_done(&s, MAPS, MAPS);
    script_host_event(&s, EVENT_HOST_LOST, 0);
    assert_true(is_due(&s));
    s.reload = true;
    script_cancel(&s, 1);
    assert_false(is_due(&s));
    script_end(&s);
}

/* So do maps whose blocks are known: nobody looks at their hosts for each of them. */
static void ready_maps_leave_at_once(void **state)
{
    static uint64_t inputs[MANY];
    static uint32_t replicas[2 * MANY];
    struct script s;
    (void)state;
    begin_changes(&s, "joint", AT_ONCE, AT_ONCE);
    for (uint32_t i = 0; i < MANY; i++) {
        inputs[i] = 1000 + i;
        replicas[2 * i] = i % 3;
        replicas[2 * i + 1] = i % 3 + 1;
    }
    struct event read = {.kind = EVENT_FRAMEWORK_TASKS}, other = told_stage(0, MANY);
    read.job_tasks.job = FOREIGN_JOB;
    read.job_tasks.replicas_per_task = 2;
    read.job_tasks.replicas = (struct u32s){replicas, 2 * MANY};
    read.job_tasks.input_bytes = read.job_tasks.compute_ns = (struct u64s){inputs, MANY};
    script_event(&s, told_stage(0, MANY));
    script_event(&s, read);
    while (is_due(&s))
        script_events(&s, NULL, 0);
    assert_int_equal(script_status(&s).tasks_ready, MANY);
    const uint64_t before = script_counters(&s).visits;
    other.framework_stage.demand.amount[RES_SLOTS] = 2;
    script_event(&s, other);
    assert_in_range(script_status(&s).tasks_ready, 1, AT_ONCE / 3 + 1);
    assert_in_range(script_counters(&s).visits - before, 1, AT_ONCE);
    s.reload = true;
    while (is_due(&s))
        script_events(&s, NULL, 0);
    assert_int_equal(script_status(&s).tasks_ready, MANY);
    script_host(&s, 3, 2);
    assert_int_equal(script_decision(&s, DECISION_ALLOW, 0)->allow.task % 3, 2);
    script_end(&s);
}

/* Its ready tasks leave the queues together: nobody looks at the bucket for each of them. */
static void a_stage_closes_at_once(void **state)
{
    struct script s;
    (void)state;
    begin_changes(&s, "greedy", 0, AT_ONCE);
    maps_done(&s, 2, MANY);
    assert_int_equal(script_status(&s).tasks_ready, MANY);
    const uint64_t before = script_counters(&s).visits;
    script_host_event(&s, EVENT_HOST_LOST, 0);
    assert_int_equal(script_status(&s).tasks_ready, 2);
    assert_in_range(script_counters(&s).visits - before, 1, 100);
    for (uint32_t t = 0; t < MANY; t++)
        assert_int_equal(script_task_state(&s, 1, 1, t), TASK_BLOCKED);
    script_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_some_tasks_read_closes_nothing),
        cmocka_unit_test(a_stage_is_skipped_in_portions),
        cmocka_unit_test(tasks_are_made_in_portions),
        cmocka_unit_test(an_open_stage_that_grows_opens_the_rest),
        cmocka_unit_test(outputs_are_counted_in_portions),
        cmocka_unit_test(a_fact_makes_all_up_to_its_task),
        cmocka_unit_test(a_stage_grows_for_facts_to_come),
        cmocka_unit_test(sizes_follow_in_portions),
        cmocka_unit_test(inputs_of_running_tasks_are_measured_in_portions),
        cmocka_unit_test(who_tells_again_and_again_sizes_all),
        cmocka_unit_test(outputs_are_lost_in_portions),
        cmocka_unit_test(what_is_done_there_later_stays),
        cmocka_unit_test(who_is_over_has_nothing_to_lose),
        cmocka_unit_test(a_stage_closes_at_once),
        cmocka_unit_test(ready_maps_leave_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
