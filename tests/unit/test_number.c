/* Numbers in text, and the hash of bytes. */
#include "tests/unit/test.h"

#include "lib/fnv1a.h"
#include "lib/number.h"

#include <errno.h>

static void test_digits_and_what_follows(void **state)
{
    (void)state;
    uint64_t number = 5;
    assert_string_equal(number_take("12,3", 100, &number), ",3");
    assert_int_equal(number, 12);
    assert_null(number_take("x", 100, &number));
    assert_null(number_take("", 100, &number));
    assert_null(number_take("101", 100, &number));
    assert_int_equal(number, 12);
    assert_string_equal(number_take("18446744073709551615", UINT64_MAX, &number), "");
    assert_true(number == UINT64_MAX);
    assert_null(number_take("18446744073709551616", UINT64_MAX, &number));
    assert_null(number_take("99999999999999999999999999", UINT64_MAX, &number));
    assert_string_equal(number_take("0007", 7, &number), "");
    assert_int_equal(number, 7);
    assert_null(number_take("7", 6, &number));
}

static void test_whole_numbers_have_bounds_and_nothing_beside_them(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",  " 5",  "5 ",   "+5",  "-5", "5x",
                                        "0", "101", "0x10", "1e1", "５", "-18446744073709551611"};
    uint64_t number = 3;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        if (number_read(wrong[i], 1, 100, &number) != -EINVAL)
            fail_msg("'%s' is taken", wrong[i]);
    assert_int_equal(number, 3);
    assert_int_equal(number_read("1", 1, 100, &number), 0);
    assert_int_equal(number_read("100", 1, 100, &number), 0);
    assert_int_equal(number, 100);
}

static void test_real_numbers(void **state)
{
    (void)state;
    static const char *const wrong[] = {"", " 1", "1 ", "one", "nan", "inf", "11", "-0.5"};
    double number = 0;
    assert_int_equal(number_read_real("0.5", 0, 10, &number), 0);
    assert_true(number == 0.5);
    assert_int_equal(number_read_real("1e1", 0, 10, &number), 0);
    assert_true(number == 10);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        if (number_read_real(wrong[i], 0, 10, &number) != -EINVAL)
            fail_msg("'%s' is taken", wrong[i]);
    assert_true(number == 10);
}

/* From the authors' table of test vectors. */
static void test_fnv1a(void **state)
{
    (void)state;
    assert_true(fnv1a(FNV1A_NOTHING, "", 0) == FNV1A_NOTHING);
    assert_true(fnv1a(FNV1A_NOTHING, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(fnv1a(FNV1A_NOTHING, "foobar", 6) == UINT64_C(0x85944171f73967e8));
    assert_true(fnv1a(fnv1a(FNV1A_NOTHING, "foo", 3), "bar", 3) == UINT64_C(0x85944171f73967e8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_digits_and_what_follows),
        cmocka_unit_test(test_whole_numbers_have_bounds_and_nothing_beside_them),
        cmocka_unit_test(test_real_numbers),
        cmocka_unit_test(test_fnv1a),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
