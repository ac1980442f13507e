/* Which tasks read now and what they ask, what that is together, when it is told, and when a disk
 * hangs. */
#include "tests/unit/test.h"

#include "hostagent/disk/disk_reading.h"
#include "hostagent/disk/disk_report.h"

#include <string.h>

#define SECOND UINT64_C(1000000000)
#define MB     UINT64_C(1000000)

/* 1 GB at 125 MB/s, then 2 s of computing; 64 MB at 128 MB/s within 40 s. */
static const struct profile gpu = {1000 * MB, 125 * MB, 1, 2 * SECOND},
                            cpu = {64 * MB, 128 * MB, 0, 40 * SECOND}, none = {0};

static uint64_t asked(const struct disk_reading *r, uint64_t now)
{
    uint64_t bytes_s = 0;
    return disk_reading_asks(r, now, &bytes_s) ? bytes_s : UINT64_MAX;
}
#define READS_NOT UINT64_MAX

/* Counts of a task that reads `bytes_s` from `from` to `until`, twice a second. */
static void reads(struct disk_reading *r, uint64_t *bytes, uint64_t bytes_s, uint64_t from,
                  uint64_t until)
{
    for (uint64_t now = from + SECOND / 2; now <= until; now += SECOND / 2)
        disk_reading_count(r, now, *bytes += bytes_s / 2);
}

static void test_nobody_counts_what_it_reads(void **state)
{
    (void)state;
    struct disk_reading r;
    disk_reading_begin(&r, &gpu, 5 * SECOND, false);
    assert_true(asked(&r, 5 * SECOND) == 125 * MB);
    assert_true(asked(&r, 13 * SECOND - 1) == 125 * MB);
    assert_true(asked(&r, 13 * SECOND) == READS_NOT); /* it has computed since */
    disk_reading_begin(&r, &cpu, 5 * SECOND, false);
    assert_true(asked(&r, 44 * SECOND) == 1600000 && asked(&r, 45 * SECOND) == READS_NOT);
    disk_reading_begin(&r, &none, 5 * SECOND, false);
    assert_true(asked(&r, 5 * SECOND) == READS_NOT);
}

/* Beside others it reads for longer than alone; it ends with its last byte. */
static void test_who_is_slowed_reads_on(void **state)
{
    (void)state;
    struct disk_reading r;
    uint64_t bytes = 0;
    disk_reading_begin(&r, &gpu, SECOND, false);
    reads(&r, &bytes, 50 * MB, SECOND, 20 * SECOND);
    assert_true(asked(&r, 20 * SECOND) == 125 * MB);
    reads(&r, &bytes, 50 * MB, 20 * SECOND, 21 * SECOND);
    assert_true(bytes == 1000 * MB);
    assert_true(asked(&r, 21 * SECOND) == 50 * MB); /* by what the last window shows */
    reads(&r, &bytes, 0, 21 * SECOND, 22 * SECOND);
    assert_true(asked(&r, 22 * SECOND) == READS_NOT);
    assert_true(r.best_bytes_s == 50 * MB && r.reading_ns == 20 * SECOND);
}

/* What is in the page cache asks nothing of the disk. */
static void test_who_is_seen_to_read_nothing(void **state)
{
    (void)state;
    struct disk_reading r;
    uint64_t bytes = 0;
    disk_reading_begin(&r, &gpu, SECOND, false);
    reads(&r, &bytes, 0, SECOND, 8 * SECOND);
    assert_true(asked(&r, 8 * SECOND) == 125 * MB);
    reads(&r, &bytes, 0, 8 * SECOND, 9 * SECOND);
    assert_true(asked(&r, 9 * SECOND) == READS_NOT);
}

