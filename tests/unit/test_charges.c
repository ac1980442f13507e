/* What facts leave to later steps: for whom it is done, whose turn it is, and who is charged. */
#include "tests/model/script.h"
#include "tests/unit/draws.h"

enum { AT_ONCE = 50, WIDE = 20 * AT_ONCE };

/* The one job of an application. */
#define JOB(application) ((uint64_t)(application) << ENGINE_APPLICATION_SHIFT | 1)

static void begin(struct script *s, uint32_t ready_max, uint32_t tasks_max, uint32_t rules)
{
    struct engine_config config = script_config();
    strcpy(config.place, "greedy");
    config.framework_jobs_max = 16;
    config.step_ready_max = ready_max;
    config.step_tasks_max = tasks_max;
    config.rules = rules;
    script_begin(s, &config);
}

static bool is_due(const struct script *s)
{
    return engine_deadline_ns(s->engine) <= s->now_ns;
}

static uint32_t settle(struct script *s)
{
    uint32_t steps = 0;
    for (; is_due(s); steps++)
        script_events(s, NULL, 0);
    return steps;
}

/* A stage of them behind one of a single task, all made and sized. */
static void tell_wide(struct script *s, uint64_t application)
{
    script_event(s, script_framework_stage(JOB(application), 0, 1, false));
    script_event(s, script_framework_stage(JOB(application), 1, WIDE, true));
    settle(s);
}

/* What one task of the first stage wrote for each task of the second. */
static void tell_row(struct script *s, uint64_t application, uint64_t bytes[WIDE])
{
    struct event row = {.kind = EVENT_FRAMEWORK_BYTES};
    row.framework_bytes.job = JOB(application);
    row.framework_bytes.stage = 1;
    row.framework_bytes.form = BYTES_ROW;
    row.framework_bytes.bytes = (struct u64s){bytes, WIDE};
    script_event(s, row);
}

static uint64_t charged(const struct script *s, uint64_t application)
{
    const struct engine_charges charges = engine_charges(s->engine);
    uint64_t looks = 0;
    for (size_t i = 0; i < charges.n; i++)
        looks += charges.at[i].application == application ? charges.at[i].looks : 0;
    return looks;
}

/* A stage that is told again is sized anew, which is a change of each task. Another one's facts
 * come in between. */
static void what_a_fact_leaves_is_charged_to_its_application(void **state)
{
    enum { CHANGE = 16 };
    struct script s;
    (void)state;
    begin(&s, 0, AT_ONCE, ENGINE_RULES);
    tell_wide(&s, 2);
    tell_wide(&s, 1);
    script_event(&s, script_framework_stage(JOB(1), 1, WIDE, true));
    assert_int_equal(engine_charges(s.engine).n, 0); /* its own step is its message's */
    uint64_t looks = engine_charges(s.engine).looks;
    assert_int_equal(looks, AT_ONCE * CHANGE);
    for (uint32_t i = 0; is_due(&s); i++) {
        struct event small = {.kind = EVENT_FRAMEWORK_JOB};
        small.framework_job.job = JOB(2);
        assert_true(engine_has_backlog(s.engine));
        script_events(&s, &small, i % 2);
        assert_int_equal(charged(&s, 1), engine_charges(s.engine).looks);
        looks += charged(&s, 1);
    }
    assert_int_equal(looks, WIDE * CHANGE);
    assert_false(engine_has_backlog(s.engine));
    script_events(&s, NULL, 0);
    assert_int_equal(engine_charges(s.engine).n, 0);
    script_end(&s);
}

/* Levels of the last tasks, which run and are sized in the last portion. */
static void what_is_decided_meanwhile_is_charged_too(void **state)
{
    static uint64_t bytes[WIDE];
    struct script s;
    uint64_t decisions = 0;
    (void)state;
    begin(&s, 0, AT_ONCE, ENGINE_RULES);
    script_host(&s, 0, WIDE);
    tell_wide(&s, 1);
    for (uint32_t t = 0; t < 10; t++)
        script_started(&s, UINT64_C(1) << 63 | (t + 1), JOB(1), 1, WIDE - 1 - t, 0);
    settle(&s);
    for (uint32_t t = 0; t < WIDE; t++)
        bytes[t] = 1000000000;
    tell_row(&s, 1, bytes);
    size_t levels = 0;
    for (; is_due(&s); levels += script_count(&s, DECISION_LEVEL)) {
        script_events(&s, NULL, 0);
        const struct engine_charges charges = engine_charges(s.engine);
        for (size_t i = 0; i < charges.n; i++)
            decisions += charges.at[i].decisions;
    }
    assert_true(levels >= 10 && decisions == levels);
    script_end(&s);
}

