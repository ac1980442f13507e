/* Filters of lists: random ones over random rows against what their words mean, and what is refused
 * with which sentence. */
#include "tests/unit/test.h"

#include "controller/lists/filter.h"
#include "controller/lists/instant.h"
#include "controller/lists/list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROW struct sample
struct sample {
    char text[8];
    uint32_t count;
    uint64_t id, at_ns, bytes;
    int64_t ns;
    bool yes;
};

static bool is_without_count(const void *row)
{
    return ((const ROW *)row)->count == 7;
}

static const struct cell cells[] = {
    CELL("text", "TEXT", TEXT, text, UNLESS_NOTHING),
    CELL("count", NULL, NUMBER, count, .lacks = is_without_count),
    CELL("id", "ID", ID, id),
    CELL("at", "AT", TIME, at_ns),
    CELL("size_bytes", "SIZE", BYTES, bytes),
    CELL("age_ns", "AGE", DURATION, ns, UNLESS_NEGATIVE),
    CELL("yes", "YES", BOOL, yes),
    {0},
};
#undef ROW

static bool keeps(const char *text, const struct sample *row)
{
    struct filter filter;
    struct err err;
    if (filter_read(text, cells, &filter, &err) < 0)
        fail_msg("%s: %s", text, err.text);
    const bool kept = filter_keeps(&filter, row);
    uint64_t least, most;
    filter_range(&filter, "id", &least, &most);
    if (kept && (row->id < least || row->id > most))
        fail_msg("%s: %llu is not from %llu to %llu", text, (unsigned long long)row->id,
                 (unsigned long long)least, (unsigned long long)most);
    for (size_t known = 0; known <= sizeof(*row); known += 4)
        if (kept && !filter_may_keep(&filter, row, known))
            fail_msg("%s: not by its first %zu bytes", text, known);
    return kept;
}

/* ---- random filters ---- */

/* How a value may be written, and what it is. NULL: no content. */
struct written {
    const char *words;
    const char *text;
    int64_t number;
};
static const struct written texts[] = {
    {"a", "a", 0},         {"\"a\"", "a", 0},         {"ab", "ab", 0},   {" b ", "b", 0},
    {"\"x,y\"", "x,y", 0}, {"\"q\\\"|\"", "q\"|", 0}, {"\"-\"", "-", 0}, {"-", NULL, 0}};
static const struct written counts[] = {{"0", "", 0}, {"1", "", 1}, {" 7", "", 7}, {"-", NULL, 0}};
static const struct written ids[] = {{"0", "", 0}, {"1", "", 1}, {"2", "", 2}, {"-", NULL, 0}};
static const struct written times[] = {{"1970-01-01", "", 0},
                                       {"1970-01-01T00:00:01Z", "", 1000000000},
                                       {"1970-01-01T00:00:01.5Z", "", 1500000000},
                                       {"-", NULL, 0}};
static const struct written sizes[] = {
    {"0", "", 0}, {"1 kB", "", 1000}, {"1.5kB", "", 1500}, {"1KiB", "", 1024}};
static const struct written ages[] = {{"0 s", "", 0},       {"2us", "", 2000}, {"2000", "", 2000},
                                      {"1ms", "", 1000000}, {"-", NULL, 0},    {"-5", "", -5}};
static const struct written yeses[] = {
    {"yes", "", 1}, {"true", "", 1}, {"no", "", 0}, {"-", NULL, 0}};

static const struct {
    const struct written *values;
    size_t n;
} kinds[] = {{texts, 8}, {counts, 4}, {ids, 4}, {times, 4}, {sizes, 4}, {ages, 6}, {yeses, 4}};
enum { COLUMNS = sizeof(kinds) / sizeof(kinds[0]) };

struct term {
    size_t column, n;
    const char *op;
    const struct written *values[3];
};

/* What stands in a column, without any of the filter's code: false: nothing. */
static bool content(const struct sample *row, size_t column, int64_t *ret_number)
{
    const int64_t numbers[COLUMNS] = {
        0,       row->count, (int64_t)row->id, (int64_t)row->at_ns, (int64_t)row->bytes,
        row->ns, row->yes};
    *ret_number = numbers[column];
    return column == 0 ? *row->text : column == 1 ? row->count != 7 : column != 5 || row->ns >= 0;
}

