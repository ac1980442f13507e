/* What dataplane/marking.h promises beyond what both data paths do alike (test_conformance.c). */
#include "tests/unit/frames.h"
#include "tests/unit/test.h"

#include "dataplane/marking.h"

#include <arpa/inet.h>

#define NOW      5000000000u
#define DSCP(n)  (4 * (n) + 3)
#define A_SECOND 1000000000u

static struct flows *flows;
static struct marking marking;

static int set_up(void **state)
{
    struct marking_settings settings = {.control_port = 7600};
    (void)state;
    for (uint8_t level = 0; level < PORT_LEVELS; level++)
        settings.dscp_of_level[level] = (uint8_t)DSCP(level);
    if (flows_create(64, &flows, NULL) < 0)
        return -1;
    marking_init(&marking, &settings, flows);
    marking.expiry_ns = UINT64_MAX;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    flows_destroy(flows);
    return 0;
}

static const struct shape data = {.type = ETH_P_IP,
                                  .protocol = IPPROTO_TCP,
                                  .flags = FRAME_ACK,
                                  .payload = 30,
                                  .traffic_class = 1,
                                  .from = 1,
                                  .to = 2,
                                  .from_port = 4000,
                                  .to_port = 80};

static struct flow_key key_of(const struct shape *shape)
{
    struct flow_key key = {.local_port = htons(shape->from_port),
                           .peer_port = htons(shape->to_port)};
    key.local[10] = key.local[11] = key.peer[10] = key.peer[11] = 0xff;
    shape_address4(key.local + 12, shape->from);
    shape_address4(key.peer + 12, shape->to);
    return key;
}

/* Returns the kind; *ret_dscp is what the frame bears afterwards. */
static int send_at(const struct shape *shape, uint64_t now_ns, uint8_t *ret_dscp)
{
    uint8_t frame[FRAME_BYTES];
    const uint32_t length = shape_build(shape, frame);
    const struct frame_bytes bytes = {frame, length, length};
    struct frame parsed;
    frame_parse(&bytes, &parsed);
    const int kind = marking_mark(&marking, &bytes, &parsed, now_ns);
    assert_int_equal(shape_sum(frame + ETH_HLEN, 10), 0); /* the checksum is right */
    assert_int_equal(frame[ETH_HLEN + 1] & 3, shape->traffic_class & 3);
    *ret_dscp = frame[ETH_HLEN + 1] >> 2;
    return kind;
}

static void set_levels(const struct shape *shape, uint64_t owner, uint8_t coflow, uint8_t macroflow,
                       uint64_t now_ns)
{
    const struct flow_key key = key_of(shape);
    const uint8_t levels[] = {coflow, macroflow};
    marking_set(&marking, &key, flows_hash(&key), owner, levels, now_ns);
}

static void test_levels_by_mode_until_they_are_taken_away(void **state)
{
    (void)state;
    uint8_t dscp;
    assert_int_equal(send_at(&data, NOW, &dscp), TRAFFIC_UNMANAGED);
    assert_int_equal(dscp, 0);
    set_levels(&data, 9, 2, 5, NOW);
    assert_int_equal(send_at(&data, NOW, &dscp), TRAFFIC_LEVEL0 + 2);
    assert_int_equal(dscp, DSCP(2));
    marking.mode = 1;
    assert_int_equal(send_at(&data, NOW, &dscp), TRAFFIC_LEVEL0 + 5);
    assert_int_equal(dscp, DSCP(5));
    set_levels(&data, 0, 0, 0, NOW);
    assert_int_equal(send_at(&data, NOW, &dscp), TRAFFIC_UNMANAGED);
    assert_int_equal(dscp, 0);
}

static void test_a_lease_ends_by_itself(void **state)
{
    (void)state;
    uint8_t dscp;
    set_levels(&data, 9, 2, 5, NOW);
    marking.expiry_ns = NOW + A_SECOND;
    assert_int_equal(send_at(&data, NOW + A_SECOND - 1, &dscp), TRAFFIC_LEVEL0 + 2);
    assert_int_equal(send_at(&data, NOW + A_SECOND, &dscp), TRAFFIC_UNMANAGED);
    assert_int_equal(dscp, 0);
}

