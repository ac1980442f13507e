/* Judging marks: frames of all kinds, then scenes of attempts and modes with packets made up by
 * hand. */
#include "tests/unit/test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed/verify/judge.h"

#define MS     1000000
#define WINDOW ((int64_t)100 * MS)
#define BEGIN  ((int64_t)20 * MS)

/* An Ethernet frame of an IPv4 TCP packet 10.0.0.3:7070 → 10.0.0.4:40000 with `payload` bytes, cut
 * at its headers. */
static size_t make_ipv4(uint8_t *frame, uint8_t tos, uint16_t payload)
{
    const uint16_t total = (uint16_t)(20 + 32 + payload);
    memset(frame, 0, 128);
    frame[12] = 8;
    uint8_t *ip = frame + 14;
    ip[0] = 0x45;
    ip[1] = tos;
    ip[2] = (uint8_t)(total >> 8);
    ip[3] = (uint8_t)total;
    ip[9] = 6;
    memcpy(ip + 12, (uint8_t[]){10, 0, 0, 3, 10, 0, 0, 4}, 8);
    memcpy(ip + 20, (uint8_t[]){7070 >> 8, 7070 & 255, 40000 >> 8, 40000 & 255}, 4);
    ip[20 + 12] = 8 << 4;
    ip[20 + 13] = 0x18; /* PSH, ACK */
    return 14 + 20 + 32;
}

/* Gives the frame a TSval (RFC 7323, 3.2), behind two NOPs. */
static void stamp_ipv4(uint8_t *frame, uint32_t stamp)
{
    const uint8_t options[] = {1,
                               1,
                               8,
                               10,
                               (uint8_t)(stamp >> 24),
                               (uint8_t)(stamp >> 16),
                               (uint8_t)(stamp >> 8),
                               (uint8_t)stamp};
    memcpy(frame + 14 + 20 + 20, options, sizeof(options));
}

static void test_frames_are_read(void **state)
{
    (void)state;
    uint8_t bytes[128];
    struct packet_frame frame;
    struct in6_addr from;
    size_t size = make_ipv4(bytes, 27 << 2 | 3, 1400);
    assert_true(packet_decode(bytes, size, &frame));
    assert_true(packet_address("10.0.0.3", &from));
    assert_memory_equal(&frame.key.from.address, &from, sizeof(from));
    assert_int_equal(frame.key.from.port, 7070);
    assert_int_equal(frame.key.to.port, 40000);
    assert_int_equal(frame.dscp, 27);
    assert_int_equal(frame.payload_bytes, 1400);
    assert_int_equal(frame.flags, 0x18);
}

static void test_time_stamps_are_read(void **state)
{
    (void)state;
    uint8_t bytes[128];
    struct packet_frame frame;
    size_t size = make_ipv4(bytes, 0, 1400);
    assert_true(packet_decode(bytes, size, &frame));
    assert_false(frame.stamped);
    stamp_ipv4(bytes, 0xfedcba98);
    assert_true(packet_decode(bytes, size, &frame));
    assert_true(frame.stamped);
    assert_int_equal(frame.stamp, 0xfedcba98);
    assert_true(packet_decode(bytes, size - 5, &frame)); /* cut in the option */
    assert_false(frame.stamped);
    bytes[14 + 20 + 20 + 3] = 0; /* an option that would never end */
    assert_true(packet_decode(bytes, size, &frame));
    assert_false(frame.stamped);
}

static void test_ipv6_traffic_class_is_read_as_tos(void **state)
{
    (void)state;
    uint8_t bytes[128] = {[12] = 0x86, [13] = 0xdd};
    struct packet_frame frame;
    uint8_t *ip = bytes + 14;
    const uint8_t class = 19 << 2 | 1;
    ip[0] = (uint8_t)(0x60 | class >> 4);
    ip[1] = (uint8_t)(class << 4);
    ip[5] = 20 + 77;
    ip[6] = 6;
    ip[40 + 12] = 5 << 4;
    assert_true(packet_decode(bytes, 14 + 40 + 20, &frame));
    assert_int_equal(frame.dscp, 19);
    assert_int_equal(frame.payload_bytes, 77);
}

