/* What a port should be: invariants over all combinations of what a site wishes and a port has,
 * then named cases. */
#include "tests/unit/test.h"

#include "lib/port/port.h"

#include <errno.h>
#include <string.h>

#define QUEUES_TRIED 12
#define ALL_OF_THEM  (PORT_LEVELS + 2)

static const struct port_facts ethernet = {
    .link_bps = 1000000000,
    .mtu_bytes = 1500,
    .queues_n = PORT_TRAFFIC,
    .abilities = {.strict = true, .floors = true, .ecn = true}};

static struct port port_of(const struct port_wish *wish, const struct port_facts *facts)
{
    struct port port;
    struct err err = {0};
    if (port_want(wish, facts, &port, &err) < 0)
        fail_msg("%s", err.text);
    return port;
}

static void refuses(const struct port_wish *wish, const struct port_facts *facts, const char *words)
{
    struct port port;
    struct err err = {0};
    memset(&port, 0x5a, sizeof(port));
    assert_int_equal(port_want(wish, facts, &port, &err), -EINVAL);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" does not say \"%s\"", err.text, words);
    assert_int_equal(((unsigned char *)&port)[0], 0x5a);
}

/* Everybody is served, in order of urgency, by queues that are not lossless; none is idle. */
static void check_places(const struct port_facts *facts, const struct port *port)
{
    uint32_t served = 0;
    for (int traffic = 0; traffic < PORT_TRAFFIC; traffic++) {
        assert_true(port->queue_of[traffic] < port->queues_n);
        served |= 1u << port->queue_of[traffic];
        if (traffic != TRAFFIC_CONTROL && traffic != TRAFFIC_UNMANAGED)
            assert_in_range(port->queue_of[traffic] - port->queue_of[traffic - 1], 0, 1);
    }
    assert_int_equal(served, (1u << port->queues_n) - 1);
    for (uint32_t i = 0; i < port->queues_n; i++) {
        uint32_t priority = port->queues[i].priority;
        assert_true(priority < facts->queues_n);
        assert_false(facts->lossless >> priority & 1);
        assert_true(i == 0 || priority > port->queues[i - 1].priority);
        assert_int_equal(port->queue_of[port->queues[i].first], i);
        for (int traffic = 0; traffic < (int)port->queues[i].first; traffic++)
            assert_int_not_equal(port->queue_of[traffic], i);
    }
}

/* As many queues as there are to take and to use; what folds, folds in the order that is said. */
static void check_folding(const struct port_wish *wish, uint32_t usable, const struct port *port)
{
    uint32_t wanted = wish->levels + 2;
    const uint8_t *of = port->queue_of;
    assert_int_equal(port->queues_n, usable < wanted ? usable : wanted);
    assert_int_equal(of[TRAFFIC_CONTROL] == of[TRAFFIC_LEVEL0], usable < wanted);
    if (usable > wish->levels)
        assert_true(of[TRAFFIC_UNMANAGED] == port->queues_n - 1 &&
                    of[TRAFFIC_UNMANAGED] > of[TRAFFIC_UNMANAGED - 1]);
    else
        assert_int_equal(of[TRAFFIC_UNMANAGED], of[TRAFFIC_LEVEL0 + wish->unmanaged_joins]);
    uint32_t length[PORT_TRAFFIC] = {0}, last = of[TRAFFIC_LEVEL0 + wish->levels - 1];
    for (uint32_t level = 0; level < wish->levels; level++)
        length[of[TRAFFIC_LEVEL0 + level]]++;
    for (uint32_t q = of[TRAFFIC_LEVEL0]; q < last; q++)
        assert_in_range(length[q + 1] - length[q], 0, 1);
    assert_true(length[last] - length[of[TRAFFIC_LEVEL0]] <= 1);
}

