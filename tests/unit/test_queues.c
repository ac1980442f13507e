/* Properties of dataplane/queues.h over random ports and traffic: nothing is lost or made up, order
 * within a queue, lengths, marks, the rate, strictness, and floors. */
#include "tests/unit/test.h"

#include "dataplane/queues.h"

#include <string.h>

#define NOW        7000000000u
#define NS_PER_S   1000000000u
#define ROUNDS     60
#define STEPS      3000
#define BATCH      32
#define ROOM       100   /* packets of a queue that may be exchanged */
#define MOST       20000 /* that may wait then */
#define MTU        1500
#define MOST_BYTES 1518

/* A packet is a number, from 1; what each queue should give next is kept beside it. */
struct world {
    struct port port;
    struct queues *queues;
    uint64_t now_ns, next;
    uint64_t *expected[PORT_TRAFFIC]; /* numbers that wait, oldest first */
    uint32_t waiting[PORT_TRAFFIC];
    uint64_t out_bytes;
};

static struct port want(uint32_t queues_n, uint64_t rate_bps, uint32_t floor_permille,
                        uint32_t packets)
{
    struct port_wish wish = port_wish_preset;
    struct port_facts facts = {.mtu_bytes = MTU,
                               .queues_n = queues_n,
                               .abilities = {.strict = true, .floors = true, .ecn = true}};
    struct port port;
    struct err err = {0};
    wish.link_bps = rate_bps;
    wish.floor_permille = floor_permille;
    wish.unmanaged_permille = floor_permille;
    wish.control_permille = floor_permille;
    wish.queue_packets = packets;
    wish.ecn_packets = 0;
    if (port_want(&wish, &facts, &port, &err) < 0)
        fail_msg("%s", err.text);
    return port;
}

static struct world begin(const struct port *port)
{
    struct world world = {.port = *port, .now_ns = NOW};
    assert_int_equal(queues_create(port, NULL, NOW, &world.queues, NULL), 0);
    for (uint32_t q = 0; q < port->queues_n; q++) {
        world.expected[q] = calloc(port->queues[q].packets, sizeof(uint64_t));
        assert_non_null(world.expected[q]);
    }
    return world;
}

static void check_sums(const struct world *world)
{
    for (uint32_t q = 0; q < world->port.queues_n; q++) {
        const struct queue_counters *n = queues_counters(world->queues, q);
        const uint32_t waiting = queues_waiting(world->queues, q);
        assert_int_equal(waiting, world->waiting[q]);
        assert_int_equal(n->in_packets, n->out_packets + n->dropped_packets + waiting);
        if (waiting == 0)
            assert_int_equal(n->in_bytes, n->out_bytes + n->dropped_bytes);
    }
}

static void end(struct world *world)
{
    struct queued items[BATCH];
    uint32_t left = 0, n;
    for (uint32_t q = 0; q < world->port.queues_n; q++)
        left += world->waiting[q];
    while ((n = queues_take(world->queues, items, BATCH)) > 0)
        left -= n;
    assert_int_equal(left, 0);
    for (uint32_t q = 0; q < world->port.queues_n; q++) {
        world->waiting[q] = 0;
        free(world->expected[q]);
    }
    check_sums(world);
    queues_destroy(world->queues);
}

static enum queues_answer put(struct world *world, uint32_t kind, uint32_t bytes)
{
    const uint32_t q = world->port.queue_of[kind];
    const struct port_queue *queue = &world->port.queues[q];
    const struct queued item = {(void *)(uintptr_t)++world->next, bytes};
    const uint32_t before = world->waiting[q];
    const enum queues_answer answer = queues_put(world->queues, kind, item);
    assert_int_equal(answer == QUEUES_FULL, before >= queue->packets);
    if (answer == QUEUES_FULL)
        return answer;
    assert_int_equal(answer == QUEUES_TAKEN_LONG,
                     queue->ecn_packets && before >= queue->ecn_packets);
    world->expected[q][world->waiting[q]++] = world->next;
    return answer;
}

