#include "tests/unit/test.h"

#include "controller/engine/base/table.h"

enum { NUMBERS = 300 };

/* Numbers that share their low bits, their high bits, and that follow each other. */
static uint64_t number_of(uint32_t i)
{
    return i % 3 == 0 ? (uint64_t)i << 32 : i % 3 == 1 ? UINT64_C(7) << 32 | i : UINT64_MAX - i;
}

static void check_against_the_model(const struct table *table, void *const *things)
{
    uint32_t n = 0, met = 0;
    void *thing;
    for (uint32_t i = 0; i < NUMBERS; i++) {
        assert_ptr_equal(table_find(table, number_of(i)), things[i]);
        n += things[i] != NULL;
    }
    assert_int_equal(table->n, n);
    for (uint32_t at = 0; (thing = table_next(table, &at)); met++)
        assert_ptr_equal(*(void **)thing, thing);
    assert_int_equal(met, n);
}

static void test_random_changes_agree_with_an_array(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    struct engine *engine = calloc(1, sizeof(*engine));
    struct table table = {0};
    void *things[NUMBERS] = {0}, *self[NUMBERS];
    for (int round = 0; round < 20000; round++) {
        /* Fuller and emptier by turns. */
        uint32_t i = (uint32_t)(test_random(&stream) % NUMBERS);
        bool put = test_random(&stream) % 4 < (round / 2000 % 2 ? 1u : 3u);
        self[i] = &self[i];
        if (put && !things[i])
            table_put(engine, &table, number_of(i), things[i] = &self[i]);
        if (!put && things[i]) {
            table_drop(&table, number_of(i));
            things[i] = NULL;
        }
        if (round % 50 == 0)
            check_against_the_model(&table, things);
    }
    check_against_the_model(&table, things);
    table_done(&table);
    assert_null(table_find(&table, number_of(0)));
    free(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_changes_agree_with_an_array)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
