/* Trees of other people's qdiscs: kept as text, put in an order that works, and told the same
 * again. */
#include "tests/unit/test.h"

#include "hostagent/queues/foreign.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <string.h>

static const char tree[] = "htb 00050000 ffffffff 08000500e8030000\n"
                           "class htb 00050001 ffffffff 08000100aaaaaaaa\n"
                           "class htb 00050003 00050001 08000100aaaaaaaa\n"
                           "class htb 0005000a 00050001 08000100bbbbbbbb\n"
                           "class htb 00050002 0005000a 08000100cccccccc\n"
                           "prio 00060000 0005000a 0300000001020202\n"
                           "pfifo 00070000 00050002 22000000\n"
                           "netem 00080000 00060002 -\n"
                           "filter u32 80000000 00050000 000a0008 00000000 0800040001000000\n"
                           "filter u32 00200000 00050000 000a0008 00000000 0800040000010000\n"
                           "filter u32 80000800 00050000 000a0008 00000000 0800030000002000\n"
                           "filter u32 80300000 00050000 00030008 00000000 0800040001000000\n"
                           "filter u32 80300800 00050000 00030008 00000000 0800010002000500\n"
                           "filter basic 00000002 00050000 00040008 00000000 0800010002000500\n"
                           "filter basic 00000001 00050000 00040008 00000000 0800010003000500\n";

static void read_it(const char *text, struct foreign *foreign)
{
    struct err err = {0};
    if (foreign_read(text, foreign, &err) < 0)
        fail_msg("%s", err.text);
}

static void check_text(const struct foreign *foreign, const char *text)
{
    char *written;
    assert_int_equal(foreign_write(foreign, &written, NULL), 0);
    assert_string_equal(written, text);
    free(written);
}

/* Filters stay in the order in which the kernel told them, tables of u32 and newest first. */
static void as_told(struct foreign *told)
{
    const int order[] = {0, 1, 2, 3, 4, 5, 6, 7, 14, 13, 9, 8, 10, 11, 12};
    struct foreign_part parts[15];
    assert_int_equal(told->n, 15);
    for (int i = 0; i < 15; i++)
        parts[i] = told->parts[order[i]];
    memcpy(told->parts, parts, sizeof(parts));
}

static void test_any_order_of_qdiscs_and_classes_is_put_the_same(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    for (int round = 0; round < 500; round++) {
        struct foreign foreign;
        struct err err = {0};
        read_it(tree, &foreign);
        check_text(&foreign, tree);
        as_told(&foreign);
        for (uint32_t i = 7; i > 0; i--) {
            uint32_t other = (uint32_t)(test_random(&stream) % (i + 1));
            struct foreign_part part = foreign.parts[i];
            foreign.parts[i] = foreign.parts[other];
            foreign.parts[other] = part;
        }
        if (foreign_order(&foreign, &err) < 0)
            fail_msg("%s", err.text);
        check_text(&foreign, tree);
        int roots = 0;
        for (uint32_t i = 0; i < foreign.n; i++) {
            int root = foreign_u32_root(&foreign, i);
            assert_true(root == -1 || root == (i == 8 ? 0 : 3));
            roots += root >= 0;
        }
        assert_int_equal(roots, 2);
        foreign_done(&foreign);
    }
}

static void refused(const char *text, const char *word)
{
    struct foreign foreign = {0};
    struct err err = {0};
    int r = foreign_read(text, &foreign, &err);
    if (r >= 0)
        r = foreign_order(&foreign, &err);
    assert_true(r == -EOPNOTSUPP || r == -EINVAL);
    if (!strstr(err.text, word))
        fail_msg("%s", err.text);
    foreign_done(&foreign);
}

static void test_what_cannot_be_put_is_refused(void **state)
{
    (void)state;
    refused("cake 00050000 ffffffff -\n", "cake qdisc 5:0");
    refused("filter bpf 00000001 00050000 000a0008 00000000 -\n", "bpf filter");
    refused("htb 00050000 ffffffff -\nfilter u32 80000800 00050000 000a0008 00000000 "
            "08000700aaaaaaaa\n",
            "action");
    refused("htb 00050000 ffffffff -\nfilter u32 80000800 00050000 000a0008 00000000 -\n",
            "tables");
    refused("htb 00050000 ffffffff -\npfifo 00060000 00080001 -\n", "below nothing");
    refused("htb 00050000 ffffffff -\nclass htb 00050001 00050002 -\n", "below nothing");
    refused("htb 00050000\n", "no record");
    refused("htb 00050000 ffffffff 123\n", "no record");
}

/* include/net/codel.h, fq_codel_change and fq_codel_dump. */
static uint32_t kernel_tells(uint32_t us)
{
    return (uint32_t)((((uint64_t)us * 1000 >> 10) << 10) / 1000);
}

static void test_times_of_codel_come_back(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    for (int round = 0; round < 20000; round++) {
        struct {
            struct nlattr attr;
            uint32_t us;
        } options = {{sizeof(options), TCA_FQ_CODEL_TARGET}, 0};
        uint32_t told = kernel_tells((uint32_t)(test_random(&stream) % 1000000));
        struct foreign_part part = {.what = FOREIGN_QDISC,
                                    .kind = "fq_codel",
                                    .options_bytes = sizeof(options),
                                    .options = (uint8_t *)&options};
        options.us = told;
        foreign_options_to_put(&part);
        assert_int_equal(kernel_tells(options.us), told);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_order_of_qdiscs_and_classes_is_put_the_same),
        cmocka_unit_test(test_what_cannot_be_put_is_refused),
        cmocka_unit_test(test_times_of_codel_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
