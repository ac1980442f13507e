/* Sets of numbered things agree with a scan. */
#include "tests/unit/test.h"

#include "controller/engine/base/numbered.h"

#include <string.h>

enum { NUMBERS = 300 };

/* Numbers that follow each other, some from far away, and the largest. */
static uint64_t number_of(uint64_t i)
{
    return i == NUMBERS - 1 ? UINT64_MAX : i < NUMBERS / 2 ? i + 1 : (i << 32) + i;
}

static void check_walk(const struct numbered *set, char *const things)
{
    uint64_t n = 0, before = 0;
    for (char *thing = numbered_after(set, 0); thing;
         thing = numbered_after(set, number_of((uint64_t)(thing - things)))) {
        uint64_t number = number_of((uint64_t)(thing - things));
        assert_true(number > before);
        assert_ptr_equal(numbered_find(set, number), thing);
        before = number;
        n++;
    }
    assert_int_equal(n, set->n);
}

static void check_after(const struct numbered *set, char *const things, const bool *in,
                        uint64_t after)
{
    uint64_t i = 0;
    while (i < NUMBERS && (!in[i] || number_of(i) <= after))
        i++;
    assert_ptr_equal(numbered_after(set, after), i < NUMBERS ? things + i : NULL);
}

static void test_random_changes_agree_with_a_scan(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    struct engine *engine = calloc(1, sizeof(*engine));
    char things[NUMBERS];
    bool in[NUMBERS] = {0};
    struct numbered set = {0};
    assert_non_null(engine);
    for (int round = 0; round < 20000; round++) {
        uint64_t i = test_random(&stream) % NUMBERS;
        if (in[i])
            numbered_drop(&set, number_of(i));
        else if (test_random(&stream) % 4 < (round / 2000 % 2 ? 3 : 1))
            numbered_put(engine, &set, number_of(i), &things[i]);
        in[i] = numbered_find(&set, number_of(i));
        assert_true(!in[i] || numbered_find(&set, number_of(i)) == &things[i]);
        check_after(&set, things, in, number_of(test_random(&stream) % NUMBERS));
        if (round % 50 == 0)
            check_walk(&set, things);
    }
    numbered_done(&set);
    assert_null(numbered_after(&set, 0));
    free(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_changes_agree_with_a_scan)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
