/* Room of applications: who may run where, what is left for others, what moves when it comes and
 * goes, bounds, and what a word on it costs. After each step the engine is replaced by its loaded
 * dump. */
#include "tests/model/script.h"
#include "tests/unit/draws.h"

#define APPLICATION(n) ((UINT64_C(1) << 30) + (n))
#define JOB(a, n)      (APPLICATION(a) << ENGINE_APPLICATION_SHIFT | (n))
#define NUMBER(n)      ((UINT64_C(1) << 63) + (n))

static void begin(struct script *s, uint32_t hosts, uint64_t slots)
{
    struct engine_config config = script_config();
    config.framework_jobs_max = 1000;
    config.units_per_host_max = 2;
    strcpy(config.place, "greedy");
    script_begin(s, &config);
    s->reload = true;
    for (uint32_t h = 0; h < hosts; h++)
        script_host(s, h, slots);
}

static void room(struct script *s, uint64_t application, uint32_t host, int64_t slots)
{
    struct event e = {.kind = EVENT_FRAMEWORK_ROOM};
    e.framework_room.application = application;
    e.framework_room.tells = 1;
    e.framework_room.host = host;
    e.framework_room.resources.amount[RES_SLOTS] = slots;
    script_event(s, e);
}

static void tells_none(struct script *s, uint64_t application)
{
    struct event e = {.kind = EVENT_FRAMEWORK_ROOM};
    e.framework_room.application = application;
    e.framework_room.host = ENGINE_NONE;
    script_event(s, e);
}

/* So many allows or starts of the last step are on this host. */
static size_t placed(const struct script *s, uint32_t index)
{
    size_t n = 0;
    for (size_t i = 0; i < s->decisions.n; i++) {
        const struct decision *d = &s->decisions.at[i];
        n += (d->kind == DECISION_ALLOW && d->allow.host == index) ||
             (d->kind == DECISION_START && d->start.host == index);
    }
    return n;
}

static void submit(struct script *s, uint64_t number, uint32_t maps)
{
    const struct script_job job = {.number = number, .maps = maps, .map_ns = 1};
    script_submit(s, &job);
}

static void test_each_in_its_own(void **state)
{
    (void)state;
    struct script s;
    begin(&s, 3, 4);
    room(&s, APPLICATION(1), 0, 1);
    room(&s, APPLICATION(1), 1, 2);
    room(&s, APPLICATION(2), 1, 1);
    script_offer(&s, JOB(1, 1), 9);
    assert_true(placed(&s, 0) == 1 && placed(&s, 1) == 2 && placed(&s, 2) == 0);
    script_offer(&s, JOB(2, 1), 9);
    assert_true(placed(&s, 0) == 0 && placed(&s, 1) == 1 && placed(&s, 2) == 0);
    submit(&s, 1, 20); /* what they leave */
    assert_true(placed(&s, 0) == 3 && placed(&s, 1) == 1 && placed(&s, 2) == 4);
    for (uint32_t h = 0; h < 3; h++)
        assert_true(script_host_view(&s, h).free.amount[RES_SLOTS] == 0 &&
                    script_host_view(&s, h).total.amount[RES_SLOTS] == 4);
    assert_true(script_host_view(&s, 1).rooms == 2 && script_host_view(&s, 2).rooms == 0);
    room(&s, APPLICATION(1), 2, 2); /* the host is full, and yet it has this */
    assert_true(placed(&s, 2) == 2 && script_host_view(&s, 2).free.amount[RES_SLOTS] == -2);
    script_end(&s);
}

static void test_everybodys(void **state)
{
    (void)state;
    struct script s;
    begin(&s, 2, 2);
    room(&s, APPLICATION(1), 0, 1);
    room(&s, ENGINE_EVERYBODY, 1, 3);
    script_offer(&s, JOB(1, 1), 9);
    assert_true(placed(&s, 0) == 1 && placed(&s, 1) == 0);
    script_offer(&s, JOB(2, 1), 1);
    script_offer(&s, JOB(3, 1), 9);
    assert_true(placed(&s, 0) == 0 && placed(&s, 1) == 2);
    submit(&s, 1, 20);
    assert_true(placed(&s, 0) == 1 && placed(&s, 1) == 0);
    assert_true(script_host_view(&s, 1).total.amount[RES_SLOTS] == 3);
    script_end(&s);
}

static void test_a_host_of_rooms_only(void **state)
{
    (void)state;
    struct script s;
    struct engine_status status;
    begin(&s, 0, 0);
    script_host(&s, 0, 0);
    room(&s, APPLICATION(1), 0, 18); /* more than 16 */
    submit(&s, 1, 3);
    assert_int_equal(s.decisions.n ? placed(&s, 0) : 0, 0);
    script_offer(&s, JOB(1, 1), 30);
    assert_int_equal(placed(&s, 0), 18);
    engine_status(s.engine, &status);
    assert_true(status.slots == 18 && status.slots_free == 0);
    script_started(&s, NUMBER(1), JOB(1, 1), 0, 0, 0);
    script_host(&s, 0, 4); /* an agent comes: what runs runs on */
    assert_true(script_host_view(&s, 0).running == 18 &&
                script_host_view(&s, 0).total.amount[RES_SLOTS] == 18);
    room(&s, APPLICATION(1), 0, 1);
    assert_true(script_host_view(&s, 0).total.amount[RES_SLOTS] == 4 &&
                script_host_view(&s, 0).running == 1 + 0);
    script_end(&s);
}

