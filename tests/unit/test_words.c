/* What commands say of others: told on in portions, once; who says too much is ended. */
#include "tests/unit/test.h"

#include "hostagent/tasks/tasks_attempt.h"

#include <signal.h>
#include <string.h>

static struct tasks tasks;
static uint32_t lost, sources;
static duopoly_OutputLost last_lost;
static duopoly_SourceState last_source;

static void on_output_lost(void *user, const duopoly_OutputLost *one)
{
    (void)user;
    lost++;
    last_lost = *one;
}

static void on_source(void *user, const duopoly_SourceState *one)
{
    (void)user;
    sources++;
    last_source = *one;
}

static struct agent_attempt *running(uint64_t id, uint32_t inputs)
{
    const duopoly_Start start = {.attempt = id, .job = 12, .inputs = inputs};
    struct agent_attempt *attempt = attempt_add(&tasks, &start);
    attempt->phase = duopoly_AttemptPhase_PHASE_STARTED;
    return attempt;
}

static void miss(struct agent_attempt *attempt, uint32_t task)
{
    const struct attempt_said said = {.word = ATTEMPT_MISSING, .task = task, .attempt = 7};
    attempt_misses(attempt, &said);
}

static void speak(struct agent_attempt *attempt, enum attempt_word word, uint32_t others)
{
    const struct attempt_said said = {.word = word, .others = others, .addresses = "10.99.0.2"};
    attempt_speaks_of_source(attempt, &said);
}

static void test_what_is_missing_is_told_once_and_in_portions(void **state)
{
    (void)state;
    struct agent_attempt *one = running(1, 500), *other = running(2, 500);
    tasks_tell_words(&tasks);
    for (uint32_t times = 0; times < 3; times++)
        for (uint32_t i = 0; i < 500; i++)
            miss(one, i);
    assert_int_equal(lost, TASKS_TELL / 2); /* the other's part stays the other's */
    miss(other, 1000);
    assert_int_equal(lost, TASKS_TELL / 2 + 1);
    assert_int_equal(last_lost.task, 1000);
    assert_int_equal(last_lost.job, 12);
    for (uint32_t ticks = 0; ticks < 20; ticks++) {
        uint32_t before = lost;
        tasks_tell_words(&tasks);
        assert_true(lost - before <= TASKS_TELL);
    }
    assert_int_equal(lost, 501);
    tasks_tell_again(&tasks); /* a new session */
    assert_int_equal(lost, 501);
    for (uint32_t ticks = 0; ticks < 20; ticks++)
        tasks_tell_words(&tasks);
    assert_int_equal(lost, 1002);
}

static void test_what_is_kept_is_bounded(void **state)
{
    (void)state;
    struct agent_attempt *one = running(1, 0);
    for (uint32_t i = 0; i < 2 * WORDS_ENTRIES; i++)
        miss(one, i);
    assert_int_equal(one->words.n, WORDS_ENTRIES);
    assert_int_equal(tasks.counters.ignored_words, WORDS_ENTRIES);
}

static void test_of_a_source_the_newest_word_counts(void **state)
{
    (void)state;
    struct agent_attempt *one = running(1, 0);
    for (uint32_t i = 0; i < 1000; i++)
        speak(one, ATTEMPT_STALLED, i);
    assert_int_equal(sources, 1);
    tasks_tell_words(&tasks);
    assert_int_equal(sources, 2);
    assert_int_equal(last_source.others, 999);
    assert_int_equal(one->words.n, 1);
    speak(one, ATTEMPT_FLOWS, 0);
    tasks_tell_words(&tasks);
    assert_true(last_source.flows);
    uint32_t before = sources;
    tasks_tell_again(&tasks);
    tasks_tell_words(&tasks);
    assert_int_equal(sources, before);
    one->phase = duopoly_AttemptPhase_PHASE_COMPUTING; /* it has all */
    speak(one, ATTEMPT_STALLED, 1);
    tasks_tell_words(&tasks);
    assert_int_equal(sources, before);
}

static uint32_t says(struct agent_attempt *attempt)
{
    uint32_t n = 0;
    while (n < 1000000 && attempt_may_say(attempt))
        n++;
    return n;
}

static void test_who_says_too_much_is_ended(void **state)
{
    (void)state;
    struct agent_attempt *few = running(1, 0), *many = running(2, 1000);
    uint32_t n = says(few);
    assert_true(n >= WORDS_AT_ONCE && n < WORDS_AT_ONCE + 10 * WORDS_A_SECOND);
    assert_true(few->words.flood);
    assert_int_equal(few->status.exit_status, -SIGKILL);
    assert_non_null(strstr(few->status.last_line, "it said more than 2000 words"));
    assert_false(attempt_may_say(few));
    assert_false(many->words.flood);
    n = says(many);
    assert_true(n >= WORDS_AT_ONCE + 1000 * WORDS_AN_INPUT);
}

static int set_up(void **state)
{
    (void)state;
    tasks = (struct tasks){.handler = {.on_output_lost = on_output_lost, .on_source = on_source},
                           .cgroup = "/no/such/cgroup",
                           .tell_share = 1};
    RB_INIT(&tasks.attempts);
    TAILQ_INIT(&tasks.queue);
    lost = sources = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    struct agent_attempt *attempt;
    while ((attempt = RB_MIN(attempt_tree, &tasks.attempts)))
        attempt_drop(attempt);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_is_missing_is_told_once_and_in_portions, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_kept_is_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_of_a_source_the_newest_word_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_who_says_too_much_is_ended, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