/* Floors and lengths are those of what is served, whoever shares; level 0 comes first without. */
static void check_shares(const struct port_wish *wish, const struct port_facts *facts,
                         const struct port *port)
{
    uint64_t floors = 0, packets = 0, wanted = 0, thousandth = port->link_bps / 1000;
    uint8_t first = port->queue_of[TRAFFIC_LEVEL0];
    for (uint32_t i = 0; i < port->queues_n; i++) {
        floors += port->queues[i].floor_bps;
        packets += port->queues[i].packets;
    }
    for (uint32_t level = 1; level < wish->levels; level++)
        if (port->queue_of[TRAFFIC_LEVEL0 + level] != first)
            wanted += wish->floor_permille * thousandth;
    if (port->queue_of[TRAFFIC_CONTROL] != first)
        wanted += wish->control_permille * thousandth;
    if (port->queue_of[TRAFFIC_UNMANAGED] != first)
        wanted += wish->unmanaged_permille * thousandth;
    assert_int_equal(floors, facts->abilities.floors ? wanted : 0);
    assert_int_equal(port->lacks_floors, !facts->abilities.floors && wanted);
    assert_int_equal(port->queues[first].floor_bps, 0);
    assert_int_equal(packets, wish->queue_packets *
                                  (wish->levels == 1 ? ALL_OF_THEM : (uint64_t)wish->levels + 2));
}

static void check_marking(const struct port_wish *wish, const struct port_facts *facts,
                          const struct port *port)
{
    bool marks = wish->ecn && facts->abilities.ecn;
    for (uint32_t i = 0; i < port->queues_n; i++)
        if (marks)
            assert_in_range(port->queues[i].ecn_packets, 1, port->queues[i].packets - 1);
        else
            assert_int_equal(port->queues[i].ecn_packets, 0);
    assert_int_equal(port->lacks_ecn, wish->ecn && !facts->abilities.ecn);
    for (int level = 0; level < PORT_LEVELS; level++)
        assert_int_equal(port->queue_of_dscp[wish->dscp_of_level[level]],
                         port->queue_of[TRAFFIC_LEVEL0 + level]);
    assert_int_equal(port->queue_of_dscp[PORT_DSCP_CONTROL], port->queue_of[TRAFFIC_CONTROL]);
    assert_int_equal(port->queue_of_dscp[0], port->queue_of[TRAFFIC_UNMANAGED]);
    assert_int_equal(port->queue_of_dscp[63], port->queue_of[TRAFFIC_UNMANAGED]);
}

static void check_words(const struct port *port, bool whole)
{
    char text[PORT_TEXT];
    assert_ptr_equal(port_compromises(port, text, sizeof(text)), text);
    assert_true(strlen(text) < sizeof(text) - 1);
    assert_int_equal(text[0] == 0, whole);
}

/* One combination; returns whether it is possible. */
static bool try(const struct port_wish *wish, const struct port_facts *facts)
{
    struct port port;
    struct err err = {0};
    uint32_t lossless = (uint32_t)__builtin_popcount(facts->lossless);
    uint32_t usable = facts->queues_n - lossless;
    int r = port_want(wish, facts, &port, &err);
    uint32_t floors = wish->floor_permille * (wish->levels - 1) + wish->unmanaged_permille +
                      wish->control_permille;
    bool possible = usable >= 2 && facts->abilities.strict && floors < 1000 &&
                    floors + wish->floor_permille <= 1000 &&
                    wish->ecn_packets < wish->queue_packets &&
                    (wish->link_bps <= facts->link_bps || facts->abilities.hardware);
    if (r != (possible ? 0 : -EINVAL))
        fail_msg("levels %u, queues %u, lossless %x: %d %s", wish->levels, facts->queues_n,
                 facts->lossless, r, err.text);
    if (!possible) {
        assert_true(strlen(err.text) > 10 && !strchr(err.text, '\n'));
        return false;
    }
    check_places(facts, &port);
    check_folding(wish, usable, &port);
    check_shares(wish, facts, &port);
    check_marking(wish, facts, &port);
    check_words(&port, usable >= wish->levels + 2 && !lossless && !port.lacks_ecn &&
                           !port.lacks_floors && !port.lacks_bps);
    return true;
}

/* Levels × queues × every set of lossless ones. */
static uint32_t walk_queues(struct port_wish wish, struct port_facts facts)
{
    uint32_t possible = 0;
    for (wish.levels = 1; wish.levels <= PORT_LEVELS; wish.levels++)
        for (facts.queues_n = 0; facts.queues_n <= QUEUES_TRIED; facts.queues_n++)
            for (facts.lossless = 0; facts.lossless < 1u << facts.queues_n; facts.lossless++)
                possible += try(&wish, &facts);
    return possible;
}

static void test_every_port_for_every_number_of_levels(void **state)
{
    (void)state;
    struct port_wish wish = port_wish_preset;
    for (wish.unmanaged_joins = 0; wish.unmanaged_joins < PORT_LEVELS; wish.unmanaged_joins += 3)
        assert_true(walk_queues(wish, ethernet) > 60000);
}

