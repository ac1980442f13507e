/* What others may make the engine begin and hold: bounds that count whatever the numbers say. */
#include "tests/model/script.h"
#include "tests/unit/draws.h"

#include <errno.h>
#include <malloc.h>

static void begin(struct script *s, uint32_t attempts, uint32_t starts, uint32_t step)
{
    struct engine_config config = script_config();
    strcpy(config.place, "greedy");
    config.host_attempts_max = attempts;
    config.host_starts_max = starts;
    config.step_starts_max = step;
    config.framework_jobs_max = 1000;
    script_begin(s, &config);
    s->reload = true;
}

static void submit(struct script *s, uint64_t number, uint32_t maps)
{
    struct script_job job = {number, maps, 0, 0, NULL, 0, SECOND, SECOND, NULL, -1};
    script_submit(s, &job);
}

/* Wakes it until nothing is due now. */
static size_t run_on(struct script *s)
{
    size_t starts = script_count(s, DECISION_START);
    while (engine_deadline_ns(s->engine) <= s->now_ns) {
        script_events(s, NULL, 0);
        starts += script_count(s, DECISION_START);
    }
    return starts;
}

static void a_host_is_sent_no_more_than_it_answers(void **state)
{
    struct script s;
    (void)state;
    begin(&s, 0, 10, 0);
    script_host(&s, 0, UINT64_C(1) << 40);
    script_host(&s, 1, 4);
    submit(&s, 1, 100);
    assert_int_equal(run_on(&s), 14);
    for (uint32_t t = 0; t < 100; t++) {
        uint64_t attempt = script_attempt_of(&s, 1, 0, t);
        if (attempt)
            script_attempt(&s, EVENT_ATTEMPT_STARTED, attempt, 0);
    }
    for (uint32_t t = 0; t < 100; t++)
        assert_int_equal(script_task_state(&s, 1, 0, t), TASK_RUNNING);
    script_end(&s);
}

/* 600 inputs of a start are three messages: two such starts are more than five, and wait for an
 * answer. */
static void a_start_counts_by_its_messages(void **state)
{
    enum { MAPS = 600, REDUCES = 4 };
    struct script s;
    uint64_t sums[REDUCES];
    (void)state;
    begin(&s, 0, 5, 0);
    s.reload = false;
    script_host(&s, 0, MAPS);
    script_host(&s, 1, MAPS);
    for (int r = 0; r < REDUCES; r++)
        sums[r] = 1000 * MAPS;
    struct script_job job = {1, MAPS, 0, REDUCES, NULL, 0, SECOND, SECOND, sums, -1};
    script_submit(&s, &job);
    for (uint32_t t = 0; t < MAPS; t++) {
        if (t == MAPS - 1)
            script_host_event(&s, EVENT_HOST_SILENT, 1);
        script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, t), 0);
    }
    s.reload = true;
    assert_int_equal(script_count(&s, DECISION_START), 2);
    const uint64_t first = script_decision(&s, DECISION_START, 0)->start.attempt;
    script_events(&s, NULL, 0);
    script_attempt(&s, EVENT_ATTEMPT_STARTED, first, 0);
    assert_int_equal(script_count(&s, DECISION_START), 1);
    script_end(&s);
}

static void a_host_runs_no_more_than_its_bound(void **state)
{
    struct script s;
    (void)state;
    begin(&s, 7, 0, 0);
    script_host(&s, 0, UINT64_C(1) << 62);
    submit(&s, 1, 20);
    assert_int_equal(run_on(&s), 7);
    script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 1, 0, 0), 0);
    assert_int_equal(run_on(&s), 1);
    script_end(&s);
}

/* A demand of nothing, which only a log of before can hold, and one of next to nothing. */
static void whatever_is_demanded_the_bounds_count(void **state)
{
    struct script s;
    (void)state;
    for (int64_t demand = 0; demand < 2; demand++) {
        uint64_t vector[ENGINE_RESOURCES] = {1, 0, UINT64_C(1) << 40};
        begin(&s, 9, 0, 0);
        script_event(&s, script_join(0, 1, vector));
        script_job_begin(&s, 1);
        struct event stage = script_stage_event(1, 0, 5000, NULL, NULL);
        stage.job_stage.demand = (struct resources){{[RES_MEM_BYTES] = demand}};
        script_event(&s, stage);
        script_job_end(&s, 1);
        assert_int_equal(run_on(&s), 9);
        script_end(&s);
    }
}

