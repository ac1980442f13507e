/* What agent and duopoly-task write to each other comes back as it was, and nothing else is
 * taken. */
#include "tests/unit/test.h"

#include "lib/attempt.h"

#include <errno.h>
#include <string.h>

static void test_what_a_command_says(void **state)
{
    (void)state;
    struct attempt_said said;
    assert_int_equal(attempt_parse_said("received", &said), 0);
    assert_int_equal(said.word, ATTEMPT_RECEIVED);
    assert_int_equal(attempt_parse_said("done", &said), 0);
    assert_int_equal(said.word, ATTEMPT_DONE);
    assert_int_equal(attempt_parse_said("missing 1 2 4294967297 10.77.0.3", &said), 0);
    assert_int_equal(said.word, ATTEMPT_MISSING);
    assert_int_equal(said.stage, 1);
    assert_int_equal(said.task, 2);
    assert_int_equal(said.attempt, 4294967297);
    assert_int_equal(attempt_parse_said("stalled 10.77.0.5 3", &said), 0);
    assert_int_equal(said.word, ATTEMPT_STALLED);
    assert_string_equal(said.addresses, "10.77.0.5");
    assert_int_equal(said.others, 3);
    assert_int_equal(attempt_parse_said("flows fd00::5", &said), 0);
    assert_int_equal(said.word, ATTEMPT_FLOWS);
    assert_string_equal(said.addresses, "fd00::5");
    assert_int_equal(attempt_parse_said("connection 10.0.0.1 40000 fd00::2 7700", &said), 0);
    assert_string_equal(said.addresses, "10.0.0.1 40000 fd00::2 7700");
}

static void test_nonsense_is_refused(void **state)
{
    (void)state;
    static const char *const nonsense[] = {"",
                                           "recieved",
                                           "received ",
                                           "missing 1 2",
                                           "missing",
                                           "missing 1 2 3 4 5",
                                           "done!",
                                           "stalled 10.77.0.5",
                                           "stalled 10.77.0.5 1 2",
                                           "flows",
                                           "flows 10.77.0.5 1",
                                           "connection 1.2.3.4 70000 1.2.3.4 5",
                                           "missing a b c d"};
    struct attempt_said said = {.stage = 77};
    for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++)
        assert_int_equal(attempt_parse_said(nonsense[i], &said), -EINVAL);
    assert_int_equal(said.stage, 77);
}

/* Property: any bytes are parsed or refused, never read beyond their end. */
static void test_random_bytes(void **state)
{
    (void)state;
    uint64_t stream = test_seed();
    static const char *const heads[] = {"",         "missing ", "connection ", "status ",
                                        "received", "stalled ", "flows "};
    for (int round = 0; round < 20000; round++) {
        const char *head = heads[test_random(&stream) % 7];
        size_t at = strlen(head), n = at + test_random(&stream) % 300;
        char *text = malloc(n + 1);
        memcpy(text, head, at);
        for (; at < n; at++)
            text[at] = test_random(&stream) % 3 ? "0123456789 \n"[test_random(&stream) % 12]
                                                : (char)(1 + test_random(&stream) % 255);
        text[n] = 0;
        struct attempt_said said;
        struct attempt_status status;
        attempt_parse_said(text, &said);
        attempt_parse_status(text, &status);
        struct attempt_order order;
        for (char *c = text; *c; c++)
            *c = *c == ' ' ? 0 : *c;
        attempt_parse_order(text, n + 1, &order);
        free(text);
    }
}

static void test_a_status_comes_back(void **state)
{
    (void)state;
    static const struct attempt_status cases[] = {{.exit_status = 0},
                                                  {.exit_status = -9, .last_line = "killed"},
                                                  {.exit_status = 255, .last_line = " a  b"},
                                                  {.exit_status = 1, .last_line = "7"}};
    char text[ATTEMPT_STATUS_SIZE + 1];
    struct attempt_status back;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        attempt_format_status(&cases[i], text);
        assert_int_equal(strlen(text), ATTEMPT_STATUS_SIZE);
        assert_int_equal(attempt_parse_status(text, &back), 0);
        assert_int_equal(back.exit_status, cases[i].exit_status);
        assert_string_equal(back.last_line, cases[i].last_line);
        text[ATTEMPT_STATUS_SIZE - 1] = 0; /* cut short: without its end it is none */
        assert_int_equal(attempt_parse_status(text, &back), -EINVAL);
    }
    attempt_format_status(NULL, text);
    assert_int_equal(strlen(text), ATTEMPT_STATUS_SIZE);
    assert_int_equal(attempt_parse_status(text, &back), -ENOENT);
    assert_int_equal(strlen(ATTEMPT_RECORD), ATTEMPT_STATUS_AT);
}

static void test_an_order_comes_back(void **state)
{
    (void)state;
    struct attempt_order order = {.command = "map", .record = "/run/a", .output = "/run/o"}, back;
    char text[ATTEMPT_ORDER], word[ATTEMPT_ORDER + 1];
    int n = attempt_format_order(&order, text);
    assert_true(n > 0);
    assert_int_equal(attempt_parse_order(text, (size_t)n, &back), 0);
    assert_string_equal(back.command, "map");
    assert_string_equal(back.record, "/run/a");
    assert_string_equal(back.output, "/run/o");
    assert_int_equal(attempt_parse_order(text, (size_t)n - 1, &back), -EINVAL); /* cut short */
    assert_int_equal(attempt_parse_order(text, 7 + 7, &back), -EINVAL);         /* no command */
    assert_int_equal(attempt_parse_order("/o\0/a\0map\0sh", 13, &back), -EINVAL);
    assert_int_equal(attempt_parse_order("/o\0/a\0", 7, &back), -EINVAL);
    order.command = NULL;
    n = attempt_format_order(&order, text);
    assert_int_equal(attempt_parse_order(text, (size_t)n, &back), 0);
    assert_null(back.command);
    assert_string_equal(back.output, "/run/o");
    assert_false(back.counts);
    n = attempt_format_order(&(struct attempt_order){.counts = true}, text);
    assert_int_equal(attempt_parse_order(text, (size_t)n, &back), 0);
    assert_true(back.counts && !back.command && !back.output);
    memset(word, 'x', sizeof(word));
    word[sizeof(word) - 1] = 0;
    order.output = word;
    assert_int_equal(attempt_format_order(&order, text), -E2BIG);
}

static void test_the_last_line_of_a_stream(void **state)
{
    (void)state;
    struct attempt_tail tail = {0};
    attempt_tail_add(&tail, "first\nsecond", 12);
    assert_string_equal(tail.line, "second");
    attempt_tail_add(&tail, " half\n", 6);
    assert_string_equal(tail.line, "second half");
    attempt_tail_add(&tail, "\n\n", 2);
    assert_string_equal(tail.line, "second half");
    attempt_tail_add(&tail, "\x1b[31m", 5);
    assert_string_equal(tail.line, "?[31m");
    char longer[1000];
    memset(longer, 'x', sizeof(longer));
    attempt_tail_add(&tail, longer, sizeof(longer));
    assert_int_equal(strlen(tail.line), ATTEMPT_LINE - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_command_says),
        cmocka_unit_test(test_nonsense_is_refused),
        cmocka_unit_test(test_random_bytes),
        cmocka_unit_test(test_a_status_comes_back),
        cmocka_unit_test(test_the_last_line_of_a_stream),
        cmocka_unit_test(test_an_order_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
