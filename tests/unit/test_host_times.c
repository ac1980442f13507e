/* Since when hosts are as they are, by the events that pass. */
#include "tests/model/script.h"

#include "controller/host_times.h"

static struct host_times times;
static struct script s;

static void tell(struct event event)
{
    script_event(&s, event);
    const struct step step = {s.now_ns, &event, 1, &s.decisions};
    times.engine = s.engine;
    host_times_listener.stepped(&times, &step);
}

static void tell_host(enum event_kind kind, uint32_t host)
{
    struct event event = {.kind = kind};
    event.host.host = host;
    tell(event);
}

static void tell_join(uint32_t host)
{
    static const uint64_t vector[ENGINE_RESOURCES] = {4};
    tell(script_join(host, 4, vector));
}

static void tell_drain(uint32_t host, bool undo)
{
    struct event event = {.kind = EVENT_HOST_DRAIN, .request = 1};
    event.host_drain.host = host;
    event.host_drain.undo = undo;
    tell(event);
}

static void tell_load(uint32_t host, enum host_load_resource resource, uint32_t permille)
{
    struct event event = {.kind = EVENT_HOST_LOAD};
    event.host_load.host = host;
    event.host_load.resource = resource;
    event.host_load.permille = permille;
    tell(event);
}

static int begin(void **state)
{
    (void)state;
    const struct engine_config config = script_config();
    times = (struct host_times){0};
    script_begin(&s, &config);
    s.now_ns = SECOND;
    return 0;
}

static int end(void **state)
{
    (void)state;
    host_times_done(&times);
    assert_int_equal(host_time_of(&times, 0).came_ns, 0);
    script_end(&s);
    return 0;
}

static struct host_time of(uint32_t host)
{
    return host_time_of(&times, host);
}

static void assert_came(uint32_t host, enum event_kind how, int64_t seconds)
{
    assert_int_equal(of(host).came, how);
    assert_int_equal(of(host).came_ns, seconds * SECOND);
}

static void how_a_host_comes_and_goes(void **state)
{
    (void)state;
    assert_int_equal(of(0).came_ns, 0);
    tell_join(0);
    assert_came(0, EVENT_HOST_JOIN, 1);
    s.now_ns = 2 * SECOND;
    tell_host(EVENT_HOST_SILENT, 0);
    s.now_ns = 3 * SECOND;
    tell_host(EVENT_HOST_SILENT, 0);
    assert_came(0, EVENT_HOST_SILENT, 2);
    tell_host(EVENT_HOST_BACK, 0);
    assert_came(0, EVENT_HOST_BACK, 3);
    s.now_ns = 4 * SECOND;
    tell_host(EVENT_HOST_LOST, 0);
    assert_came(0, EVENT_HOST_LOST, 4);
    tell_host(EVENT_HOST_FORGET, 0);
    assert_int_equal(of(0).came_ns, 0);
    tell_join(2000);
    assert_came(2000, EVENT_HOST_JOIN, 4);
    assert_int_equal(of(1999).came_ns, 0);
    tell_host(EVENT_HOST_FORGET, 2000); /* rejected: it is up */
    assert_came(2000, EVENT_HOST_JOIN, 4);
}

static void since_when_one_is_drained(void **state)
{
    (void)state;
    tell_drain(0, false); /* rejected: nobody knows it */
    assert_int_equal(of(0).drained_ns, 0);
    tell_join(0);
    s.now_ns = 2 * SECOND;
    tell_drain(0, false);
    s.now_ns = 3 * SECOND;
    tell_drain(0, false);
    assert_int_equal(of(0).drained_ns, 2 * SECOND);
    assert_came(0, EVENT_HOST_JOIN, 1);
    tell_drain(0, true);
    assert_int_equal(of(0).drained_ns, 0);
    assert_came(0, EVENT_HOST_DRAIN, 3);
}

static void since_when_a_load_is_high(void **state)
{
    (void)state;
    tell_join(0);
    tell_load(0, LOAD_UPLINK, 900);
    assert_int_equal(of(0).load[LOAD_UPLINK].told_ns, SECOND);
    assert_int_equal(of(0).load[LOAD_UPLINK].since_ns, 0);
    assert_int_equal(of(0).load[LOAD_DOWNLINK].told_ns, 0);
    s.now_ns = 2 * SECOND;
    tell_load(0, LOAD_UPLINK, 901);
    assert_int_equal(times.congested_ns, 2 * SECOND);
    assert_true(times.congested);
    s.now_ns = 3 * SECOND;
    tell_load(0, LOAD_UPLINK, 800);
    assert_int_equal(of(0).load[LOAD_UPLINK].since_ns, 2 * SECOND);
    assert_int_equal(of(0).load[LOAD_UPLINK].told_ns, 3 * SECOND);
    s.now_ns = 4 * SECOND;
    tell_load(0, LOAD_UPLINK, 799);
    assert_int_equal(of(0).load[LOAD_UPLINK].since_ns, 0);
    assert_int_equal(times.congested_ns, 4 * SECOND);
    assert_false(times.congested);
    tell_load(0, LOAD_DISK, 1000);
    assert_int_equal(of(0).load[LOAD_DISK].since_ns, 0);
    tell_load(0, LOAD_DISK, 1001);
    assert_int_equal(of(0).load[LOAD_DISK].since_ns, 4 * SECOND);
    tell_load(0, LOAD_DISK, 1000);
    assert_int_equal(of(0).load[LOAD_DISK].since_ns, 0);
    tell_load(0, LOAD_UPLINK, 950);
    tell_host(EVENT_HOST_SILENT, 0);
    assert_int_equal(of(0).load[LOAD_UPLINK].told_ns, 0);
    tell_load(4095, LOAD_UPLINK, 1);
    tell_load(4096, LOAD_UPLINK, 1); /* beyond hosts_max */
    assert_int_equal(of(4095).load[LOAD_UPLINK].told_ns, 4 * SECOND);
    assert_int_equal(of(4096).load[LOAD_UPLINK].told_ns, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(how_a_host_comes_and_goes, begin, end),
        cmocka_unit_test_setup_teardown(since_when_one_is_drained, begin, end),
        cmocka_unit_test_setup_teardown(since_when_a_load_is_high, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