static void test_who_asks_more_corrects_its_profile(void **state)
{
    (void)state;
    struct disk_reading r;
    uint64_t bytes = 0;
    disk_reading_begin(&r, &gpu, SECOND, false);
    reads(&r, &bytes, 200 * MB, SECOND, 2 * SECOND);
    assert_true(asked(&r, 2 * SECOND) == 200 * MB);
    bytes = 0;
    disk_reading_begin(&r, &cpu, SECOND, false);
    reads(&r, &bytes, 2 * MB, SECOND, 2 * SECOND); /* a turn: fuller than the mean */
    assert_true(asked(&r, 2 * SECOND) == 2 * MB);
    reads(&r, &bytes, 0, 2 * SECOND, 6 * SECOND);
    assert_true(asked(&r, 6 * SECOND) == 1600000);
    bytes = 0;
    disk_reading_begin(&r, &none, SECOND, false);
    reads(&r, &bytes, 30 * MB, SECOND, 2 * SECOND);
    assert_true(asked(&r, 2 * SECOND) == 30 * MB);
    reads(&r, &bytes, 0, 2 * SECOND, 3 * SECOND);
    assert_true(asked(&r, 3 * SECOND) == READS_NOT);
}

/* A new agent finds it: what it read before says nothing of its rate. */
static void test_one_that_is_found(void **state)
{
    (void)state;
    struct disk_reading r;
    uint64_t bytes = 900 * MB;
    disk_reading_begin(&r, &gpu, SECOND, true);
    disk_reading_count(&r, SECOND + SECOND / 10, bytes);
    assert_true(r.rate_bytes_s == 0 && asked(&r, 2 * SECOND) == 125 * MB);
    disk_reading_count(&r, 2 * SECOND, 1000 * MB);
    assert_true(asked(&r, 2 * SECOND) == 100 * MB);
    disk_reading_begin(&r, &none, SECOND, false);
    disk_reading_count(&r, SECOND + SECOND / 4, 10 * MB);
    disk_reading_end(&r, SECOND + SECOND / 4); /* shorter than a window */
    assert_true(r.best_bytes_s == 40 * MB && r.reading_ns == SECOND / 4);
}

static void test_any_numbers(void **state)
{
    (void)state;
    uint64_t stream = test_seed(), bytes_s;
    for (int run = 0; run < 2000; run++) {
        struct disk_reading r;
        struct profile p = {test_random(&stream) >> 11, 1 + (test_random(&stream) >> 12),
                            test_random(&stream) % 2, test_random(&stream) >> 2};
        uint64_t now = test_random(&stream) >> 8;
        if (profile_check(&p, NULL) < 0)
            p = none;
        disk_reading_begin(&r, &p, now, test_random(&stream) % 2);
        for (int i = 0; i < 20; i++) {
            now += test_random(&stream) >> (20 + test_random(&stream) % 40);
            disk_reading_count(&r, now, test_random(&stream) >> (test_random(&stream) % 64));
            bool reads = disk_reading_asks(&r, now, &bytes_s);
            assert_true(reads || !r.rate_bytes_s);
            assert_true(r.best_bytes_s >= r.rate_bytes_s && r.bytes >= r.window_bytes);
        }
    }
}

/* ---- the report ---- */

static bool set(struct disk_report *report, uint64_t bytes_s, uint32_t readers, bool hangs)
{
    const struct disk_asked asked = {bytes_s, readers};
    const struct disk_health health = {.known = true, .hangs = hangs};
    return disk_report_set(report, &asked, &health);
}

static void test_a_threshold_is_told_at_once(void **state)
{
    (void)state;
    struct disk_report report = {.disk_bytes_s = 100 * MB};
    assert_false(set(&report, 100 * MB, 1, false));
    assert_true(set(&report, 101 * MB, 2, false) && report.now.permille == 1010);
    assert_false(set(&report, 95 * MB, 1, false)); /* between both */
    assert_false(set(&report, 300 * MB, 3, false));
    assert_true(set(&report, 90 * MB, 1, false));
    assert_true(set(&report, 0, 0, true));
    assert_false(set(&report, 0, 0, true));
    assert_true(set(&report, 0, 0, false));
    set(&report, UINT64_MAX, UINT32_MAX, false);
    assert_int_equal(report.now.permille, UINT32_MAX);
}

