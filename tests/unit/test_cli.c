/* duopolyctl's words and tables, from messages that a controller would send. */
#include "tests/unit/test.h"

#include "controller/cli/commands.h"
#include "controller/cli/exits.h"
#include "controller/cli/explain.h"
#include "controller/cli/keys.h"
#include "controller/cli/lists.h"
#include "controller/cli/names.h"
#include "controller/cli/queues.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static void tasks_are_read(void **state)
{
    (void)state;
    struct subject subject;
    struct err err;
    assert_int_equal(subject_parse("12/1/3", &subject, &err), 0);
    assert_true(subject.job == 12 && subject.stage == 1 && subject.task == 3 &&
                subject.attempt == 0);
    assert_int_equal(subject_parse("12884901889", &subject, &err), 0);
    assert_true(subject.job == 0 && subject.attempt == 12884901889);
    static const char *const wrong[] = {
        "",  "0",     "1/2", "1/2/3/4",        "1//3",
        "a", "1/2/x", "-1",  "1/2/4294967295", "99999999999999999999",
        " 1"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(subject_parse(wrong[i], &subject, &err), -EINVAL);
}

static int check(const char *name, int words, const char *word, struct request request)
{
    const struct command *command;
    struct err err;
    request.n_words = words;
    request.words[0] = word;
    request.words[1] = "rich";
    int r = command_find(name, &command, &err);
    return r < 0 ? r : command_check(command, &request, &err);
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    const struct request plain = {.n_words = 0}, all = {.all = true}, undo = {.undo = true},
                         id = {.id = 5};
    assert_int_equal(check("status", 0, NULL, plain), 0);
    assert_int_equal(check("job", 1, "12", plain), 0);
    assert_int_equal(check("tasks", 1, "12", all), 0);
    assert_int_equal(check("tasks", 0, NULL, all), -EINVAL);
    assert_int_equal(check("drain", 1, "h1", undo), 0);
    const struct request rack = {.rack = "r1"}, host = {.host = "h1"}, wait = {.wait = ""},
                         late = {.wait = "soon"}, back = {.wait = "", .undo = true},
                         dry = {.dry_run = true}, trial = {.confirm = "60s"},
                         endless = {.confirm = "2h"};
    assert_int_equal(check("drain", 0, NULL, rack), 0);
    assert_int_equal(check("drain", 1, "h1", rack), -EINVAL);
    assert_int_equal(check("drain", 0, NULL, host), -EINVAL);
    assert_int_equal(check("drain", 0, NULL, plain), -EINVAL);
    assert_int_equal(check("drain", 1, "h1", wait), 0);
    assert_int_equal(check("drain", 1, "h1", late), -EINVAL);
    assert_int_equal(check("drain", 1, "h1", back), -EINVAL);
    assert_int_equal(check("cancel", 1, "1", wait), -EINVAL);
    assert_int_equal(check("cancel", 1, "1", dry), 0);
    assert_int_equal(check("jobs", 0, NULL, dry), -EINVAL);
    assert_int_equal(check("drain", 1, "h1", trial), 0);
    assert_int_equal(check("drain", 1, "h1", endless), -EINVAL);
    assert_int_equal(check("policy", 2, "mode", trial), 0);
    assert_int_equal(check("policy", 0, NULL, trial), -EINVAL);
    assert_int_equal(check("cancel", 1, "1", trial), -EINVAL);
    assert_int_equal(check("job", 2, "hold", plain), -EINVAL); /* "rich" is no number */
    assert_int_equal(check("job", 1, "hold", plain), -EINVAL);
    assert_int_equal(check("submit", 1, "file", id), 0);
    assert_int_equal(check("policy", 2, "mode", plain), 0);
    assert_int_equal(check("policy", 1, "mode", plain), -EINVAL);
    assert_int_equal(check("policy", 0, NULL, all), 0);
    assert_int_equal(check("policy", 2, "mode", all), -EINVAL);
    assert_int_equal(check("policy", 2, "a question that is too long", plain), -EINVAL);
    assert_int_equal(check("policy", 2, "mode", undo), -EINVAL);
    assert_int_equal(check("frobnicate", 0, NULL, plain), -EINVAL);
    assert_int_equal(check("status", 1, "x", plain), -EINVAL);
    assert_int_equal(check("job", 0, NULL, plain), -EINVAL);
    assert_int_equal(check("job", 1, "twelve", plain), -EINVAL);
    assert_int_equal(check("hosts", 0, NULL, all), -EINVAL);
    assert_int_equal(check("jobs", 0, NULL, undo), -EINVAL);
    assert_int_equal(check("cancel", 1, "1", id), -EINVAL);
    assert_int_equal(check("drain", 1, "a host", plain), -EINVAL);
    const struct request filters = {
        .who = "ann", .what = "drain", .since = "10min", .result = "refused", .limit = "5"};
    assert_int_equal(check("audit", 0, NULL, filters), 0);
    assert_int_equal(check("jobs", 0, NULL, filters), -EINVAL);
    const struct request chosen = {
        .filter = "state=up", .columns = "name,state", .sort = "-uplink_permille", .limit = "5"};
    assert_int_equal(check("hosts", 0, NULL, chosen), 0);
    assert_int_equal(check("counters", 0, NULL, chosen), -EINVAL);
    assert_int_equal(check("status", 0, NULL, chosen), -EINVAL);
    assert_int_equal(check("policy", 2, "mode", chosen), -EINVAL);
    const struct request few = {.since = "1h", .limit = "5"}, level = {.columns = "level"};
    assert_int_equal(check("history", 0, NULL, filters), -EINVAL);
    assert_int_equal(check("history", 0, NULL, few), 0);
    assert_int_equal(check("mode", 0, NULL, few), -EINVAL);
    assert_int_equal(check("mode", 1, "history", few), 0);
    assert_int_equal(check("config", 1, "show", (struct request){.columns = "reloads"}), 0);
    assert_int_equal(check("config", 1, "diff", (struct request){.columns = "next"}), 0);
    assert_int_equal(check("config", 1, "reload", (struct request){.columns = "next"}), -EINVAL);
    assert_int_equal(check("queues", 1, "w1", level), 0);
    assert_int_equal(check("queues", 0, NULL, level), -EINVAL);
    assert_int_equal(check("flows", 1, "w1", level), 0);
    assert_int_equal(check("events", 0, NULL, few), 0);
    assert_int_equal(check("events", 0, NULL, (struct request){.columns = "kind"}), -EINVAL);
    assert_int_equal(check("hosts", 0, NULL, (struct request){.since = "1h"}), -EINVAL);
    assert_int_equal(check("tasks", 0, NULL, (struct request){.since = "1h"}), 0);
    const struct request wrong[] = {{.who = ""},        {.what = ""},          {.since = "soon"},
                                    {.result = "both"}, {.limit = "-1"},       {.limit = "0"},
                                    {.since = "-5s"},   {.since = "2026-2-31"}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(check("audit", 0, NULL, wrong[i]), -EINVAL);
}

static int keys(const char *what, const char *names, const char *role, const char *lasting)
{
    struct request request = {.words = {what, names}, .n_words = names ? 2 : 1};
    struct err err;
    request.role = role;
    request.lasting = lasting;
    return keys_check(&request, &err);
}

static void wrong_words_about_keys_are_refused(void **state)
{
    (void)state;
    assert_int_equal(keys("list", NULL, NULL, NULL), 0);
    assert_int_equal(keys("make", "w[1-3]", "agent", NULL), 0);
    assert_int_equal(keys("make", "controller", "controller", NULL), 0);
    assert_int_equal(keys("rotate", "w1", NULL, "90 s"), 0);
    assert_int_equal(keys("rotate", "controller", NULL, "1 h"), 0);
    assert_int_equal(keys("revoke", "w1,w2", NULL, NULL), 0);
    assert_int_equal(keys("burn", "w1", NULL, NULL), -EINVAL);
    assert_int_equal(keys("list", "w1", NULL, NULL), -EINVAL);
    assert_int_equal(keys("make", NULL, "agent", NULL), -EINVAL);
    assert_int_equal(keys("make", "w1", NULL, NULL), -EINVAL);
    assert_int_equal(keys("make", "w1", "king", NULL), -EINVAL);
    assert_int_equal(keys("make", "w1", "controller", NULL), -EINVAL);
    assert_int_equal(keys("make", "controller", "agent", NULL), -EINVAL);
    assert_int_equal(keys("make", "w1", "agent", "1 h"), -EINVAL);
    assert_int_equal(keys("rotate", "w1", "agent", NULL), -EINVAL);
    assert_int_equal(keys("rotate", "w1", NULL, "soon"), -EINVAL);
    assert_int_equal(keys("revoke", "w[3-1]", NULL, NULL), -EINVAL);
}

static void names_are_written_in_ranges(void **state)
{
    static const char *const wrong[] = {"",       "a,",      ",a",        "w[1-2", "w[1]",
                                        "w[2-1]", "w[-1-2]", "a b",       "a/b",   "w[1-2]x[1-2]",
                                        "w[a-b]", "w[1-2]]", "w[1-10001]"};
    struct names names;
    struct err err;
    (void)state;
    assert_int_equal(names_expand("s,w[9-11],r[08-10]b", &names, &err), 0);
    const char *const expected[] = {"s", "w9", "w10", "w11", "r08b", "r09b", "r10b"};
    assert_int_equal(names.n, sizeof(expected) / sizeof(expected[0]));
    for (size_t i = 0; i < names.n; i++)
        assert_string_equal(names.at[i], expected[i]);
    names_free(&names);
    assert_int_equal(names_expand("w[1-10000]", &names, &err), 0);
    assert_int_equal(names.n, NAMES_MAX);
    assert_string_equal(names.at[NAMES_MAX - 1], "w10000");
    names_free(&names);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_equal(names_expand(wrong[i], &names, &err), -EINVAL);
}

/* A minus within a word is none of an option. */
static bool names_an_option(const char *arguments)
{
    const char *minus = arguments;
    while ((minus = strchr(minus, '-')) && minus > arguments && isalpha((unsigned char)minus[-1]))
        minus++;
    return minus;
}

/* Every command says what it is for and has something to run. */
static void the_table_is_whole(void **state)
{
    (void)state;
    for (const struct command *c = cli_commands; c->name; c++) {
        assert_true(*c->help && c->run && c->least_words <= c->most_words && c->most_words <= 18);
        /* --dry-run goes without saying with what changes something. */
        bool own = c->options[strspn(c->options, "dl")];
        assert_int_equal(own, names_an_option(c->arguments));
    }
}

static char *written(const struct writer_form *form)
{
    static const struct column columns[] = {
        {"name", "NAME"}, {"size_bytes", "SIZE"}, {"boot", NULL}, {NULL, NULL}};
    char *text = NULL;
    size_t size;
    struct err err;
    FILE *out = open_memstream(&text, &size);
    struct writer *writer = writer_new(form);
    writer_field(writer, "age_ns", "age", value_duration(1500000000));
    writer_field(writer, "congested", "congested", value_bool(false));
    writer_table(writer, "hosts", columns);
    for (int i = 0; i < 2; i++) {
        writer_cell(writer, value_text(i ? "h\xff" : "h1"));
        writer_cell(writer, i ? value_absent() : value_bytes(4000000));
        writer_cell(writer, value_id(UINT64_MAX));
    }
    writer_table_end(writer);
    writer_field(writer, "changed", NULL, value_bool(true));
    assert_int_equal(writer_end(writer, out, &err), 0);
    fclose(out);
    return text;
}

static void text_is_for_people(void **state)
{
    (void)state;
    char *text = written(&writer_form_text);
    assert_non_null(strstr(text, "age       1.5 s\ncongested no\n\nNAME"));
    assert_non_null(strstr(text, "4.0 MB"));
    assert_null(strstr(text, "changed"));
    assert_null(strstr(text, "18446744073709551615"));
    free(text);
}

static void json_is_for_programs(void **state)
{
    (void)state;
    char *text = written(&writer_form_json);
    json_t *root = json_loads(text, 0, NULL);
    assert_non_null(root);
    assert_int_equal(json_integer_value(json_object_get(root, "age_ns")), 1500000000);
    assert_true(json_is_false(json_object_get(root, "congested")));
    assert_true(json_is_true(json_object_get(root, "changed")));
    json_t *rows = json_object_get(root, "hosts");
    assert_int_equal(json_array_size(rows), 2);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(rows, 0), "size_bytes")),
                     4000000);
    assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 0), "boot")),
                        "18446744073709551615");
    assert_true(json_is_null(json_object_get(json_array_get(rows, 1), "size_bytes")));
    assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 1), "name")), "h?");
    json_decref(root);
    free(text);
}