static bool one_holds(const struct sample *row, const struct term *term,
                      const struct written *value)
{
    int64_t number;
    const bool there = content(row, term->column, &number);
    if (strchr(term->op, '~'))
        return there && strstr(row->text, value->text ? value->text : "-");
    if (!there || !value->text)
        return !there && !value->text;
    const int order = term->column == 0 ? strcmp(row->text, value->text)
                                        : (number > value->number) - (number < value->number);
    return (order == 0 && strchr(term->op, '=')) || (order < 0 && *term->op == '<') ||
           (order > 0 && *term->op == '>');
}

static bool term_holds(const struct sample *row, const struct term *term)
{
    bool any = false;
    for (size_t i = 0; i < term->n; i++)
        any |= one_holds(row, term, term->values[i]);
    return any != (*term->op == '!');
}

static struct term term_draw(uint64_t *stream)
{
    static const char *const of_text[] = {"=", "!=", "~", "!~"}, *const of_rest[] = {
                                                                     "=",  "!=", "<",
                                                                     "<=", ">",  ">="};
    struct term term = {.column = test_random(stream) % COLUMNS, .n = 1};
    term.op =
        term.column == 0 ? of_text[test_random(stream) % 4] : of_rest[test_random(stream) % 6];
    const bool order = *term.op == '<' || *term.op == '>';
    if (!order)
        term.n += test_random(stream) % 3;
    for (size_t i = 0; i < term.n;) {
        term.values[i] = &kinds[term.column].values[test_random(stream) % kinds[term.column].n];
        i += !order || term.values[i]->text;
    }
    return term;
}

static void term_print(const struct term *term, char *to, size_t size)
{
    size_t used = strlen(to);
    used += (size_t)snprintf(to + used, size - used, "%s %s%s", used ? " ," : "",
                             cells[term->column].key, term->op);
    for (size_t i = 0; i < term->n; i++)
        used +=
            (size_t)snprintf(to + used, size - used, "%s%s", i ? "|" : "", term->values[i]->words);
}

static struct sample row_draw(uint64_t *stream)
{
    static const char *const words[] = {"", "a", "ab", "b", "x,y", "q\"|", "-", "cab"};
    struct sample row = {.count = (uint32_t)(test_random(stream) % 8),
                         .id = test_random(stream) % 3,
                         .at_ns = test_random(stream) % 4 * 500000000,
                         .bytes = 1000 + test_random(stream) % 3 * 12,
                         .ns = (int64_t)(test_random(stream) % 3) * 2000 - 2000,
                         .yes = test_random(stream) % 2};
    strcpy(row.text, words[test_random(stream) % 8]);
    return row;
}

static void a_filter_means_what_its_words_say(void **state)
{
    uint64_t stream = test_seed();
    (void)state;
    for (int i = 0; i < 4000; i++) {
        struct term terms[3];
        char text[FILTER_TEXT] = "";
        const size_t n = 1 + test_random(&stream) % 3;
        for (size_t t = 0; t < n; t++) {
            terms[t] = term_draw(&stream);
            term_print(&terms[t], text, sizeof(text));
        }
        for (int k = 0; k < 20; k++) {
            const struct sample row = row_draw(&stream);
            bool all = true;
            for (size_t t = 0; t < n; t++)
                all &= term_holds(&row, &terms[t]);
            if (keeps(text, &row) != all)
                fail_msg("%s: '%s' %u %llu %lld", text, row.text, row.count,
                         (unsigned long long)row.id, (long long)row.ns);
        }
    }
}

/* ---- named cases ---- */

static void no_filter_keeps_all(void **state)
{
    const struct filter none = {0};
    const struct sample row = {0};
    (void)state;
    assert_true(keeps("", &row) && filter_keeps(&none, &row));
}

static void names_that_are_numbers_are_whole(void **state)
{
    const struct sample row = {.id = UINT64_MAX};
    (void)state;
    assert_true(keeps("id=18446744073709551615", &row));
    assert_false(keeps("id=18446744073709551614", &row));
    assert_true(keeps("id>9223372036854775807", &row));
}

