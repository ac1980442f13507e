/* What the kernel writes of disks: as it stands, with more than expected, cut anywhere, and
 * changed at random. */
#include "tests/unit/test.h"

#include "hostagent/disk/disk_text.h"
#include "lib/process_io.h"

#include <string.h>

static const char stats[] =
    "   7       0 loop0 5068 140 44908 2131 2520 2346 16642 1681 0 2316 4824 0 0 0 0 1548 1011\n"
    " 259       1 nvme0n1p1 9 0 72 1 0 0 0 0 0 1 1\n"
    " 254       0 vda 1130966 61506 28890290 2057943 4176037 451875 148055456 1038654 3 556036 "
    "3384044 681317 13 89302648 98274 1343613 189171\n";
static const char io_stat[] = "254:0 rbytes=4096000 wbytes=8192 rios=3 wios=2 dbytes=0 dios=0\n"
                              "253:1 rbytes=4097000 wbytes=0 rios=3 wios=0 dbytes=0 dios=0\n"
                              "7:0 \n";
static const char process[] = "rchar: 6976\nwchar: 0\nsyscr: 10\nsyscw: 0\nread_bytes: 1048576\n"
                              "write_bytes: 12\ncancelled_write_bytes: 0\n";

static void test_a_disk_s_line(void **state)
{
    (void)state;
    struct disk_counters c;
    assert_true(disk_text_stats(stats, 254, 0, &c));
    assert_true(c.reads == 1130966 && c.writes == 4176037 && c.in_flight == 3);
    assert_true(c.read_bytes == UINT64_C(28890290) * 512);
    assert_true(disk_text_stats(stats, 259, 1, &c)); /* of a kernel before 4.18 */
    assert_true(c.reads == 9 && c.read_bytes == 36864 && !c.in_flight);
    assert_false(disk_text_stats(stats, 254, 1, &c));
    assert_false(disk_text_stats("", 0, 0, &c));
    assert_false(disk_text_stats(" 8 0 sda 1 2 3\n", 8, 0, &c));
    assert_true(disk_text_stats("8 0 sda 1 2 18446744073709551615 4 5 6 7 8 9", 8, 0, &c));
    assert_true(c.read_bytes == UINT64_MAX / 512 * 512 && c.in_flight == 9);
    assert_false(disk_text_stats("8 0 sda 1 2 18446744073709551616 4 5 6 7 8 9", 8, 0, &c));
}

static void test_a_cgroup_and_a_process(void **state)
{
    (void)state;
    uint64_t bytes;
    assert_true(disk_text_cgroup_read(io_stat) == 4097000);
    assert_true(disk_text_cgroup_read("") == 0);
    assert_true(disk_text_cgroup_read("8:0 rbytes=\n8:1 rbytes=x rios=1\n") == 0);
    assert_true(process_io_parse(process, &bytes) && bytes == 1048576);
    assert_false(process_io_parse("rchar: 1\nwchar: 2\n", &bytes));
    assert_false(process_io_parse("read_bytes: -1\n", &bytes));
    assert_false(process_io_parse("x read_bytes: 1\n", &bytes));
}

/* Each text ends where its memory does, so a reader that goes on is found. */
static void read_all(const char *text, size_t length)
{
    char *copy = malloc(length + 1);
    struct disk_counters counters;
    uint64_t bytes;
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (disk_text_stats(copy, 254, 0, &counters))
        assert_true(counters.read_bytes % 512 == 0);
    disk_text_cgroup_read(copy);
    process_io_parse(copy, &bytes);
    free(copy);
}

static void test_cut_and_changed(void **state)
{
    (void)state;
    static const char *const texts[] = {stats, io_stat, process};
    uint64_t stream = test_seed();
    for (size_t t = 0; t < 3; t++)
        for (size_t length = 0; length <= strlen(texts[t]); length++)
            read_all(texts[t], length);
    for (int i = 0; i < 20000; i++) {
        char text[sizeof(stats)];
        const char *of = texts[test_random(&stream) % 3];
        size_t n = strlen(of);
        memcpy(text, of, n + 1);
        for (uint64_t changes = 1 + test_random(&stream) % 4; changes; changes--)
            text[test_random(&stream) % n] = " \n0123456789:=abr-\xff"[test_random(&stream) % 19];
        read_all(text, n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_disk_s_line),
        cmocka_unit_test(test_a_cgroup_and_a_process),
        cmocka_unit_test(test_cut_and_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
