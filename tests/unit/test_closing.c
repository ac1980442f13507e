/* Stages that close: their ready tasks leave together, however many they are, and nothing else
 * changes: a twin that is loaded from a dump after each step, so that no task of it was ever ready
 * in a stage that closed since, decides the same. */
#include "tests/model/script_dump.h"
#include "tests/unit/portions_script.h"

#include "controller/engine/commit/commit.h"
#include "controller/engine/mode/mode_rule.h"
#include "controller/engine/network/network.h"
#include "controller/engine/place/place.h"
#include "controller/engine/turn/turn.h"
#include "controller/engine/users/division.h"

#include <time.h>

#define REASON_SHUT ((enum reason)900)

static const struct engine_parameter parameter_shut_job = {
    "shut_job", ENGINE_UNIT_COUNT, 0, 100000, 0, "Claims of this job are refused; 0: none."};

/* Closes the stage of a claim that it refuses. */
static bool admits(const struct engine *engine, const struct claim *claim,
                   struct policy_why *ret_why)
{
    int64_t shut = policy_value(engine, QUESTION_COMMIT, &parameter_shut_job);
    *ret_why = (struct policy_why){REASON_SHUT, shut, 0};
    return claim->task->stage->job->number != (uint64_t)shut;
}

static const struct policy_reason reasons[] = {
    {DECISION_HOLD, REASON_SHUT, "shut", "its job", NULL, "job {left} is shut out."}, {0}};
static const struct commit_policy commit_shut = {
    .policy = {.name = "shut",
               .reasons = reasons,
               .parameters = (const struct engine_parameter *const[]){&parameter_shut_job, NULL}},
    .admits = admits};

/* In place of controller/engine/policies.c: the same with the policy that refuses. */
const struct turn_policy *const turn_policies[] = {&turn_fifo, &turn_sjf, &turn_fair, NULL};
const struct place_policy *const place_policies[] = {
    &place_nats, &place_greedy, &place_delay, &place_random, &place_joint, &place_flow, NULL};
const struct commit_policy *const commit_policies[] = {&commit_shut, NULL};
const struct network_policy *const network_policies[] = {&network_cans, &network_none, NULL};
const struct mode_policy *const mode_policies[] = {&mode_first, NULL};
const struct users_policy *const users_policies[] = {&users_none, NULL};
const char *const policy_defaults[QUESTIONS] = {
    [QUESTION_TURN] = "fifo",    [QUESTION_PLACE] = "greedy", [QUESTION_COMMIT] = "shut",
    [QUESTION_NETWORK] = "none", [QUESTION_MODE] = "first",   [QUESTION_USERS] = "none",
};

static void order(struct script *s, enum event_kind kind, uint64_t job)
{
    struct event event = {.kind = kind, .request = ++s->requests};
    event.job_hold.job = job; /* the first field of each */
    if (kind == EVENT_JOB_HOLD)
        event.job_hold.by = "olga";
    script_event(s, event);
}

/* ---- what it costs ---- */

enum { REPLICAS = 2, BLOCK_HOSTS = 5, STAGES = 3 };

/* Each task of the stage has a block on some of the first hosts. */
static void blocks(struct script *s, uint64_t job, uint32_t stage, uint32_t tasks)
{
    static uint64_t inputs[MANY];
    static uint32_t replicas[REPLICAS * MANY];
    struct event event = {.kind = EVENT_JOB_TASKS, .request = job};
    for (uint32_t i = 0; i < tasks; i++) {
        inputs[i] = 1000 + i;
        for (uint32_t r = 0; r < REPLICAS; r++)
            replicas[REPLICAS * i + r] = (i + r) % BLOCK_HOSTS;
    }
    event.job_tasks.job = job;
    event.job_tasks.stage = stage;
    event.job_tasks.replicas_per_task = REPLICAS;
    event.job_tasks.replicas = (struct u32s){replicas, REPLICAS * tasks};
    event.job_tasks.input_bytes = event.job_tasks.compute_ns = (struct u64s){inputs, tasks};
    script_event(s, event);
    assert_int_equal(script_rejection(s), REASON_NONE);
}