static void test_levels_may_come_before_the_first_packet_and_after_a_long_silence(void **state)
{
    (void)state;
    uint8_t dscp;
    struct shape syn = data;
    const uint64_t late = NOW + FLOW_SILENT_NS + A_SECOND;
    syn.flags = FRAME_SYN;
    syn.payload = 0;
    set_levels(&data, 9, 4, 4, NOW);
    assert_int_equal(send_at(&syn, NOW + A_SECOND, &dscp), TRAFFIC_LEVEL0);
    assert_int_equal(dscp, DSCP(0));
    assert_int_equal(send_at(&data, NOW + A_SECOND, &dscp), TRAFFIC_LEVEL0 + 4);
    assert_int_equal(send_at(&data, late + A_SECOND, &dscp), TRAFFIC_UNMANAGED);
    set_levels(&data, 9, 3, 3, late + A_SECOND);
    assert_int_equal(send_at(&data, late + A_SECOND, &dscp), TRAFFIC_LEVEL0 + 3);
}

static void test_nobody_is_kept_for_levels_that_are_taken_away(void **state)
{
    (void)state;
    set_levels(&data, 0, 1, 1, NOW);
    assert_int_equal(flows_alive(flows), 0);
}

static void test_bytes_are_counted_once(void **state)
{
    (void)state;
    uint8_t dscp, frame[FRAME_BYTES];
    struct shape own = data;
    const uint32_t length = shape_build(&data, frame);
    own.from_port++;
    own.traffic_class = DSCP(3) << 2;
    set_levels(&data, 9, 2, 5, NOW);
    send_at(&data, NOW, &dscp);
    send_at(&data, NOW, &dscp);
    send_at(&own, NOW, &dscp); /* a mark that nobody gave it */
    assert_int_equal(dscp, 0);
    assert_int_equal(marking.counters.marked_bytes[2], 2 * length);
    assert_int_equal(marking.counters.unmarked_bytes, length);
    assert_int_equal(marking.counters.bleached_packets, 1);
    assert_int_equal(marking.counters.control_bytes, 0);
}

static void test_only_what_understands_ecn_is_told(void **state)
{
    (void)state;
    for (uint8_t ecn = 0; ecn < 4; ecn++) {
        for (int v6 = 0; v6 < 2; v6++) {
            uint8_t frame[FRAME_BYTES];
            struct shape shape = data;
            struct frame parsed;
            shape.type = v6 ? ETH_P_IPV6 : ETH_P_IP;
            shape.traffic_class = (uint8_t)(DSCP(6) << 2 | ecn);
            const uint32_t length = shape_build(&shape, frame);
            const struct frame_bytes bytes = {frame, length, length};
            frame_parse(&bytes, &parsed);
            assert_int_equal(frame_write_ce(&bytes, &parsed), ecn != 0);
            frame_parse(&bytes, &parsed);
            assert_int_equal(parsed.traffic_class, DSCP(6) << 2 | (ecn ? 3 : 0));
            if (!v6)
                assert_int_equal(shape_sum(frame + ETH_HLEN, 10), 0);
        }
    }
}

/* Right stays right, and wrong wrong by as much. */
static void test_every_checksum_moves_with_its_words(void **state)
{
    (void)state;
    uint8_t frame[FRAME_BYTES];
    struct frame parsed;
    const uint32_t length = shape_build(&data, frame);
    const struct frame_bytes bytes = {frame, length, length};
    uint8_t *ip = frame + ETH_HLEN;
    for (uint32_t sum = 0; sum <= UINT16_MAX; sum++) {
        for (uint8_t level = 0; level < PORT_LEVELS; level++) {
            ip[1] = 1;
            shape_put16(ip + 10, sum);
            const uint32_t before = shape_sum(ip, 10);
            frame_parse(&bytes, &parsed);
            frame_write_dscp(&bytes, &parsed, (uint8_t)DSCP(level));
            assert_int_equal(shape_sum(ip, 10) % 0xffff, before % 0xffff);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_levels_by_mode_until_they_are_taken_away, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_lease_ends_by_itself, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            test_levels_may_come_before_the_first_packet_and_after_a_long_silence, set_up,
            tear_down),
        cmocka_unit_test_setup_teardown(test_nobody_is_kept_for_levels_that_are_taken_away, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_bytes_are_counted_once, set_up, tear_down),
        cmocka_unit_test(test_only_what_understands_ecn_is_told),
        cmocka_unit_test(test_every_checksum_moves_with_its_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
