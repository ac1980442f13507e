/* RED of the data plane's queues, by DPDK's own: what is marked and dropped by a queue's
 * average. */
#include "tests/unit/test.h"

#include "dataplane/queues_red_dpdk.h"
#include "lib/port/port_message.h"

#include <errno.h>
#include <rte_red.h>

#define NOW       UINT64_C(7000000000)
#define LEVEL     3
#define KIND      (TRAFFIC_LEVEL0 + LEVEL)
#define LENGTH    400
#define LEAST     50  /* ecn_packets */
#define MOST      250 /* red_packets */
#define BYTES     1500
#define WINDOW    20000 /* packets of one average */
#define SETTLE    8000  /* until the average is what waits: many times the weight's 512 */
#define PACKET_NS 121440u

static struct port want(uint64_t rate_bps)
{
    struct port_wish wish = port_wish_preset;
    const struct port_facts facts = {
        .mtu_bytes = 1500, .queues_n = PORT_TRAFFIC, .abilities = port_message_abilities};
    struct port port;
    struct err err = {0};
    wish.link_bps = rate_bps;
    wish.queue_packets = LENGTH;
    wish.ecn_packets = LEAST;
    wish.red_packets = MOST;
    if (port_want(&wish, &facts, &port, &err) < 0)
        fail_msg("%s", err.text);
    return port;
}

/* Not held: what waits goes when it is asked for. */
static struct queues *begin(struct port *port)
{
    struct queues *queues;
    *port = want(100000000);
    port->held = false;
    assert_int_equal(queues_create(port, &queues_red, NOW, &queues, NULL), 0);
    rte_red_rand_seed = (uint32_t)test_seed();
    rte_red_rand_val = rte_fast_rand();
    return queues;
}

static void end(struct queues *queues)
{
    struct queued items[32];
    while (queues_take(queues, items, 32) > 0)
        ;
    queues_destroy(queues);
}

static void take_one(struct queues *queues, uint64_t now_ns)
{
    struct queued item;
    assert_int_equal(queues_get(queues, now_ns, &item, 1), 1);
}

static uint32_t waiting(const struct queues *queues, const struct port *port)
{
    return queues_waiting(queues, port->queue_of[KIND]);
}

static enum queues_answer put(struct queues *queues)
{
    return queues_put(queues, KIND, (struct queued){NULL, BYTES});
}

/* As many wait as before: one joins, one goes. Whether it was asked for a mark, and bore it. */
static bool pass(struct queues *queues)
{
    const enum queues_answer answer = put(queues);
    assert_int_not_equal(answer, QUEUES_FULL);
    if (answer == QUEUES_TAKEN_LONG)
        queues_marked(queues, KIND);
    take_one(queues, NOW);
    return answer == QUEUES_TAKEN_LONG;
}

/* How many of WINDOW packets are marked in a queue of this length for long. */
static uint32_t marked_at(uint32_t length)
{
    struct port port;
    struct queues *queues = begin(&port);
    uint32_t marked = 0;
    while (waiting(queues, &port) < length)
        if (put(queues) == QUEUES_TAKEN_LONG)
            queues_marked(queues, KIND);
    for (int i = 0; i < SETTLE; i++)
        pass(queues);
    for (int i = 0; i < WINDOW; i++)
        marked += pass(queues);
    assert_int_equal(waiting(queues, &port), length);
    assert_true(queues_counters(queues, port.queue_of[KIND])->marked_packets >= marked);
    end(queues);
    return marked;
}

static void test_the_longer_the_average_the_more_is_marked(void **state)
{
    uint32_t before = 0;
    (void)state;
    assert_int_equal(marked_at(LEAST - 5), 0);
    for (uint32_t length = LEAST + 25; length < MOST; length += 25) {
        const uint32_t marked = marked_at(length);
        /* Floyd and Jacobson 1993, 7: at least so many, with p as it grows to 1/10. */
        const double p = 0.1 * (length - LEAST) / (MOST - LEAST);
        assert_in_range(marked, before + 1, WINDOW);
        assert_true(marked > WINDOW * p * 0.5 && marked < WINDOW * p * 2);
        before = marked;
    }
    assert_int_equal(marked_at(MOST + 20), WINDOW);
}

