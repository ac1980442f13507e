/* What was said last about a host, its rack or all counts. */
#include "tests/unit/test.h"

#include "controller/agents/stances.h"

#include <errno.h>
#include <stdio.h>

#define OBSERVE duopoly_Stance_STANCE_OBSERVE
#define MARK    duopoly_Stance_STANCE_MARK
#define ENFORCE duopoly_Stance_STANCE_ENFORCE

static struct stances stances;

static void test_the_last_word_counts(void **state)
{
    (void)state;
    stances = (struct stances){0};
    assert_int_equal(stances_of(&stances, "h1", "r1"), ENFORCE);
    assert_int_equal(stances_set(&stances, STANCE_OF_HOST, "h1", MARK), 0);
    assert_int_equal(stances_of(&stances, "h1", "r1"), MARK);
    assert_int_equal(stances_of(&stances, "h2", "r1"), ENFORCE);
    assert_int_equal(stances_of(&stances, "h2", "h1"),
                     ENFORCE); /* a rack of that name is another */
    assert_int_equal(stances_set(&stances, STANCE_OF_RACK, "r1", OBSERVE), 0);
    assert_int_equal(stances_of(&stances, "h1", "r1"), OBSERVE);
    assert_int_equal(stances_of(&stances, "h1", "r2"), MARK);
    assert_int_equal(stances_set(&stances, STANCE_OF_HOST, "h1", ENFORCE), 0);
    assert_int_equal(stances_of(&stances, "h1", "r1"), ENFORCE);
    assert_int_equal(stances_of(&stances, "h3", "r1"), OBSERVE);
    assert_int_equal(stances_set(&stances, STANCE_OF_ALL, "", MARK), 0);
    assert_int_equal(stances_of(&stances, "h1", "r1"), MARK);
    assert_int_equal(stances_of(&stances, "h3", "r1"), MARK);
    assert_int_equal(stances.n, 0);
    assert_int_equal(stances_set(&stances, STANCE_OF_ALL, "", duopoly_Stance_STANCE_UNSAID),
                     -EINVAL);
    assert_int_equal(stances_set(&stances, STANCE_OF_ALL, "", (duopoly_Stance)4), -EINVAL);
}

static void test_rules_are_bounded(void **state)
{
    (void)state;
    char name[16];
    stances = (struct stances){0};
    for (int i = 0; i < STANCE_RULES; i++) {
        snprintf(name, sizeof(name), "h%d", i);
        assert_int_equal(stances_set(&stances, STANCE_OF_HOST, name, OBSERVE), 0);
    }
    assert_int_equal(stances_may_set(&stances, STANCE_OF_HOST, "one more", OBSERVE), -E2BIG);
    assert_int_equal(stances_may_set(&stances, STANCE_OF_HOST, "h7", MARK), 0);
    assert_int_equal(stances_set(&stances, STANCE_OF_HOST, "one more", OBSERVE), -E2BIG);
    assert_int_equal(stances_set(&stances, STANCE_OF_HOST, "h7", MARK),
                     0); /* takes its own place */
    assert_int_equal(stances_of(&stances, "h7", ""), MARK);
    assert_int_equal(stances_set(&stances, STANCE_OF_ALL, "", OBSERVE), 0);
    assert_int_equal(stances_set(&stances, STANCE_OF_HOST, "one more", MARK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_last_word_counts),
        cmocka_unit_test(test_rules_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
