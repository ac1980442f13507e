/* Reasons by number and by word: those of before keep both, and no two share either. */
#include "tests/unit/test.h"

#include "controller/engine/policy/questions.h"

#include <errno.h>
#include <string.h>

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
    {61, "home"},
    {62, "for-home"},
    {63, "all-there"},
    {64, "freed-slot"},
};
enum { BEFORE = sizeof(before) / sizeof(*before) };

static void test_reasons_of_before_keep_number_and_word(void **state)
{
    (void)state;
    for (size_t i = 0; i < BEFORE; i++) {
        enum reason reason;
        assert_string_equal(reason_name((enum reason)before[i].number), before[i].word);
        assert_int_equal(reason_find(before[i].word, strlen(before[i].word), &reason), 0);
        assert_int_equal(reason, before[i].number);
    }
}

static void test_what_is_no_reason(void **state)
{
    (void)state;
    static const char *const words[] = {"", "?", "far-off", "fa", "None"};
    enum reason reason;
    assert_string_equal(reason_name((enum reason)999), "?");
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        assert_int_equal(reason_find(words[i], strlen(words[i]), &reason), -EINVAL);
}

static unsigned free_number(void)
{
    unsigned number = BEFORE;
    while (strcmp(reason_name((enum reason)number), "?") != 0)
        number++;
    return number;
}

/* Whoever has the number first, the engine before all policies, has this word, and the other way
 * round. */
static void check_entry(const struct policy *policy, const struct policy_reason *entry)
{
    enum reason same = REASON_NONE;
    const char *word = entry->word ? entry->word : reason_name(entry->reason);
    if (strcmp(word, "?") == 0)
        fail_msg("%s: its reason number %u has no word", policy->name, entry->reason);
    if (strcmp(reason_name(entry->reason), word) != 0)
        fail_msg("%s: the number %u of its reason %s is that of %s; %u is free", policy->name,
                 entry->reason, word, reason_name(entry->reason), free_number());
    assert_int_equal(reason_find(word, strlen(word), &same), 0);
    if (same != entry->reason)
        fail_msg("%s: reason number %u has the word %s, too", policy->name, same, word);
    assert_true(strlen(word) > 2 && !strpbrk(word, " ,=%"));
}

/* A word that an entry leaves out is the engine's own, or stands elsewhere in the same table. */
static void check_where_the_word_is(const struct policy *policy, const struct policy_reason *entry)
{
    bool elsewhere = false, here = false;
    for (const struct policy_reason *r = policy->reasons; r->reason; r++)
        here |= r->reason == entry->reason && r->word;
    for (enum question q = 0; q < QUESTIONS; q++)
        for (unsigned i = 0; policy_listed(q, i); i++)
            for (const struct policy_reason *r = policy_listed(q, i)->reasons; r && r->reason; r++)
                elsewhere |= r->reason == entry->reason && r->word;
    if (!entry->word && elsewhere && !here)
        fail_msg("%s: its reason number %u is another policy's (%s); %u is free", policy->name,
                 entry->reason, reason_name(entry->reason), free_number());
}

static void test_no_two_reasons_share_a_number_or_a_word(void **state)
{
    (void)state;
    size_t entries = 0;
    for (enum question q = 0; q < QUESTIONS; q++)
        for (unsigned i = 0; policy_listed(q, i); i++) {
            const struct policy *policy = policy_listed(q, i);
            for (const struct policy_reason *r = policy->reasons; r && r->reason; r++) {
                check_entry(policy, r);
                check_where_the_word_is(policy, r);
                entries++;
            }
        }
    assert_true(entries > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reasons_of_before_keep_number_and_word),
        cmocka_unit_test(test_what_is_no_reason),
        cmocka_unit_test(test_no_two_reasons_share_a_number_or_a_word),
    };
    return cmocka_run_group_tests_name("reasons", tests, NULL, NULL);
}
