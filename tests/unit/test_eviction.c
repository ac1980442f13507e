/* Evictions: what a placement or the users' policy asks to be stopped runs again, and nobody
 * failed. The placement here places as greedy, and evicts what its parameters say. */
#include "tests/model/model_step.h"
#include "tests/model/script_dump.h"
#include "tests/unit/draws.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/numbered.h"
#include "controller/engine/books/eviction.h"
#include "controller/engine/books/job.h"
#include "controller/engine/commit/commit.h"
#include "controller/engine/mode/mode_rule.h"
#include "controller/engine/network/network.h"
#include "controller/engine/place/place.h"
#include "controller/engine/turn/turn.h"
#include "controller/engine/users/division.h"
#include "testbed/sim/cluster/recording_replay.h"
#include "tests/unit/run_cases.h"

#define REASON_PUSHED   ((enum reason)901)
#define REASON_RETURNED ((enum reason)902)

static const struct engine_parameter parameter_evict_job = {
    "evict_job", ENGINE_UNIT_COUNT, 0, 1000, 0, "Attempts of this job are evicted; 0: none."};
static const struct engine_parameter parameter_for_job = {
    "for_job", ENGINE_UNIT_COUNT, 0, 1000, 0, "For the first task of this one."};
static const struct engine_parameter parameter_evict_some = {
    "evict_some", ENGINE_UNIT_COUNT, 0, 1000, 0, "One in so many attempts a step; 0: none."};
static const struct engine_parameter parameter_return_job = {
    "return_job",
    ENGINE_UNIT_COUNT,
    0,
    1000,
    0,
    "The user gets back what this job uses; 0: nothing."};

static uint64_t value(const struct engine *engine, const struct engine_parameter *parameter)
{
    return (uint64_t)policy_value(engine, QUESTION_PLACE, parameter);
}

/* The first that may be evicted and that `is_one` takes. */
static struct attempt *first(struct engine *engine,
                             bool (*is_one)(const struct engine *, const struct attempt *))
{
    struct attempt *attempt = numbered_after(&engine->attempts, 0);
    while (attempt && !(eviction_may(attempt) && is_one(engine, attempt)))
        attempt = numbered_after(&engine->attempts, attempt->number);
    return attempt;
}

static bool is_pushed(const struct engine *engine, const struct attempt *attempt)
{
    uint64_t some = value(engine, &parameter_evict_some);
    return attempt->job_number == value(engine, &parameter_evict_job) ||
           (some && engine_mix((uint64_t)engine->now_ns, attempt->number, 0) % some == 0);
}

static bool evict(struct engine *engine, struct eviction *ret_eviction)
{
    struct attempt *attempt = first(engine, is_pushed);
    *ret_eviction =
        (struct eviction){attempt, job_find_task(engine, value(engine, &parameter_for_job), 0, 0),
                          REASON_PUSHED, 5, attempt ? (int64_t)attempt->job_number : 0};
    return attempt;
}

static bool pick(struct engine *engine, struct claim *ret_claim)
{
    return place_greedy.pick(engine, ret_claim);
}

static bool is_returned(const struct engine *engine, const struct attempt *attempt)
{
    return attempt->job_number ==
           (uint64_t)policy_value(engine, QUESTION_USERS, &parameter_return_job);
}

static bool take_back(struct engine *engine, struct eviction *ret_eviction)
{
    *ret_eviction = (struct eviction){first(engine, is_returned), NULL, REASON_RETURNED, 0, 0};
    return ret_eviction->attempt;
}

static unsigned n_returned;
static void returned(struct engine *engine, struct attempt *attempt)
{
    (void)engine;
    n_returned += attempt->task != NULL;
}

static const struct policy_reason push_reasons[] = {
    {DECISION_STOP, REASON_PUSHED, "pushed", "five", "its job", "job {right} is pushed ({left})."},
    PLACE_PAIR_REASONS,
    PLACE_GREEDY_REASON,
    {0}};
static const struct place_policy place_push = {
    .policy = {.name = "push",
               .reasons = push_reasons,
               .parameters = (const struct engine_parameter *const[]){&parameter_evict_job,
                                                                      &parameter_for_job,
                                                                      &parameter_evict_some, NULL}},
    .pick = pick,
    .evict = evict,
};
static const struct policy_reason back_reasons[] = {
    {DECISION_STOP, REASON_RETURNED, "returned", NULL, NULL, "its user uses too much."}, {0}};
static const struct users_policy users_back = {
    .policy = {.name = "back",
               .reasons = back_reasons,
               .parameters = (const struct engine_parameter *const[]){&parameter_return_job, NULL},
               .hears.attempt_returned = returned},
    .evict = take_back,
};

