/* Ports of a data plane on the wire: what is written is read again, what is no port is refused, and
 * a message changes all of its ports or none (lib/port/port_message.h, dataplane/ports.h). */
#include "tests/unit/test.h"

#include "dataplane/egress.h"

#include <errno.h>
#include <string.h>

#define ROUNDS 500
#define GBPS   1000000000u

static struct egress begin(void)
{
    static const struct fastpath_settings settings = {
        .mtu_bytes = 1500,
        .sides = {{.name = "host"}, {.name = "network"}},
        .queues = {.levels = 8,
                   .leaf_packets = 100,
                   .unmanaged_joins = 7,
                   .ecn = true,
                   .floor_permille = 10,
                   .unmanaged_permille = 100,
                   .control_permille = 10}};
    struct egress ports = {.n = SIDES, .packets_most = 1000};
    for (uint32_t i = 0; i < SIDES; i++) {
        struct egress_port *entry = &ports.ports[i];
        fastpath_facts(&settings, i, GBPS, &entry->facts);
        assert_int_equal(fastpath_port(&settings, i, &entry->facts, &entry->configured, NULL), 0);
        entry->now = entry->configured;
    }
    return ports;
}

static struct port random_port(uint64_t *stream)
{
    struct port_wish wish = port_wish_preset;
    struct port_facts facts = {.link_bps = GBPS,
                               .mtu_bytes = 1500,
                               .queues_n = 2 + (uint32_t)(test_random(stream) % 9),
                               .abilities = port_message_abilities};
    struct port port;
    wish.link_bps = test_random(stream) % 2 ? 0 : 1000000 + test_random(stream) % (GBPS - 1000000);
    wish.levels = 1 + (uint32_t)(test_random(stream) % PORT_LEVELS);
    wish.queue_packets = 3 + (uint32_t)(test_random(stream) % 60);
    if (test_random(stream) % 2) {
        wish.ecn_packets = 1 + (uint32_t)(test_random(stream) % (wish.queue_packets - 2));
        wish.red_packets =
            wish.ecn_packets + 1 +
            (uint32_t)(test_random(stream) % (wish.queue_packets - wish.ecn_packets));
    }
    wish.unmanaged_joins = (uint32_t)(test_random(stream) % PORT_LEVELS);
    assert_int_equal(port_want(&wish, &facts, &port, NULL), 0);
    return port;
}

static void test_what_is_written_is_read(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    const struct port_facts facts = {.link_bps = GBPS, .mtu_bytes = 1500};
    for (int round = 0; round < ROUNDS; round++) {
        const struct port port = random_port(&stream);
        duopoly_DataplanePort message = {.port = "p"}, again = {.port = "p"};
        struct port read;
        struct err err = {0};
        port_message_write(&port, &message);
        if (port_message_read(&message, &facts, &read, &err) < 0)
            fail_msg("%s", err.text);
        port_message_write(&read, &again);
        assert_true(port_message_equal(&message, &again));
        assert_memory_equal(read.queue_of, port.queue_of, sizeof(port.queue_of));
        assert_int_equal(read.link_bps, port.link_bps);
        assert_int_equal(read.queues[0].red_packets, port.queues[0].red_packets);
        again.queues[0].packets++;
        assert_false(port_message_equal(&message, &again));
        again.queues[0].packets--;
        again.queues[0].red_packets++;
        assert_false(port_message_equal(&message, &again));
    }
}

static duopoly_SetDataplanePorts set_one(const char *owner, const char *name)
{
    uint64_t stream = 7;
    const struct port port = random_port(&stream);
    duopoly_SetDataplanePorts message = {.ports_count = 1};
    strcpy(message.owner, owner);
    strcpy(message.ports[0].port, name);
    port_message_write(&port, &message.ports[0]);
    return message;
}

static void expect(const duopoly_SetDataplanePorts *message, int code, const char *words)
{
    const struct egress ports = begin();
    struct egress next = ports;
    struct err err = {0};
    assert_int_equal(egress_read(&ports, message, &next, &err), code);
    if (!strstr(err.text, words))
        fail_msg("%s", err.text);
    assert_memory_equal(&next, &ports, sizeof(ports));
}

