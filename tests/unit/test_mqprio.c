/* A wanted port in mqprio's terms and in DCB entries. The messages are those of `tc` and `dcb`,
 * byte for byte: both programs are run with a library that keeps what they send (netlink_spy.c); no
 * NIC here has such queues. */
#include "tests/unit/test.h"

#include "hostagent/queues/kernel_nl.h"
#include "hostagent/queues/mqprio.h"

#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/handlers.h>
#include <netlink/msg.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES_MOST 65536

static const struct port_facts nic = {.link_bps = 25000000000,
                                      .mtu_bytes = 1500,
                                      .queues_n = 8,
                                      .abilities = {.strict = true, .hardware = true}};
static bool own_namespace;

struct bytes {
    size_t n;
    uint8_t at[BYTES_MOST];
};

static struct port eight_classes(void)
{
    struct port port;
    assert_int_equal(port_want(&port_wish_preset, &nic, &port, NULL), 0);
    return port;
}

/* What a command sends of one type, without what differs from run to run: its number, its sender,
 * and whether an acknowledgement is wished for. */
static void settle(struct nlmsghdr *header)
{
    header->nlmsg_seq = header->nlmsg_pid = 0;
    header->nlmsg_flags &= (uint16_t)~NLM_F_ACK;
}

static void take_type(struct bytes *all, uint16_t type, struct bytes *ret_found)
{
    *ret_found = (struct bytes){0};
    for (size_t at = 0; at + sizeof(struct nlmsghdr) <= all->n;) {
        struct nlmsghdr *header = (struct nlmsghdr *)(all->at + at);
        assert_true(header->nlmsg_len >= sizeof(*header));
        if (header->nlmsg_type == type && ret_found->n == 0) {
            settle(header);
            memcpy(ret_found->at, header, header->nlmsg_len);
            ret_found->n = header->nlmsg_len;
        }
        at += NLMSG_ALIGN(header->nlmsg_len);
    }
}

/* The first message of this type that the command sends. It fails here, which is no matter. */
static void spy(const char *command, uint16_t type, struct bytes *ret_found)
{
    static struct bytes all;
    char path[] = "/tmp/duopoly-spy-XXXXXX", line[1024];
    char folder[512] = "";
    assert_true(readlink("/proc/self/exe", folder, sizeof(folder) - 1) > 0);
    *strrchr(folder, '/') = 0; /* the spy lies beside us */
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    snprintf(line, sizeof(line), "NETLINK_SPY=%s LD_PRELOAD=%s/netlink_spy.so %s >/dev/null 2>&1",
             path, folder, command);
    int status = system(line);
    ssize_t n = read(fd, all.at, sizeof(all.at));
    close(fd);
    unlink(path);
    assert_true(WIFEXITED(status));
    assert_true(n > 0);
    all.n = (size_t)n;
    take_type(&all, type, ret_found);
    assert_true(ret_found->n > 0);
}

static void same_bytes(const struct bytes *theirs, struct nlmsghdr *ours)
{
    settle(ours);
    for (size_t i = 0; i < theirs->n && i < ours->nlmsg_len; i++)
        if (theirs->at[i] != ((uint8_t *)ours)[i])
            fail_msg("byte %zu is %02x, and theirs %02x", i, ((uint8_t *)ours)[i], theirs->at[i]);
    assert_int_equal(ours->nlmsg_len, theirs->n);
}

static struct bytes sent;

static int keep_sent(struct nl_sock *sock, struct nl_msg *message)
{
    struct nlmsghdr *header = nlmsg_hdr(message);
    (void)sock;
    memcpy(sent.at, header, header->nlmsg_len);
    sent.n = header->nlmsg_len;
    return -NLE_FAILURE; /* nobody answers */
}

static void test_a_class_for_each_queue(void **state)
{
    (void)state;
    struct port port = eight_classes();
    struct tc_mqprio_qopt options;
    mqprio_options(&port, 18, &options);
    static const uint8_t map[TC_QOPT_BITMASK + 1] = {0, 7, 7, 6, 5, 4, 3, 2, 1, 0, 0};
    assert_int_equal(options.num_tc, 8);
    assert_int_equal(options.hw, TC_MQPRIO_HW_OFFLOAD_TCS);
    assert_memory_equal(options.prio_tc_map, map, sizeof(map));
    for (int class = 0; class < 8; class ++) {
        assert_int_equal(options.offset[class], 2 * class);
        assert_int_equal(options.count[class], class == 7 ? 4 : 2);
    }
    assert_int_equal(mqprio_first(&options, 7), TRAFFIC_CONTROL);
    assert_int_equal(mqprio_first(&options, 6), TRAFFIC_LEVEL0 + 1);
    assert_int_equal(mqprio_first(&options, 0), TRAFFIC_LEVEL0 + 7);
}