static const struct writer_failure failure = {3, "unreachable", "it \"went\"", NULL};

enum { NOT_ITEMS, ITEMS };
enum { NOTHING, FAILS, KEEPS_AND_FAILS, STREAMS_AND_FAILS };

/* The answer of written(), enclosed. */
static char *enclosed(const struct writer_form *form, int items, int way)
{
    static const struct column columns[] = {{"job", "JOB"}, {"wait_ns", "WAIT"}, {NULL, NULL}};
    char *text = NULL;
    size_t size;
    struct err err;
    FILE *out = open_memstream(&text, &size);
    struct writer *writer = writer_new(form);
    writer_enclose(writer, "change", 1769860800999999999);
    writer_schema(writer, "jobs", items == ITEMS ? "rows" : NULL);
    if (way == STREAMS_AND_FAILS)
        writer_stream(writer, out);
    writer_field(writer, "epoch", "epoch", value_number(UINT64_C(1) << 62));
    writer_table(writer, "rows", columns);
    do {
        writer_cell(writer, value_id(UINT64_MAX));
        writer_cell(writer, value_duration(-5));
    } while (way == STREAMS_AND_FAILS && !writer_begun(writer));
    if (way != STREAMS_AND_FAILS) {
        writer_table_end(writer);
        writer_field(writer, "changed", NULL, value_bool(false));
    }
    if (way == KEEPS_AND_FAILS)
        writer_keep(writer);
    if (way != NOTHING)
        writer_fail(writer, &failure);
    assert_int_equal(writer_end(writer, out, &err), 0);
    fclose(out);
    return text;
}