static void hold(struct script *s)
{
    order(s, EVENT_JOB_HOLD, 1);
}

/* While its stages open. */
static void hold_again(struct script *s)
{
    hold(s);
    order(s, EVENT_JOB_RELEASE, 1);
    script_events(s, NULL, 0);
    hold(s);
}

/* They close one by one, as their claims are refused. */
static void refuse(struct script *s)
{
    script_parameter(s, "shut_job", 1);
    script_host(s, BLOCK_HOSTS, 1);
}

/* Visits of the step after which none of a job's tasks is ready, whose maps stand in the same
 * queues. */
static uint64_t visits_of(void (*closes)(struct script *s), const char *place, uint32_t tasks)
{
    struct engine_config config = script_config();
    struct script s;
    strcpy(config.place, place);
    config.step_ready_max = AT_ONCE;
    script_begin(&s, &config);
    for (uint32_t h = 0; h < BLOCK_HOSTS; h++)
        script_host(&s, h, 1);
    script_job_begin(&s, 1);
    for (uint32_t stage = 0; stage < STAGES; stage++) {
        script_stage(&s, 1, stage, tasks, ENGINE_NONE, EDGE_BARRIER);
        if (stage < STAGES - 1)
            blocks(&s, 1, stage, tasks);
    }
    script_job_end(&s, 1);
    while (is_due(&s))
        script_events(&s, NULL, 0);
    assert_int_equal(script_status(&s).tasks_ready, STAGES * tasks - BLOCK_HOSTS);
    uint64_t visits = script_counters(&s).visits;
    closes(&s);
    visits = script_counters(&s).visits - visits;
    assert_int_equal(script_status(&s).tasks_ready, 0);
    for (uint32_t t = 0; t < tasks; t++)
        assert_int_not_equal(script_task_state(&s, 1, 0, t), TASK_READY);
    s.reload = true;
    script_events(&s, NULL, 0);
    script_end(&s);
    return visits;
}

static void closing_costs_the_same_for_ten_times_as_many(void **state)
{
    static const struct {
        void (*closes)(struct script *);
        const char *place;
    } cases[] = {{hold, "greedy"}, {hold, "nats"},     {hold, "delay"},  {hold, "joint"},
                 {hold, "flow"},   {refuse, "greedy"}, {refuse, "nats"}, {refuse, "joint"}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t visits = visits_of(cases[i].closes, cases[i].place, MANY / 10),
                 of_more = visits_of(cases[i].closes, cases[i].place, MANY);
        print_message("%s: %llu and %llu visits\n", cases[i].place, (unsigned long long)visits,
                      (unsigned long long)of_more);
        assert_in_range(of_more, 0, visits + visits / 2);
        assert_in_range(visits, BLOCK_HOSTS, 20 * BLOCK_HOSTS);
    }
}

static void closing_while_it_opens_counts_only_what_opened(void **state)
{
    (void)state;
    uint64_t visits = visits_of(hold_again, "greedy", MANY / 10),
             of_more = visits_of(hold_again, "greedy", MANY);
    assert_in_range(of_more, 0, visits + visits / 2);
}

static int64_t processor_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * SECOND + now.tv_nsec;
}

/* Of maps that run and wait again, before so many that are ready next to the same hosts. */
static int64_t time_of_requeue(uint32_t tasks)
{
    enum { RUNNING = AT_ONCE };
    struct engine_config config = script_config();
    struct script s;
    script_begin(&s, &config);
    for (uint32_t h = 0; h < BLOCK_HOSTS; h++)
        script_host(&s, h, RUNNING / BLOCK_HOSTS);
    script_job_begin(&s, 1);
    script_stage(&s, 1, 0, tasks, ENGINE_NONE, EDGE_BARRIER);
    blocks(&s, 1, 0, tasks);
    script_job_end(&s, 1);
    for (uint32_t h = 0; h < BLOCK_HOSTS; h++)
        drain(&s, h, false);
    assert_int_equal(script_status(&s).tasks_ready, tasks - RUNNING);
    int64_t before_ns = processor_ns();
    order(&s, EVENT_JOB_REQUEUE, 1);
    int64_t took_ns = processor_ns() - before_ns;
    assert_int_equal(script_status(&s).tasks_ready, tasks);
    script_end(&s);
    return took_ns;
}

