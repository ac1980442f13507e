/* Texts that begin with a byte order mark or with blanks are read as without, or refused in
 * words. */
#include "tests/unit/test.h"

#include "lib/conf.h"
#include "lib/keys.h"
#include "lib/text_mark.h"
#include "lib/workload/workload_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MARK  "\xef\xbb\xbf"
#define TRACE "3 1\n1 0 1 0 1 1:3\n"
#define LINES                                                                                      \
    "{\"duopoly_workload\":1,\"hosts\":2,\"slots_per_host\":1,\"link_bps\":1000}\n"                \
    "{\"id\":1,\"name\":\"j\",\"arrival_ms\":0,\"stages\":[{\"tasks\":1,\"input_bytes\":1,"        \
    "\"replicas\":[[0]],\"compute_ms\":1}]}\n"

static char path[] = "/tmp/duopoly-text-XXXXXX";

static void file_write(const char *first, const char *second)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    assert_true(fputs(first, out) >= 0 && fputs(second, out) >= 0);
    assert_int_equal(fclose(out), 0);
}

static int made(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 || close(fd) < 0 ? -1 : 0;
}

static int removed(void **state)
{
    (void)state;
    return unlink(path);
}

static void marks_are_known(void **state)
{
    char text[] = MARK "x";
    (void)state;
    assert_int_equal(text_mark(MARK, 3), 3);
    assert_int_equal(text_mark(MARK, 2), 0);
    assert_int_equal(text_mark("", 0), 0);
    assert_int_equal(text_mark_cut(text, sizeof(text)), 3);
    assert_string_equal(text, "x");
    assert_int_equal(text_mark_cut(text, 2), 0);
}

static const char *const beginnings[] = {"", MARK, " ", "\t", "\n", "\r\n", MARK " \n\n  "};

static void workloads_and_traces_begin_as_they_like(void **state)
{
    static const char *const texts[] = {TRACE, LINES};
    const struct workload_convert options = workload_convert_defaults;
    (void)state;
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
        for (size_t n = 0; n < 2; n++) {
            struct workload_input input;
            struct workload_job job;
            struct err err = {0};
            file_write(beginnings[i], texts[n]);
            if (workload_input_open(&input, path, &options, &err) < 0 ||
                workload_input_next(&input, &job, &err) != 1)
                fail_msg("beginning %zu of text %zu: %s", i, n, err.text);
            workload_job_done(&job);
            workload_input_done(&input);
        }
}

/* The line of a fault is the file's. */
static void lines_are_counted_from_the_first(void **state)
{
    struct workload_input input;
    struct err err = {0};
    const struct workload_convert options = workload_convert_defaults;
    (void)state;
    file_write(MARK "\n\n", "{nothing}\n");
    assert_int_equal(workload_input_open(&input, path, &options, &err), -EINVAL);
    assert_non_null(strstr(err.text, ":3: "));
    workload_input_done(&input);
    file_write(MARK "\n\n", "3 x\n");
    assert_int_equal(workload_input_open(&input, path, &options, &err), -EINVAL);
    assert_non_null(strstr(err.text, ":3: "));
    workload_input_done(&input);
}

static void other_encodings_are_named(void **state)
{
    static const char *const cases[] = {"\xff\xfe{", "\xfe\xff{", MARK "\xff\xfe", "\xef{"};
    static const char *const words[] = {"UTF-16", "UTF-16", "", "does not begin with UTF-8"};
    const struct workload_convert options = workload_convert_defaults;
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct workload_input input;
        struct err err = {0};
        file_write(cases[i], "\n");
        assert_int_equal(workload_input_open(&input, path, &options, &err), -EINVAL);
        assert_non_null(strstr(err.text, words[i]));
        workload_input_done(&input);
    }
}

static void key_files_begin_as_they_like(void **state)
{
    struct key_file key = {.name = "w1", .role = ROLE_AGENT}, again;
    char text[512];
    struct err err = {0};
    (void)state;
    assert_int_equal(key_pair_make(&key.pair, NULL), 0);
    snprintf(text, sizeof(text), "name w1\r\n\r\n role agent\n\tpublic %s\nsecret %s\n",
             key.pair.public, key.pair.secret);
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
        file_write(beginnings[i], text);
        if (key_file_read(path, &again, &err) < 0)
            fail_msg("beginning %zu: %s", i, err.text);
        assert_string_equal(again.name, "w1");
    }
}

struct two {
    int64_t a, b;
};

static void configurations_begin_as_they_like(void **state)
{
    static const struct conf_field fields[] = {
        {.name = "a", .type = CONF_INT, .offset = offsetof(struct two, a), .preset = "0"},
        {.name = "b", .type = CONF_INT, .offset = offsetof(struct two, b), .preset = "0"},
        {.name = NULL}};
    static const struct conf_section section = {fields, sizeof(struct two), NULL};
    static const char *const right[] = {MARK "a: 1\nb: 2\n", "\n\na: 1\nb: 2\n", "  a: 1\n  b: 2\n",
                                        MARK "# x\n\na: 1\r\nb: 2\r\n"};
    static const char *const wrong[][2] = {
        {"  a: 1\nb: 2\n", ":2:1: did not find expected <document start>: the first key is "
                           "indented, and others are not"},
        {MARK " a: 1\nb: 2\n", "the first key is indented"},
        {"# x\n a: 1\nb: 2\n", "the first key is indented"},
        {"\ta: 1\n", "a tab, and YAML indents by blanks"},
        {"a: 1\n\tb: 2\n", "a tab, and YAML indents by blanks"},
        {"#", NULL},
    };
    struct two two;
    struct err err = {0};
    (void)state;
    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
        if (conf_parse("f", right[i], strlen(right[i]), &section, &two, &err) < 0)
            fail_msg("text %zu: %s", i, err.text);
        assert_true(two.a == 1 && two.b == 2);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        int r = conf_parse("f", wrong[i][0], strlen(wrong[i][0]), &section, &two, &err);
        if (wrong[i][1] ? r != -EINVAL || !strstr(err.text, wrong[i][1]) : r != 0)
            fail_msg("text %zu: %d, %s", i, r, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_are_known),
        cmocka_unit_test(workloads_and_traces_begin_as_they_like),
        cmocka_unit_test(lines_are_counted_from_the_first),
        cmocka_unit_test(other_encodings_are_named),
        cmocka_unit_test(key_files_begin_as_they_like),
        cmocka_unit_test(configurations_begin_as_they_like),
    };
    return cmocka_run_group_tests_name("text_mark", tests, made, removed);
}
