#include "tests/unit/test.h"

#include "lib/err.h"
#include "lib/printable.h"
#include "lib/writer.h"
#include "testbed/workload/describe.h"

#include <errno.h>
#include <string.h>

#define NASTY "a\033[2J\rb\302\2332Jc\233d\x7f\nj\303\244\342\200\256z"
#define CLEAN "a?[2J?b?2Jc?d??j\303\244?z"

static void what_is_not_printable_becomes_a_question_mark(void **state)
{
    static const char *const cases[][2] = {
        {"", ""},
        {"plain words, 12 of them", "plain words, 12 of them"},
        {"\303\244\342\202\254\360\237\220\230", "\303\244\342\202\254\360\237\220\230"},
        {NASTY, CLEAN},
        {"\300\200", "??"},           /* too long for its number */
        {"\355\240\200", "???"},      /* a surrogate */
        {"\364\220\200\200", "????"}, /* beyond Unicode */
        {"\342\202", "??"},           /* cut */
        {"\343\201\t", "???"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[64];
        snprintf(text, sizeof(text), "%s", cases[i][0]);
        printable_clean(text);
        assert_string_equal(text, cases[i][1]);
    }
}

static void putting_is_cleaning(void **state)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    (void)state;
    assert_true(printable_put(NASTY, out) >= 0);
    fclose(out);
    assert_string_equal(text, CLEAN);
    free(text);
}

static void sentences_are_clean_however_they_are_made(void **state)
{
    struct err err;
    (void)state;
    err_set(&err, EINVAL, "job '%s'", NASTY);
    assert_string_equal(err.text, "job '" CLEAN "'");
    err_prefix(&err, "%s", NASTY);
    assert_string_equal(err.text, CLEAN ": job '" CLEAN "'");
    err_sys(&err, EPERM, "%s", NASTY);
    assert_non_null(strstr(err.text, CLEAN ": "));
}

static void assert_drives_no_terminal(const char *text)
{
    for (const char *c = text; *c; c++)
        assert_true(*c == '\n' || ((unsigned char)*c >= ' ' && *c != 0x7f));
    assert_null(strstr(text, "\302\233"));
}

/* duopolyctl's answers in both forms: names, labels, racks, reasons. */
static void answers_drive_no_terminal(void **state)
{
    static const struct column columns[] = {{"name", "NAME"}, {NULL, NULL}};
    (void)state;
    for (const struct writer_form *const *form = writer_forms; *form; form++) {
        char *text;
        size_t size;
        FILE *out = open_memstream(&text, &size);
        struct writer *writer = writer_new(*form);
        writer_field(writer, "text", "note", value_text("a\033[2J\rb\302\2332Jc\233d"));
        writer_table(writer, "rows", columns);
        writer_cell(writer, value_text("a\033[2J\rb\302\2332Jc"));
        writer_table_end(writer);
        assert_int_equal(writer_end(writer, out, NULL), 0);
        fclose(out);
        assert_drives_no_terminal(text);
        free(text);
    }
}

static void a_description_is_described_clean(void **state)
{
    const struct describe describe = {0};
    struct workload_header header = {.hosts = 1, .description = NASTY};
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    (void)state;
    describe_print(&describe, &header, out);
    fclose(out);
    assert_memory_equal(text, CLEAN "\n", strlen(CLEAN) + 1);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_printable_becomes_a_question_mark),
        cmocka_unit_test(putting_is_cleaning),
        cmocka_unit_test(sentences_are_clean_however_they_are_made),
        cmocka_unit_test(answers_drive_no_terminal),
        cmocka_unit_test(a_description_is_described_clean),
    };
    return cmocka_run_group_tests_name("printable", tests, NULL, NULL);
}