/* Tells it otherwise, so that all its tasks are ready anew. */
static void tell_again(struct script *s, uint64_t application, uint32_t round)
{
    struct event event = script_framework_stage(JOB(application), 0, WIDE, false);
    event.framework_stage.demand.amount[RES_SLOTS] = 1 + round % 2;
    script_event(s, event);
}

static bool all_are_ready(const struct script *s, uint64_t application)
{
    struct stage_view view;
    return engine_stage(s->engine, JOB(application), 0, &view) == 0 && view.ready == WIDE;
}

/* How many rounds application 2 waits, whose number is the larger one, while each round begins with
 * a fact of the other one that reopens a wide stage; at most `most`. */
static uint32_t opens_beside(uint32_t rules, uint32_t most)
{
    struct script s;
    uint32_t round = 0;
    begin(&s, AT_ONCE, 0, rules);
    s.reload = true;
    tell_again(&s, 1, 0);
    tell_again(&s, 2, 0);
    for (; round < most && !all_are_ready(&s, 2); round++) {
        tell_again(&s, 1, round + 1);
        script_events(&s, NULL, 0);
    }
    script_end(&s);
    return round;
}

static bool all_are_sized(const struct script *s, uint64_t application)
{
    const struct task_view view = script_task_view(s, JOB(application), 1, WIDE - 1);
    return !view.guessed && view.bytes == 1000 + WIDE - 1;
}

/* The same of sizes. */
static uint32_t sizes_beside(uint32_t rules, uint32_t most)
{
    static uint64_t bytes[WIDE];
    struct script s;
    uint32_t round = 0;
    begin(&s, 0, AT_ONCE, rules);
    s.reload = true;
    tell_wide(&s, 1);
    tell_wide(&s, 2);
    for (uint32_t t = 0; t < WIDE; t++)
        bytes[t] = 1000 + t;
    script_event(&s, script_framework_stage(JOB(1), 1, WIDE, true));
    tell_row(&s, 2, bytes);
    for (; round < most && !all_are_sized(&s, 2); round++) {
        script_event(&s, script_framework_stage(JOB(1), 1, WIDE, true));
        script_events(&s, NULL, 0);
    }
    script_end(&s);
    return round;
}

/* With the rules of before, it waits for as long as the other one goes on. */
static void nobody_waits_for_who_goes_on_and_on(void **state)
{
    enum { TURNS = 2 * WIDE / AT_ONCE, LONG = 10 * TURNS };
    (void)state;
    assert_int_equal(opens_beside(RULE_VALUES_CARRIED, LONG), LONG);
    assert_int_equal(sizes_beside(RULE_VALUES_CARRIED, LONG), LONG);
    assert_in_range(opens_beside(ENGINE_RULES, LONG), WIDE / AT_ONCE - 1, TURNS + 2);
    assert_in_range(sizes_beside(ENGINE_RULES, LONG), WIDE / AT_ONCE - 1, TURNS + 2);
}

/* Submitted jobs are one more, however many, and the oldest of them is first. */
static void submitted_jobs_have_one_turn(void **state)
{
    struct script s;
    (void)state;
    begin(&s, AT_ONCE, 0, ENGINE_RULES);
    s.reload = true;
    for (uint64_t job = 1; job <= 3; job++) {
        script_job_begin(&s, job);
        script_stage(&s, job, 0, WIDE, ENGINE_NONE, EDGE_BARRIER);
        script_job_end(&s, job);
    }
    tell_again(&s, 1, 0);
    uint32_t rounds = 0;
    for (; !all_are_ready(&s, 1); rounds++)
        script_events(&s, NULL, 0);
    assert_in_range(rounds, WIDE / AT_ONCE - 1, 2 * WIDE / AT_ONCE + 2);
    assert_true(script_job_view(&s, 1).ready > AT_ONCE);
    settle(&s);
    assert_int_equal(script_status(&s).tasks_ready, 4 * WIDE);
    script_end(&s);
}

enum { APPLICATIONS = 3, STAGES = 4, STEPS = 80 };

static uint32_t draw(uint64_t *stream, uint32_t below)
{
    return (uint32_t)(test_random(stream) % below);
}

static struct event any_stage(uint64_t *stream, uint64_t job)
{
    const uint32_t stage = draw(stream, STAGES);
    struct event event =
        script_framework_stage(job, stage, 1 + draw(stream, 8 * AT_ONCE), stage > 0);
    event.framework_stage.phase = draw(stream, 3);
    event.framework_stage.demand.amount[RES_SLOTS] = 1 + draw(stream, 2);
    return event;
}