/* The queue that gave this packet, which was the oldest in it. */
static uint32_t came_from(struct world *world, const struct queued *item)
{
    for (uint32_t q = 0; q < world->port.queues_n; q++) {
        if (!world->waiting[q] || world->expected[q][0] != (uintptr_t)item->packet)
            continue;
        memmove(world->expected[q], world->expected[q] + 1, --world->waiting[q] * sizeof(uint64_t));
        return q;
    }
    fail_msg("packet %lu is nobody's oldest", (unsigned long)(uintptr_t)item->packet);
    return 0;
}

static uint32_t most_urgent(const struct world *world)
{
    uint32_t q = 0;
    while (q < world->port.queues_n && !world->waiting[q])
        q++;
    return q;
}

/* Returns how many came; `strict`: whether each has to be of the most urgent queue then. */
static uint32_t get(struct world *world, bool strict)
{
    struct queued items[BATCH];
    const uint32_t n = queues_get(world->queues, world->now_ns, items, BATCH);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t urgent = most_urgent(world);
        const uint32_t q = came_from(world, &items[i]);
        if (strict)
            assert_int_equal(q, urgent);
        world->out_bytes += items[i].bytes;
    }
    return n;
}

static void check_rate(const struct world *world)
{
    const uint64_t most =
        world->port.link_bps * (world->now_ns - NOW + QUEUES_BURST_NS) / NS_PER_S / 8 + MOST_BYTES;
    assert_true(!world->port.held || world->out_bytes <= most);
}

/* Nothing comes too late either: queues_next_ns names the first time at which something does. */
static void check_next(struct world *world, bool strict)
{
    const uint64_t next = queues_next_ns(world->queues, world->now_ns);
    if (most_urgent(world) == world->port.queues_n) {
        assert_int_equal(next, UINT64_MAX);
    } else if (next) {
        struct queued item;
        assert_true(next > world->now_ns);
        assert_int_equal(queues_get(world->queues, next - 1, &item, 1), 0);
        world->now_ns = next;
        assert_true(get(world, strict) > 0);
    }
}

static void run(uint64_t *stream, uint32_t floor_permille)
{
    const uint32_t queues_n = 2 + (uint32_t)(test_random(stream) % 9);
    const uint64_t rate = 1000000u << test_random(stream) % 15;
    const uint32_t packets = 2 + (uint32_t)(test_random(stream) % 100);
    const struct port port = want(queues_n, rate, floor_permille, packets);
    struct world world = begin(&port);
    const uint64_t gap_ns = 1 + 20000ull * NS_PER_S / rate;
    for (int step = 0; step < STEPS; step++) {
        const uint64_t draw = test_random(stream);
        for (uint64_t burst = draw % 5; burst > 0; burst--)
            put(&world, (uint32_t)(test_random(stream) % PORT_TRAFFIC),
                60 + (uint32_t)(test_random(stream) % (MOST_BYTES - 59)));
        get(&world, floor_permille == 0);
        check_rate(&world);
        check_sums(&world);
        if (draw >> 8 & 1)
            check_next(&world, floor_permille == 0);
        world.now_ns += draw >> 16 & 3 ? test_random(stream) % gap_ns : 0;
    }
    end(&world);
}

static void test_nothing_is_lost_and_the_rate_is_held(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    for (int round = 0; round < ROUNDS; round++)
        run(&stream, round % 2 ? 10 : 0);
}

/* Every queue has always packets. */
static void saturate(struct world *world, uint64_t out[PORT_TRAFFIC], uint64_t for_ns,
                     uint64_t step_ns)
{
    for (; world->now_ns < NOW + for_ns; world->now_ns += step_ns) {
        for (uint32_t kind = 0; kind < PORT_TRAFFIC; kind++)
            while (put(world, kind, MTU + 14) != QUEUES_FULL)
                ;
        get(world, false);
    }
    for (uint32_t q = 0; q < world->port.queues_n; q++)
        out[q] = queues_counters(world->queues, q)->out_bytes;
}