static void test_what_is_no_tcp_or_cut_is_nothing(void **state)
{
    (void)state;
    uint8_t bytes[128];
    struct packet_frame frame;
    size_t size = make_ipv4(bytes, 0, 10);
    for (size_t cut = 0; cut < size - 12; cut++)
        assert_false(packet_decode(bytes, cut, &frame));
    bytes[14 + 9] = 17;
    assert_false(packet_decode(bytes, size, &frame));
    make_ipv4(bytes, 0, 10);
    bytes[14 + 7] = 1;
    assert_false(packet_decode(bytes, size, &frame));
    make_ipv4(bytes, 0, 10);
    bytes[14 + 20 + 12] = 0xf0; /* a header longer than the packet */
    assert_false(packet_decode(bytes, size, &frame));
    uint64_t random = test_seed();
    for (int i = 0; i < 100000; i++) {
        for (size_t j = 0; j < size; j++)
            bytes[j] = (uint8_t)test_random(&random);
        packet_decode(bytes, test_random(&random) % size, &frame);
    }
}

/* ---- scenes: attempt 7 has Coflow level 3 and Macroflow level 1; modes change at 1 s and 2 s
 * ---- */

/* Attempt 7 has Coflow level 3 and Macroflow level 1; modes change at 1 s and 2 s. */
struct scene {
    struct truth truth;
    struct packets packets;
    struct verdict verdict;
};

static void log_lines(struct truth *truth, const char *const *lines)
{
    struct err err = {0};
    for (; *lines; lines++)
        if (truth_recording_line(truth, *lines, &err) < 0)
            fail_msg("%s", err.text);
}

static void set_up(struct scene *scene)
{
    static const char *const lines[] = {
        "duopoly-log 1",
        "dump config seed=1",
        "begin 1790000000000000000",
        "step 100000000",
        "e attempt_done attempt=5 received_bytes=0",
        "d start reason=first-on-link left=0 right=0 attempt=7 job=1 stage=1 task=0 host=0 unit=0 "
        "resources=1,0,0,0,0,0 coflow_level=3 macroflow_level=1 queue=0 input_bytes=5",
        "step 1000000000",
        "d mode reason=first-blocked left=4 right=0 mode=1 sequence=1",
        "step 2000000000",
        "d mode reason=first-fits left=0 right=0 mode=0 sequence=2",
        "step 3000000000",
        "e attempt_done attempt=7 received_bytes=5",
        NULL,
    };
    struct err err = {0};
    *scene = (struct scene){0};
    truth_init(&scene->truth);
    packets_init(&scene->packets);
    log_lines(&scene->truth, lines);
    /* What others read does not matter here. */
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(truth_ports_line(&scene->truth, 7,
                                          i ? "first 10.0.0.4 40000 10.0.0.3 7070 250000000"
                                            : "connect 10.0.0.4 40000 10.0.0.3 7070 150000000",
                                          &err),
                         0);
    assert_int_equal(
        truth_ports_line(&scene->truth, 7, "open 10.0.0.4 40000 10.0.0.3 7070 200000000", &err), 0);
    assert_int_equal(
        truth_ports_line(&scene->truth, 7, "close 10.0.0.4 40000 10.0.0.3 7070 2900000000", &err),
        0);
    truth_finish(&scene->truth);
}

static void see(struct scene *scene, int64_t time_ns, unsigned dscp)
{
    uint8_t bytes[128];
    struct packet_frame frame;
    size_t size = make_ipv4(bytes, (uint8_t)(dscp << 2), 1448);
    assert_true(packet_decode(bytes, size, &frame));
    packets_add(&scene->packets, time_ns, &frame);
}

/* The flow's clock stands at `stamp` when a packet is sent that comes by at `time_ns`. */
static void see_stamped(struct scene *scene, int64_t time_ns, unsigned dscp, uint32_t stamp)
{
    uint8_t bytes[128];
    struct packet_frame frame;
    size_t size = make_ipv4(bytes, (uint8_t)(dscp << 2), 1448);
    stamp_ipv4(bytes, stamp);
    assert_true(packet_decode(bytes, size, &frame));
    packets_add(&scene->packets, time_ns, &frame);
}

static void conclude(struct scene *scene)
{
    struct err err = {0};
    const struct judge_windows windows = {WINDOW, BEGIN};
    assert_int_equal(judge(&scene->truth, &scene->packets, &windows, &scene->verdict, &err), 0);
}

static void tear_down(struct scene *scene)
{
    verdict_done(&scene->verdict);
    truth_done(&scene->truth);
    packets_done(&scene->packets);
}

