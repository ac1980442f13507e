/* Hosts that fail what runs on them, and where the next try of a task goes, under every placement
 * policy; each step also from a dump. */
#include "tests/model/script_dump.h"

enum { HOSTS = 5, SLOTS = 2 };

static void begin(struct script *s, const char *place, uint32_t hosts, uint64_t slots)
{
    struct engine_config config = script_config();
    snprintf(config.place, sizeof(config.place), "%s", place);
    script_begin(s, &config);
    s->reload = true;
    for (uint32_t h = 0; h < hosts; h++)
        script_host(s, h, slots);
}

static void submit(struct script *s, uint64_t job, uint32_t maps)
{
    struct script_job j = {job, maps, 0, 0, NULL, 0, SECOND, 0, NULL, 0};
    script_submit(s, &j);
}

/* Maps, then reduce tasks that read from all of them. */
static void submit_shuffle(struct script *s, uint64_t job, uint32_t maps)
{
    static const uint64_t sums[] = {3000000, 1000000, 1000000, 500000, 2000000, 7};
    struct script_job j = {job, maps, 0, 6, NULL, 0, SECOND, SECOND, sums, -1};
    script_submit(s, &j);
}

static void wait_s(struct script *s, int64_t seconds)
{
    s->now_ns += seconds * SECOND;
    script_events(s, NULL, 0);
}

static struct attempt_view first_attempt(const struct script *s)
{
    struct attempt_view view = {0};
    assert_int_equal(engine_attempt_after(s->engine, 0, &view), 0);
    return view;
}

/* The next attempt in order of numbers ends: it fails on hosts of the mask. */
static uint32_t end_one(struct script *s, uint32_t failing)
{
    struct attempt_view a = first_attempt(s);
    bool fails = failing >> a.host % 32 & 1;
    script_attempt(s, fails ? EVENT_ATTEMPT_FAILED : EVENT_ATTEMPT_DONE, a.attempt, 0);
    return a.host;
}

/* Failing hosts fail at once, what runs elsewhere ends when nothing else does. */
static bool end_next(struct script *s, uint32_t failing)
{
    struct attempt_view a = {0}, other = {0};
    while (engine_attempt_after(s->engine, a.attempt, &a) == 0) {
        if (failing >> a.host % 32 & 1) {
            script_attempt(s, EVENT_ATTEMPT_FAILED, a.attempt, 0);
            return true;
        }
        other = other.attempt ? other : a;
    }
    if (other.attempt)
        script_attempt(s, EVENT_ATTEMPT_DONE, other.attempt, 0);
    return other.attempt;
}

static void run(struct script *s, uint64_t job, uint32_t failing)
{
    for (int i = 0; i < 2000 && script_job_view(s, job).state == JOB_ACTIVE; i++)
        if (!end_next(s, failing))
            wait_s(s, 1);
}

static void each_policy(void (*test)(const char *place))
{
    for (unsigned i = 0; engine_policy_name("place", i); i++)
        test(engine_policy_name("place", i));
}

/* One host, or more than half of all, fails everything: jobs go on as long as some host works. */
static void bad_hosts(const char *place, uint32_t failing)
{
    struct script s;
    begin(&s, place, HOSTS, SLOTS);
    for (uint64_t job = 1; job <= 6; job++) {
        (job % 2 ? submit : submit_shuffle)(&s, job, 20);
        run(&s, job, failing);
        if (script_job_view(&s, job).state != JOB_DONE)
            fail_msg("%s, hosts %#x fail: job %d is %s", place, failing, (int)job,
                     job_state_name(script_job_view(&s, job).state));
    }
    for (uint32_t h = 0; h < HOSTS; h++)
        assert_int_equal(script_host_view(&s, h).failing, failing >> h & 1);
    script_end(&s);
}

static void one_bad_host(const char *place)
{
    bad_hosts(place, 1);
}

static void many_bad_hosts(const char *place)
{
    bad_hosts(place, 0x1d);
}