static void test_every_code_point_has_the_priority_of_its_class(void **state)
{
    (void)state;
    struct port port = eight_classes();
    struct dcb_table table;
    mqprio_entries(&port, &table);
    for (int level = 0; level < PORT_LEVELS; level++)
        assert_int_equal(table.priority_of[port_wish_preset.dscp_of_level[level]], 7 - level);
    assert_int_equal(table.priority_of[PORT_DSCP_CONTROL], 7);
    assert_int_equal(table.priority_of[0], 0);
    assert_int_equal(table.priority_of[63], 0);
}

static void test_mqprio_is_told_as_tc_tells_it(void **state)
{
    (void)state;
    static struct bytes theirs;
    struct port port = eight_classes();
    union mqprio_options mqprio = {0};
    struct qdisc *qdisc;
    if (!own_namespace)
        skip_since("no network namespace of its own (root is needed)");
    mqprio_options(&port, 8, &mqprio.options);
    spy("tc qdisc replace dev lo root handle d00: mqprio num_tc 8 map 0 7 7 6 5 4 3 2 1 0 0 0 0 0 "
        "0 0 "
        "queues 1@0 1@1 1@2 1@3 1@4 1@5 1@6 1@7 hw 1",
        RTM_NEWQDISC, &theirs);
    assert_int_equal(kernel_open(&qdisc, NULL), 0);
    struct nl_cb *cb = nl_socket_get_cb(qdisc->raw.sock);
    nl_cb_overwrite_send(cb, keep_sent);
    nl_cb_put(cb);
    const struct kernel_place place = {(int)if_nametoindex("lo"), TC_H_ROOT,
                                       (uint32_t)QDISC_MAJOR << 16};
    assert_true(kernel_put(qdisc, &place, "mqprio", &mqprio, sizeof(mqprio)) < 0);
    same_bytes(&theirs, (struct nlmsghdr *)sent.at);
    kernel_close(qdisc);
}

static void test_entries_are_told_as_dcb_tells_them(void **state)
{
    (void)state;
    static struct bytes theirs;
    static const char *const verbs[] = {"add", "del"};
    struct dcb_table table;
    if (!own_namespace)
        skip_since("no network namespace of its own (root is needed)");
    memset(&table, DCB_NONE, sizeof(table));
    table.priority_of[3] = 7;
    table.priority_of[7] = 6;
    table.priority_of[48] = 7;
    for (int remove = 0; remove < 2; remove++) {
        char command[128];
        snprintf(command, sizeof(command), "dcb app %s dev lo dscp-prio 3:7 7:6 48:7",
                 verbs[remove]);
        spy(command, RTM_SETDCB, &theirs);
        struct nl_msg *ours = dcb_message("lo", remove, &table);
        assert_non_null(ours);
        same_bytes(&theirs, nlmsg_hdr(ours));
        nlmsg_free(ours);
    }
}

/* What the kernel tells has the form of what it is told. */
static void test_entries_are_read_back(void **state)
{
    (void)state;
    struct dcb_table table, again;
    memset(&table, DCB_NONE, sizeof(table));
    for (int dscp = 0; dscp < DCB_CODE_POINTS; dscp += 3)
        table.priority_of[dscp] = (uint8_t)(dscp % DCB_PRIORITIES);
    memset(&again, DCB_NONE, sizeof(again));
    struct nl_msg *message = dcb_message("eth0", false, &table);
    dcb_take(message, &again);
    assert_memory_equal(&table, &again, sizeof(table));
    nlmsg_free(message);
}

int main(void)
{
    own_namespace = unshare(CLONE_NEWNET) == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_class_for_each_queue),
        cmocka_unit_test(test_every_code_point_has_the_priority_of_its_class),
        cmocka_unit_test(test_mqprio_is_told_as_tc_tells_it),
        cmocka_unit_test(test_entries_are_told_as_dcb_tells_them),
        cmocka_unit_test(test_entries_are_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
