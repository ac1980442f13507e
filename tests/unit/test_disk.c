/* A disk under any readers: even parts, none beyond its own, nothing lost; and times by hand. */
#include "tests/unit/test.h"

#include "testbed/sim/cluster/disk.h"

#include <math.h>
#include <stdbool.h>

enum { READERS = 12 };
#define SECOND INT64_C(1000000000)

/* Max-min fair: who gets less than it would read gets as much as anybody. */
static void check_parts(const struct disk *disk)
{
    double sum = 0, most = 0, could = 0;
    const struct disk_reader *reader;
    LIST_FOREACH (reader, &disk->readers, of_disk) {
        sum += reader->bytes_s;
        could += reader->most_bytes_s;
        most = fmax(most, reader->bytes_s);
        assert_true(reader->bytes_s > 0 && reader->bytes_s <= reader->most_bytes_s * (1 + 1e-9));
    }
    double whole = disk->n ? disk->bytes_s / (1 + disk->loss * (disk->n - 1)) : 0;
    assert_true(fabs(sum - fmin(whole, could)) <= 1e-6 * whole + 1e-12);
    LIST_FOREACH (reader, &disk->readers, of_disk)
        assert_true(reader->bytes_s >= reader->most_bytes_s * (1 - 1e-9) ||
                    reader->bytes_s >= most * (1 - 1e-9));
}

static void test_parts_are_even_and_bounded(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    for (int round = 0; round < 300; round++) {
        struct disk disk;
        struct disk_reader readers[READERS] = {0};
        bool in[READERS] = {0};
        double read_bytes = 0, left_bytes = 0, given_bytes = 0;
        int64_t now_ns = 0;
        disk_init(&disk, 1 + (double)(test_random(&stream) % 1000),
                  (double)(test_random(&stream) % 3) * .1);
        for (int i = 0; i < 100; i++) {
            uint64_t at = test_random(&stream) % READERS;
            now_ns += (int64_t)(test_random(&stream) % (SECOND / 10));
            if (in[at]) {
                disk_end(&disk, &readers[at], now_ns);
                left_bytes += readers[at].left_bytes;
            } else {
                double bytes = (double)(test_random(&stream) % 10000);
                readers[at] = (struct disk_reader){
                    .left_bytes = bytes,
                    .most_bytes_s = test_random(&stream) % 3
                                        ? 1 + (double)(test_random(&stream) % 500)
                                        : INFINITY};
                given_bytes += bytes;
                disk_begin(&disk, &readers[at], now_ns);
            }
            in[at] = !in[at];
            check_parts(&disk);
        }
        const struct disk_reader *reader;
        LIST_FOREACH (reader, &disk.readers, of_disk)
            left_bytes += reader->left_bytes;
        read_bytes = given_bytes - left_bytes;
        assert_true(read_bytes >= 0 && read_bytes <= disk.bytes_s * (double)now_ns * 1e-9 + 1e-3);
    }
}

static void begin(struct disk *disk, struct disk_reader *reader, double bytes, double most_bytes_s,
                  int64_t now_ns)
{
    *reader = (struct disk_reader){.left_bytes = bytes, .most_bytes_s = most_bytes_s};
    disk_begin(disk, reader, now_ns);
}

static void test_times(void **state)
{
    (void)state;
    struct disk disk;
    struct disk_reader a, b, c;
    disk_init(&disk, 100, 0);
    assert_true(disk.next_ns == DISK_NEVER && !disk_over(&disk, DISK_NEVER - 1));
    begin(&disk, &a, 300, 80, 0); /* alone it reads 80 a second: till 3.75 s */
    assert_true(disk.next_ns == 3750000000);
    begin(&disk, &b, 100, INFINITY, 1 * SECOND); /* 50 each: b till 3 s; a has 220 left */
    assert_true(disk.next_ns == 3 * SECOND);
    begin(&disk, &c, 20, 10, 2 * SECOND); /* c 10, the others 45 */
    assert_true(a.bytes_s == 45 && b.bytes_s == 45 && c.bytes_s == 10);
    assert_true(disk.next_ns == 2 * SECOND + 1111111112 && !disk_over(&disk, 3 * SECOND));
    assert_ptr_equal(disk_over(&disk, disk.next_ns), &b);
    disk_end(&disk, &b, disk.next_ns);
    assert_true(a.bytes_s == 80 && c.bytes_s == 10);
    assert_true(disk.next_ns == 4 * SECOND);
}

static void test_each_further_reader_costs(void **state)
{
    (void)state;
    struct disk disk;
    struct disk_reader readers[3];
    disk_init(&disk, 120, .25);
    for (int i = 0; i < 3; i++)
        begin(&disk, &readers[i], 1000, INFINITY, 0);
    assert_true(fabs(readers[0].bytes_s - 120 / 1.5 / 3) < 1e-9);
    disk_end(&disk, &readers[1], 0);
    assert_true(fabs(readers[0].bytes_s - 120 / 1.25 / 2) < 1e-9);
    disk_end(&disk, &readers[2], 0);
    assert_true(readers[0].bytes_s == 120);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_are_even_and_bounded),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_each_further_reader_costs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
