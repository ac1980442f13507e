/* Which later epochs are believed while a controller begins again. */
#include "tests/unit/test.h"

#include "controller/epoch_claims.h"

#include <stdio.h>
#include <string.h>

static struct epoch_claims claims;
static struct err err;

static int begin(void **state)
{
    (void)state;
    claims = (struct epoch_claims){.base = 7};
    return 0;
}

static int end(void **state)
{
    (void)state;
    epoch_claims_done(&claims);
    return 0;
}

static void a_lone_word_counts_so_far_ahead(void **state)
{
    (void)state;
    assert_true(epoch_claims_take(&claims, "w1", 8, &err));
    assert_true(epoch_claims_take(&claims, "w2", 7 + EPOCH_ALONE, &err));
    assert_false(epoch_claims_take(&claims, "w3", 8 + EPOCH_ALONE, &err));
    assert_non_null(strstr(err.text, "two at least"));
    assert_false(epoch_claims_take(&claims, "w3", UINT32_MAX - 2, &err));
    assert_false(epoch_claims_take(&claims, "w3", UINT32_MAX - 2, &err));
}

/* However often and however high: what is left of the epochs does not go down by it. */
static void one_host_makes_it_begin_again_once(void **state)
{
    (void)state;
    assert_true(epoch_claims_take(&claims, "w1", 8, &err));
    for (uint32_t epoch = 9; epoch < 1000; epoch++)
        assert_false(epoch_claims_take(&claims, "w1", epoch, &err));
    assert_true(epoch_claims_take(&claims, "w2", 900, &err));
}

static void a_quorum_is_believed_beyond(void **state)
{
    const uint32_t late = 3000000000;
    (void)state;
    assert_false(epoch_claims_take(&claims, "liar", UINT32_MAX - 2, &err));
    assert_true(epoch_claims_take(&claims, "w1", late, &err)); /* two say as much or more */
    assert_true(epoch_claims_take(&claims, "w2", late, &err));
    assert_false(epoch_claims_take(&claims, "liar", UINT32_MAX - 2, &err));
}

/* A minority is none, also of many. */
static void a_minority_is_not(void **state)
{
    char name[16];
    (void)state;
    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof(name), "w%d", i);
        assert_true(epoch_claims_take(&claims, name, 20, &err));
    }
    for (int i = 0; i < 9; i++) {
        snprintf(name, sizeof(name), "liar%d", i);
        assert_false(epoch_claims_take(&claims, name, UINT32_MAX - 2, &err));
    }
}

int main(void)
{
#define WITH(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        WITH(a_lone_word_counts_so_far_ahead),
        WITH(one_host_makes_it_begin_again_once),
        WITH(a_quorum_is_believed_beyond),
        WITH(a_minority_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