/* WHY by time: a walk to its place is no visit of anything. */
static void what_comes_back_finds_its_place_among_many(void **state)
{
    (void)state;
    int64_t ns = time_of_requeue(MANY / 10), of_more_ns = time_of_requeue(MANY);
    print_message("%.1f and %.1f ms\n", (double)ns / 1e6, (double)of_more_ns / 1e6);
    assert_true(of_more_ns < 5 * ns);
}

/* ---- tasks that wait for another host ---- */

enum { RETRIES = 5 };
static const struct {
    uint64_t job;
    uint32_t task;
} failed[RETRIES] = {{1, 0}, {2, 0}, {1, 1}, {3, 0}, {2, 1}};

/* They failed on host 0 in this order; host 1 is full. */
static void fail_all(struct script *s)
{
    struct engine_config config = script_config();
    script_begin(s, &config);
    s->reload = true;
    script_host(s, 1, RETRIES);
    parts(s, 9, RETRIES, 0);
    script_job_end(s, 9);
    script_host(s, 0, RETRIES);
    for (uint64_t job = 1; job <= 3; job++) {
        parts(s, job, job < 3 ? 2 : 1, 0);
        script_job_end(s, job);
    }
    for (int i = 0; i < RETRIES; i++) {
        s->now_ns += SECOND;
        script_attempt(s, EVENT_ATTEMPT_FAILED,
                       script_attempt_of(s, failed[i].job, 0, failed[i].task), 0);
        assert_int_equal(script_count(s, DECISION_START), 0);
    }
    assert_int_equal(script_status(s).tasks_ready, RETRIES);
}

/* As room comes on host 1; those of job `but` do not. */
static void expect_in_order(struct script *s, uint64_t but)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < RETRIES; i++) {
        if (failed[i].job == but)
            continue;
        script_attempt(s, EVENT_ATTEMPT_DONE, script_attempt_of(s, 9, 0, next++), 0);
        assert_int_equal(script_count(s, DECISION_START), 1);
        assert_non_null(script_start(s, failed[i].job, 0, failed[i].task));
    }
}

static void retries_go_in_the_order_of_their_failures(void **state)
{
    struct script s;
    (void)state;
    fail_all(&s);
    expect_in_order(&s, 0);
    script_end(&s);
}

static void retries_of_a_held_job_wait_no_more(void **state)
{
    struct script s;
    (void)state;
    fail_all(&s);
    order(&s, EVENT_JOB_HOLD, 1);
    assert_int_equal(script_status(&s).tasks_ready, RETRIES - 2);
    assert_int_equal(script_job_view(&s, 1).ready, 0);
    assert_int_equal(script_task_state(&s, 1, 0, 0), TASK_BLOCKED);
    expect_in_order(&s, 1);
    order(&s, EVENT_JOB_RELEASE, 1);
    assert_int_equal(script_count(&s, DECISION_START), 0);
    assert_int_equal(script_job_view(&s, 1).ready, 2);
    script_attempt(&s, EVENT_ATTEMPT_DONE, script_attempt_of(&s, 9, 0, 3), 0);
    assert_non_null(script_start(&s, 1, 0, 0));
    script_cancel(&s, 1);
    assert_int_equal(script_status(&s).tasks_ready, 0);
    script_end(&s);
}

/* ---- random scripts ---- */

enum { HOSTS = 5, SLOTS = 3, TASKS_MOST = 12, RUNNING_MOST = 64, LATELY = 4 };

/* The second one is loaded from its dump after each step. */
struct twins {
    struct script s[2];
    uint64_t stream, jobs;
    uint64_t running[RUNNING_MOST];
    uint32_t n_running;
};

static uint64_t draw(struct twins *t, uint64_t below)
{
    return test_random(&t->stream) % below;
}

