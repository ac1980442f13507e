#include "tests/unit/test.h"

#include "hostagent/links/links.h"

#include <string.h>

#define MS 1000000ull

/* Adds samples every 20 ms with this use of a 100 Mb/s link; returns the last answer, counting
 * crossings. */
static struct links_use feed(struct links *links, struct links_sample *at, uint32_t up_permille,
                             uint32_t down_permille, int samples, int *crossings)
{
    struct links_use use = {0};
    for (int i = 0; i < samples; i++) {
        at->at_ns += 20 * MS;
        at->sent_bytes += 250 * up_permille; /* 12.5 MB/s × 20 ms ÷ 1000 */
        at->received_bytes += 250 * down_permille;
        use = links_add(links, at);
        *crossings += use.crossed;
    }
    return use;
}

static void test_use_over_the_last_100_ms(void **state)
{
    (void)state;
    struct links links;
    struct links_sample at = {.at_ns = 5000 * MS, .sent_bytes = 1ull << 40};
    int crossings = 0;
    links_init(&links, 100000000);
    links_set_thresholds(&links, 900, 800);
    struct links_use use = links_add(&links, &at);
    assert_int_equal(use.up_permille, 0);
    use = feed(&links, &at, 500, 20, 1, &crossings);
    assert_int_equal(use.up_permille, 500);
    use = feed(&links, &at, 500, 20, 20, &crossings);
    assert_int_equal(use.up_permille, 500);
    assert_int_equal(use.down_permille, 20);
    use = feed(&links, &at, 1000, 20, 1, &crossings);
    assert_int_equal(use.up_permille, 600); /* one of five intervals */
    assert_int_equal(crossings, 0);
}

static void test_crossings_are_told_once_with_a_gap(void **state)
{
    (void)state;
    struct links links;
    struct links_sample at = {.at_ns = MS};
    int crossings = 0;
    links_init(&links, 100000000);
    links_add(&links, &at);
    feed(&links, &at, 950, 0, 50, &crossings);
    assert_int_equal(crossings, 0); /* nobody has said what hot is */
    links_set_thresholds(&links, 900, 800);
    feed(&links, &at, 950, 0, 50, &crossings);
    assert_int_equal(crossings, 1);
    feed(&links, &at, 850, 0, 50, &crossings); /* between the thresholds: still full */
    assert_int_equal(crossings, 1);
    feed(&links, &at, 700, 0, 50, &crossings);
    assert_int_equal(crossings, 2);
    feed(&links, &at, 880, 0, 50, &crossings); /* not over the higher one */
    assert_int_equal(crossings, 2);
    feed(&links, &at, 880, 1000, 50, &crossings);
    assert_int_equal(crossings, 3);
}

static void test_odd_counters_do_no_harm(void **state)
{
    (void)state;
    struct links links;
    struct links_sample at = {.at_ns = 100 * MS, .sent_bytes = 1000000, .received_bytes = 5};
    links_init(&links, 1000000);
    links_add(&links, &at);
    at.at_ns += 20 * MS;
    at.sent_bytes = 7; /* an interface made anew */
    assert_int_equal(links_add(&links, &at).up_permille, 0);
    struct links before = links;
    assert_int_equal(links_add(&links, &at).up_permille, 0); /* the same instant again */
    assert_memory_equal(&before, &links, sizeof(links));
    at.at_ns += 20 * MS;
    at.sent_bytes = UINT64_MAX;
    assert_int_equal(links_add(&links, &at).up_permille, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_use_over_the_last_100_ms),
        cmocka_unit_test(test_crossings_are_told_once_with_a_gap),
        cmocka_unit_test(test_odd_counters_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
