/* Traffic that is not ours: what the engine takes for it, what joint makes of it, and how the
 * simulator has it. */
#include "tests/model/script.h"
#include "tests/unit/run_cases.h"

#include <math.h>

static void report(struct script *s, uint32_t host, uint32_t permille)
{
    struct event event = {.kind = EVENT_HOST_LOAD};
    event.host_load.host = host;
    event.host_load.resource = LOAD_DOWNLINK;
    event.host_load.permille = permille;
    script_event(s, event);
}

/* Two hosts with a slot each, a third with the maps' outputs; a job with one reduce task. */
static void begin(struct script *s)
{
    struct engine_config config = script_config();
    strcpy(config.turn, "srpt");
    strcpy(config.place, "joint");
    strcpy(config.network, "rank");
    script_begin(s, &config);
    s->reload = true;
    for (uint32_t h = 0; h < 3; h++)
        script_host(s, h, 1);
}

static void drain(struct script *s, uint32_t host, bool undo)
{
    struct event event = {.kind = EVENT_HOST_DRAIN};
    event.host_drain.host = host;
    event.host_drain.undo = undo;
    script_event(s, event);
}

/* The host that gets the job's reduce task; its map ran on host 2, which takes no more then. */
static uint32_t place_reduce(struct script *s, uint64_t job)
{
    static const uint64_t sums[] = {50000000};
    static const uint32_t there[] = {2};
    script_submit(s, &(struct script_job){.number = job,
                                          .maps = 1,
                                          .per = 1,
                                          .replicas = there,
                                          .map_input = 1,
                                          .reduces = 1,
                                          .sums = sums});
    drain(s, 2, false);
    script_attempt(s, EVENT_ATTEMPT_DONE, script_attempt_of(s, job, 0, 0), 0);
    const struct decision *start = script_start(s, job, 1, 0);
    assert_non_null(start);
    uint32_t host = start->start.host;
    drain(s, 2, true);
    return host;
}

static void end_job(struct script *s, uint64_t job)
{
    script_attempt(s, EVENT_ATTEMPT_DONE, script_attempt_of(s, job, 1, 0), 0);
}

static void test_joint_prefers_links_without_others(void **state)
{
    (void)state;
    struct script s;
    begin(&s);
    assert_int_equal(place_reduce(&s, 1), 0);
    end_job(&s, 1);
    report(&s, 0, 500);
    report(&s, 0, 500);
    assert_int_equal(place_reduce(&s, 3), 1);
    end_job(&s, 3);
    report(&s, 1, 0);
    report(&s, 1, 760);
    assert_int_equal(place_reduce(&s, 5), 0);
    end_job(&s, 5);
    report(&s, 1, 240); /* a little is everywhere */
    report(&s, 0, 0);
    assert_int_equal(place_reduce(&s, 7), 0);
    script_end(&s);
}

/* Neither while a task of ours receives nor in the first report after it. */
static void test_our_own_traffic_is_not_foreign(void **state)
{
    (void)state;
    struct script s;
    begin(&s);
    assert_int_equal(place_reduce(&s, 1), 0);
    report(&s, 0, 1000);
    report(&s, 0, 1000);
    end_job(&s, 1);
    report(&s, 0, 1000);
    assert_int_equal(place_reduce(&s, 3), 0);
    end_job(&s, 3);
    report(&s, 0, 1000);
    report(&s, 0, 1000);
    assert_int_equal(place_reduce(&s, 5), 1);
    script_end(&s);
}

/* A map on each of three hosts, then a reduce on one of them reads 2 · 10⁶ bytes of the others. */
static double jct_with(struct run_foreign foreign)
{
    double jct_s;
    struct workload_job job = job_of("{\"id\":1,\"stages\":[{\"tasks\":3,\"input_bytes\":1,"
                                     "\"replicas\":[[0],[1],[2]]},{\"tasks\":"
                                     "1,\"parents\":[{\"stage\":0,\"sums\":[3000000]}]}]}");
    struct run_config config = config_of("fair", 3, 1, 8 * UNIT);
    config.foreign = foreign;
    simulate(&config, &job, 1, &jct_s);
    workload_job_done(&job);
    return jct_s;
}

static void test_others_take_their_share_of_links(void **state)
{
    (void)state;
    assert_true(fabs(jct_with((struct run_foreign){0}) - 2) < 1e-6);
    assert_true(fabs(jct_with((struct run_foreign){.5, 1, true, true}) - 4) < 1e-6);
    assert_true(fabs(jct_with((struct run_foreign){.75, 1, false, true}) - 8) < 1e-6);
    assert_true(fabs(jct_with((struct run_foreign){.75, 1, true, false}) - 4) < 1e-6);
    /* Of one host of three: half of the bytes need its uplink, or all its downlink. */
    double part_s = jct_with((struct run_foreign){.75, 1 / 3., true, true});
    assert_true(fabs(part_s - 4) < 1e-6 || fabs(part_s - 8) < 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_joint_prefers_links_without_others),
        cmocka_unit_test(test_our_own_traffic_is_not_foreign),
        cmocka_unit_test(test_others_take_their_share_of_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