static void note_starts(struct twins *t)
{
    const struct decisions *decisions = &t->s[0].decisions;
    for (size_t i = 0; i < decisions->n; i++)
        if (decisions->at[i].kind == DECISION_START)
            t->running[t->n_running++ % RUNNING_MOST] = decisions->at[i].start.attempt;
}

static void compare(struct twins *t)
{
    script_same_decisions(&t->s[0].decisions, &t->s[1].decisions);
    assert_true(engine_digest(t->s[0].engine) == engine_digest(t->s[1].engine));
    assert_true(engine_deadline_ns(t->s[0].engine) == engine_deadline_ns(t->s[1].engine));
    note_starts(t);
}

/* The same step of both, which is `s` in it. */
#define BOTH(t, step)                                                                              \
    do {                                                                                           \
        for (int twin = 0; twin < 2; twin++) {                                                     \
            struct script *s = &(t)->s[twin];                                                      \
            step;                                                                                  \
        }                                                                                          \
        compare(t);                                                                                \
    } while (0)

static void submit_stage(struct twins *t, uint64_t job, uint32_t stage, uint32_t parent)
{
    static const uint64_t two[ENGINE_RESOURCES] = {[RES_SLOTS] = 2};
    const uint32_t tasks = 1 + (uint32_t)draw(t, TASKS_MOST), per = (uint32_t)draw(t, 4);
    const uint32_t edge = draw(t, 4) ? EDGE_BARRIER : EDGE_PIPELINED;
    uint32_t replicas[TASKS_MOST * 3];
    struct event event =
        script_stage_event(job, stage, tasks, parent == ENGINE_NONE ? NULL : &parent, &edge);
    if (!draw(t, 4))
        event.job_stage.variant_demands = (struct u64s){two, ENGINE_RESOURCES};
    BOTH(t, script_event(s, event));
    for (uint32_t i = 0; i < tasks * per; i++)
        replicas[i] = (uint32_t)draw(t, HOSTS);
    if (parent == ENGINE_NONE && per)
        BOTH(t, script_tasks(s, job, stage, tasks, 1000, per, replicas));
    const uint64_t bytes = 1000 + draw(t, 1000000);
    if (parent != ENGINE_NONE)
        BOTH(t, script_bytes(s, job, stage, parent, tasks, bytes));
}

static void submit(struct twins *t)
{
    const uint64_t job = ++t->jobs;
    const uint32_t maps = 1 + (uint32_t)draw(t, 3);
    BOTH(t, script_job_begin(s, job));
    for (uint32_t stage = 0; stage < maps; stage++)
        submit_stage(t, job, stage, ENGINE_NONE);
    submit_stage(t, job, maps, (uint32_t)draw(t, maps));
    submit_stage(t, job, maps + 1, (uint32_t)draw(t, maps + 1));
    BOTH(t, script_job_end(s, job));
}

static void attempt_ends(struct twins *t)
{
    static const enum event_kind kinds[] = {EVENT_ATTEMPT_DONE,   EVENT_ATTEMPT_DONE,
                                            EVENT_ATTEMPT_DONE,   EVENT_ATTEMPT_DONE,
                                            EVENT_ATTEMPT_FAILED, EVENT_ATTEMPT_LOST};
    const enum event_kind kind = kinds[draw(t, sizeof(kinds) / sizeof(kinds[0]))];
    const uint32_t n = t->n_running < RUNNING_MOST ? t->n_running : RUNNING_MOST;
    if (!n)
        return;
    const uint64_t attempt = t->running[draw(t, n)];
    BOTH(t, script_attempt(s, kind, attempt, 0));
}

static uint64_t recent(struct twins *t)
{
    uint64_t back = draw(t, LATELY);
    return back < t->jobs ? t->jobs - back : 1;
}

static void output_lost(struct twins *t)
{
    struct task_view task;
    const uint64_t job = recent(t);
    const uint32_t index = (uint32_t)draw(t, TASKS_MOST);
    if (engine_task(t->s[0].engine, job, 0, index, &task) == 0 && task.state == TASK_DONE)
        BOTH(t, script_output_lost(s, job, index, task.attempt));
}