/* In place of controller/engine/policies.c. */
const struct turn_policy *const turn_policies[] = {&turn_fifo, &turn_sjf, &turn_fair, NULL};
const struct place_policy *const place_policies[] = {&place_push, &place_greedy, NULL};
const struct commit_policy *const commit_policies[] = {&commit_single, NULL};
const struct network_policy *const network_policies[] = {&network_cans, &network_none, NULL};
const struct mode_policy *const mode_policies[] = {&mode_first, &mode_all, &mode_rich,
                                                   &mode_starved, NULL};
const struct users_policy *const users_policies[] = {&users_none, &users_back, NULL};
const char *const policy_defaults[QUESTIONS] = {
    [QUESTION_TURN] = "fifo",    [QUESTION_PLACE] = "push", [QUESTION_COMMIT] = "single",
    [QUESTION_NETWORK] = "none", [QUESTION_MODE] = "first", [QUESTION_USERS] = "none",
};

static struct engine_config push_config(void)
{
    struct engine_config config = script_config();
    strcpy(config.place, "push");
    strcpy(config.turn, "fifo");
    strcpy(config.network, "none");
    return config;
}

/* Two hosts of two slots; job 1 has four maps, which run. */
static void begin(struct script *s, const struct engine_config *config)
{
    script_begin(s, config);
    s->reload = true;
    script_host(s, 0, 2);
    script_host(s, 1, 2);
    script_submit(s, &(struct script_job){.number = 1, .maps = 4, .map_ns = SECOND});
    assert_int_equal(script_count(s, DECISION_START), 4);
    s->now_ns += 3 * SECOND;
}

static void say(struct script *s, const char *word, int64_t value)
{
    struct event set = {.kind = EVENT_POLICY_PARAMETER};
    set.policy_parameter.word = word;
    set.policy_parameter.value = value;
    script_event(s, set);
}

/* Each attempt is stopped once, with the policy's reason and numbers; its task waits, and its slot
 * is free when its host has said so; nobody failed. */
static void test_what_is_evicted_runs_again(void **state)
{
    (void)state;
    struct script s;
    struct engine_config config = push_config();
    config.failures_max = 1;
    begin(&s, &config);
    uint64_t attempts[4];
    for (uint32_t t = 0; t < 4; t++)
        attempts[t] = script_attempt_of(&s, 1, 0, t);
    script_submit(&s, &(struct script_job){.number = 2, .maps = 1, .map_ns = SECOND});
    say(&s, "for_job", 2);
    say(&s, "evict_job", 1);
    assert_int_equal(script_count(&s, DECISION_STOP), 4);
    assert_int_equal(script_count(&s, DECISION_START), 0);
    const struct decision *stop = script_decision(&s, DECISION_STOP, 0);
    assert_reason(stop, "pushed");
    assert_true(stop->left == 5 && stop->right == 1 && stop->stop.requeue);
    assert_true(stop->stop.by_job == 2 && stop->stop.by_stage == 0 && stop->stop.by_task == 0);
    assert_int_equal(script_job_view(&s, 1).ready, 4);
    assert_int_equal(script_status(&s).slots_free, 0);
    script_events(&s, NULL, 0);
    assert_int_equal(script_count(&s, DECISION_STOP), 0); /* never twice */
    say(&s, "evict_job", 0);
    script_attempt(&s, EVENT_ATTEMPT_KILLED, attempts[0], 0);
    assert_int_equal(script_count(&s, DECISION_START), 1);
    script_attempt(&s, EVENT_ATTEMPT_FAILED, attempts[1], 0); /* as some commands end */
    assert_int_equal(script_count(&s, DECISION_START), 1);
    script_attempt(&s, EVENT_ATTEMPT_DONE, attempts[2], 0); /* too late: it runs again */
    assert_int_equal(script_task_state(&s, 1, 0, 2), TASK_RUNNING);
    script_host_event(&s, EVENT_HOST_LOST, script_attempt_view(&s, attempts[3]).host);
    assert_int_equal(script_task_view(&s, 1, 0, 1).failures, 0);
    assert_int_equal(script_task_view(&s, 1, 0, 3).losses, 0);
    assert_int_equal(script_job_view(&s, 1).state, JOB_ACTIVE);
    script_end(&s);
}