static void test_a_short_burst_is_not_marked(void **state)
{
    struct port port;
    struct queues *queues = begin(&port);
    (void)state;
    for (uint32_t i = 0; i < MOST; i++)
        assert_int_equal(put(queues), QUEUES_TAKEN);
    end(queues);
}

/* in = out + dropped + waiting; and what waits is what was not dropped, in its order. */
static void test_what_cannot_be_marked_is_dropped(void **state)
{
    struct port port;
    struct queues *queues = begin(&port);
    const uint32_t q = port.queue_of[KIND];
    const struct queue_counters *counters = queues_counters(queues, q);
    uint64_t seed = test_seed(), next = 1, dropped = 0, expected[LENGTH], oldest = 0, newest = 0;
    (void)state;
    for (int i = 0; i < WINDOW; i++) {
        const struct queued item = {(void *)(uintptr_t)next++, BYTES};
        struct queued came;
        const enum queues_answer answer = queues_put(queues, KIND, item);
        const bool is_gone =
            answer == QUEUES_FULL || (answer == QUEUES_TAKEN_LONG && queues_unmarked(queues, KIND));
        dropped += is_gone;
        if (!is_gone)
            expected[newest++ % LENGTH] = next - 1;
        if (test_random(&seed) % 100 < 97 && queues_get(queues, NOW, &came, 1) == 1)
            assert_int_equal((uintptr_t)came.packet, expected[oldest++ % LENGTH]);
        assert_int_equal(queues_waiting(queues, q), newest - oldest);
    }
    assert_in_range(dropped, 1, WINDOW / 10);
    assert_int_equal(counters->marked_packets, 0);
    assert_int_equal(counters->dropped_packets, dropped);
    assert_int_equal(counters->dropped_bytes, dropped * BYTES);
    assert_int_equal(counters->in_packets,
                     counters->out_packets + dropped + queues_waiting(queues, q));
    end(queues);
}

static void fill_for_long(struct queues *queues, const struct port *port)
{
    while (waiting(queues, port) < MOST + 20)
        put(queues);
    for (int i = 0; i < SETTLE; i++)
        pass(queues);
}

/* How many of LEAST packets are marked that come after a congested queue was empty for so long. */
static uint32_t marked_after(uint64_t rest_ns)
{
    struct port port;
    struct queues *queues = begin(&port);
    struct queued none;
    uint32_t marked = 0;
    fill_for_long(queues, &port);
    while (waiting(queues, &port))
        take_one(queues, NOW);
    assert_int_equal(queues_get(queues, NOW + rest_ns, &none, 1), 0);
    for (uint32_t i = 0; i < LEAST; i++)
        marked += put(queues) == QUEUES_TAKEN_LONG;
    end(queues);
    return marked;
}

/* The average falls while a queue rests, by what could have been sent. */
static void test_a_rest_ends_congestion(void **state)
{
    (void)state;
    assert_in_range(marked_after(0), LEAST / 2, LEAST - 1); /* the first finds it empty */
    assert_int_equal(marked_after(10000 * PACKET_NS), 0);
}

static void test_thresholds_that_are_none_are_refused(void **state)
{
    struct port port = want(100000000);
    struct queues *queues = NULL;
    struct err err = {0};
    (void)state;
    port.queues[4].red_packets = PORT_RED_MOST + 1;
    assert_int_equal(queues_create(&port, &queues_red, NOW, &queues, &err), -EINVAL);
    port.queues[4].red_packets = port.queues[4].ecn_packets;
    assert_int_equal(queues_create(&port, &queues_red, NOW, &queues, &err), -EINVAL);
    assert_string_equal(err.text, "queue 4 cannot mark at random from 50 to 50 packets");
    assert_null(queues);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_longer_the_average_the_more_is_marked),
        cmocka_unit_test(test_a_short_burst_is_not_marked),
        cmocka_unit_test(test_what_cannot_be_marked_is_dropped),
        cmocka_unit_test(test_a_rest_ends_congestion),
        cmocka_unit_test(test_thresholds_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
