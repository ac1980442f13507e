/* Properties of dataplane/macs.h and dataplane/switching.h beside a model that keeps everything:
 * who is behind which port, ageing, the bound, the flood limit, and ports that are shut. */
#include "tests/unit/test.h"

#include "dataplane/switching.h"

#include <stdbool.h>
#include <string.h>

#define NS_PER_S UINT64_C(1000000000)
#define NOW      (7 * NS_PER_S)
#define STATIONS 300
#define STEPS    200000
#define PORTS    5

static struct switching_settings preset(void)
{
    return (struct switching_settings){.ports = PORTS,
                                       .macs = 4096,
                                       .age_ns = 300 * NS_PER_S,
                                       .moves = 5,
                                       .shut_ns = 10 * NS_PER_S,
                                       .flood_pps = 1000};
}

static bool is_shut(uint32_t port, const struct switching *switching, uint64_t now_ns)
{
    return !(switching_open_ports(switching, now_ns) >> port & 1);
}

static void mac_of(uint32_t station, uint8_t mac[MACS_BYTES])
{
    const uint8_t bytes[] = {2,
                             0,
                             (uint8_t)(station >> 24),
                             (uint8_t)(station >> 16),
                             (uint8_t)(station >> 8),
                             (uint8_t)station};
    memcpy(mac, bytes, sizeof(bytes));
}

static int target(struct switching *switching, uint32_t from, uint32_t source, uint32_t to,
                  uint64_t now_ns)
{
    uint8_t frame[2 * MACS_BYTES];
    mac_of(to, frame);
    mac_of(source, frame + MACS_BYTES);
    return switching_target(switching, from, frame, sizeof(frame), now_ns);
}

/* A station that moves now and then, never so often that it flaps; silent ones are forgotten. */
static void test_frames_go_where_their_station_sent_last(void **state)
{
    (void)state;
    struct switching_settings settings = preset();
    struct switching switching;
    uint64_t stream = test_seed(), now_ns = NOW, seen_ns[STATIONS] = {0}, moved_ns[STATIONS] = {0};
    int at[STATIONS];
    settings.age_ns = 20 * NS_PER_S;
    settings.flood_pps = 1000000;
    assert_int_equal(switching_open(&switching, &settings, NULL), 0);
    for (uint32_t i = 0; i < STATIONS; i++)
        at[i] = (int)(test_random(&stream) % PORTS);
    for (int step = 0; step < STEPS; step++) {
        const uint32_t source = (uint32_t)(test_random(&stream) % STATIONS),
                       to = (uint32_t)(test_random(&stream) % STATIONS);
        now_ns += test_random(&stream) % (NS_PER_S / 2);
        if (test_random(&stream) % 100 == 0 && now_ns - moved_ns[source] > NS_PER_S) {
            at[source] = (int)(test_random(&stream) % PORTS);
            moved_ns[source] = now_ns;
        }
        seen_ns[source] = now_ns;
        const bool known = seen_ns[to] && now_ns - seen_ns[to] <= settings.age_ns;
        const int wanted = !known                 ? SWITCHING_FLOOD
                           : at[to] == at[source] ? SWITCHING_DROP
                                                  : at[to];
        assert_int_equal(target(&switching, (uint32_t)at[source], source, to, now_ns), wanted);
        macs_expire(switching.macs, now_ns, 16);
    }
    uint32_t alive = 0;
    macs_expire(switching.macs, now_ns, 8192);
    for (uint32_t i = 0; i < STATIONS; i++)
        alive += seen_ns[i] && now_ns - seen_ns[i] <= settings.age_ns;
    assert_int_equal(macs_alive(switching.macs), alive);
    switching_close(&switching);
}

/* Neighbours in a vendor's numbering find room as well as any. */
static void test_a_table_is_nearly_full_before_somebody_finds_no_room(void **state)
{
    (void)state;
    struct switching_settings settings = preset();
    struct switching switching;
    assert_int_equal(switching_open(&switching, &settings, NULL), 0);
    for (uint32_t i = 0; i < settings.macs / 2; i++)
        target(&switching, 1, i, 9, NOW + i);
    assert_in_range(switching.full, 0, settings.macs / 50);
    switching_close(&switching);
}

static void test_made_up_stations_push_nobody_out(void **state)
{
    (void)state;
    struct switching_settings settings = preset();
    struct switching switching;
    settings.macs = 64;
    settings.flood_pps = 1000000;
    assert_int_equal(switching_open(&switching, &settings, NULL), 0);
    assert_int_equal(target(&switching, 0, 1, 2, NOW), SWITCHING_FLOOD);
    for (uint32_t i = 0; i < 100000; i++)
        target(&switching, 1, 1000 + i, 1, NOW + i);
    assert_true(macs_alive(switching.macs) <= 64);
    assert_true(switching.full > 99000);
    assert_int_equal(target(&switching, 2, 3, 1, NOW + NS_PER_S), 0);
    switching_close(&switching);
}