/* How long they had run is counted, and explained. */
static void test_lost_work_is_counted(void **state)
{
    (void)state;
    struct script s;
    struct engine_explanation e;
    struct engine_config config = push_config();
    begin(&s, &config);
    script_submit(&s, &(struct script_job){.number = 2, .maps = 1, .map_ns = SECOND});
    say(&s, "for_job", 2);
    say(&s, "evict_job", 1);
    s.now_ns += 2 * SECOND;
    say(&s, "evict_job", 0);
    struct job_view job = script_job_view(&s, 1);
    struct task_view task = script_task_view(&s, 1, 0, 2);
    assert_true(job.evictions == 4 && job.evicted_ns == 12 * SECOND);
    assert_true(task.evictions == 1 && task.evicted_ns == 3 * SECOND);
    assert_int_equal(engine_explain(s.engine, 1, 0, 2, &e), 0);
    assert_non_null(strstr(e.text, "It was evicted from h1 2.0 s ago: job 1 is pushed (5). Task "
                                   "2/0/0 was to have its slot. So far 1 of its attempts was; "
                                   "3.0 s of running are lost with that."));
    script_cancel(&s, 1);
    assert_true(script_job_view(&s, 1).evicted_ns == 12 * SECOND);
    script_end(&s);
}

/* A task's slot goes to another host in the same step: it moves. */
static void test_a_task_moves(void **state)
{
    (void)state;
    struct script s;
    struct engine_config config = push_config();
    begin(&s, &config);
    script_host(&s, 2, 4);
    say(&s, "evict_job", 1);
    assert_int_equal(script_count(&s, DECISION_STOP), 4);
    assert_int_equal(script_count(&s, DECISION_START), 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(script_decision(&s, DECISION_START, i)->start.host, 2);
    script_end(&s);
}

/* The users' policy is asked, too, and hears what comes back. */
static void test_a_user_gets_back(void **state)
{
    (void)state;
    struct script s;
    struct engine_config config = push_config();
    strcpy(config.users, "back");
    begin(&s, &config);
    n_returned = 0;
    say(&s, "return_job", 1);
    assert_int_equal(script_count(&s, DECISION_STOP), 4);
    assert_reason(script_decision(&s, DECISION_STOP, 0), "returned");
    assert_int_equal(n_returned, 4);
    assert_int_equal(script_decision(&s, DECISION_STOP, 0)->stop.by_job, 0);
    script_end(&s);
}

/* Not a framework's, nor one on a host that cannot be told, nor one that a running task reads while
 * it runs. */
static void test_some_may_not(void **state)
{
    (void)state;
    struct script s;
    struct engine_config config = push_config();
    config.framework_jobs_max = 4;
    script_begin(&s, &config);
    script_host(&s, 0, 2);
    script_host(&s, 1, 2);
    script_offer(&s, UINT64_C(1) << ENGINE_APPLICATION_SHIFT, 1);
    script_started(&s, 77, UINT64_C(1) << ENGINE_APPLICATION_SHIFT, 0, 0, 1);
    script_job_begin(&s, 2);
    script_stage(&s, 2, 0, 1, ENGINE_NONE, 0);
    script_tasks(&s, 2, 0, 1, 0, 0, NULL);
    script_stage(&s, 2, 1, 1, 0, EDGE_PIPELINED);
    script_tasks(&s, 2, 1, 1, 0, 0, NULL);
    script_bytes(&s, 2, 1, 0, 1, 1000);
    script_job_end(&s, 2);
    script_events(&s, NULL, 0);
    assert_int_equal(script_job_view(&s, 2).running, 2);
    uint64_t map = script_attempt_of(&s, 2, 0, 0), reduce = script_attempt_of(&s, 2, 1, 0);
    script_host_event(&s, EVENT_HOST_SILENT, script_attempt_view(&s, reduce).host);
    script_host_event(&s, EVENT_HOST_SILENT, script_attempt_view(&s, map).host);
    say(&s, "evict_some", 1);
    assert_int_equal(script_count(&s, DECISION_STOP), 0);
    script_host_event(&s, EVENT_HOST_BACK, script_attempt_view(&s, reduce).host);
    assert_int_equal(script_decision(&s, DECISION_STOP, 0)->stop.attempt, reduce);
    script_end(&s);
}

/* A step stops no more than it may start; the next one follows at once. */
static void test_a_step_stops_no_more_than_its_bound(void **state)
{
    (void)state;
    struct script s;
    struct engine_config config = push_config();
    begin(&s, &config);
    script_end(&s);
    config.step_starts_max = 3;
    script_begin(&s, &config);
    script_host(&s, 0, 8);
    script_submit(&s, &(struct script_job){.number = 1, .maps = 8, .map_ns = SECOND});
    while (engine_deadline_ns(s.engine) <= s.now_ns)
        script_events(&s, NULL, 0);
    say(&s, "evict_job", 1);
    assert_int_equal(script_count(&s, DECISION_STOP), 3);
    assert_true(engine_deadline_ns(s.engine) <= s.now_ns);
    script_events(&s, NULL, 0);
    assert_int_equal(script_count(&s, DECISION_STOP), 3);
    script_events(&s, NULL, 0);
    assert_int_equal(script_count(&s, DECISION_STOP), 2);
    script_end(&s);
}

/* Whatever comes between a stop and its host's word: the literal model, with a twin that is loaded
 * from dumps. */
static void check_model(uint64_t seed, uint64_t *evictions)
{
    static struct model m;
    struct engine *twin = NULL;
    struct decisions decisions = {0};
    struct engine_config config = push_config();
    config.hosts_max = M_HOSTS;
    config.epoch = 7;
    config.seed = seed;
    strcpy(config.turn, "sjf");
    strcpy(config.network, "cans");
    engine_config_say(&config, "evict_some", 40, NULL);
    model_begin(&m, &config, seed);
    m.mode_events = true;
    m.variants = seed % 2;
    for (int step = 0; step < 400; step++) {
        model_step(&m);
        if (twin) {
            assert_int_equal(engine_step(twin, m.script.now_ns, m.events, m.n_events, &decisions),
                             0);
            assert_true(engine_digest(twin) == engine_digest(m.script.engine));
        }
        if (step % 8 == 0) {
            engine_destroy(twin);
            twin = load_dump_of(m.script.engine);
        }
    }
    *evictions += m.evictions;
    engine_destroy(twin);
    decisions_done(&decisions);
    model_end(&m);
}

enum { SEEDS = DRAWS(40, 10) };

static void test_the_literal_model(void **state)
{
    (void)state;
    uint64_t evictions = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        check_model(seed, &evictions);
    print_message("%llu evictions\n", (unsigned long long)evictions);
    assert_true(evictions > 25 * SEEDS);
}

/* Two stages of maps and one behind each, by a barrier and pipelined. */
static struct workload_job some_job(uint64_t *stream, uint64_t id)
{
    char line[1024];
    snprintf(line, sizeof(line),
             "{\"id\":%llu,\"arrival_ms\":%llu,\"stages\":[{\"tasks\":4,\"compute_ms\":%llu},"
             "{\"tasks\":2,\"compute_ms\":100,\"parents\":[{\"stage\":0,\"sums\":[%llu,%llu]}]},"
             "{\"tasks\":1,\"compute_ms\":50,\"parents\":[{\"stage\":1,\"edge\":\"pipelined\","
             "\"sums\":[%llu]}]}]}",
             (unsigned long long)id, (unsigned long long)(id * 100),
             (unsigned long long)(50 + test_random(stream) % 400),
             (unsigned long long)(test_random(stream) % UNIT),
             (unsigned long long)(test_random(stream) % UNIT),
             (unsigned long long)(test_random(stream) % UNIT));
    return job_of(line);
}

/* The simulator carries evictions out: what was evicted runs again, all jobs end, and the recording
 * decides the same again. */
static void test_in_the_simulator(void **state)
{
    (void)state;
    enum { JOBS = 12 };
    struct workload_job jobs[JOBS];
    struct err err = {0};
    struct recording_replay_result again;
    double jct_s[JOBS];
    uint64_t stream = test_seed();
    struct run_config config = config_of("fair", 3, 2, 8 * UNIT);
    strcpy(config.engine.place, "push");
    assert_int_equal(engine_config_say(&config.engine, "evict_some", 20, NULL), 0);
    for (uint64_t i = 0; i < JOBS; i++)
        jobs[i] = some_job(&stream, i + 1);
    config.recording = tmpfile();
    const struct run_result result = simulate(&config, jobs, JOBS, jct_s);
    assert_int_equal(result.tasks, 7 * JOBS);
    assert_true(result.attempts > result.tasks + 10);
    for (int i = 0; i < JOBS; i++)
        assert_true(jct_s[i] > 0);
    rewind(config.recording);
    if (recording_replay(config.recording, NULL, &again, &err))
        fail_msg("%s", err.text);
    assert_int_equal(again.first_difference_line, 0);
    fclose(config.recording);
    for (int i = 0; i < JOBS; i++)
        workload_job_done(&jobs[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_evicted_runs_again),
        cmocka_unit_test(test_lost_work_is_counted),
        cmocka_unit_test(test_a_task_moves),
        cmocka_unit_test(test_a_user_gets_back),
        cmocka_unit_test(test_some_may_not),
        cmocka_unit_test(test_a_step_stops_no_more_than_its_bound),
        cmocka_unit_test(test_the_literal_model),
        cmocka_unit_test(test_in_the_simulator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
