/* Joining sightings: packets made up by hand on a way over two switches, and what their ports
 * count. */
#include "tests/unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "testbed/verify/hops.h"
#include "testbed/verify/truth.h"

enum { ENTRY, CORE, EXIT }; /* ports: a host's, a switch's towards the next, a host's behind that */

struct scene {
    struct hops *hops;
    struct verdict verdict;
    struct hops_report report;
    struct err err;
};

static void begin(struct scene *s)
{
    static const char *const names[] = {"entry", "core", "exit"};
    unsigned port;
    *s = (struct scene){.hops = calloc(1, sizeof(*s->hops))};
    assert_non_null(s->hops);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(hops_add_port(s->hops, names[i], &port, &s->err), 0);
        assert_int_equal(port, i);
        s->hops->ports[i].edge = i != CORE;
        for (unsigned level = 0; level < HOPS_LEVELS; level++)
            s->hops->ports[i].after.served[level] = true;
    }
}

static void end(struct scene *s)
{
    hops_report_done(&s->report);
    hops_done(s->hops);
    free(s->hops);
}

static void judge_scene(struct scene *s)
{
    assert_int_equal(hops_judge(s->hops, &s->verdict, &s->report, &s->err), 0);
}

static void see(struct scene *s, unsigned port, bool out, int64_t time_ns, unsigned packet,
                unsigned level, uint8_t ecn)
{
    const struct packet_frame frame = {
        .dscp = truth_dscp(level), .ecn = ecn, .id = (uint16_t)packet, .sequence = 1000 + packet};
    hops_add(s->hops, port, out, time_ns, 0, &frame);
    if (out) {
        hops_count(s->hops, port, frame.dscp, false);
        s->hops->ports[port].after.packets[level]++;
    }
}

static void travel(struct scene *s, unsigned packet, unsigned level)
{
    see(s, ENTRY, false, 10 * packet, packet, level, 2);
    see(s, CORE, true, 10 * packet + 1, packet, level, 2);
    see(s, EXIT, true, 10 * packet + 2, packet, level, 3);
}

static void test_what_travels_as_it_came_is_explained(void **state)
{
    (void)state;
    struct scene s;
    begin(&s);
    for (unsigned packet = 0; packet < 5; packet++)
        travel(&s, packet, 3);
    judge_scene(&s);
    assert_int_equal(hops_unexplained(&s.report), 0);
    assert_int_equal(s.report.entered, 5);
    assert_int_equal(s.report.arrived, 5);
    assert_int_equal(s.report.longest, 2);
    assert_int_equal(s.report.cells[truth_dscp(3)][0].packets, 5);
    assert_int_equal(s.report.cells[truth_dscp(3)][0].ce, 0);
    assert_int_equal(s.report.cells[truth_dscp(3)][1].ce, 5);
    end(&s);
}

static void test_a_clock_that_is_set_back_loses_no_packet(void **state)
{
    (void)state;
    struct scene s;
    begin(&s);
    see(&s, ENTRY, false, 5, 1, 0, 0);
    see(&s, CORE, true, 6, 1, 0, 0);
    see(&s, EXIT, true, 2, 1, 0, 0);
    judge_scene(&s);
    assert_int_equal(s.report.arrived, 1);
    assert_int_equal(hops_unexplained(&s.report), 0);
    end(&s);
}

static void test_what_came_from_nowhere_or_changed_is_not(void **state)
{
    (void)state;
    struct scene s;
    begin(&s);
    see(&s, EXIT, true, 5, 1, 0, 0);
    see(&s, ENTRY, false, 6, 2, 0, 0);
    see(&s, EXIT, true, 7, 2, 4, 0);
    judge_scene(&s);
    assert_int_equal(s.report.strange, 1);
    assert_int_equal(s.report.changed, 1);
    assert_int_equal(hops_unexplained(&s.report), 2);
    end(&s);
}