static void test_jobs_run_beside_a_host_that_fails_everything(void **state)
{
    (void)state;
    each_policy(one_bad_host);
}

static void test_jobs_run_where_one_host_of_five_works(void **state)
{
    (void)state;
    each_policy(many_bad_hosts);
}

/* A command that is missing everywhere: the job fails after as many tries as ever, and the hosts
 * are not blamed, also beside jobs that work. */
static void wrong_job(const char *place)
{
    struct script s;
    begin(&s, place, HOSTS, SLOTS);
    for (uint64_t job = 1; job <= 6; job += 2) {
        submit(&s, job, 8);
        run(&s, job, 0x1f);
        assert_int_equal(script_job_view(&s, job).state, JOB_FAILED);
        assert_int_equal(script_status(&s).hosts_suspect, 0);
        submit(&s, job + 1, 8);
        run(&s, job + 1, 0);
        assert_int_equal(script_job_view(&s, job + 1).state, JOB_DONE);
        assert_int_equal(script_status(&s).hosts_suspect, 0);
    }
    script_end(&s);
}

static void test_a_failing_job_is_no_hosts_fault(void **state)
{
    (void)state;
    each_policy(wrong_job);
}

/* Half of a job's tasks fail wherever they run; the others are slow. */
static void test_tasks_that_always_fail_are_no_hosts_fault(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "greedy", 3, 4);
    for (uint64_t job = 1; job <= 4; job++) {
        submit(&s, job, 30);
        for (int i = 0; i < 500 && script_job_view(&s, job).state == JOB_ACTIVE; i++) {
            struct attempt_view a = first_attempt(&s);
            script_attempt(&s, a.task % 2 ? EVENT_ATTEMPT_FAILED : EVENT_ATTEMPT_DONE, a.attempt,
                           0);
            assert_int_equal(script_status(&s).hosts_suspect, 0);
        }
        assert_int_equal(script_job_view(&s, job).state, JOB_FAILED);
    }
    script_end(&s);
}

/* Host 0 fails three tasks that are done on host 1. */
static void make_suspect(struct script *s)
{
    for (uint64_t job = 1; job <= 9 && !script_host_view(s, 0).suspect; job++) {
        submit(s, job, 2);
        run(s, job, 1);
    }
    assert_true(script_host_view(s, 0).suspect && script_host_view(s, 0).failing);
    assert_int_equal(script_status(s).hosts_suspect, 1);
}

static void test_a_suspect_host_gets_probes_after_growing_waits(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "joint", 2, 2);
    make_suspect(&s);
    int64_t wait_s_ = 5;
    submit(&s, 20, 40);
    assert_int_equal(script_host_view(&s, 0).running, 0);
    for (int probes = 0; probes < 9; probes++, wait_s_ = wait_s_ < 320 ? 2 * wait_s_ : 320) {
        wait_s(&s, wait_s_ - 1);
        assert_int_equal(script_host_view(&s, 0).running, 0);
        wait_s(&s, 1);
        assert_int_equal(script_host_view(&s, 0).running, 1);
        while (end_one(&s, 1) != 0)
            ;
        assert_true(script_host_view(&s, 0).suspect);
        assert_int_equal(script_job_view(&s, 20).state, JOB_ACTIVE);
    }
    wait_s(&s, 320);
    assert_int_equal(script_host_view(&s, 0).running, 1);
    while (end_one(&s, 0) != 0)
        ;
    assert_false(script_host_view(&s, 0).suspect);
    assert_int_equal(script_host_view(&s, 0).failed_in_a_row, 0);
    assert_true(script_host_view(&s, 0).running > 0);
    run(&s, 20, 0);
    assert_int_equal(script_job_view(&s, 20).state, JOB_DONE);
    script_end(&s);
}

