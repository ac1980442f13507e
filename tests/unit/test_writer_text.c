/* Tables of random values in text and CSV against their words, one by one. */
#include "tests/unit/test.h"

#include "lib/printable.h"
#include "lib/writer.h"

#include <string.h>

enum { COLUMNS = 5, ROWS = 40, WORD = 80 };

static const struct column columns[COLUMNS + 1] = {{"a", "A"}, {"bee", "BEE"}, {"c", "C"},
                                                   {"d", "D"}, {"e", "E"},     {NULL, NULL}};
static const char *const texts[] = {
    "", "ready", "h\303\244", "a\tb", "x,\"y", "\xff", "up", "a longer text than its heading"};

static struct value some_value(uint64_t *stream)
{
    static const uint64_t numbers[] = {0, 0, 7, 999, 1000, 65200000000, UINT64_MAX};
    const uint64_t number = numbers[test_random(stream) % 7];
    switch (test_random(stream) % 9) {
    case 0:
        return value_text(texts[test_random(stream) % (sizeof(texts) / sizeof(texts[0]))]);
    case 1:
        return value_id(number);
    case 2:
        return value_signed(-(int64_t)(number / 2));
    case 3:
        return value_bytes(number);
    case 4:
        return value_duration((int64_t)(number / 2));
    case 5:
        return value_permille(number / 3);
    case 6:
        return value_bool(number);
    case 7:
        return value_time(number);
    default:
        return value_absent();
    }
}

static size_t characters(const char *word)
{
    size_t n = 0;
    for (; *word; word++)
        n += (*word & 0xc0) != 0x80;
    return n;
}

static char *written(const struct writer_form *form, const struct value *values, size_t rows)
{
    char *text;
    size_t size;
    struct err err;
    FILE *out = open_memstream(&text, &size);
    struct writer *writer = writer_new(form);
    writer_enclose(writer, "x", 0);
    writer_schema(writer, "x", "rows");
    writer_table(writer, "rows", columns);
    for (size_t i = 0; i < rows * COLUMNS; i++)
        writer_cell(writer, values[i]);
    writer_table_end(writer);
    assert_int_equal(writer_end(writer, out, &err), 0);
    fclose(out);
    return text;
}

static void word_of(const struct value *value, char word[WORD])
{
    char words[WORD];
    snprintf(word, WORD, "%s", value_words(value, words, sizeof(words)));
    printable_clean(word);
}

static bool is_quantity(const struct value *value)
{
    return value->kind != VALUE_TEXT && value->kind != VALUE_BOOL && value->kind != VALUE_TIME &&
           value->kind != VALUE_ABSENT;
}

/* Appends a word with its column's width; the last column has no blanks at its end. */
static void put(char *text, size_t column, const char *word, size_t width, bool right)
{
    const int blanks = (int)(width - characters(word));
    text += strlen(text);
    sprintf(text, "%s%*s%s%*s%s", column ? " " : "", right ? blanks : 0, "", word,
            right || column + 1 == COLUMNS ? 0 : blanks, "", column + 1 == COLUMNS ? "\n" : "");
}

static void columns_are_as_wide_as_their_words(void **state)
{
    uint64_t stream = test_seed();
    static struct value values[ROWS * COLUMNS];
    static char expected[(ROWS + 1) * COLUMNS * 2 * WORD], words[ROWS * COLUMNS][WORD];
    (void)state;
    for (int round = 0; round < 200; round++) {
        const size_t rows = 1 + test_random(&stream) % ROWS;
        size_t width[COLUMNS];
        bool right[COLUMNS] = {false};
        for (size_t c = 0; c < COLUMNS; c++)
            width[c] = strlen(columns[c].heading);
        for (size_t i = 0; i < rows * COLUMNS; i++) {
            /* Each other round its column's last value again and again. */
            values[i] = i >= COLUMNS && round % 2 && test_random(&stream) % 4 ? values[i - COLUMNS]
                                                                              : some_value(&stream);
            word_of(&values[i], words[i]);
            right[i % COLUMNS] |= is_quantity(&values[i]);
            if (characters(words[i]) > width[i % COLUMNS])
                width[i % COLUMNS] = characters(words[i]);
        }
        expected[0] = '\0';
        for (size_t c = 0; c < COLUMNS; c++)
            put(expected, c, columns[c].heading, width[c], right[c]);
        for (size_t i = 0; i < rows * COLUMNS; i++)
            put(expected, i % COLUMNS, words[i], width[i % COLUMNS], right[i % COLUMNS]);
        char *text = written(&writer_form_text, values, rows);
        assert_string_equal(text, expected);
        free(text);
    }
}

static void csv_quotes_what_needs_it(void **state)
{
    const struct value values[COLUMNS] = {value_text("ready"), value_text("x,\"y"),
                                          value_text("a\tb"), value_text(""), value_id(7)};
    (void)state;
    char *text = written(&writer_form_csv, values, 1);
    assert_string_equal(text, "a,bee,c,d,e\nready,\"x,\"\"y\",a?b,,7\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_as_wide_as_their_words),
        cmocka_unit_test(csv_quotes_what_needs_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