static void test_what_vanished_must_have_been_dropped(void **state)
{
    (void)state;
    struct scene s;
    for (unsigned drops = 0; drops < 4; drops++) {
        begin(&s);
        see(&s, ENTRY, false, 1, 1, 2, 0);
        see(&s, ENTRY, false, 2, 2, 2, 0);
        see(&s, CORE, true, 3, 2, 2, 0); /* no host is behind it */
        s.hops->ports[CORE].after.drops[2] = drops;
        judge_scene(&s);
        assert_int_equal(s.report.arrived, 0);
        assert_int_equal(s.report.vanished, drops < 2 ? 2 - drops : 0);
        s.hops->ports[CORE].after.waiting = 1; /* in the port's queues */
        judge_scene(&s);
        assert_int_equal(s.report.vanished, drops < 1 ? 1 : 0);
        end(&s);
    }
}

static void test_the_ports_counters_must_agree(void **state)
{
    (void)state;
    struct scene s;
    begin(&s);
    travel(&s, 1, 6);
    s.hops->ports[CORE].before.packets[6] = 10;
    s.hops->ports[CORE].after.packets[6] += 10;
    hops_count(s.hops, CORE, truth_dscp(6), true); /* waits in level 0's queue */
    s.hops->ports[CORE].after.packets[0]++;
    hops_count(s.hops, CORE, 0, false); /* no level's */
    judge_scene(&s);
    assert_int_equal(s.report.miscounted, 0);
    s.hops->ports[EXIT].after.packets[6]--;
    s.hops->ports[EXIT].after.packets[5]++;
    judge_scene(&s);
    assert_int_equal(s.report.miscounted, 2);
    assert_string_equal(s.report.worst, "exit");
    end(&s);
}

static void test_levels_that_share_a_queue_are_counted_together(void **state)
{
    (void)state;
    struct scene s;
    begin(&s);
    for (unsigned i = 0; i < 3; i++)
        memset(s.hops->ports[i].after.served + 1, 0, HOPS_LEVELS - 1);
    travel(&s, 1, 6);
    for (unsigned i = CORE; i <= EXIT; i++) {
        s.hops->ports[i].after.packets[0] = s.hops->ports[i].after.packets[6];
        s.hops->ports[i].after.packets[6] = 0;
    }
    judge_scene(&s);
    assert_int_equal(hops_unexplained(&s.report), 0);
    end(&s);
}

static void test_a_segment_sent_again_is_another_packet(void **state)
{
    (void)state;
    struct scene s;
    begin(&s);
    travel(&s, 1, 0);
    for (unsigned i = 0; i < 3; i++) {
        const struct packet_frame again = {.dscp = truth_dscp(0), .id = 77, .sequence = 1001};
        hops_add(s.hops, i, i != ENTRY, 100 + i, 0, &again);
        if (i != ENTRY) {
            hops_count(s.hops, i, again.dscp, false);
            s.hops->ports[i].after.packets[0]++;
        }
    }
    judge_scene(&s);
    assert_int_equal(s.report.entered, 2);
    assert_int_equal(hops_unexplained(&s.report), 0);
    end(&s);
}

static void test_a_change_is_followed_from_hop_to_hop(void **state)
{
    (void)state;
    struct scene s;
    struct judge_seen seen = {.flow = 0, .change_ns = 15, .time_ns = 20};
    begin(&s);
    travel(&s, 1, 3);
    travel(&s, 2, 1);
    s.verdict = (struct verdict){.seen = &seen, .n_seen = 1};
    judge_scene(&s);
    assert_int_equal(s.report.delays[0].n, 1);
    assert_int_equal(s.report.delays[0].at_ns[0], 6);
    assert_int_equal(s.report.delays[1].at_ns[0], 7);
    assert_int_equal(s.report.delays[2].n, 0);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_travels_as_it_came_is_explained),
        cmocka_unit_test(test_a_clock_that_is_set_back_loses_no_packet),
        cmocka_unit_test(test_what_came_from_nowhere_or_changed_is_not),
        cmocka_unit_test(test_what_vanished_must_have_been_dropped),
        cmocka_unit_test(test_the_ports_counters_must_agree),
        cmocka_unit_test(test_levels_that_share_a_queue_are_counted_together),
        cmocka_unit_test(test_a_segment_sent_again_is_another_packet),
        cmocka_unit_test(test_a_change_is_followed_from_hop_to_hop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