static void test_floods_have_a_limit_of_their_port(void **state)
{
    (void)state;
    const struct switching_settings settings = preset();
    struct switching switching;
    uint64_t flooded = 0;
    assert_int_equal(switching_open(&switching, &settings, NULL), 0);
    for (uint64_t now_ns = NOW; now_ns < NOW + 10 * NS_PER_S; now_ns += 20000)
        flooded += target(&switching, 0, 1, 9, now_ns) == SWITCHING_FLOOD;
    assert_in_range(flooded, 10000, 10101);
    assert_int_equal(switching.ports[0].counters.flooded_packets, flooded);
    assert_int_equal(switching.ports[0].counters.over_limit_packets, 500000 - flooded);
    assert_int_equal(target(&switching, 1, 2, 9, NOW + 10 * NS_PER_S), SWITCHING_FLOOD);
    assert_int_equal(target(&switching, 1, 2, 1, NOW + 10 * NS_PER_S), 0);
    switching_close(&switching);
}

static void test_what_is_for_a_link_itself_goes_nowhere(void **state)
{
    (void)state;
    const struct switching_settings settings = preset();
    struct switching switching;
    uint8_t frame[2 * MACS_BYTES] = {0x01, 0x80, 0xc2, 0, 0, 0x0e, 2, 0, 0, 0, 0, 1};
    assert_int_equal(switching_open(&switching, &settings, NULL), 0);
    assert_int_equal(switching_target(&switching, 0, frame, sizeof(frame), NOW), SWITCHING_DROP);
    frame[5] = 0x10;
    assert_int_equal(switching_target(&switching, 0, frame, sizeof(frame), NOW), SWITCHING_FLOOD);
    frame[MACS_BYTES] = 3; /* nobody sends from a group's address */
    assert_int_equal(switching_target(&switching, 0, frame, sizeof(frame), NOW), SWITCHING_DROP);
    frame[MACS_BYTES] = 2;
    assert_int_equal(switching_target(&switching, 0, frame, sizeof(frame) - 1, NOW),
                     SWITCHING_DROP);
    assert_int_equal(switching.ports[0].counters.filtered_packets, 3);
    switching_close(&switching);
}

static void test_a_station_that_flaps_shuts_its_newest_port_for_a_time(void **state)
{
    (void)state;
    const struct switching_settings settings = preset();
    struct switching switching;
    uint8_t mac[MACS_BYTES];
    uint64_t now_ns = NOW;
    assert_int_equal(switching_open(&switching, &settings, NULL), 0);
    target(&switching, 0, 1, 9, now_ns);
    target(&switching, 3, 3, 9, now_ns);
    for (int move = 1; move <= 5; move++)
        target(&switching, (uint32_t)move % 2, 1, 9, now_ns += 1000);
    assert_false(is_shut(0, &switching, now_ns) || is_shut(1, &switching, now_ns));
    assert_int_equal(target(&switching, 0, 1, 3, now_ns += 1000), SWITCHING_DROP);
    assert_true(is_shut(0, &switching, now_ns));
    assert_false(is_shut(1, &switching, now_ns));
    mac_of(1, mac);
    assert_memory_equal(switching.ports[0].mac, mac, MACS_BYTES);
    assert_int_equal(switching.ports[0].other, 1);

    assert_int_equal(target(&switching, 1, 1, 3, now_ns += 1000), 3); /* the others go on */
    assert_int_equal(target(&switching, 0, 5, 3, now_ns += 1000), SWITCHING_DROP);
    assert_int_equal(switching.ports[0].counters.shut_packets, 2);
    now_ns += settings.shut_ns;
    assert_int_equal(target(&switching, 0, 5, 3, now_ns), 3);
    assert_int_equal(target(&switching, 3, 3, 5, now_ns), 0);
    assert_int_equal(switching.ports[0].counters.shuts, 1);
    switching_close(&switching);
}

static void test_a_station_that_moves_house_is_no_loop(void **state)
{
    (void)state;
    const struct switching_settings settings = preset();
    struct switching switching;
    assert_int_equal(switching_open(&switching, &settings, NULL), 0);
    for (uint32_t second = 0; second < 100; second++) {
        const uint64_t now_ns = NOW + second * 2 * NS_PER_S;
        target(&switching, second % PORTS, 1, 9, now_ns);
        assert_int_equal(target(&switching, (second + 1) % PORTS, 2 + second % PORTS, 1, now_ns),
                         second % PORTS);
    }
    assert_int_equal(switching.moved, 99);
    switching_close(&switching);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_go_where_their_station_sent_last),
        cmocka_unit_test(test_a_table_is_nearly_full_before_somebody_finds_no_room),
        cmocka_unit_test(test_made_up_stations_push_nobody_out),
        cmocka_unit_test(test_floods_have_a_limit_of_their_port),
        cmocka_unit_test(test_what_is_for_a_link_itself_goes_nowhere),
        cmocka_unit_test(test_a_station_that_flaps_shuts_its_newest_port_for_a_time),
        cmocka_unit_test(test_a_station_that_moves_house_is_no_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