static void test_right_marks_are_right_in_each_mode(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene);
    for (int64_t ms = 150; ms < 1000; ms += 5) /* the first ones before the task's own line */
        see(&scene, ms * MS, truth_dscp(3));
    for (int64_t ms = 1001; ms < 2000; ms += 5)
        see(&scene, ms * MS, truth_dscp(1));
    see(&scene, (int64_t)3100 * MS, truth_dscp(3)); /* just after its close */
    conclude(&scene);
    assert_int_equal(scene.verdict.checked, 170 + 200 + 1);
    assert_int_equal(scene.verdict.right, scene.verdict.checked);
    assert_true(verdict_is_good(&scene.verdict));
    tear_down(&scene);
}

static void test_an_old_mark_passes_inside_the_window_only(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene);
    see(&scene, (int64_t)1019 * MS, truth_dscp(3));
    see(&scene, (int64_t)1100 * MS, truth_dscp(3));
    conclude(&scene);
    assert_int_equal(scene.verdict.in_window, 2);
    assert_int_equal(scene.verdict.ages[0], 1);
    assert_int_equal(scene.verdict.ages[1], 1);
    see(&scene, (int64_t)1101 * MS, truth_dscp(3));
    verdict_done(&scene.verdict);
    conclude(&scene);
    assert_int_equal(scene.verdict.wrong, 1);
    assert_false(verdict_is_good(&scene.verdict));
    tear_down(&scene);
}

/* The mode changes at 1 s; the fastest packet took 1 ms, and the clock wraps at 950 ms. */
static void test_a_mark_that_was_right_when_sent_may_have_waited_in_a_queue(void **state)
{
    (void)state;
    const uint32_t zero = (uint32_t)-950;
    struct scene scene;
    set_up(&scene);
    see_stamped(&scene, (int64_t)960 * MS, truth_dscp(3), zero + 955);
    see_stamped(&scene, (int64_t)990 * MS, truth_dscp(3), zero + 989);
    see_stamped(&scene, (int64_t)1050 * MS, truth_dscp(3), zero + 995);
    see_stamped(&scene, (int64_t)1600 * MS, truth_dscp(3), zero + 998); /* past any window */
    see_stamped(&scene, (int64_t)1601 * MS, truth_dscp(1), zero + 1002);
    conclude(&scene);
    assert_int_equal(scene.verdict.late, 2);
    assert_int_equal(scene.verdict.late_bytes, 2 * 1448);
    assert_int_equal(scene.verdict.right, 3);
    assert_true(verdict_is_good(&scene.verdict));
    tear_down(&scene);
}

static void test_a_mark_that_was_not_right_when_sent_is_none_of_a_queue_s(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene);
    see_stamped(&scene, (int64_t)990 * MS, truth_dscp(3), 989);
    see_stamped(&scene, (int64_t)1050 * MS, truth_dscp(3), 1005); /* sent before word came */
    see_stamped(&scene, (int64_t)1600 * MS, truth_dscp(3), 1005);
    see_stamped(&scene, (int64_t)1700 * MS, truth_dscp(6), 990);
    conclude(&scene);
    assert_int_equal(scene.verdict.late, 0);
    assert_int_equal(scene.verdict.in_window, 1);
    assert_int_equal(scene.verdict.wrong, 2);
    tear_down(&scene);
}

static void test_a_planted_wrong_mark_is_found(void **state)
{
    (void)state;
    for (unsigned dscp = 0; dscp < 64; dscp++) {
        struct scene scene;
        set_up(&scene);
        see(&scene, (int64_t)500 * MS, truth_dscp(3));
        see(&scene, (int64_t)501 * MS, dscp);
        conclude(&scene);
        assert_int_equal(scene.verdict.wrong, dscp != truth_dscp(3));
        assert_int_equal(verdict_is_good(&scene.verdict), dscp == truth_dscp(3));
        if (scene.verdict.wrong)
            assert_int_equal(scene.verdict.examples[0].dscp, dscp);
        tear_down(&scene);
    }
}

static void test_a_mark_that_was_never_in_force_is_wrong_also_in_a_window(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene);
    see(&scene, (int64_t)1001 * MS, truth_dscp(2));
    conclude(&scene);
    assert_int_equal(scene.verdict.wrong, 1);
    tear_down(&scene);
}