static void test_what_is_no_news_is_told_rarely(void **state)
{
    (void)state;
    struct disk_report report = {.disk_bytes_s = 100 * MB};
    struct disk_said said;
    set(&report, 50 * MB, 1, false);
    assert_true(disk_report_tell(&report, 10 * SECOND, &said));
    assert_int_equal(said.permille, 500);
    assert_int_equal(said.readers, 1);
    assert_false(disk_report_tell(&report, 10 * SECOND + SECOND / 2, &said));
    set(&report, 50 * MB, 2, false);
    assert_true(disk_report_tell(&report, 10 * SECOND + SECOND / 2, &said));
    assert_true(disk_report_tell(&report, 12 * SECOND, &said));
    assert_false(disk_report_tell(&report, 12 * SECOND, &said));
    disk_report_forget(&report); /* another session */
    assert_true(disk_report_tell(&report, 12 * SECOND, &said));
}

static void test_sums(void **state)
{
    (void)state;
    struct disk_asked sum = {0};
    disk_asked_add(&sum, 5);
    disk_asked_add(&sum, 0);
    assert_true(sum.bytes_s == 5 && sum.readers == 2);
    disk_asked_add(&sum, UINT64_MAX);
    disk_asked_add(&sum, 1);
    assert_true(sum.bytes_s == UINT64_MAX && sum.readers == 4);
}

/* ---- the disk itself ---- */

static void test_a_disk_that_hangs(void **state)
{
    (void)state;
    struct disk_health h = {0};
    struct disk_counters c = {.reads = 7, .writes = 3, .read_bytes = 512, .in_flight = 2};
    uint64_t now = 100 * SECOND;
    disk_health_add(&h, now, &c);
    disk_health_add(&h, now += DISK_HANGS_NS - 1, &c);
    assert_false(h.hangs);
    disk_health_add(&h, now += 1, &c);
    assert_true(h.hangs);
    c.writes++;
    disk_health_add(&h, now += SECOND, &c);
    assert_false(h.hangs); /* it has answered */
    disk_health_add(&h, now += DISK_HANGS_NS, &c);
    assert_true(h.hangs);
    c.in_flight = 0;
    disk_health_add(&h, now += SECOND, &c);
    assert_false(h.hangs); /* what was asked is taken back */
    disk_health_add(&h, now += 10 * DISK_HANGS_NS, &c);
    assert_false(h.hangs); /* nothing is asked of it */
}

static void test_what_a_disk_reads(void **state)
{
    (void)state;
    struct disk_health h = {0};
    struct disk_counters c = {.read_bytes = 5000 * MB};
    disk_health_add(&h, SECOND, &c);
    assert_true(h.read_bytes_s == 0); /* since when is not known */
    c.read_bytes += 50 * MB;
    disk_health_add(&h, SECOND + SECOND / 2, &c);
    c.read_bytes += 50 * MB;
    disk_health_add(&h, 2 * SECOND, &c);
    assert_true(h.read_bytes_s == 100 * MB);
    c.read_bytes = 0; /* it was made again */
    disk_health_add(&h, 3 * SECOND, &c);
    c.read_bytes = 7 * MB;
    disk_health_add(&h, 4 * SECOND, &c);
    assert_true(h.read_bytes_s == 7 * MB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody_counts_what_it_reads),
        cmocka_unit_test(test_who_is_slowed_reads_on),
        cmocka_unit_test(test_who_is_seen_to_read_nothing),
        cmocka_unit_test(test_who_asks_more_corrects_its_profile),
        cmocka_unit_test(test_one_that_is_found),
        cmocka_unit_test(test_any_numbers),
        cmocka_unit_test(test_a_threshold_is_told_at_once),
        cmocka_unit_test(test_what_is_no_news_is_told_rarely),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_a_disk_that_hangs),
        cmocka_unit_test(test_what_a_disk_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