static void test_what_is_no_port_is_refused_and_changes_nothing(void **state)
{
    static const struct {
        uint32_t ecn_packets, red_packets, packets;
    } not_at_random[] = {{0, 10, 20}, {10, 10, 20}, {11, 10, 20}, {10, 21, 20}, {10, 1024, 2000}};
    (void)state;
    const duopoly_SetDataplanePorts right = set_one("agent", "host");
    duopoly_SetDataplanePorts wrong = set_one("", "host");
    expect(&wrong, -EINVAL, "needs a name");
    wrong = set_one("agent", "uplink");
    expect(&wrong, -ENODEV, "no such port");
    wrong = right;
    wrong.ports[wrong.ports_count++] = wrong.ports[0];
    expect(&wrong, -EINVAL, "set twice");
    wrong = right;
    wrong.ports[0].queues[0].serves |= wrong.ports[0].queues[1].serves;
    expect(&wrong, -EINVAL, "two queues");
    wrong = right;
    wrong.ports[0].queues_count--;
    expect(&wrong, -EINVAL, "has no queue");
    wrong = right;
    wrong.ports[0].queues[1].serves = 0;
    expect(&wrong, -EINVAL, "ten kinds");
    wrong = right;
    wrong.ports[0].queues[1].packets = 1;
    expect(&wrong, -EINVAL, "2 packets");
    wrong = right;
    wrong.ports[0].queues[1].ecn_packets = wrong.ports[0].queues[1].packets;
    expect(&wrong, -EINVAL, "below its length");
    for (uint32_t i = 0; i < sizeof(not_at_random) / sizeof(not_at_random[0]); i++) {
        wrong = right;
        wrong.ports[0].queues[1].ecn_packets = not_at_random[i].ecn_packets;
        wrong.ports[0].queues[1].red_packets = not_at_random[i].red_packets;
        wrong.ports[0].queues[1].packets = not_at_random[i].packets;
        expect(&wrong, -EINVAL, "at random");
    }
    wrong = right;
    wrong.ports[0].queues[1].floor_bps = GBPS;
    expect(&wrong, -EINVAL, "floors");
    wrong = right;
    wrong.ports[0].rate_bps = GBPS + 1ull;
    expect(&wrong, -EINVAL, "more than its device");
    wrong = right;
    wrong.ports[0].queues[0].packets = 1001;
    expect(&wrong, -E2BIG, "leaf_packets");
}

static void test_the_second_port_refused_leaves_the_first(void **state)
{
    (void)state;
    duopoly_SetDataplanePorts message = set_one("agent", "host");
    message.ports[message.ports_count++] = message.ports[0];
    strcpy(message.ports[1].port, "network");
    message.ports[1].queues[0].packets = 0;
    expect(&message, -EINVAL, "network: ");
}

static void test_who_set_a_port_owns_it(void **state)
{
    (void)state;
    const struct egress configured = begin();
    struct egress ports = configured;
    duopoly_DataplanePorts seen = {0};
    struct err err = {0};
    duopoly_SetDataplanePorts message = set_one("agent", "network");
    assert_int_equal(egress_read(&ports, &message, &ports, &err), 0);
    assert_true(egress_differs(&ports, &configured, SIDE_NETWORK));
    assert_false(egress_differs(&ports, &configured, SIDE_HOST));
    egress_write(&ports, &seen);
    assert_int_equal(seen.ports_count, SIDES);
    assert_string_equal(seen.ports[SIDE_NETWORK].owner, "agent");
    assert_string_equal(seen.ports[SIDE_HOST].owner, "");

    strcpy(message.owner, "other");
    assert_int_equal(egress_read(&ports, &message, &ports, &err), -EBUSY);
    assert_non_null(strstr(err.text, "agent has set"));
    message.replace = true;
    assert_int_equal(egress_read(&ports, &message, &ports, &err), 0);
    assert_string_equal(ports.ports[SIDE_NETWORK].owner, "other");

    message.ports[0].queues_count = 0;
    assert_int_equal(egress_read(&ports, &message, &ports, &err), 0);
    assert_string_equal(ports.ports[SIDE_NETWORK].owner, "");
    assert_false(egress_differs(&ports, &configured, SIDE_NETWORK));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_is_read),
        cmocka_unit_test(test_what_is_no_port_is_refused_and_changes_nothing),
        cmocka_unit_test(test_the_second_port_refused_leaves_the_first),
        cmocka_unit_test(test_who_set_a_port_owns_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