static void a_step_starts_no_more_than_its_bound(void **state)
{
    struct script s;
    (void)state;
    begin(&s, 0, 0, 8);
    for (uint32_t h = 0; h < 5; h++)
        script_host(&s, h, 5);
    submit(&s, 1, 100);
    assert_int_equal(script_count(&s, DECISION_START), 8);
    for (size_t left = 17; left; left -= left < 8 ? left : 8) {
        assert_int_equal(engine_deadline_ns(s.engine), s.now_ns);
        script_events(&s, NULL, 0);
        assert_int_equal(script_count(&s, DECISION_START), left < 8 ? left : 8);
    }
    assert_int_equal(run_on(&s), 1); /* what the last step began */
    script_end(&s);
}

static size_t allocated(void)
{
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* A job that names stage 1023 has one stage. */
static void stages_that_nobody_named_take_no_memory(void **state)
{
    enum { JOBS = 1000 };
    struct script s;
    struct stage_view stage;
    (void)state;
    begin(&s, 0, 0, 0);
    s.reload = false;
    size_t before = allocated();
    for (uint64_t job = 1; job <= JOBS; job++)
        script_event(&s, script_framework_stage(job, 1023, 1, false));
    assert_true(allocated() - before < JOBS * 8192);
    s.reload = true;
    script_event(&s, script_framework_stage(JOBS, 7, 3, false)); /* comes before it, and later */
    assert_int_equal(engine_stage(s.engine, JOBS, 7, &stage), 0);
    assert_int_equal(stage.tasks, 3);
    assert_int_equal(engine_stage(s.engine, JOBS, 1023, &stage), 0);
    assert_int_equal(stage.tasks, 1);
    assert_int_equal(engine_stage(s.engine, JOBS, 8, &stage), -ENOENT);
    script_end(&s);
}

static void late_bytes(struct script *s, uint32_t parent, enum framework_form form, uint32_t last)
{
    const uint64_t bytes[] = {1 + parent};
    const uint32_t host[] = {0}, at[] = {last};
    struct event e = {.kind = EVENT_FRAMEWORK_BYTES};
    e.framework_bytes.job = 1;
    e.framework_bytes.stage = 200;
    e.framework_bytes.parent = parent;
    e.framework_bytes.form = form;
    e.framework_bytes.first = form == BYTES_SUMS || form == BYTES_HOSTS ? last : 0;
    e.framework_bytes.bytes = (struct u64s){bytes, 1};
    if (form == BYTES_CELLS || form == BYTES_HOSTS)
        e.framework_bytes.at = (struct u32s){form == BYTES_HOSTS ? host : at, 1};
    script_event(s, e);
}

/* Of many parents one cell, sum or split of the last reduce task: memory follows what was told. */
static void bytes_that_nobody_told_take_no_memory(void **state)
{
    enum { TASKS = 20000, PARENTS = DRAWS(100, 20) };
    (void)state;
    for (enum framework_form form = BYTES_SUMS; form <= BYTES_HOSTS; form++) {
        struct script s;
        struct task_view task;
        uint64_t sum = 0;
        begin(&s, 0, 0, 0);
        s.reload = false;
        script_event(&s, script_framework_stage(1, 200, TASKS, false));
        for (uint32_t p = 0; p < PARENTS; p++)
            script_event(&s, script_framework_stage(1, p, 1, false));
        size_t before = allocated();
        for (uint32_t p = 0; p < PARENTS; p++) {
            late_bytes(&s, p, form, form == BYTES_ROW ? 0 : TASKS - 1);
            sum += 1 + p;
        }
        assert_true(allocated() - before < PARENTS * 16384);
        engine_task(s.engine, 1, 200, form == BYTES_ROW ? 0 : TASKS - 1, &task);
        assert_int_equal(task.bytes, sum);
        s.reload = true;
        script_events(&s, NULL, 0);
        script_end(&s);
    }
}

/* Cells in any order, some again, some beside a whole row: as if they had all been told in one
 * row. */
static void cells_of_any_order_make_a_row(void **state)
{
    static const uint32_t orders[][6] = {
        {9, 2, 0, 5, 1, 40}, {0, 1, 2, 5, 9, 40}, {40, 9, 5, 2, 1, 0}};
    (void)state;
    for (size_t o = 0; o < sizeof(orders) / sizeof(orders[0]); o++) {
        struct script s;
        struct task_view task;
        begin(&s, 0, 0, 0);
        script_event(&s, script_framework_stage(1, 0, 1, false));
        script_event(&s, script_framework_stage(1, 200, 41, false));
        uint64_t bytes[6], row[] = {70, 71, 72, 73};
        for (int i = 0; i < 6; i++)
            bytes[i] = 100 + orders[o][i];
        struct event e = {.kind = EVENT_FRAMEWORK_BYTES};
        e.framework_bytes.job = 1;
        e.framework_bytes.stage = 200;
        e.framework_bytes.form = BYTES_CELLS;
        for (uint32_t half = 0; half < 2; half++) {
            e.framework_bytes.at = (struct u32s){orders[o] + 3 * half, 3};
            e.framework_bytes.bytes = (struct u64s){bytes + 3 * half, 3};
            script_event(&s, e);
        }
        script_event(&s, e); /* again */
        for (uint32_t i = 0; i < 41; i++) {
            bool told = i <= 2 || i == 5 || i == 9 || i == 40;
            engine_task(s.engine, 1, 200, i, &task);
            assert_int_equal(task.bytes, told ? 100 + i : 0);
        }
        e.framework_bytes.form = BYTES_ROW;
        e.framework_bytes.at = (struct u32s){0};
        e.framework_bytes.bytes = (struct u64s){row, 4};
        script_event(&s, e);
        for (uint32_t i = 0; i < 41; i++) {
            engine_task(s.engine, 1, 200, i, &task);
            assert_int_equal(task.bytes, i < 4 ? 70 + i : 0);
        }
        script_end(&s);
    }
}

/* ---- shares ---- */

enum { KILOBYTE = 1024 };

static void begin_shares(struct script *s, uint64_t memory, uint32_t jobs)
{
    struct engine_config config = script_config();
    strcpy(config.place, "greedy");
    config.memory_max = memory;
    config.framework_memory_max = memory;
    config.jobs_max = jobs;
    config.framework_jobs_max = jobs / 2;
    config.stage_tasks_max = 1000;
    script_begin(s, &config);
    s->reload = true;
}

#define APPLICATION(n) ((uint64_t)(n) << ENGINE_APPLICATION_SHIFT)

static void owner(struct script *s, uint64_t application, uint64_t user, uint64_t key)
{
    struct event e = {.kind = EVENT_FRAMEWORK_OWNER};
    e.framework_owner.application = application;
    e.framework_owner.tells = user > 0;
    e.framework_owner.user = user;
    e.framework_owner.key = key;
    script_event(s, e);
}

/* Jobs of an application until one is not kept. */
static uint32_t flood_jobs(struct script *s, uint64_t application, uint32_t most)
{
    struct job_view view;
    for (uint32_t job = 0; job < most; job++) {
        struct event e = {.kind = EVENT_FRAMEWORK_JOB};
        e.framework_job.job = APPLICATION(application) | job;
        script_event(s, e);
        if (engine_job(s->engine, APPLICATION(application) | job, &view) < 0)
            return job;
    }
    return most;
}

static void one_applications_jobs_leave_the_others_theirs(void **state)
{
    struct script s;
    (void)state;
    begin_shares(&s, 1 << 30, 128);
    s.reload = false;
    owner(&s, 1, 7, 1);
    owner(&s, 2, 7, 1);
    owner(&s, 3, 8, 1);
    assert_int_equal(flood_jobs(&s, 1, 1000), 32); /* half of the 64 that frameworks may have */
    uint32_t second = flood_jobs(&s, 2, 1000), third = flood_jobs(&s, 3, 1000);
    assert_true(second >= 8 && third >= 4);
    submit(&s, 1, 1); /* and of those that are submitted nothing is gone */
    assert_int_equal(script_rejection(&s), REASON_NONE);
    struct event end = {.kind = EVENT_FRAMEWORK_END};
    for (uint32_t job = 0; job < 32; job++) {
        end.framework_end.job = APPLICATION(1) | job;
        end.framework_end.outcome = JOB_DONE;
        script_event(&s, end);
    }
    s.reload = true;
    script_events(&s, NULL, 0);
    s.reload = false;
    uint32_t again = 0;
    struct job_view view;
    for (uint32_t job = 100; again < 1000; job++, again++) {
        struct event e = {.kind = EVENT_FRAMEWORK_JOB};
        e.framework_job.job = APPLICATION(3) | job;
        script_event(&s, e);
        if (engine_job(s.engine, e.framework_job.job, &view) < 0)
            break;
    }
    assert_true(again >= 8); /* what was given back is there for others */
    script_end(&s);
}

/* What there is no place for is its framework's to place, said each time. */
static void what_is_beyond_the_share_is_left_to_its_framework(void **state)
{
    struct script s;
    struct stage_view stage;
    (void)state;
    begin_shares(&s, 256 * KILOBYTE, 128);
    owner(&s, 1, 7, 1);
    script_event(
        &s, script_framework_stage(APPLICATION(1), 0, 500, false)); /* 250 KB: more than half */
    const struct decision *open = script_decision(&s, DECISION_OPEN, 0);
    assert_non_null(open);
    assert_int_equal(open->reason, REASON_TABLE_FULL);
    assert_true(open->open.job == APPLICATION(1) && open->open.stage == 0);
    assert_int_equal(engine_stage(s.engine, APPLICATION(1), 0, &stage),
                     -ENOENT); /* no task of it */
    script_event(&s, script_framework_stage(APPLICATION(1), 0, 500, false));
    assert_int_equal(script_count(&s, DECISION_OPEN), 1);
    script_event(&s, script_framework_stage(APPLICATION(1), 1, 100, false)); /* that is a share */
    assert_int_equal(script_count(&s, DECISION_OPEN), 0);
    uint32_t jobs = flood_jobs(&s, 1, 200);
    script_event(&s, script_framework_stage(APPLICATION(1) | jobs, 4, 1, false));
    open = script_decision(&s, DECISION_OPEN, 0);
    assert_non_null(open);
    assert_true(open->open.job == (APPLICATION(1) | jobs) && open->open.stage == 4);
    script_event(&s, script_framework_stage(APPLICATION(2), 0, 1001,
                                            false)); /* tasks of a stage, whoever it is */
    assert_int_equal(script_count(&s, DECISION_OPEN), 1);
    script_end(&s);
}

static void attempts_count_while_they_run(void **state)
{
    struct script s;
    struct attempt_view view;
    uint32_t taken = 0;
    (void)state;
    begin_shares(&s, 64 * KILOBYTE, 128);
    script_host(&s, 0, 4);
    struct event e = {.kind = EVENT_FRAMEWORK_STARTED};
    e.framework_task.job = APPLICATION(1);
    e.framework_task.phase = ATTEMPT_STARTED;
    for (uint32_t turn = 0; turn < 2; turn++) {
        for (uint32_t i = 1; i <= 100; i++) {
            e.framework_task.attempt = (UINT64_C(1) << 63) + turn * 1000 + i;
            script_event(&s, e);
        }
        uint32_t now = 0;
        for (view.attempt = 0; engine_attempt_after(s.engine, view.attempt, &view) == 0; now++)
            ;
        assert_true(now > 10 && now < 40 && (!turn || now == taken));
        taken = now;
        while (engine_attempt_after(s.engine, 0, &view) == 0)
            script_attempt(&s, EVENT_ATTEMPT_LOST, view.attempt, 0);
    }
    script_end(&s);
}

/* Of what nobody allowed it, a framework's word alone takes no more than half of what is free. */
static void claims_leave_others_some_of_each_host(void **state)
{
    struct script s;
    (void)state;
    begin_shares(&s, 1 << 30, 128);
    script_host(&s, 0, 4);
    script_host(&s, 1, 4);
    struct event e = {.kind = EVENT_FRAMEWORK_STARTED};
    e.framework_task.job = APPLICATION(1);
    e.framework_task.phase = ATTEMPT_STARTED;
    e.framework_task.resources.amount[RES_SLOTS] = 1;
    for (uint32_t i = 1; i <= 100; i++) {
        e.framework_task.attempt = (UINT64_C(1) << 63) + i;
        e.framework_task.task = i;
        e.framework_task.host = i % 2;
        e.framework_task.resources.amount[RES_SLOTS] = i;
        script_event(&s, e);
    }
    submit(&s, 1, 10);
    assert_true(script_count(&s, DECISION_START) >= 2);
    script_end(&s);
}

/* A submitter alone gets eight ninths; another one the same of what is left. */
static void one_submitters_jobs_leave_the_others_theirs(void **state)
{
    struct script s;
    uint32_t had[3] = {0};
    (void)state;
    begin_shares(&s, 1 << 30, 90);
    s.reload = false;
    for (uint64_t who = 0; who < 3; who++)
        for (uint64_t job = 1;; job++, had[who]++) {
            struct event e = {.kind = EVENT_JOB_SUBMITTER};
            char name[32];
            e.job_submitter.submitter = who + 1;
            script_event(&s, e);
            snprintf(name, sizeof(name), "job-%u-%u", (unsigned)who, (unsigned)job);
            script_event(&s, script_begin_event(1000 * who + job, name));
            if (script_rejection(&s) != REASON_NONE)
                break;
        }
    assert_int_equal(had[0], 80);
    assert_true(had[1] >= 8 && had[2] >= 1);
    s.reload = true;
    script_events(&s, NULL, 0);
    script_end(&s);
}

/* Whether that submitter's job is taken with a stage of so many slots, and in further ways of
 * `more`. */
static bool takes(struct script *s, uint64_t who, uint64_t job, int64_t slots, struct u64s more)
{
    struct event e = {.kind = EVENT_JOB_SUBMITTER};
    char name[32];
    e.job_submitter.submitter = who;
    script_event(s, e);
    snprintf(name, sizeof(name), "job-%u", (unsigned)job);
    script_event(s, script_begin_event(job, name));
    e = script_stage_event(job, 0, 1, NULL, NULL);
    e.job_stage.demand.amount[RES_SLOTS] = slots;
    e.job_stage.variant_demands = more;
    script_event(s, e);
    return script_rejection(s) == REASON_NONE;
}

static bool takes_shape(struct script *s, uint64_t who, uint64_t job, uint32_t shape)
{
    return takes(s, who, job, 1 + shape, (struct u64s){0});
}

/* Of 6, `second` or `third` slots. */
static bool takes_ways(struct script *s, uint64_t who, uint64_t job, uint64_t second,
                       uint64_t third)
{
    const uint64_t demands[2 * ENGINE_RESOURCES] = {[RES_SLOTS] = second,
                                                    [ENGINE_RESOURCES + RES_SLOTS] = third};
    return takes(s, who, job, 6, (struct u64s){demands, 2 * ENGINE_RESOURCES});
}

/* Of 64, of which each pair of ten demands is one. */
static void one_submitters_ways_leave_the_others_theirs(void **state)
{
    struct script s;
    uint32_t had[2] = {0};
    (void)state;
    begin_shares(&s, 1 << 30, 1000);
    for (uint64_t who = 0, job = 1; who < 2; who++)
        for (uint64_t pair = 0; pair < 100; pair++, job++) {
            uint64_t second = 10 + pair / 10, third = 10 + pair % 10;
            s.reload = pair % 30 == 0;
            if (second != third)
                had[who] += takes_ways(&s, who + 1, job, second + 10 * who, third);
        }
    assert_int_equal(had[0], 57);
    assert_in_range(had[1], 6, 7);
    script_end(&s);
}

/* Number n of as many ways as there are pairs of ten demands. */
static bool takes_pair(struct script *s, uint64_t who, uint64_t job, uint32_t n)
{
    uint32_t second = n / 9, third = n % 9;
    return takes_ways(s, who, job, 10 + second, 10 + third + (third >= second));
}

/* The first submitter makes some, the second one's jobs have the same, and the first one's end. So
 * they still count for the first, and the second may make as many as if it had none; how many. A
 * loaded engine must answer alike, or a recording whose file begins with a dump cannot be replayed.
 */
static uint32_t made_beside(bool (*take)(struct script *, uint64_t, uint64_t, uint32_t),
                            bool reload)
{
    struct script s;
    uint32_t first = 0, second = 0;
    begin_shares(&s, 1 << 30, 1000);
    s.reload = false;
    while (take(&s, 1, 1 + first, first))
        first++;
    assert_int_equal(first, 57);
    for (uint32_t n = 0; n < first; n++) {
        assert_true(take(&s, 2, 101 + n, n));
        script_cancel(&s, 1 + n);
    }
    s.reload = reload;
    while (take(&s, 2, 201 + second, first + second))
        second++;
    script_end(&s);
    return second;
}

static void what_is_made_counts_for_its_maker_after_a_load(void **state)
{
    (void)state;
    const uint32_t shapes = made_beside(takes_shape, false), ways = made_beside(takes_pair, false);
    assert_true(shapes > 0 && ways > 0);
    assert_int_equal(made_beside(takes_shape, true), shapes);
    assert_int_equal(made_beside(takes_pair, true), ways);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_is_sent_no_more_than_it_answers),
        cmocka_unit_test(a_start_counts_by_its_messages),
        cmocka_unit_test(a_host_runs_no_more_than_its_bound),
        cmocka_unit_test(whatever_is_demanded_the_bounds_count),
        cmocka_unit_test(a_step_starts_no_more_than_its_bound),
        cmocka_unit_test(stages_that_nobody_named_take_no_memory),
        cmocka_unit_test(bytes_that_nobody_told_take_no_memory),
        cmocka_unit_test(cells_of_any_order_make_a_row),
        cmocka_unit_test(one_applications_jobs_leave_the_others_theirs),
        cmocka_unit_test(what_is_beyond_the_share_is_left_to_its_framework),
        cmocka_unit_test(attempts_count_while_they_run),
        cmocka_unit_test(claims_leave_others_some_of_each_host),
        cmocka_unit_test(one_submitters_jobs_leave_the_others_theirs),
        cmocka_unit_test(one_submitters_ways_leave_the_others_theirs),
        cmocka_unit_test(what_is_made_counts_for_its_maker_after_a_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
