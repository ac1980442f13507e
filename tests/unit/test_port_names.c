/* Patterns of ports' names. */
#include "tests/unit/test.h"

#include "lib/port/port_names.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static void test_names_match(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *name;
        bool matches;
    } cases[] = {
        {"eth0", "eth0", true},
        {"eth0", "eth00", false},
        {"eth0", "eth", false},
        {"eth*", "eth", true},
        {"eth*", "eth12", true},
        {"eth*", "xeth1", false},
        {"*", "anything", true},
        {"e*h*0", "etherh10", true},
        {"e*h*0", "etherh11", false},
        {"eth?", "eth1", true},
        {"eth?", "eth12", false},
        {"eth?", "eth", false},
        {"swp[1-32]", "swp1", true},
        {"swp[1-32]", "swp32", true},
        {"swp[1-32]", "swp33", false},
        {"swp[1-32]", "swp0", false},
        {"swp[1-32]", "swp01", false},
        {"swp[1-32]", "swp3s0", false},
        {"swp[1-32]", "swp", false},
        {"swp[1-32]s[0-3]", "swp3s0", true},
        {"swp[1-32]s[0-3]", "swp3s4", false},
        {"p[01-12]", "p01", true},
        {"p[01-12]", "p1", false},
        {"p[01-12]", "p12", true},
        {"p[01-12]", "p012", false},

        {"*p[8-9]", "pp9", true},
        {"p[0-3]*", "p2.100", true},
        {"p[0-3]*", "p20", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (port_pattern_matches(cases[i].pattern, cases[i].name) != cases[i].matches)
            fail_msg("%s and %s", cases[i].pattern, cases[i].name);
}

static void test_what_is_no_pattern_is_refused(void **state)
{
    (void)state;
    static const char *const right[] = {"", "eth*", "swp[1-32]s[0-3]", "p[01-12]"};
    static const char *const wrong[] = {"p[1-", "p[3-1]", "p[a-b]",
                                        "p[1]", "p]",     "p[1-99999999999]"};
    struct err err = {0};
    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++)
        assert_int_equal(port_pattern_check(right[i], &err), 0);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(port_pattern_check(wrong[i], &err), -EINVAL);
        assert_non_null(strstr(err.text, wrong[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_match),
        cmocka_unit_test(test_what_is_no_pattern_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
