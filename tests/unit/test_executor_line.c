/* An executor is known by three options of its command line, and by nothing else of it. */
#include "tests/unit/test.h"

#include "hostagent/guests/executor_line.h"

#include <errno.h>
#include <string.h>

/* Words with '|' for the end of each. */
static int parse(const char *words, struct executor_line *ret_line)
{
    char line[512];
    size_t n = strlen(words);
    for (size_t i = 0; i < n; i++)
        line[i] = words[i];
    for (size_t i = 0; i < n; i++)
        if (line[i] == '|')
            line[i] = 0;
    return executor_line_parse(line, n, ret_line);
}

static void test_an_executor(void **state)
{
    (void)state;
    struct executor_line line;
    assert_int_equal(parse("java|-Xmx512m|org.apache.spark.executor.CoarseGrainedExecutorBackend|"
                           "--driver-url|spark://x@m:1|--executor-id|12|--hostname|w1|--cores|2|"
                           "--app-id|app-20261123101010-0003|--resourceProfileId|0|",
                           &line),
                     0);
    assert_string_equal(line.application, "app-20261123101010-0003");
    assert_string_equal(line.executor, "12");
    assert_int_equal(line.cores, 2);
    assert_int_equal(parse("x|--app-id|a|--executor-id|1|--cores|1|--app-id|b|", &line), 0);
    assert_string_equal(line.application, "b");
}

static void test_others(void **state)
{
    (void)state;
    static const char *const others[] = {"",
                                         "java|",
                                         "--app-id|a|--executor-id|1|",
                                         "--app-id|a|--cores|1|",
                                         "--cores|1|--executor-id|1|",
                                         "--cores|1|--executor-id|1|--app-id|",
                                         "bash|-c|java --app-id a --executor-id 1 --cores 1|",
                                         "x|--app-id=a|--executor-id|1|--cores|1|",
                                         "x|--app-id|a|--executor-id|1|--cores|1"};
    struct executor_line line;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_int_equal(parse(others[i], &line), -ENOENT);
}

static void test_what_no_executor_says(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "--app-id|a|--executor-id|1|--cores|0|",
        "--app-id|a|--executor-id|1|--cores|-1|",
        "--app-id|a|--executor-id|1|--cores|4097|",
        "--app-id|a|--executor-id|1|--cores|1x|",
        "--app-id||--executor-id|1|--cores|1|",
        "--app-id|a b|--executor-id|1|--cores|1|",
        "--app-id|a/b|--executor-id|1|--cores|1|",
        "--app-id|a|--executor-id||--cores|1|",
        "--app-id|a|--executor-id|12345678901234567890123456789012|--cores|1|",
        ("--app-id|a123456789012345678901234567890123456789012345678901234567890123|"
         "--executor-id|1|--cores|1|")};
    struct executor_line line;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(parse(wrong[i], &line), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_executor),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_what_no_executor_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