/* A host obeys both decisions of the step, one after the other. */
static void test_a_level_that_its_own_step_replaced_passes_inside_the_window(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "step 1500000000",
        "d level reason=received left=1 right=1 attempt=7 host=0 coflow_level=4 macroflow_level=4",
        "d level reason=received left=2 right=2 attempt=7 host=0 coflow_level=5 macroflow_level=5",
        NULL,
    };
    struct scene scene;
    set_up(&scene);
    log_lines(&scene.truth, lines);
    see(&scene, (int64_t)1510 * MS, truth_dscp(4));
    see(&scene, (int64_t)1520 * MS, truth_dscp(1));
    see(&scene, (int64_t)1530 * MS, truth_dscp(5));
    see(&scene, (int64_t)1530 * MS, truth_dscp(3)); /* of the other mode, until 1 s */
    see(&scene, (int64_t)1601 * MS, truth_dscp(4));
    conclude(&scene);
    assert_int_equal(scene.verdict.in_window, 2);
    assert_int_equal(scene.verdict.right, 1);
    assert_int_equal(scene.verdict.wrong, 2);
    tear_down(&scene);
}

static void test_packets_that_nobody_wrote_down_are_unattributed(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene);
    see(&scene, (int64_t)3500 * MS, truth_dscp(3)); /* long after its close */
    conclude(&scene);
    assert_int_equal(scene.verdict.unattributed, 1);
    assert_false(verdict_is_good(&scene.verdict));
    assert_int_equal(scene.verdict.n_strays, 1);
    const struct judge_stray *stray = &scene.verdict.strays[0];
    assert_int_equal(stray->packet.time_ns, (int64_t)3500 * MS);
    assert_int_equal(stray->packet.payload_bytes, 1448);
    assert_int_equal(stray->packet.dscp, truth_dscp(3));
    assert_int_equal(stray->packet.flags, 0x18);
    assert_int_equal(stray->key.from.port, 7070);
    assert_int_equal(stray->key.to.port, 40000);
    assert_int_equal(stray->last->number, 7);
    tear_down(&scene);
}

static void test_the_first_unattributed_ones_are_kept(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene);
    for (int64_t i = 0; i < JUDGE_STRAYS + 5; i++)
        see(&scene, (3500 + i) * MS, truth_dscp(3));
    conclude(&scene);
    assert_int_equal(scene.verdict.unattributed, JUDGE_STRAYS + 5);
    assert_int_equal(scene.verdict.n_strays, JUDGE_STRAYS);
    assert_int_equal(scene.verdict.strays[JUDGE_STRAYS - 1].packet.time_ns,
                     (3500 + JUDGE_STRAYS - 1) * (int64_t)MS);
    tear_down(&scene);
}

/* A copy that waited in a starved queue comes when its connection has long ended. */
static void test_late_copies_are_let_pass_for_a_window_after_the_close(void **state)
{
    (void)state;
    struct scene scene;
    const struct judge_windows windows = {2000ll * MS, BEGIN};
    struct err err = {0};
    set_up(&scene);
    see(&scene, 4800ll * MS, truth_dscp(3));
    see(&scene, 4950ll * MS, truth_dscp(3));
    assert_int_equal(judge(&scene.truth, &scene.packets, &windows, &scene.verdict, &err), 0);
    assert_int_equal(scene.verdict.right, 1);
    assert_int_equal(scene.verdict.unattributed, 1);
    tear_down(&scene);
}

static void test_nothing_checked_proves_nothing(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene);
    conclude(&scene);
    assert_false(verdict_is_good(&scene.verdict));
    tear_down(&scene);
}

static void test_switches_are_timed_apart_for_flowing_and_starved(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene);
    for (int64_t ms = 900; ms < 1004;
         ms += 4) /* 25 packets in the 100 ms before the first switch */
        see(&scene, ms * MS, truth_dscp(3));
    see(&scene, (int64_t)1007 * MS, truth_dscp(1));
    see(&scene, (int64_t)1500 * MS, truth_dscp(1));
    see(&scene, (int64_t)2040 * MS, truth_dscp(3)); /* nothing in the 100 ms before the second */
    conclude(&scene);
    assert_int_equal(scene.verdict.flowing.n, 1);
    assert_int_equal(scene.verdict.flowing.at_ns[0], 7 * MS);
    assert_int_equal(scene.verdict.promoted.n + scene.verdict.demoted.n, 1);
    assert_int_equal(scene.verdict.starved.n, 1);
    assert_int_equal(scene.verdict.starved.at_ns[0], 40 * MS);
    assert_int_equal(scene.verdict.unseen, 0);
    tear_down(&scene);
}