/* Levels × queues × abilities × floors × ECN × rates, with lossless queues and without. */
static uint32_t walk_shares(struct port_wish wish, struct port_facts facts)
{
    static const uint32_t floors[] = {0, 1, 10, 100, 125, 300}, unmanaged[] = {1, 100, 900, 999};
    static const uint32_t thresholds[] = {0, 1, 99, 100};
    uint32_t possible = 0;
    for (size_t f = 0; f < sizeof(floors) / sizeof(floors[0]); f++)
        for (size_t u = 0; u < sizeof(unmanaged) / sizeof(unmanaged[0]); u++)
            for (size_t e = 0; e < sizeof(thresholds) / sizeof(thresholds[0]); e++) {
                wish.floor_permille = floors[f];
                wish.unmanaged_permille = unmanaged[u];
                wish.ecn_packets = thresholds[e];
                possible += try(&wish, &facts);
            }
    return possible;
}

static void test_every_ability_for_every_share(void **state)
{
    (void)state;
    uint32_t possible = 0, refused = 0;
    for (uint32_t n = 0; n < 8 * 8 * 16 * 2 * 3 * 2; n++) {
        static const uint32_t queues[] = {1, 2, 3, 5, 8, 9, 10, 32};
        static const uint64_t rates[] = {0, 100000000, 1000000001};
        struct port_wish wish = port_wish_preset;
        struct port_facts facts = ethernet;
        uint32_t rest = n;
        wish.levels = 1 + rest % 8, rest /= 8;
        facts.queues_n = queues[rest % 8], rest /= 8;
        facts.abilities = (struct port_abilities){
            .strict = rest & 1, .floors = rest & 2, .ecn = rest & 4, .hardware = rest & 8};
        rest /= 16;
        wish.ecn = rest % 2, rest /= 2;
        wish.link_bps = rates[rest % 3], rest /= 3;
        facts.lossless = rest ? 0x2 : 0; /* the second of them */
        uint32_t found = walk_shares(wish, facts);
        possible += found;
        refused += 6 * 4 * 4 - found;
    }
    assert_true(possible > 50000 && refused > 50000);
}

static void test_a_port_has_control_levels_and_the_unmanaged(void **state)
{
    (void)state;
    struct port_wish wish = port_wish_preset;
    wish.link_bps = 100000000;
    struct port port = port_of(&wish, &ethernet);
    assert_int_equal(port.queues_n, PORT_TRAFFIC);
    assert_true(port.held);
    assert_int_equal(port.queues[TRAFFIC_CONTROL].floor_bps, 1000000);
    assert_int_equal(port.queues[TRAFFIC_LEVEL0].floor_bps, 0);
    assert_int_equal(port.queues[TRAFFIC_LEVEL0 + 7].floor_bps, 1000000);
    assert_int_equal(port.queues[TRAFFIC_UNMANAGED].floor_bps, 10000000);
    for (uint32_t i = 0; i < PORT_TRAFFIC; i++) {
        assert_int_equal(port.queue_of[i], i);
        assert_int_equal(port.queues[i].first, i);
        assert_int_equal(port.queues[i].priority, i);
        assert_int_equal(port.queues[i].packets, 100);
    }
}

static void test_random_marks_are_between_two_lengths(void **state)
{
    (void)state;
    struct port_wish wish = port_wish_preset;
    struct port_facts facts = ethernet;
    char text[PORT_TEXT];
    wish.ecn_packets = 20;
    wish.red_packets = 60;
    facts.abilities.red = true;
    struct port port = port_of(&wish, &facts);
    for (uint32_t i = 0; i < port.queues_n; i++) {
        assert_int_equal(port.queues[i].ecn_packets, 20);
        assert_int_equal(port.queues[i].red_packets, 60);
    }
    assert_string_equal(port_compromises(&port, text, sizeof(text)), "");
    facts.abilities.red = false;
    port = port_of(&wish, &facts);
    assert_int_equal(port.queues[4].ecn_packets, 20);
    assert_int_equal(port.queues[4].red_packets, 0);
    assert_string_equal(port_compromises(&port, text, sizeof(text)),
                        "marks by threshold, not at random");
}

