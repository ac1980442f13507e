/* Reasons by number and by word: those of before keep both, and no two share either. */
#include "tests/unit/test.h"

#include "controller/engine/engine.h"

/* What recordings and dumps of before say. */
static const struct {
    unsigned number;
    const char *word;
} before[] = {
    {0, "none"},
    {1, "local-block"},
    {2, "no-local-slot"},
    {3, "no-block"},
    {4, "link-unused"},
    {5, "first-on-link"},
    {6, "hold-expired"},
    {7, "idle-cluster"},
    {8, "greedy"},
    {9, "random"},
    {10, "ends-first"},
    {11, "claimed"},
    {12, "would-stall"},
    {13, "congested"},
    {14, "not-first"},
    {15, "first-blocked"},
    {16, "first-fits"},
    {17, "all-blocked"},
    {18, "all-fit"},
    {19, "size"},
    {20, "received"},
    {21, "one-level"},
    {22, "adopted"},
    {23, "cancelled"},
    {24, "replaced"},
    {25, "input-lost"},
    {26, "orphan"},
    {27, "job-failed"},
    {28, "too-many-failures"},
    {29, "unknown-job"},
    {30, "unknown-stage"},
    {31, "unknown-task"},
    {32, "unknown-host"},
    {33, "name-taken"},
    {34, "same-job"},
    {35, "number-taken"},
    {36, "bad-value"},
    {37, "incomplete"},
    {38, "bad-state"},
    {39, "table-full"},
    {40, "unsupported"},
    {41, "never-fits"},
    {42, "source-lost"},
    {43, "rank"},
    {44, "one-deep"},
    {45, "own-receiver"},
    {46, "earlier-receiver"},
    {47, "kept-slot"},
    {48, "far"},
    {49, "used"},
    {50, "unused"},
    {51, "elsewhere"},
    {52, "room-gone"},
    {53, "no-block-there"},
    {54, "retry"},
    {55, "probe"},
    {56, "too-many-reruns"},
    {57, "too-many-losses"},
};
enum { BEFORE = sizeof(before) / sizeof(*before) };

static void test_reasons_of_before_keep_number_and_word(void **state)
{
    (void)state;
    for (size_t i = 0; i < BEFORE; i++)
        assert_string_equal(reason_name((enum reason)before[i].number), before[i].word);
    assert_string_equal(reason_name((enum reason)999), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reasons_of_before_keep_number_and_word),
    };
    return cmocka_run_group_tests_name("reasons", tests, NULL, NULL);
}