static void test_a_port_that_is_used_again_belongs_to_its_newest_task(void **state)
{
    (void)state;
    struct scene scene;
    struct err err = {0};
    static const char *const lines[] = {"step 3000000000",
                                        "d start attempt=8 coflow_level=6 macroflow_level=6",
                                        "d level attempt=8 coflow_level=7 macroflow_level=7", NULL};
    set_up(&scene);
    log_lines(&scene.truth, lines);
    assert_int_equal(
        truth_ports_line(&scene.truth, 8, "open 10.0.0.4 40000 10.0.0.3 7070 3100000000", &err), 0);
    truth_finish(&scene.truth);
    see(&scene, (int64_t)2800 * MS, truth_dscp(3));
    see(&scene, (int64_t)3200 * MS, truth_dscp(7));
    conclude(&scene);
    assert_int_equal(scene.verdict.right, 2);
    tear_down(&scene);
}

/* Two tasks of one executor, one after the other: attempt 21 goes by allow 11, 22 by that of its
 * place, whose levels have changed meanwhile; 23 is of a stage that reads no shuffle, so its
 * allow's levels are none of its own. */
static void test_a_connection_passes_from_task_to_task(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "step 1000000000",
        "e framework_stage job=1 stage=1 tasks=2 demand=1,0,0,0,0,0 parents= edges= history=0",
        "e framework_stage job=1 stage=1 tasks=2 demand=1,0,0,0,0,0 parents=0 edges=0 history=0",
        "e framework_stage job=2 stage=0 tasks=1 demand=1,0,0,0,0,0 parents= edges= history=0",
        "d allow reason=x allow=13 job=2 stage=0 task=0 coflow_level=5 macroflow_level=5",
        "d allow reason=x allow=11 job=1 stage=1 task=0 coflow_level=3 macroflow_level=1",
        "d allow reason=x allow=12 job=1 stage=1 task=1 coflow_level=5 macroflow_level=1",
        "step 1100000000",
        "d level reason=x attempt=12 host=0 coflow_level=4 macroflow_level=1",
        "step 1200000000",
        "e framework_started attempt=21 allow=11 job=1 stage=1 task=0 host=0",
        "step 2000000000",
        "e framework_done attempt=21 job=1 stage=1 task=0 host=0 received_bytes=0",
        "e framework_started attempt=22 allow=0 job=1 stage=1 task=1 host=0",
        "step 3000000000",
        "e framework_started attempt=23 allow=0 job=2 stage=0 task=0 host=0",
        NULL};
    static const struct {
        uint64_t attempt;
        const char *line;
    } ports[] = {{21, "open 10.0.0.4 40000 10.0.0.3 7070 1200000000"},
                 {21, "close 10.0.0.4 40000 10.0.0.3 7070 2000000000"},
                 {22, "open 10.0.0.4 40000 10.0.0.3 7070 2000000000"},
                 {22, "close 10.0.0.4 40000 10.0.0.3 7070 3000000000"},
                 {23, "open 10.0.0.4 40000 10.0.0.3 7070 3000000000"}};
    struct scene scene = {0};
    struct err err;
    truth_init(&scene.truth);
    packets_init(&scene.packets);
    log_lines(&scene.truth, lines);
    for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++)
        assert_int_equal(truth_ports_line(&scene.truth, ports[i].attempt, ports[i].line, &err), 0);
    truth_finish(&scene.truth);
    see(&scene, 1210 * (int64_t)MS, 30); /* who had it before is not known */
    see(&scene, 1500 * (int64_t)MS, truth_dscp(3));
    see(&scene, 2010 * (int64_t)MS, truth_dscp(3)); /* of the task before */
    see(&scene, 2110 * (int64_t)MS, truth_dscp(3)); /* no longer */
    see(&scene, 2120 * (int64_t)MS, truth_dscp(4));
    see(&scene, 2130 * (int64_t)MS, truth_dscp(5));
    see(&scene, 3500 * (int64_t)MS, truth_dscp(0));
    conclude(&scene);
    assert_int_equal(scene.verdict.right, 2);
    assert_int_equal(scene.verdict.of_begin, 2);
    assert_int_equal(scene.verdict.begin_bytes, 2 * 1448);
    assert_int_equal(scene.verdict.in_window, 0);
    assert_int_equal(scene.verdict.wrong, 2);
    assert_int_equal(scene.verdict.unlevelled, 1);
    assert_int_equal(scene.verdict.examples[0].whose, JUDGE_OF_BEFORE);
    assert_int_equal(scene.verdict.examples[0].longest_ns, 110 * (int64_t)MS);
    assert_int_equal(scene.verdict.examples[1].whose, JUDGE_NOBODYS);
    assert_int_equal(scene.verdict.right_bytes, 2 * 1448);
    assert_int_equal(scene.verdict.wrong_bytes, 2 * 1448);
    assert_int_equal(scene.verdict.unattributed, 0);
    tear_down(&scene);
}