static void test_one_level_has_the_buffer_of_eight(void **state)
{
    (void)state;
    struct port_wish wish = port_wish_preset;
    wish.levels = 1;
    struct port port = port_of(&wish, &ethernet);
    assert_int_equal(port.queues_n, 3);
    assert_int_equal(port.queues[1].packets, 800);
    assert_int_equal(port.queue_of[TRAFFIC_LEVEL0 + 5], 1);
    assert_int_equal(port.queue_of[TRAFFIC_UNMANAGED], 2);
}

/* A switch of eight queues, two of them lossless, as SONiC has them (3 and 4 of 7 to 0). */
static void test_a_switch_with_lossless_queues(void **state)
{
    (void)state;
    struct port_facts facts = ethernet;
    char text[PORT_TEXT];
    facts.queues_n = 8;
    facts.lossless = 1u << 3 | 1u << 4;
    struct port port = port_of(&port_wish_preset, &facts);
    static const uint8_t places[PORT_TRAFFIC] = {0, 0, 1, 2, 3, 4, 4, 5, 5, 5};
    static const uint32_t priorities[] = {0, 1, 2, 5, 6, 7};
    assert_memory_equal(port.queue_of, places, sizeof(places));
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(port.queues[i].priority, priorities[i]);
    assert_int_equal(port.queues[5].floor_bps, 2 * 10000000 + 100000000);
    assert_string_equal(port_compromises(&port, text, sizeof(text)),
                        "control shares the queue of level 0; levels 4 and 5 share a queue; levels "
                        "6 and 7 share a queue; unmanaged traffic shares the queue of levels 6 and "
                        "7; 2 lossless queues are left alone");
}

static void test_a_plain_switch_of_eight_queues(void **state)
{
    (void)state;
    struct port_facts facts = ethernet;
    struct port_wish wish = port_wish_preset;
    char text[PORT_TEXT];
    facts.queues_n = 8;
    facts.abilities = (struct port_abilities){.strict = true, .hardware = true};
    wish.unmanaged_joins = 3;
    struct port port = port_of(&wish, &facts);
    assert_string_equal(
        port_compromises(&port, text, sizeof(text)),
        "control shares the queue of level 0; unmanaged traffic shares the queue of "
        "level 3; no floors; no ECN marks");
    facts.queues_n = 2;
    port = port_of(&wish, &facts);
    assert_string_equal(
        port_compromises(&port, text, sizeof(text)),
        "control shares the queue of level 0; levels 0 to 3 share a queue; levels 4 "
        "to 7 share a queue; unmanaged traffic shares the queue of levels 0 to 3; "
        "no floors; no ECN marks");
}

