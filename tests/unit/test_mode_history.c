/* The newest changes of the mode are kept, and found from the newest back. */
#include "tests/unit/test.h"

#include "controller/mode_history.h"

static struct mode_history history;

static void add(uint64_t sequence)
{
    const struct mode_change change = {.sequence = sequence, .mode = sequence % 2};
    mode_history_add(&history, &change);
}

static void nothing_is_found_in_none(void **state)
{
    (void)state;
    history = (struct mode_history){0};
    assert_null(mode_history_last(&history));
    assert_null(mode_history_before(&history, 0));
    assert_null(mode_history_before(&history, 7));
}

/* Beside what was added, with gaps between the sequences. */
static void each_is_found_until_newer_ones_replace_it(void **state)
{
    (void)state;
    static uint64_t added[3 * MODE_HISTORY];
    uint64_t seed = test_seed(), sequence = 0;
    history = (struct mode_history){0};
    for (uint64_t n = 0; n < 3 * MODE_HISTORY; n++) {
        added[n] = sequence += 1 + test_random(&seed) % 3;
        add(sequence);
        assert_int_equal(mode_history_last(&history)->sequence, sequence);
        uint64_t kept = 0, before = 0;
        const struct mode_change *change;
        while ((change = mode_history_before(&history, before))) {
            assert_int_equal(change->sequence, added[n - kept]);
            before = change->sequence;
            kept++;
        }
        assert_int_equal(kept, n + 1 < MODE_HISTORY ? n + 1 : MODE_HISTORY);
        assert_int_equal(mode_history_before(&history, sequence + 5)->sequence, sequence);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_found_until_newer_ones_replace_it),
        cmocka_unit_test(nothing_is_found_in_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