static struct event any_bytes(uint64_t *stream, uint64_t job)
{
    static uint64_t bytes[8 * AT_ONCE];
    struct event event = {.kind = EVENT_FRAMEWORK_BYTES};
    const uint32_t n = 1 + draw(stream, 8 * AT_ONCE);
    for (uint32_t i = 0; i < n; i++)
        bytes[i] = draw(stream, 1000000);
    event.framework_bytes.job = job;
    event.framework_bytes.stage = 1 + draw(stream, STAGES - 1);
    event.framework_bytes.form = draw(stream, 2) ? BYTES_ROW : BYTES_SUMS;
    event.framework_bytes.bytes = (struct u64s){bytes, n};
    return event;
}

static struct event any_task(uint64_t *stream, uint64_t job)
{
    struct event event = {.kind = draw(stream, 2) ? EVENT_FRAMEWORK_STARTED : EVENT_FRAMEWORK_DONE};
    event.framework_task.attempt = UINT64_C(1) << 63 | (1 + draw(stream, 1000));
    event.framework_task.job = job;
    event.framework_task.stage = draw(stream, STAGES);
    event.framework_task.task = draw(stream, 2 * AT_ONCE);
    event.framework_task.phase = ATTEMPT_STARTED;
    return event;
}

static struct event any_room(uint64_t *stream, uint64_t application)
{
    struct event event = {.kind = EVENT_FRAMEWORK_ROOM};
    event.framework_room.application = draw(stream, 8) ? application : ENGINE_EVERYBODY;
    event.framework_room.host = ENGINE_NONE;
    event.framework_room.tells = draw(stream, 2);
    return event;
}

static struct event any_event(uint64_t *stream)
{
    const uint64_t application = 1 + draw(stream, APPLICATIONS), job = JOB(application);
    struct event end = {.kind = EVENT_FRAMEWORK_END};
    end.framework_end.job = job;
    switch (draw(stream, 12)) {
    case 0:
    case 1:
        return any_bytes(stream, job);
    case 2:
    case 3:
        return any_task(stream, job);
    case 4:
        return any_room(stream, application);
    case 5:
        end.framework_end.outcome = JOB_CANCELLED;
        return draw(stream, 4) ? any_stage(stream, job) : end;
    default:
        return any_stage(stream, job);
    }
}

static uint64_t sum_of(const struct engine_charges *charges, const struct script *s)
{
    const uint64_t everybody = UINT64_MAX >> ENGINE_APPLICATION_SHIFT;
    uint64_t looks = 0, decisions = 0;
    for (size_t i = 0; i < charges->n; i++) {
        const struct engine_charge *one = &charges->at[i];
        assert_true((one->application >= 1 && one->application <= APPLICATIONS) ||
                    one->application == everybody);
        looks += one->looks;
        decisions += one->decisions;
    }
    assert_true(decisions <= s->decisions.n);
    return looks;
}

/* Where no event came, all looks of a step are charged. Returns the sum. */
static uint64_t step(struct script *s, const struct event *event, size_t n)
{
    script_events(s, event, n);
    const struct engine_charges charges = engine_charges(s->engine);
    const uint64_t sum = sum_of(&charges, s);
    assert_true(n ? sum <= charges.looks : sum == charges.looks);
    return sum;
}

static uint64_t run_any(uint64_t seed)
{
    struct script s;
    uint64_t stream = seed, sum = 0;
    begin(&s, 1 + draw(&stream, AT_ONCE), 1 + draw(&stream, AT_ONCE), ENGINE_RULES);
    for (uint32_t i = 0; i < STEPS; i++) {
        struct event event = any_event(&stream);
        sum += step(&s, &event, draw(&stream, 2));
    }
    for (uint32_t i = 0; is_due(&s); i++) {
        assert_true(i < 100000);
        sum += step(&s, NULL, 0);
    }
    assert_false(engine_has_backlog(s.engine));
    script_end(&s);
    return sum;
}

static void charges_are_all_that_is_left(void **state)
{
    enum { RUNS = DRAWS(1000, 100) };
    uint64_t sum = 0;
    (void)state;
    for (uint64_t run = 0; run < RUNS; run++)
        sum += run_any(test_seed() + run);
    print_message("%llu looks charged\n", (unsigned long long)sum);
    assert_true(sum > 1000 * RUNS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_fact_leaves_is_charged_to_its_application),
        cmocka_unit_test(what_is_decided_meanwhile_is_charged_too),
        cmocka_unit_test(nobody_waits_for_who_goes_on_and_on),
        cmocka_unit_test(submitted_jobs_have_one_turn),
        cmocka_unit_test(charges_are_all_that_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