/* The DCTCP paper's thresholds, the line through them, and half of a short queue. */
static void test_thresholds_follow_the_rate(void **state)
{
    (void)state;
    static const struct {
        uint64_t bps;
        uint32_t queue_packets, threshold;
    } cases[] = {{1000000000, 200, 20},    {10000000000, 200, 65}, {100000000, 200, 15},
                 {40000000000, 1000, 215}, {100000000, 20, 10},    {1000000, 2, 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct port_wish wish = port_wish_preset;
        struct port_facts facts = ethernet;
        facts.link_bps = cases[i].bps;
        wish.queue_packets = cases[i].queue_packets;
        assert_int_equal(port_of(&wish, &facts).queues[4].ecn_packets, cases[i].threshold);
    }
    struct port_wish wish = port_wish_preset;
    wish.ecn_packets = 33;
    assert_int_equal(port_of(&wish, &ethernet).queues[4].ecn_packets, 33);
}

static void test_the_rate_is_the_link_s_or_given(void **state)
{
    (void)state;
    struct port_wish wish = port_wish_preset;
    struct port_facts facts = ethernet;
    assert_int_equal(port_of(&wish, &facts).link_bps, 1000000000);
    assert_false(port_of(&wish, &facts).held);
    wish.link_bps = 1000000000;
    assert_false(port_of(&wish, &facts).held);
    facts.link_bps = 0;
    assert_true(port_of(&wish, &facts).held);
    wish.link_bps = 0;
    refuses(&wish, &facts, "give it a rate");
    facts.link_bps = 1000000000;
    wish.link_bps = 1000000001;
    refuses(&wish, &facts, "above the link's own 1000000000");
    wish.link_bps = 2000000000;
    facts.abilities.hardware = true;
    struct port slower = port_of(&wish, &facts);
    char text[PORT_TEXT];
    assert_int_equal(slower.link_bps, 1000000000);
    assert_int_equal(slower.lacks_bps, 1000000000);
    assert_false(slower.held);
    assert_non_null(strstr(port_compromises(&slower, text, sizeof(text)),
                           "at its link's own 1.0 Gbit/s: the 2.0 Gbit/s wished are above it"));
    wish.link_bps = 1000;
    refuses(&wish, &facts, "too slow");
}

static void test_some_ports_have_a_rate_of_their_own(void **state)
{
    (void)state;
    struct port_wish wish = port_wish_preset;
    struct port_facts facts = ethernet;
    wish.link_bps = 100000000;
    wish.rates[0] = (struct port_rate){.ports = "swp[0-9]", .rate_bps = 500000000};
    wish.rates[1] = (struct port_rate){.ports = "swp*", .rate_bps = 0};
    wish.rates_n = 2;
    assert_int_equal(port_of(&wish, &facts).link_bps, 100000000);
    strcpy(facts.name, "swp7");
    assert_int_equal(port_of(&wish, &facts).link_bps, 500000000);
    strcpy(facts.name, "swp12");
    assert_int_equal(port_of(&wish, &facts).link_bps, 1000000000);
    assert_false(port_of(&wish, &facts).held);
    strcpy(facts.name, "swp7");
    wish.rates[0].rate_bps = 2000000000;
    refuses(&wish, &facts, "above the link's own");
}

static void test_what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    static const struct {
        uint32_t ecn_packets, red_packets, packets;
        bool without_ecn;
    } not_at_random[] = {{0, 60, 100, false},   {60, 60, 100, false},    {61, 60, 100, false},
                         {60, 101, 100, false}, {60, 1024, 2000, false}, {20, 60, 100, true}};
    struct port_wish wish = port_wish_preset;
    struct port_facts facts = ethernet;
    wish.floor_permille = 200;
    refuses(&wish, &facts, "nothing is left to level 0");
    wish = port_wish_preset;
    wish.levels = 9;
    refuses(&wish, &facts, "1 to 8 levels");
    wish = port_wish_preset;
    wish.unmanaged_joins = 8;
    refuses(&wish, &facts, "level 8");
    wish = port_wish_preset;
    wish.queue_packets = 1;
    refuses(&wish, &facts, "a queue of 1 packets");
    wish = port_wish_preset;
    wish.ecn_packets = 100;
    refuses(&wish, &facts, "marked from 100 on");
    for (uint32_t i = 0; i < sizeof(not_at_random) / sizeof(not_at_random[0]); i++) {
        wish = port_wish_preset;
        wish.queue_packets = not_at_random[i].packets;
        wish.ecn_packets = not_at_random[i].ecn_packets;
        wish.red_packets = not_at_random[i].red_packets;
        wish.ecn = !not_at_random[i].without_ecn;
        refuses(&wish, &facts, "marks at random");
    }
    wish = port_wish_preset;
    wish.dscp_of_level[3] = PORT_DSCP_CONTROL;
    refuses(&wish, &facts, "control's");
    wish.dscp_of_level[3] = wish.dscp_of_level[7];
    refuses(&wish, &facts, "cannot share DSCP 31");
    wish = port_wish_preset;
    facts.queues_n = 4;
    facts.lossless = 0xfffffffd;
    refuses(&wish, &facts, "of the port's 4 queues 3 are lossless");
    facts = ethernet;
    facts.queues_n = PORT_QUEUES + 1;
    refuses(&wish, &facts, "33 queues");
    facts = ethernet;
    facts.mtu_bytes = 0;
    refuses(&wish, &facts, "0 bytes");
    facts = ethernet;
    facts.abilities.strict = false;
    refuses(&wish, &facts, "strict");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_port_for_every_number_of_levels),
        cmocka_unit_test(test_every_ability_for_every_share),
        cmocka_unit_test(test_a_port_has_control_levels_and_the_unmanaged),
        cmocka_unit_test(test_random_marks_are_between_two_lengths),
        cmocka_unit_test(test_one_level_has_the_buffer_of_eight),
        cmocka_unit_test(test_a_switch_with_lossless_queues),
        cmocka_unit_test(test_a_plain_switch_of_eight_queues),
        cmocka_unit_test(test_thresholds_follow_the_rate),
        cmocka_unit_test(test_the_rate_is_the_link_s_or_given),
        cmocka_unit_test(test_some_ports_have_a_rate_of_their_own),
        cmocka_unit_test(test_what_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