/* A probe is wanted once, and what is due without a task is no wake-up. */
static void test_a_probe_that_is_due_waits_for_a_task(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "nats", 2, 2);
    make_suspect(&s);
    wait_s(&s, 100);
    assert_true(engine_deadline_ns(s.engine) > s.now_ns);
    submit(&s, 20, 1);
    assert_int_equal(first_attempt(&s).host, 0);
    assert_int_equal(script_decision(&s, DECISION_START, 0)->reason, REASON_PROBE);
    submit(&s, 21, 1);
    assert_int_equal(script_host_view(&s, 0).running, 1);
    script_end(&s);
}

/* The host that works is lost; the other one, which does not, gets the task: it fails with its
 * reason, and at once. */
static void test_without_a_host_that_works_jobs_fail(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "joint", 2, 2);
    make_suspect(&s);
    script_host_event(&s, EVENT_HOST_LOST, 1);
    int64_t before_ns = s.now_ns;
    submit(&s, 20, 3);
    run(&s, 20, 1);
    assert_int_equal(script_job_view(&s, 20).state, JOB_FAILED);
    assert_true(s.now_ns - before_ns <= SECOND);
    script_end(&s);
}

static void test_all_hosts_fail(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "joint", 3, 2);
    submit(&s, 1, 3);
    run(&s, 1, 7);
    assert_int_equal(script_job_view(&s, 1).state, JOB_FAILED);
    assert_int_equal(script_status(&s).hosts_suspect, 0);
    script_end(&s);
}

static void boot(struct script *s, uint32_t host, uint64_t generation)
{
    static const uint64_t vector[ENGINE_RESOURCES] = {[RES_SLOTS] = SLOTS};
    struct event join = script_join(host, SLOTS, vector);
    join.host_join.generation = generation;
    script_event(s, join);
}

/* A reboot may have mended it: that is to be seen, and soon. */
static void test_another_generation_gets_a_probe(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "joint", 2, SLOTS);
    make_suspect(&s);
    submit(&s, 20, 40);
    for (int64_t wait = 5; wait <= 40; wait *= 2) {
        wait_s(&s, wait);
        while (end_one(&s, 1) != 0)
            ;
    }
    boot(&s, 0, 77);
    assert_true(script_host_view(&s, 0).suspect);
    assert_int_equal(script_host_view(&s, 0).running, 0);
    wait_s(&s, 5);
    assert_int_equal(script_host_view(&s, 0).running, 1);
    while (end_one(&s, 0) != 0)
        ;
    assert_false(script_host_view(&s, 0).suspect);
    assert_int_equal(script_status(&s).hosts_suspect, 0);
    assert_int_equal(script_host_view(&s, 0).running, SLOTS);
    script_end(&s);
}

/* As in logs of before. */
static void test_another_generation_is_trusted_without_the_rule(void **state)
{
    (void)state;
    struct script s;
    struct engine_config config = script_config();
    config.rules = RULE_BOOTS_COUNT - 1;
    script_begin(&s, &config);
    s.reload = true;
    script_host(&s, 0, SLOTS);
    script_host(&s, 1, SLOTS);
    make_suspect(&s);
    boot(&s, 0, 77);
    assert_int_equal(script_status(&s).hosts_suspect, 0);
    script_end(&s);
}

/* It says another boot each second, and so has what it was given lost: first tries are not for
 * it. */
static void test_who_boots_again_and_again_gets_probes(void **state)
{
    (void)state;
    struct script s;
    uint32_t given = 0;
    begin(&s, "greedy", 2, SLOTS);
    submit(&s, 1, 300);
    for (uint64_t second = 1; second <= 60; second++) {
        given += script_host_view(&s, 0).running;
        boot(&s, 0, 1 + second);
        for (int i = 0; i < SLOTS; i++) {
            struct attempt_view a = first_attempt(&s);
            while (a.host == 0)
                assert_int_equal(engine_attempt_after(s.engine, a.attempt, &a), 0);
            script_attempt(&s, EVENT_ATTEMPT_DONE, a.attempt, 0);
        }
        wait_s(&s, 1);
    }
    assert_true(script_host_view(&s, 0).suspect && script_host_view(&s, 0).failing);
    assert_in_range(given, 3 * SLOTS, 3 * SLOTS + 60 / 5);
    script_end(&s);
}