static void a_filter_may_be_copied(void **state)
{
    struct filter *read = malloc(sizeof(*read)), copy;
    const struct sample row = {.text = "ab"};
    (void)state;
    assert_int_equal(filter_read("text=a|ab", cells, read, NULL), 0);
    copy = *read;
    memset(read, 0xff, sizeof(*read));
    free(read);
    assert_true(filter_keeps(&copy, &row));
}

static void a_wrong_filter_is_refused(void **state)
{
    static const struct {
        const char *text, *sentence;
    } wrong[] = {
        {"tetx=a", "filter:1: there is no column 'tetx'; did you mean 'text'?"},
        {"text=a, ages>1", "filter:9: there is no column 'ages'"},
        {"TEXT=a", "there is no column 'TEXT'"},
        {"text", "after 'text' comes one of =, !=, ~, !~, <, <=, > or >=, then a value"},
        {"text a", "after 'text' comes one of"},
        {"text==a", "filter:6: between a column and its value stands one of"},
        {"count=>5", "between a column and its value stands one of"},
        {"text=", "a value is missing; no content is written -"},
        {"text=a,", "filter:8: a condition begins with a column"},
        {"=a", "filter:1: a condition begins with a column"},
        {",", "a condition begins with a column"},
        {" ", "a condition begins with a column"},
        {"text=a|", "a value is missing"},
        {"text=\"a", "filter:6: a quotation mark is not closed"},
        {"text=\"a\"b", "between two conditions stands a comma"},
        {"text<a", "'text' is a text: it takes =, !=, ~ or !~"},
        {"count~1", "'count' is no text: it takes =, !=, <, <=, > or >="},
        {"count=many", "count: 'many' is not a whole number"},
        {"count<1|2", "less and more take one value"},
        {"age_ns<-", "no content is neither less nor more"},
        {"age_ns>5 min 3", "age_ns: '5 min 3' is not a number with a unit of time"},
        {"size_bytes>5mb", "is not a number with a unit: B, kB"},
        {"yes=1", "yes: '1' is neither yes nor no"},
        {"at>yesterday", "'yesterday' is no day or instant in UTC"},
        {"at>2026-02-30", "'2026-02-30' is no day or instant in UTC"},
    };
    struct filter filter;
    struct err err;
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(filter_read(wrong[i].text, cells, &filter, &err), -EINVAL);
        if (!strstr(err.text, wrong[i].sentence))
            fail_msg("%s: %s", wrong[i].text, err.text);
    }
}

static void a_filter_is_bounded(void **state)
{
    char text[4 * FILTER_TEXT] = "";
    struct filter filter;
    struct err err;
    (void)state;
    for (int i = 0; i <= FILTER_TERMS; i++) {
        assert_int_equal(filter_read(text, cells, &filter, &err), 0);
        strcat(text, i ? ",id=1" : "id=1");
    }
    assert_int_equal(filter_read(text, cells, &filter, &err), -EINVAL);
    assert_non_null(strstr(err.text, "more than 16 conditions"));
    strcpy(text, "id=1");
    for (int i = 0; i < FILTER_VALUES; i++) {
        assert_int_equal(filter_read(text, cells, &filter, &err), 0);
        strcat(text, "|1");
    }
    assert_int_equal(filter_read(text, cells, &filter, &err), -EINVAL);
    assert_non_null(strstr(err.text, "more than 48 values"));
    memset(text, 'a', FILTER_TEXT);
    memcpy(text, "text=", 5);
    text[FILTER_TEXT - 1] = '\0';
    assert_int_equal(filter_read(text, cells, &filter, &err), 0);
    text[FILTER_TEXT - 1] = 'a';
    text[FILTER_TEXT] = '\0';
    assert_int_equal(filter_read(text, cells, &filter, &err), -EINVAL);
}