static json_t *document_of(int items, int way)
{
    char *text = enclosed(&writer_form_json, items, way);
    json_t *document = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(document);
    assert_int_equal(json_integer_value(json_object_get(document, "version")), WRITER_VERSION);
    assert_string_equal(json_string_value(json_object_get(document, "generated_at")),
                        "2026-01-31T12:00:00.999Z");
    free(text);
    return document;
}

static const char *text_in(json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static void a_list_is_enclosed_with_what_stands_beside(void **state)
{
    (void)state;
    json_t *document = document_of(ITEMS, NOTHING), *items = json_object_get(document, "items");
    assert_string_equal(text_in(document, "schema"), "jobs");
    assert_int_equal(json_array_size(items), 1);
    assert_string_equal(text_in(json_array_get(items, 0), "job"), "18446744073709551615");
    assert_int_equal(json_integer_value(json_object_get(json_array_get(items, 0), "wait_ns")), -5);
    assert_true(json_integer_value(json_object_get(document, "epoch")) == INT64_C(1) << 62);
    assert_true(json_is_false(json_object_get(document, "changed")));
    assert_true(json_is_false(json_object_get(document, "partial")));
    assert_null(json_object_get(document, "error"));
    assert_int_equal(json_object_size(document), 7);
    json_decref(document);
}

static void one_thing_is_enclosed_with_its_tables(void **state)
{
    (void)state;
    json_t *document = document_of(NOT_ITEMS, NOTHING), *items = json_object_get(document, "items");
    assert_int_equal(json_object_size(document), 5);
    assert_int_equal(json_array_size(items), 1);
    json_t *one = json_array_get(items, 0);
    assert_int_equal(json_object_size(one), 3);
    assert_int_equal(json_array_size(json_object_get(one, "rows")), 1);
    assert_true(json_is_false(json_object_get(one, "changed")));
    assert_true(json_is_false(json_object_get(document, "partial")));
    json_decref(document);
}

static void assert_fails(json_t *document)
{
    json_t *error = json_object_get(document, "error");
    assert_int_equal(json_object_size(error), 4);
    assert_int_equal(json_integer_value(json_object_get(error, "code")), 3);
    assert_string_equal(text_in(error, "reason"), "unreachable");
    assert_string_equal(text_in(error, "text"), "it \"went\"");
    assert_true(json_is_null(json_object_get(error, "hint")));
}

static void a_failure_is_a_document(void **state)
{
    (void)state;
    for (int items = NOT_ITEMS; items <= ITEMS; items++) {
        json_t *document = document_of(items, FAILS);
        assert_fails(document);
        assert_string_equal(text_in(document, "schema"), "error");
        assert_int_equal(json_object_size(document), 4);
        json_decref(document);
    }
}

static void what_was_kept_is_partial(void **state)
{
    (void)state;
    for (int items = NOT_ITEMS; items <= ITEMS; items++) {
        json_t *document = document_of(items, KEEPS_AND_FAILS);
        assert_fails(document);
        assert_string_equal(text_in(document, "schema"), "jobs");
        assert_true(json_is_true(json_object_get(document, "partial")));
        assert_int_equal(json_array_size(json_object_get(document, "items")), 1);
        json_decref(document);
    }
}

static void what_is_written_is_closed(void **state)
{
    (void)state;
    for (int items = NOT_ITEMS; items <= ITEMS; items++) {
        json_t *document = document_of(items, STREAMS_AND_FAILS);
        json_t *rows = json_object_get(document, "items");
        assert_fails(document);
        assert_true(json_is_true(json_object_get(document, "partial")));
        if (items == NOT_ITEMS)
            rows = json_object_get(json_array_get(rows, 0), "rows");
        assert_true(json_array_size(rows) > 1000);
        json_decref(document);
    }
}

static void people_are_not_told_why_by_the_text(void **state)
{
    (void)state;
    char *text = enclosed(&writer_form_text, ITEMS, FAILS);
    assert_string_equal(text, "");
    free(text);
    text = enclosed(&writer_form_text, ITEMS, KEEPS_AND_FAILS);
    assert_non_null(strstr(text, "18446744073709551615"));
    assert_null(strstr(text, "went"));
    free(text);
}

static void lines_are_items_and_the_last_one_the_rest(void **state)
{
    (void)state;
    for (int items = NOT_ITEMS; items <= ITEMS; items++) {
        char *text = enclosed(&writer_form_lines, items, KEEPS_AND_FAILS);
        char *end = strchr(text, '\n');
        assert_non_null(end);
        *end = 0;
        json_t *item = json_loads(text, 0, NULL), *last = json_loads(end + 1, 0, NULL);
        assert_non_null(item);
        assert_non_null(last);
        assert_null(json_object_get(item, "schema"));
        assert_int_equal(json_object_size(item), items == ITEMS ? 2 : 3);
        assert_null(json_object_get(last, "items"));
        assert_int_equal(json_object_size(last), items == ITEMS ? 7 : 5);
        assert_true(json_is_true(json_object_get(last, "partial")));
        assert_fails(last);
        json_decref(item);
        json_decref(last);
        free(text);
    }
    char *text = enclosed(&writer_form_lines, ITEMS, FAILS);
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
    json_t *document = json_loads(text, 0, NULL);
    assert_string_equal(text_in(document, "schema"), "error");
    json_decref(document);
    free(text);
}

static void csv_has_the_items(void **state)
{
    static const struct column columns[] = {{"name", "NAME"}, {"age_ns", "AGE"}, {NULL, NULL}};
    char *text = enclosed(&writer_form_csv, ITEMS, NOTHING);
    size_t size;
    (void)state;
    assert_string_equal(text, "job,wait_ns\n18446744073709551615,-5\n");
    free(text);
    text = enclosed(&writer_form_csv, NOT_ITEMS, NOTHING);
    assert_string_equal(text, "epoch,changed\n4611686018427387904,false\n");
    free(text);
    FILE *out = open_memstream(&text, &size);
    struct writer *writer = writer_new(&writer_form_csv);
    writer_enclose(writer, "x", 0);
    writer_schema(writer, "x", "x");
    writer_table(writer, "x", columns);
    writer_cell(writer, value_text("a \"b\", c\nd"));
    writer_cell(writer, value_absent());
    writer_table_end(writer);
    assert_int_equal(writer_end(writer, out, NULL), 0);
    fclose(out);
    assert_string_equal(text, "name,age_ns\n\"a \"\"b\"\", c?d\",\n");
    free(text);
}

/* Each row is there once it is flushed, and there is no "none" behind the last. */
static void an_answer_that_goes_on_is_written_as_it_comes(void **state)
{
    static const struct column columns[] = {{"a", "A"}, {"b", "B"}, {NULL, NULL}};
    (void)state;
    for (const struct writer_form *const *form = writer_forms; *form; form++) {
        char *text = NULL;
        size_t size, head;
        FILE *out = open_memstream(&text, &size);
        struct writer *writer = writer_new(*form);
        writer_enclose(writer, "events", 0);
        writer_schema(writer, "events", "rows");
        writer_table(writer, "rows", columns);
        assert_int_equal(writer_flush(writer, out, NULL), 0);
        for (int row = 0; row < 3; row++) {
            head = size;
            writer_cell(writer, value_text(row ? "longer" : "x"));
            writer_cell(writer, value_number(7));
            assert_int_equal(writer_flush(writer, out, NULL), 0);
            assert_true(size > head && strchr(text + head, '7'));
        }
        writer_table_end(writer);
        assert_int_equal(writer_end(writer, out, NULL), 0);
        fclose(out);
        if (*form == &writer_form_text)
            assert_string_equal(text, "A B\nx 7\nlonger 7\nlonger 7\n");
        free(text);
    }
}

static void forms_are_found_by_name(void **state)
{
    const struct writer_form *form;
    struct err err;
    (void)state;
    assert_int_equal(writer_form_find("csv", &form, &err), 0);
    assert_ptr_equal(form, &writer_form_csv);
    assert_int_equal(writer_form_find("xml", &form, &err), -EINVAL);
    assert_string_equal(err.text,
                        "there is no form 'xml'; there are: text, wide, json, json-lines, csv");
}

static void every_exit_code_has_a_row(void **state)
{
    (void)state;
    for (int code = EXIT_DONE; code <= EXIT_UNHEALTHY; code++) {
        assert_int_equal(exit_rows[code].code, code);
        assert_true(*exit_rows[code].reason);
    }
    assert_string_equal(exit_reason(EXIT_REFUSED, duopoly_Reason_REASON_CONFLICT), "conflict");
    assert_string_equal(exit_reason(EXIT_REFUSED, duopoly_Reason_REASON_NONE), "refused");
    assert_string_equal(exit_reason(EXIT_PARTIAL, duopoly_Reason_REASON_LIMIT), "partial");
    assert_string_equal(exit_reason(EXIT_REFUSED, (duopoly_Reason)99), "refused");
}

/* Every form takes every kind of value, an empty answer, and to be dropped half-way. */
static void every_form_keeps_the_contract(void **state)
{
    (void)state;
    static const struct column columns[] = {{"a", "A"}, {NULL, NULL}};
    for (const struct writer_form *const *form = writer_forms; *form; form++) {
        char *text = NULL;
        size_t size;
        FILE *out = open_memstream(&text, &size);
        struct writer *writer = writer_new(*form);
        assert_int_equal(writer_end(writer, out, NULL), 0);
        writer = writer_new(*form);
        writer_table(writer, "t", columns);
        for (int kind = VALUE_TEXT; kind <= VALUE_ABSENT; kind++)
            writer_cell(writer, (struct value){.kind = (enum value_kind)kind,
                                               .text = "x",
                                               .number = 7,
                                               .signed_number = -7});
        writer_drop(writer);
        writer = writer_new(*form);
        writer_table(writer, "t", columns);
        writer_table_end(writer);
        assert_int_equal(writer_end(writer, out, NULL), 0);
        fclose(out);
        assert_true(size > 0 || *form == &writer_form_csv);
        free(text);
    }
    writer_drop(NULL);
}

/* Why a job failed stands in its note, whole, for people and for programs. */
static void a_failed_job_shows_its_reason(void **state)
{
    (void)state;
    static const char golden[] = "job             7\n"
                                 "name            sort\n"
                                 "user            0\n"
                                 "state           failed\n";
    static const char note[] =
        "\nnote            task 7/1/3 failed 4 times; attempt 42 ('map') on w3 "
        "ended with exit code 1: disk is full\n";
    duopoly_JobRow row = {.job = 7, .failed_attempt = 42, .failed_stage = 1, .failed_task = 3};
    strcpy(row.name, "sort");
    strcpy(row.state, "failed");
    strcpy(row.failed_host, "w3");
    strcpy(row.reason,
           "task 7/1/3 failed 4 times; attempt 42 ('map') on w3 ended with exit code 1: "
           "disk is full");
    for (const struct writer_form *const *form = writer_forms; *form; form++) {
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        struct writer *writer = writer_new(*form);
        job_fields_write(&row, writer);
        assert_int_equal(writer_end(writer, out, NULL), 0);
        fclose(out);
        if (*form == &writer_form_text) {
            assert_int_equal(strncmp(text, golden, sizeof(golden) - 1), 0);
            assert_non_null(strstr(text, note));
        } else if ((*form)->fail) {
            json_t *answer = json_loads(text, 0, NULL);
            assert_string_equal(json_string_value(json_object_get(answer, "text")), row.reason);
            assert_string_equal(json_string_value(json_object_get(answer, "failed_host")), "w3");
            assert_string_equal(json_string_value(json_object_get(answer, "failed_task")), "3");
            json_decref(answer);
        }
        free(text);
    }
}

static void values_have_words(void **state)
{
    (void)state;
    static const struct {
        struct value value;
        const char *words;
    } cases[] = {
        {value_duration(0), "0 s"},
        {value_duration(-2500000), "-2.5 ms"},
        {value_duration(90000000000), "90.0 s"},
        {value_duration(180000000000), "3.0 min"},
        {value_duration(900), "1 us"},
        {value_bytes(999), "999 B"},
        {value_bytes(999999), "1.0 MB"},
        {value_bytes(UINT64_MAX), "18.4 EB"},
        {value_permille(905), "90.5 %"},
        {value_bit_rate(999), "999 bit/s"},
        {value_id(UINT64_MAX), "18446744073709551615"},
        {value_time(1769860800999999999), "2026-01-31T12:00:00Z"},
        {value_bit_rate(94100000), "94.1 Mbit/s"},
        {value_absent(), "-"},
        {value_bool(1), "yes"},
    };
    char words[64];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(value_words(&cases[i].value, words, sizeof(words)), cases[i].words);
}

#define ROW struct sample
struct sample {
    char text[8];
    uint32_t u32;
    uint64_t u64;
    int32_t i32;
    int64_t i64;
    bool yes;
};

static bool is_without_u32(const void *row)
{
    return ((const ROW *)row)->u32 == 0;
}

static struct value twice(const void *row, char words[CELL_WORDS])
{
    snprintf(words, CELL_WORDS, "%s%s", ((const ROW *)row)->text, ((const ROW *)row)->text);
    return value_text(words);
}

/* Each type of member, what is shown as nothing, and what is no member. */
static void a_cell_is_what_its_row_has(void **state)
{
    (void)state;
    static const struct cell cells[] = {
        CELL("text", "TEXT", TEXT, text, UNLESS_NOTHING),
        CELL("u32", "U32", NUMBER, u32, .lacks = is_without_u32),
        CELL("u64", "U64", BYTES, u64, UNLESS_NOTHING),
        CELL("i32", "I32", SIGNED, i32, UNLESS_NEGATIVE),
        CELL("i64", "I64", DURATION, i64),
        CELL("yes", "YES", BOOL, yes),
        CELL_OF("twice", "TWICE", TEXT, twice),
        {0},
    };
    static const struct sample rows[] = {{"a", 4000000000, UINT64_MAX, 7, -1000000000, true},
                                         {"", 0, 0, -1, 0, false}};
    static const char *const words[][7] = {
        {"a", "4000000000", "18.4 EB", "7", "-1.0 s", "yes", "aa"},
        {"-", "-", "-", "-", "0 s", "no", ""}};
    for (size_t row = 0; row < 2; row++)
        for (size_t i = 0; cells[i].key; i++) {
            char room[CELL_WORDS], text[64];
            struct value value = cell_value(&cells[i], &rows[row], room);
            assert_string_equal(value_words(&value, text, sizeof(text)), words[row][i]);
        }
}
#undef ROW

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_are_read),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(wrong_words_about_keys_are_refused),
        cmocka_unit_test(names_are_written_in_ranges),
        cmocka_unit_test(the_table_is_whole),
        cmocka_unit_test(text_is_for_people),
        cmocka_unit_test(json_is_for_programs),
        cmocka_unit_test(a_list_is_enclosed_with_what_stands_beside),
        cmocka_unit_test(one_thing_is_enclosed_with_its_tables),
        cmocka_unit_test(a_failure_is_a_document),
        cmocka_unit_test(what_was_kept_is_partial),
        cmocka_unit_test(what_is_written_is_closed),
        cmocka_unit_test(people_are_not_told_why_by_the_text),
        cmocka_unit_test(lines_are_items_and_the_last_one_the_rest),
        cmocka_unit_test(csv_has_the_items),
        cmocka_unit_test(an_answer_that_goes_on_is_written_as_it_comes),
        cmocka_unit_test(forms_are_found_by_name),
        cmocka_unit_test(every_exit_code_has_a_row),
        cmocka_unit_test(every_form_keeps_the_contract),
        cmocka_unit_test(values_have_words),
        cmocka_unit_test(a_failed_job_shows_its_reason),
        cmocka_unit_test(a_cell_is_what_its_row_has),
    };
    return cmocka_run_group_tests_name("cli", tests, NULL, NULL);
}