/* A reboot or two with what ran there are no fault. */
static void test_who_boots_twice_is_no_suspect(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "greedy", 2, SLOTS);
    submit(&s, 1, 40);
    for (uint64_t times = 1; times <= 9; times++) {
        boot(&s, 0, 1 + times);
        assert_int_equal(script_status(&s).hosts_suspect, 0);
        assert_int_equal(script_host_view(&s, 0).running, SLOTS);
        while (times % 2 == 0 && end_one(&s, 0) != 0)
            ;
    }
    script_end(&s);
}

/* What it is given it says it has killed, or lost: no failure of the task, and of that host. */
static void ends_unasked(enum event_kind kind)
{
    struct script s;
    uint32_t ended = 0;
    begin(&s, "greedy", 2, SLOTS);
    submit(&s, 1, 40);
    for (int i = 0; i < 500 && script_job_view(&s, 1).state == JOB_ACTIVE; i++) {
        struct attempt_view a = {0}, other = {0};
        while (engine_attempt_after(s.engine, a.attempt, &a) == 0 && a.host)
            other = a;
        ended += !a.host;
        script_attempt(&s, a.host ? EVENT_ATTEMPT_DONE : kind, a.host ? other.attempt : a.attempt,
                       0);
    }
    assert_int_equal(script_job_view(&s, 1).state, JOB_DONE);
    assert_true(script_host_view(&s, 0).suspect && script_host_view(&s, 0).failing);
    assert_in_range(ended, 3, 2 * 40);
    script_end(&s);
}

static void test_who_ends_unasked_is_suspect(void **state)
{
    (void)state;
    ends_unasked(EVENT_ATTEMPT_KILLED);
    ends_unasked(EVENT_ATTEMPT_LOST);
}

/* Its number is for another host then. */
static void test_a_forgotten_host_leaves_no_suspicion(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "joint", 2, SLOTS);
    make_suspect(&s);
    script_host_event(&s, EVENT_HOST_SILENT, 0);
    script_host_event(&s, EVENT_HOST_FORGET, 0);
    boot(&s, 0, 77);
    assert_int_equal(script_status(&s).hosts_suspect, 0);
    script_end(&s);
}

/* Its next try waits for the other host, which is full, but not longer than hold_max. */
static void test_another_try_does_not_wait_for_ever(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "greedy", 2, 1);
    submit(&s, 1, 2);
    struct attempt_view a = first_attempt(&s);
    script_attempt(&s, EVENT_ATTEMPT_FAILED, a.attempt, 0);
    assert_int_equal(script_count(&s, DECISION_START), 0);
    assert_int_equal(script_task_state(&s, 1, 0, a.task), TASK_READY);
    assert_int_equal(script_job_view(&s, 1).ready, 1);
    struct engine_explanation e;
    assert_int_equal(engine_explain(s.engine, 1, 0, a.task, &e), 0);
    assert_non_null(strstr(e.text, a.host ? "Failed on h1; waits" : "Failed on h0; waits"));
    assert_int_equal(engine_deadline_ns(s.engine), s.now_ns + 30 * SECOND);
    wait_s(&s, 30);
    assert_int_equal(script_count(&s, DECISION_START), 1);
    assert_int_equal(script_decision(&s, DECISION_START, 0)->start.host, a.host);
    script_end(&s);
}

/* Host 1 refuses whatever it is given, and the other one is full: what it says of the task is said
 * once, and the next room there is the task's. */