static void test_broken_sources_are_refused(void **state)
{
    (void)state;
    struct scene scene;
    struct err err = {0};
    set_up(&scene);
    assert_int_equal(truth_recording_line(&scene.truth, "d start attempt=9 coflow_level=1", &err),
                     -EINVAL);
    assert_int_equal(truth_recording_line(&scene.truth, "d mode mode=2", &err), -EINVAL);
    assert_int_equal(truth_recording_line(&scene.truth, "step x", &err), -EINVAL);
    assert_int_equal(truth_recording_line(&scene.truth, "d later kind=1", &err), 0);
    assert_int_equal(truth_ports_line(&scene.truth, 9, "open 10.0.0.4 40000 10.0.0.3", &err),
                     -EINVAL);
    assert_int_equal(truth_ports_line(&scene.truth, 9, "close 10.0.0.4 1 10.0.0.3 7070 5", &err),
                     -EINVAL);
    assert_int_equal(truth_ports_line(&scene.truth, 9, "open host 1 10.0.0.3 7070 5", &err),
                     -EINVAL);
    tear_down(&scene);
}

static void file_write(const char *folder, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

/* A long run's recording is in several files, and they are one. */
static void test_a_folder_is_read_oldest_first(void **state)
{
    (void)state;
    char folder[] = "/tmp/duopoly-verify-XXXXXX", command[64];
    struct truth truth;
    struct err err;
    assert_non_null(mkdtemp(folder));
    truth_init(&truth);
    assert_int_equal(truth_load_recording(&truth, folder, &err), -ENOENT);
    file_write(folder, "duopoly.log", "step 30\nd mode mode=1\n");
    file_write(folder, "duopoly.log.1", "step 20\nd mode mode=0\n");
    file_write(folder, "duopoly.log.2", "step 10\nd mode mode=1\n");
    assert_int_equal(truth_load_recording(&truth, folder, &err), 0);
    assert_int_equal(truth.n_modes, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(truth.modes[i].since_ns, 10 * (int64_t)(i + 1));
    truth_done(&truth);
    snprintf(command, sizeof(command), "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_are_read),
        cmocka_unit_test(test_time_stamps_are_read),
        cmocka_unit_test(test_ipv6_traffic_class_is_read_as_tos),
        cmocka_unit_test(test_what_is_no_tcp_or_cut_is_nothing),
        cmocka_unit_test(test_right_marks_are_right_in_each_mode),
        cmocka_unit_test(test_an_old_mark_passes_inside_the_window_only),
        cmocka_unit_test(test_a_mark_that_was_right_when_sent_may_have_waited_in_a_queue),
        cmocka_unit_test(test_a_mark_that_was_not_right_when_sent_is_none_of_a_queue_s),
        cmocka_unit_test(test_a_planted_wrong_mark_is_found),
        cmocka_unit_test(test_a_mark_that_was_never_in_force_is_wrong_also_in_a_window),
        cmocka_unit_test(test_a_level_that_its_own_step_replaced_passes_inside_the_window),
        cmocka_unit_test(test_packets_that_nobody_wrote_down_are_unattributed),
        cmocka_unit_test(test_the_first_unattributed_ones_are_kept),
        cmocka_unit_test(test_late_copies_are_let_pass_for_a_window_after_the_close),
        cmocka_unit_test(test_nothing_checked_proves_nothing),
        cmocka_unit_test(test_switches_are_timed_apart_for_flowing_and_starved),
        cmocka_unit_test(test_a_port_that_is_used_again_belongs_to_its_newest_task),
        cmocka_unit_test(test_a_connection_passes_from_task_to_task),
        cmocka_unit_test(test_broken_sources_are_refused),
        cmocka_unit_test(test_a_folder_is_read_oldest_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