static void host_changes(struct twins *t)
{
    static const enum event_kind kinds[] = {EVENT_HOST_LOST, EVENT_HOST_BACK, EVENT_HOST_BACK,
                                            EVENT_HOST_SILENT};
    const enum event_kind kind = kinds[draw(t, 4)];
    const uint32_t host = (uint32_t)draw(t, HOSTS);
    const bool drains = !draw(t, 3), undo = draw(t, 2);
    if (drains)
        BOTH(t, drain(s, host, undo));
    else
        BOTH(t, script_host_event(s, kind, host));
}

static void order_something(struct twins *t)
{
    static const enum event_kind kinds[] = {EVENT_JOB_HOLD, EVENT_JOB_HOLD, EVENT_JOB_RELEASE,
                                            EVENT_JOB_RELEASE, EVENT_JOB_REQUEUE};
    const enum event_kind kind = kinds[draw(t, sizeof(kinds) / sizeof(kinds[0]))];
    const uint64_t job = recent(t);
    BOTH(t, order(s, kind, job));
}

static void set_something(struct twins *t)
{
    static const char *const places[] = {"nats", "greedy", "delay", "random", "joint", "flow"};
    const char *place = places[draw(t, 6)];
    const uint64_t shut = draw(t, 2) ? recent(t) : 0;
    if (draw(t, 3))
        BOTH(t, script_parameter(s, "shut_job", (int64_t)shut));
    else
        BOTH(t, script_policy(s, "place", place));
}

static void pass_time(struct twins *t)
{
    const int64_t due_ns = engine_deadline_ns(t->s[0].engine);
    int64_t now_ns = t->s[0].now_ns + (int64_t)draw(t, 10 * SECOND);
    if (due_ns != INT64_MAX && due_ns > t->s[0].now_ns && draw(t, 2))
        now_ns = due_ns;
    BOTH(t, s->now_ns = now_ns; script_events(s, NULL, 0));
}

static void do_something(struct twins *t)
{
    const uint64_t what = draw(t, 100);
    if (what < 45)
        attempt_ends(t);
    else if (what < 50)
        submit(t);
    else if (what < 65)
        order_something(t);
    else if (what < 75)
        output_lost(t);
    else if (what < 82)
        host_changes(t);
    else if (what < 88)
        set_something(t);
    else if (what < 90)
        BOTH(t, script_cancel(s, t->jobs));
    else
        pass_time(t);
}

static void a_twin_from_dumps_decides_the_same(void **state)
{
    enum { ROUNDS = DRAWS(40, 4), STEPS = 200 };
    uint64_t stream = test_seed();
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        static struct twins t;
        struct engine_config config = script_config();
        t = (struct twins){.stream = test_random(&stream)};
        config.seed = test_random(&stream);
        /* WHY: a dump does not tell a failure that proves nothing any more from one that never
         * did. */
        config.hosts_count_once = false;
        config.step_ready_max = round % 3 ? 3 : 0;
        config.step_tasks_max = round % 2 ? 2 : 0;
        for (int twin = 0; twin < 2; twin++) {
            script_begin(&t.s[twin], &config);
            t.s[twin].reload = twin;
            t.s[twin].now_ns = SECOND;
        }
        for (uint32_t host = 0; host < HOSTS; host++)
            BOTH(&t, script_host(s, host, SLOTS));
        submit(&t);
        for (int step = 0; step < STEPS; step++)
            do_something(&t);
        for (int twin = 0; twin < 2; twin++)
            script_end(&t.s[twin]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closing_costs_the_same_for_ten_times_as_many),
        cmocka_unit_test(closing_while_it_opens_counts_only_what_opened),
        cmocka_unit_test(what_comes_back_finds_its_place_among_many),
        cmocka_unit_test(retries_go_in_the_order_of_their_failures),
        cmocka_unit_test(retries_of_a_held_job_wait_no_more),
        cmocka_unit_test(a_twin_from_dumps_decides_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