static void test_room_goes(void **state)
{
    (void)state;
    struct script s;
    begin(&s, 1, 4);
    room(&s, APPLICATION(1), 0, 3);
    script_offer(&s, JOB(1, 1), 3);
    script_started(&s, NUMBER(1), JOB(1, 1), 0, 0, 0);
    room(&s, APPLICATION(1), 0, 2);
    assert_int_equal(script_count(&s, DECISION_ALLOW_END), 1);
    assert_int_equal(script_decision(&s, DECISION_ALLOW_END, 0)->reason, REASON_ROOM_GONE);
    assert_int_equal(script_host_view(&s, 0).free.amount[RES_SLOTS], 2);
    room(&s, APPLICATION(1), 0, 0); /* the task is not yet said to have ended: it is taken */
    assert_int_equal(script_count(&s, DECISION_ALLOW_END), 1);
    assert_true(script_host_view(&s, 0).rooms == 0 &&
                script_host_view(&s, 0).free.amount[RES_SLOTS] == 3);
    submit(&s, 1, 20);
    assert_int_equal(placed(&s, 0), 3);
    script_attempt(&s, EVENT_ATTEMPT_LOST, NUMBER(1), 0);
    assert_int_equal(placed(&s, 0), 1); /* ours: the application has room nowhere */
    struct engine_explanation why;
    assert_int_equal(engine_explain(s.engine, JOB(1, 1), 0, 0, &why), 0);
    assert_non_null(strstr(why.text, "its application has no executor"));
    tells_none(&s, APPLICATION(1));
    assert_int_equal(script_count(&s, DECISION_ALLOW), 0);
    script_end(&s);
}

/* What ran in the hosts' units moves into the room, and its waiting tasks into its queue. */
static void test_it_tells_late(void **state)
{
    (void)state;
    struct script s;
    begin(&s, 2, 2);
    script_offer(&s, JOB(1, 1), 8);
    assert_int_equal(script_count(&s, DECISION_ALLOW), 4);
    script_started(&s, NUMBER(1), JOB(1, 1), 0, 0, 0);
    script_started(&s, NUMBER(2), JOB(1, 1), 0, 1,
                   0); /* it was allowed elsewhere: one too many is here */
    assert_true(script_host_view(&s, 0).free.amount[RES_SLOTS] == -1);
    room(&s, APPLICATION(1), 0, 4);
    assert_true(placed(&s, 0) == 1 && placed(&s, 1) == 0);
    assert_true(script_host_view(&s, 0).total.amount[RES_SLOTS] == 4 &&
                script_host_view(&s, 0).free.amount[RES_SLOTS] == 0);
    tells_none(&s, APPLICATION(1));
    assert_int_equal(script_count(&s, DECISION_ALLOW_END), 2);
    assert_true(script_host_view(&s, 0).total.amount[RES_SLOTS] == 2 &&
                script_host_view(&s, 0).rooms == 0 &&
                script_host_view(&s, 0).free.amount[RES_SLOTS] == 0);
    script_attempt(&s, EVENT_ATTEMPT_DONE, NUMBER(1), 0);
    assert_int_equal(placed(&s, 0), 1);
    script_end(&s);
}

static void test_bounds(void **state)
{
    (void)state;
    struct script s;
    struct engine_counters before, after;
    struct engine_config config = script_config();
    config.framework_jobs_max = 10;
    config.hosts_max = 2;
    config.units_per_host_max = 2;
    config.shapes_max = 5;
    script_begin(&s, &config);
    script_host(&s, 0, 2);
    for (uint32_t a = 0; a < 5; a++)
        room(&s, APPLICATION(a), 0, INT64_MAX); /* the fifth is one too many on two hosts */
    assert_int_equal(script_host_view(&s, 0).rooms, 4);
    engine_counters(s.engine, &before);
    room(&s, APPLICATION(5), 0, 1); /* applications */
    room(&s, APPLICATION(1), 2, 1); /* hosts */
    room(&s, 0, 0, 1);
    tells_none(&s, APPLICATION(9));
    engine_counters(s.engine, &after);
    assert_int_equal(after.ignored_facts - before.ignored_facts, 4);
    room(&s, APPLICATION(1), 0, -5);
    assert_int_equal(script_host_view(&s, 0).rooms, 3);
    script_end(&s);
}

