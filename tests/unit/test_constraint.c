/* Constraints: which hosts meet them, and where they are wrong. */
#include "tests/unit/test.h"

#include "lib/constraint.h"

#include <errno.h>
#include <string.h>

static const struct constraint_host hosts[] = {
    {"h1", "r1", "gpu,ssd"},
    {"h2", "r1", "gpu,spot"},
    {"h3", "r2", ""},
    {"h4", "", "big,ssd,a&b,rack=r9"},
};
enum { HOSTS = sizeof(hosts) / sizeof(hosts[0]) };

/* Each with the hosts that meet it, host 1 as the lowest bit. */
static void test_who_meets_it(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned met;
    } cases[] = {
        {"", 15},
        {"gpu", 3},
        {"ssd", 9},
        {"gp", 0},
        {"gpu,ssd", 1},
        {"!gpu", 12},
        {"! ! gpu", 3},
        {"gpu & !spot", 1},
        {"gpu&!spot", 1},
        {"rack=r1", 3},
        {"rack=r1 | host=h3", 7},
        {"host=h3", 4},
        {"host=H3", 0},
        {"!rack=r1", 12},
        {"gpu | ssd & big", 11},
        {"(gpu | ssd) & big", 8},
        {"!(gpu | ssd)", 4},
        {"gpu & (spot | host=h1) & !host=h2", 1},
        {" gpu ", 3},
        {"a&b", 8},     /* a label of these very characters, */
        {"rack=r9", 8}, /* as is this */
        {"racks=r1", 0},
        {"gpu &", 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (unsigned h = 0; h < HOSTS; h++)
            if (constraint_is_met(cases[i].text, &hosts[h]) != (cases[i].met >> h & 1))
                fail_msg("\"%s\" and host %u", cases[i].text, h + 1);
}

static void test_what_is_none(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"gpu &", "constraint 'gpu &', column 6: a label, rack=NAME or host=NAME is missing"},
        {"& gpu", "column 1: a label"},
        {"gpu spot", "column 5: & or | is missing here"},
        {"(gpu | ssd", "column 1: this bracket is not closed"},
        {"a & (b & (c | d)", "column 5: this bracket is not closed"},
        {"gpu)", "column 4: this bracket was not opened"},
        {"gpu & ()", "column 8: a label"},
        {"rack=", "column 6: a name is missing"},
        {"host= | a", "column 6: a name is missing"},
        {"!", "column 2: a label"},
        {"   ", "column 4: a label"},
        {"a,b", "column 2: & or | is missing here"},
    };
    struct err err;
    char longest[CONSTRAINT_MAX + 1];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(constraint_check(cases[i].text, &err), -EINVAL);
        if (!strstr(err.text, cases[i].words))
            fail_msg("\"%s\": %s", cases[i].text, err.text);
    }
    memset(longest, 'a', sizeof(longest));
    longest[CONSTRAINT_MAX] = '\0';
    assert_int_equal(constraint_check(longest, &err), -EINVAL);
    assert_non_null(strstr(err.text, "has 128 bytes, at most 127 are taken"));
    longest[CONSTRAINT_MAX - 1] = '\0';
    assert_int_equal(constraint_check(longest, &err), 0);
    memset(longest, '(', CONSTRAINT_MAX - 1);
    assert_int_equal(constraint_check(longest, &err), -EINVAL);
}

static void test_parts(void **state)
{
    (void)state;
    static const struct {
        const char *text, *parts[4];
    } cases[] = {
        {"", {NULL}},
        {"gpu", {"gpu", NULL}},
        {"gpu & !spot", {"gpu", "!spot", NULL}},
        {"a & b | c", {"a & b | c", NULL}},
        {" (a | b)&c & rack=r1 ", {"(a | b)", "c", "rack=r1", NULL}},
        {"a &", {"a &", NULL}},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct constraint_span span;
        unsigned n = 0;
        for (; cases[i].parts[n]; n++) {
            assert_true(constraint_part(cases[i].text, n, &span));
            assert_int_equal(span.end - span.begin, strlen(cases[i].parts[n]));
            assert_memory_equal(cases[i].text + span.begin, cases[i].parts[n],
                                span.end - span.begin);
        }
        assert_false(constraint_part(cases[i].text, n, &span));
    }
}

/* Random characters: read without a fault, and what is right is what is one part after the
 * other. */
static void test_random_text(void **state)
{
    (void)state;
    static const char bytes[] = "ab&|!() =rackhost";
    uint64_t stream = test_seed();
    for (int i = 0; i < 100000; i++) {
        char text[24];
        size_t length = test_random(&stream) % (sizeof(text) - 1);
        for (size_t c = 0; c < length; c++)
            text[c] = bytes[test_random(&stream) % (sizeof(bytes) - 1)];
        text[length] = '\0';
        const struct constraint_host host = {"a", "b", "a,ab"};
        struct constraint_span span;
        if (constraint_check(text, NULL) < 0 || !length)
            continue;
        bool met = true;
        for (unsigned n = 0; constraint_part(text, n, &span); n++) {
            met &= constraint_part_is_met(text + span.begin, span.end - span.begin, &host);
            assert_int_equal(constraint_part_is_met(text, span.end, &host), met);
        }
        assert_int_equal(constraint_is_met(text, &host), met);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_meets_it),
        cmocka_unit_test(test_what_is_none),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_random_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
