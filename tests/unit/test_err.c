#include "tests/unit/test.h"

#include "lib/err.h"

#include <errno.h>
#include <string.h>

static void test_set_returns_the_negative_code(void **state)
{
    (void)state;
    struct err err = {0};
    assert_int_equal(err_set(&err, EINVAL, "port %d is taken", 7), -EINVAL);
    assert_int_equal(err.code, EINVAL);
    assert_string_equal(err.text, "port 7 is taken");
    assert_int_equal(err_set(NULL, ENOENT, "nobody listens"), -ENOENT);
}

static void test_sys_adds_the_systems_words(void **state)
{
    (void)state;
    struct err err = {0};
    assert_int_equal(err_sys(&err, ENOENT, "open %s", "x"), -ENOENT);
    assert_string_equal(err.text, "open x: No such file or directory");
}

static void test_prefix_goes_in_front_and_long_texts_are_cut(void **state)
{
    (void)state;
    struct err err = {0};
    err_set(&err, ERANGE, "9 is too large");
    assert_int_equal(err_prefix(&err, "file:%d", 3), -ERANGE);
    assert_string_equal(err.text, "file:3: 9 is too large");
    char longtext[1024];
    memset(longtext, 'a', sizeof(longtext) - 1);
    longtext[sizeof(longtext) - 1] = 0;
    err_set(&err, EINVAL, "%s", longtext);
    err_prefix(&err, "%s", longtext);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_returns_the_negative_code),
        cmocka_unit_test(test_sys_adds_the_systems_words),
        cmocka_unit_test(test_prefix_goes_in_front_and_long_texts_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