/* Objects looked at by words on the room of one application among some on one of `hosts`. */
static uint64_t cost(uint32_t hosts, uint32_t jobs)
{
    struct script s;
    struct engine_counters before, after;
    begin(&s, hosts, 1);
    s.reload = false;
    for (uint32_t h = 0; h < hosts; h++)
        for (uint32_t a = 1; a < 3; a++)
            room(&s, APPLICATION(a), h, 1);
    for (uint32_t j = 1; j <= jobs; j++)
        script_offer(&s, JOB(1, j), 3 * hosts);
    engine_counters(s.engine, &before);
    for (uint32_t i = 0; i < 8; i++) {
        room(&s, APPLICATION(1), i, 2);
        room(&s, APPLICATION(2), i, 0);
    }
    engine_counters(s.engine, &after);
    script_end(&s);
    return after.visits - before.visits;
}

static void test_a_word_costs_what_it_changes(void **state)
{
    (void)state;
    uint64_t small = cost(10, 10), hosts = cost(100, 10), jobs = cost(10, 100);
    print_message("%llu visits, 10 x hosts %llu, jobs %llu\n", (unsigned long long)small,
                  (unsigned long long)hosts, (unsigned long long)jobs);
    assert_true(2 * hosts <= 3 * small && 2 * jobs <= 3 * small);
}

enum { MOVERS = 3, MOVER_JOBS = 6, WORDS = 40 };

/* Steps until nothing is left to do at once; how many. */
static uint32_t settle(struct script *s)
{
    uint32_t steps = 0;
    for (; engine_deadline_ns(s->engine) <= s->now_ns; steps++)
        script_events(s, NULL, 0);
    return steps;
}

/* A stage whose tasks need two slots, so that none fits into a room of one. */
static void offer_two(struct script *s, uint64_t job)
{
    struct event event = script_framework_stage(job, 0, 2, false);
    event.framework_stage.phase = FRAMEWORK_OFFERED;
    event.framework_stage.demand.amount[RES_SLOTS] = 2;
    script_event(s, event);
}

/* The allows that follow when there is room for two tasks in each room and in the units, in all by
 * application and host. `looks`: of a step. Returns how many steps it took to settle. */
static uint32_t moves(uint64_t seed, uint32_t looks, size_t ret_allows[MOVERS + 1][MOVERS + 2])
{
    struct script s;
    struct engine_config config = script_config();
    uint64_t stream = seed;
    bool tells[MOVERS + 1] = {false};
    config.framework_jobs_max = 100;
    config.units_per_host_max = 4;
    config.step_tasks_max = looks;
    strcpy(config.place, "greedy");
    script_begin(&s, &config);
    s.reload = true;
    for (uint32_t h = 0; h < MOVERS + 2; h++)
        script_host(&s, h, 0);
    for (uint32_t i = 0; i < WORDS; i++) {
        uint32_t a = (uint32_t)(test_random(&stream) % (MOVERS + 1));
        uint64_t application = a < MOVERS ? APPLICATION(a) : ENGINE_EVERYBODY;
        if (a < MOVERS && test_random(&stream) % 3 == 0) {
            offer_two(&s, JOB(a, test_random(&stream) % MOVER_JOBS));
            continue;
        }
        tells[a] = test_random(&stream) % 2;
        if (tells[a])
            room(&s, application, a, 1);
        else
            tells_none(&s, application);
    }
    uint32_t steps = settle(&s);
    for (uint32_t a = 0; a <= MOVERS; a++)
        if (tells[a])
            room(&s, a < MOVERS ? APPLICATION(a) : ENGINE_EVERYBODY, a, 4);
    script_host(&s, MOVERS + 1, 4);
    settle(&s);
    memset(ret_allows, 0, sizeof(size_t[MOVERS + 1][MOVERS + 2]));
    struct attempt_view allow = {0};
    while (engine_attempt_after(s.engine, allow.attempt, &allow) == 0)
        ret_allows[(allow.job >> ENGINE_APPLICATION_SHIFT) - APPLICATION(0)][allow.host]++;
    script_end(&s);
    return steps;
}

/* Jobs that move one a step end where those end that move at once, whatever was said meanwhile. */
static void test_jobs_move_in_portions(void **state)
{
    enum { RUNS = DRAWS(300, 60) };
    uint32_t waited = 0;
    (void)state;
    for (uint64_t run = 0; run < RUNS; run++) {
        size_t at_once[MOVERS + 1][MOVERS + 2], in_portions[MOVERS + 1][MOVERS + 2];
        uint64_t seed = test_seed() + run;
        moves(seed, 0, at_once);
        waited += moves(seed, 1, in_portions) > 1;
        if (memcmp(at_once, in_portions, sizeof(at_once)) != 0)
            fail_msg("they differ with seed %llu", (unsigned long long)seed);
    }
    print_message("%u of %d had to wait for further steps\n", waited, RUNS);
    assert_true(waited > RUNS / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_in_its_own),
        cmocka_unit_test(test_everybodys),
        cmocka_unit_test(test_a_host_of_rooms_only),
        cmocka_unit_test(test_room_goes),
        cmocka_unit_test(test_it_tells_late),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_a_word_costs_what_it_changes),
        cmocka_unit_test(test_jobs_move_in_portions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