static void instants_are_read_and_written(void **state)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } right[] = {{"1970-01-01", 0},
                 {"2026-01-31T12:00:00Z", 1769860800000000000},
                 {"2026-01-31T12:00:00.25Z", 1769860800250000000},
                 {"1969-12-31", 0},
                 {"9999-01-01", UINT64_MAX}};
    static const char *const wrong[] = {"",
                                        "2026",
                                        "2026-13-01",
                                        "2026-02-29",
                                        "now",
                                        "2026-01-01T",
                                        "2026-01-01T12:00Z",
                                        "2026-01-01T12:00:00",
                                        "2026-01-01Z",
                                        "2026-01-01T12:00:00.1234567890Z"};
    uint64_t ns;
    char words[INSTANT_WORDS];
    (void)state;
    for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
        assert_true(instant_read(right[i].text, &ns));
        assert_true(ns == right[i].ns);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (instant_read(wrong[i], &ns))
            fail_msg("%s", wrong[i]);
    assert_string_equal(instant_words(1769860800250000001, words),
                        "2026-01-31T12:00:00.250000001Z");
    assert_true(instant_read(words, &ns) && ns == 1769860800250000001);
}

/* What is not filled yet is not looked at; what is suffices. */
static void a_row_that_is_not_wanted_is_known_by_its_beginning(void **state)
{
    struct sample row = {.text = "a", .id = 5, .yes = true};
    struct filter filter;
    (void)state;
    assert_int_equal(filter_read("id<5,yes=no", cells, &filter, NULL), 0);
    assert_true(filter_may_keep(&filter, &row, offsetof(struct sample, id)));
    assert_false(filter_may_keep(&filter, &row, offsetof(struct sample, at_ns)));
    row.id = 4;
    assert_true(filter_may_keep(&filter, &row, offsetof(struct sample, yes)));
    assert_false(filter_may_keep(&filter, &row, sizeof(row)));
}

static void conditions_on_a_number_make_a_range(void **state)
{
    static const struct {
        const char *text;
        uint64_t least, most;
    } ranges[] = {
        {"", 0, UINT64_MAX},           {"id<700", 0, 699},
        {"id>=3,id<=9,yes=yes", 3, 9}, {"id>3,id!=5,size_bytes<9", 4, UINT64_MAX},
        {"id=4,id<9", 4, 4},           {"id=4|6", 0, UINT64_MAX},
        {"id=-", 0, UINT64_MAX},       {"id<0", 1, 0},
        {"id>4,id<4", 1, 0},           {"id>18446744073709551615", 1, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        struct filter filter;
        uint64_t least, most;
        assert_int_equal(filter_read(ranges[i].text, cells, &filter, NULL), 0);
        filter_range(&filter, "id", &least, &most);
        if (least != ranges[i].least || most != ranges[i].most)
            fail_msg("%s: %llu to %llu", ranges[i].text, (unsigned long long)least,
                     (unsigned long long)most);
    }
}

/* ---- the controller's lists ---- */

/* A filter reads a value by the kind that its column says, and each has it, or nothing. */
static void each_column_has_its_kind(void **state)
{
    (void)state;
    for (int of = 0; of < 128; of++) {
        const struct list *list = list_find((duopoly_ListOf)of);
        if (!list)
            continue;
        char *row = malloc(list->row_bytes + 1), words[CELL_WORDS];
        row[list->row_bytes] = '\0'; /* ends every text of a row of ones */
        for (int content = 0; content < 2; content++) {
            memset(row, content, list->row_bytes);
            for (const struct cell *cell = list->cells; cell->key; cell++) {
                const enum value_kind kind = cell_value(cell, row, words).kind;
                if (kind != cell->kind && kind != VALUE_ABSENT)
                    fail_msg("%s of %s", cell->key, list->key);
            }
        }
        free(row);
    }
    assert_non_null(list_find(duopoly_ListOf_LIST_DEBTS));
    assert_null(list_find(duopoly_ListOf_LIST_ARCS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_filter_means_what_its_words_say),
        cmocka_unit_test(no_filter_keeps_all),
        cmocka_unit_test(names_that_are_numbers_are_whole),
        cmocka_unit_test(a_filter_may_be_copied),
        cmocka_unit_test(a_wrong_filter_is_refused),
        cmocka_unit_test(a_filter_is_bounded),
        cmocka_unit_test(a_row_that_is_not_wanted_is_known_by_its_beginning),
        cmocka_unit_test(conditions_on_a_number_make_a_range),
        cmocka_unit_test(instants_are_read_and_written),
        cmocka_unit_test(each_column_has_its_kind),
    };
    return cmocka_run_group_tests_name("filter", tests, NULL, NULL);
}