static void test_floors_are_had_and_no_more(void **state)
{
    /* The first is too short for a bit of a floor. */
    static const uint64_t steps_ns[] = {100, 20000, 900000},
                          for_ns[] = {50000000, NS_PER_S, NS_PER_S};
    (void)state;
    for (size_t i = 0; i < sizeof(steps_ns) / sizeof(steps_ns[0]); i++) {
        const uint64_t parts = NS_PER_S / for_ns[i];
        const struct port port = want(PORT_TRAFFIC, 200000000, 10, 50);
        struct world world = begin(&port);
        uint64_t out[PORT_TRAFFIC], all = 0;
        saturate(&world, out, for_ns[i], steps_ns[i]);
        for (uint32_t q = 0; q < port.queues_n; q++) {
            const double floor = (double)(port.queues[q].floor_bps / 8 / parts),
                         slack = 4.0 * MOST_BYTES;
            all += out[q];
            if (q < 2)
                continue;
            assert_true((double)out[q] >= floor - slack);
            assert_true((double)out[q] <= floor + slack);
        }
        assert_true(all <= port.link_bps / 8 / parts + MOST_BYTES + port.link_bps / 8 / 1000);
        assert_true(all >= port.link_bps / 8 / parts - port.link_bps / 8 / 1000 - MOST_BYTES);
        end(&world);
    }
}

/* One packet of the least urgent queue at a time never has it ahead of others for more than its
 * floor, though the queue is empty again and again. */
static void test_what_comes_seldom_saves_nothing(void **state)
{
    (void)state;
    const struct port port = want(PORT_TRAFFIC, 100000000, 10, 50);
    const uint32_t last = port.queue_of[TRAFFIC_UNMANAGED - 1];
    struct world world = begin(&port);
    for (; world.now_ns < NOW + NS_PER_S; world.now_ns += 50000) {
        while (put(&world, TRAFFIC_LEVEL0, MTU) != QUEUES_FULL)
            ;
        if (!world.waiting[last])
            put(&world, TRAFFIC_UNMANAGED - 1, MTU);
        get(&world, false);
    }
    const uint64_t out = queues_counters(world.queues, last)->out_bytes,
                   floor = port.queues[last].floor_bps / 8;
    assert_true(out <= floor + (uint64_t)8 * MOST_BYTES);
    assert_true(out >= floor - (uint64_t)8 * MOST_BYTES);
    end(&world);
}

static void test_an_empty_queue_saves_no_floor(void **state)
{
    (void)state;
    const struct port port = want(PORT_TRAFFIC, 100000000, 10, 50);
    const uint32_t last = port.queue_of[TRAFFIC_UNMANAGED - 1];
    struct world world = begin(&port);
    for (int step = 0; step < 1000; step++, world.now_ns += 50000) {
        while (put(&world, TRAFFIC_LEVEL0, MTU) != QUEUES_FULL)
            ;
        for (int burst = 0; step == 900 && burst < 10; burst++)
            put(&world, TRAFFIC_UNMANAGED - 1, MTU);
        get(&world, false); /* 5 ms of the floor are less than a packet */
    }
    assert_int_equal(queues_counters(world.queues, last)->out_packets, 1);
    end(&world);
}

static void test_marks_are_counted_where_the_packet_is(void **state)
{
    (void)state;
    const struct port port = want(3, 100000000, 10, 50);
    struct world world = begin(&port);
    const uint32_t q = port.queue_of[TRAFFIC_LEVEL0 + 5];
    uint32_t asked = 0;
    for (uint32_t i = 0; i < port.queues[q].packets; i++)
        if (put(&world, TRAFFIC_LEVEL0 + 5, 100) == QUEUES_TAKEN_LONG) {
            queues_marked(world.queues, TRAFFIC_LEVEL0 + 5);
            asked++;
        }
    assert_int_equal(asked, port.queues[q].packets - port.queues[q].ecn_packets);
    assert_int_equal(queues_counters(world.queues, q)->marked_packets, asked);
    end(&world);
}