static void test_a_host_that_refuses_fails_no_job_alone(void **state)
{
    (void)state;
    struct script s;
    begin(&s, "greedy", 1, 1);
    submit(&s, 2, 1);
    struct attempt_view other = first_attempt(&s), a;
    script_host(&s, 1, 1);
    submit(&s, 1, 1);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(engine_attempt_after(s.engine, other.attempt, &a), 0);
        assert_int_equal(a.host, 1);
        script_attempt(&s, EVENT_ATTEMPT_REFUSED, a.attempt, 0);
        assert_int_equal(script_count(&s, DECISION_START), 0);
        assert_int_equal(script_job_view(&s, 1).state, JOB_ACTIVE);
        wait_s(&s, 30);
    }
    assert_int_equal(engine_attempt_after(s.engine, other.attempt, &a), 0);
    script_attempt(&s, EVENT_ATTEMPT_REFUSED, a.attempt, 0);
    script_attempt(&s, EVENT_ATTEMPT_DONE, other.attempt, 0);
    assert_int_equal(script_decision(&s, DECISION_START, 0)->start.host, 0);
    script_attempt(&s, EVENT_ATTEMPT_DONE, first_attempt(&s).attempt, 0);
    assert_int_equal(script_job_view(&s, 1).state, JOB_DONE);
    script_end(&s);
}

/* A recording of before: the host that fails everything gets every try. */
static void test_off_as_before(void **state)
{
    (void)state;
    struct script s;
    struct engine_config config = script_config();
    strcpy(config.place, "greedy");
    config.probe_ns = 0;
    script_begin(&s, &config);
    s.reload = true;
    script_host(&s, 0, 1);
    script_host(&s, 1, 1);
    submit(&s, 1, 2);
    run(&s, 1, 1);
    assert_int_equal(script_job_view(&s, 1).state, JOB_FAILED);
    assert_int_equal(script_host_view(&s, 0).failed_in_a_row, 0);
    script_end(&s);
}

/* Looks per decision with every second host of n failing, and jobs that fail besides. */
static uint64_t looks_of(uint32_t hosts)
{
    struct script s;
    struct engine_counters before, after;
    begin(&s, "joint", hosts, 1);
    s.reload = false;
    for (uint64_t job = 1; job <= 8; job++) {
        submit(&s, job, hosts);
        engine_counters(s.engine, &before);
        for (uint32_t i = 0; i < hosts; i++)
            end_one(&s, 0x55555555);
        engine_counters(s.engine, &after);
    }
    script_end(&s);
    return (after.visits - before.visits) / hosts;
}

static void test_looks_do_not_grow_with_hosts(void **state)
{
    (void)state;
    uint64_t few = looks_of(32), many = looks_of(320);
    if (many > few + few / 2 + 16)
        fail_msg("%d looks with 32 hosts, %d with 320", (int)few, (int)many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs_run_beside_a_host_that_fails_everything),
        cmocka_unit_test(test_jobs_run_where_one_host_of_five_works),
        cmocka_unit_test(test_a_failing_job_is_no_hosts_fault),
        cmocka_unit_test(test_tasks_that_always_fail_are_no_hosts_fault),
        cmocka_unit_test(test_a_suspect_host_gets_probes_after_growing_waits),
        cmocka_unit_test(test_a_probe_that_is_due_waits_for_a_task),
        cmocka_unit_test(test_without_a_host_that_works_jobs_fail),
        cmocka_unit_test(test_all_hosts_fail),
        cmocka_unit_test(test_another_generation_gets_a_probe),
        cmocka_unit_test(test_another_generation_is_trusted_without_the_rule),
        cmocka_unit_test(test_who_boots_again_and_again_gets_probes),
        cmocka_unit_test(test_who_boots_twice_is_no_suspect),
        cmocka_unit_test(test_who_ends_unasked_is_suspect),
        cmocka_unit_test(test_a_forgotten_host_leaves_no_suspicion),
        cmocka_unit_test(test_another_try_does_not_wait_for_ever),
        cmocka_unit_test(test_a_host_that_refuses_fails_no_job_alone),
        cmocka_unit_test(test_off_as_before),
        cmocka_unit_test(test_looks_do_not_grow_with_hosts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