static void test_without_a_rate_everything_goes_at_once(void **state)
{
    (void)state;
    struct port port = want(PORT_TRAFFIC, 100000000, 10, 50);
    port.held = false;
    struct world world = begin(&port);
    for (uint32_t i = 0; i < BATCH; i++)
        put(&world, i % PORT_TRAFFIC, 1000);
    assert_int_equal(queues_next_ns(world.queues, NOW), 0);
    assert_int_equal(get(&world, true), BATCH);
    end(&world);
}

/* What waited comes out all, in the order of its old queue, and the sums go on. */
static void exchange(struct world *world, const struct port *port, uint64_t *stream)
{
    struct world next = {.port = *port, .now_ns = world->now_ns, .out_bytes = world->out_bytes};
    uint64_t in = 0, waiting = 0;
    uint32_t waits[PORT_TRAFFIC];
    for (uint32_t q = 0; q < world->port.queues_n; q++)
        waits[q] = queues_waiting(world->queues, q);
    assert_int_equal(queues_create_after(port, world->queues, waits, &next.queues, NULL), 0);
    for (int i = (int)(test_random(stream) % 200); i > 0; i--) /* meanwhile */
        put(world, (uint32_t)(test_random(stream) % PORT_TRAFFIC), 100);
    next.next = world->next;
    queues_move(world->queues, next.queues);
    for (uint32_t q = 0; q < port->queues_n; q++) {
        in += queues_counters(next.queues, q)->in_packets;
        next.expected[q] = calloc(MOST, sizeof(uint64_t));
        assert_non_null(next.expected[q]);
    }
    for (uint32_t q = 0; q < world->port.queues_n; q++) {
        const uint32_t to = port->queue_of[world->port.queues[q].first];
        for (uint32_t i = 0; i < world->waiting[q]; i++)
            next.expected[to][next.waiting[to]++] = world->expected[q][i];
        assert_int_equal(queues_waiting(world->queues, q), 0);
        waiting += world->waiting[q];
        free(world->expected[q]);
    }
    assert_true(in >= waiting);
    queues_destroy(world->queues);
    *world = next;
    check_sums(world);
}

static void test_queues_are_exchanged_for_others_without_a_loss(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    for (int round = 0; round < ROUNDS; round++) {
        struct port port = want(PORT_TRAFFIC, 100000000, 10, ROOM);
        struct world world = begin(&port);
        for (int step = 0; step < 20; step++) {
            for (int i = (int)(test_random(&stream) % 500); i > 0; i--)
                put(&world, (uint32_t)(test_random(&stream) % PORT_TRAFFIC), 1000);
            port = want(2 + (uint32_t)(test_random(&stream) % 9), 100000000, 10,
                        2 + (uint32_t)(test_random(&stream) % (ROOM - 1)));
            exchange(&world, &port, &stream);
            world.now_ns += test_random(&stream) % 5000000;
            get(&world, false);
        }
        end(&world);
    }
}

static void test_queues_in_the_place_of_others_grant_no_second_burst(void **state)
{
    (void)state;
    const struct port port = want(PORT_TRAFFIC, 100000000, 10, ROOM);
    struct world world = begin(&port);
    uint64_t stream = test_seed();
    for (int step = 0; step < 1000; step++) {
        while (put(&world, TRAFFIC_LEVEL0, 1000) != QUEUES_FULL)
            ;
        exchange(&world, &port, &stream);
        world.now_ns += 100000;
        while (get(&world, false) == BATCH)
            ;
        check_rate(&world);
    }
    end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_lost_and_the_rate_is_held),
        cmocka_unit_test(test_floors_are_had_and_no_more),
        cmocka_unit_test(test_what_comes_seldom_saves_nothing),
        cmocka_unit_test(test_an_empty_queue_saves_no_floor),
        cmocka_unit_test(test_marks_are_counted_where_the_packet_is),
        cmocka_unit_test(test_queues_are_exchanged_for_others_without_a_loss),
        cmocka_unit_test(test_queues_in_the_place_of_others_grant_no_second_burst),
        cmocka_unit_test(test_without_a_rate_everything_goes_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
