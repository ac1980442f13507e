#include "lib/writer.h"

#include "lib/bit_rate.h"
#include "lib/join.h"

#include <assert.h>
#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND_NS UINT64_C(1000000000)

const struct writer_form *const writer_forms[] = {&writer_form_text, &writer_form_wide,
                                                  &writer_form_json, &writer_form_lines,
                                                  &writer_form_csv,  NULL};

int writer_form_find(const char *name, const struct writer_form **ret_form, struct err *err)
{
    char names[64] = "";
    for (const struct writer_form *const *form = writer_forms; *form; form++) {
        if (strcmp((*form)->name, name) == 0) {
            *ret_form = *form;
            return 0;
        }
        join_word(names, sizeof(names), ", ", (*form)->name);
    }
    return err_set(err, EINVAL, "there is no form '%s'; there are: %s", name, names);
}

struct writer {
    const struct writer_form *form;
    struct writer_envelope envelope;
    void *state;
    struct text text;
    FILE *out;                    /* NULL: nothing is written before the end */
    bool begun;                   /* something is */
    int code;                     /* why it could not be written; 0: it could */
    const struct column *columns; /* NULL outside a table */
    const struct column *next;    /* the column of the next cell */
    bool kept;
};

struct writer *writer_new(const struct writer_form *form)
{
    struct writer *writer = calloc(1, sizeof(*writer));
    if (!writer)
        errx(1, "out of memory");
    writer->form = form;
    writer->state = form->begin(&writer->text, &writer->envelope);
    return writer;
}

void writer_enclose(struct writer *writer, const char *schema, uint64_t generated_ns)
{
    writer->envelope = (struct writer_envelope){.schema = schema, .generated_ns = generated_ns};
}

void writer_schema(struct writer *writer, const char *schema, const char *items)
{
    if (!writer->envelope.schema)
        return;
    writer->envelope.schema = schema;
    writer->envelope.items = items;
}

void writer_field(struct writer *writer, const char *key, const char *heading, struct value value)
{
    struct column column = {key, heading};
    assert(!writer->columns);
    writer->form->field(writer->state, &column, &value);
}

void writer_table(struct writer *writer, const char *key, const struct column *columns)
{
    assert(!writer->columns);
    writer->columns = writer->next = columns;
    writer->form->table_begin(writer->state, key, columns);
}

/* Writes what is collected, and forgets it. */
static void flush(struct writer *writer, FILE *out)
{
    if (writer->text.failed)
        errx(1, "out of memory");
    size_t used = writer->text.used;
    if (!writer->code && used && fwrite(writer->text.at, 1, used, out) != used)
        writer->code = errno ? errno : EIO;
    writer->text.used = 0;
    writer->begun = true;
}

void writer_cell(struct writer *writer, struct value value)
{
    writer->form->cell(writer->state, writer->next, &value, writer->next == writer->columns);
    if ((++writer->next)->key)
        return;
    writer->next = writer->columns;
    if (writer->out && writer->text.used >= WRITER_AT_ONCE)
        flush(writer, writer->out);
}

void writer_table_end(struct writer *writer)
{
    assert(writer->columns && writer->next == writer->columns);
    writer->form->table_end(writer->state);
    writer->columns = NULL;
}

void writer_document(struct writer *writer, const char *key, const char *text)
{
    assert(!writer->columns);
    writer->form->document(writer->state, key, text);
}

void writer_keep(struct writer *writer)
{
    writer->kept = true;
}

void writer_stream(struct writer *writer, FILE *out)
{
    writer->out = out;
}

/* The rows that are whole. */
static void settle(struct writer *writer, FILE *out)
{
    assert(!writer->columns || writer->next == writer->columns);
    errno = 0;
    if (writer->form->settle)
        writer->form->settle(writer->state);
    if (writer->text.used)
        flush(writer, out);
    if (!writer->code && fflush(out) != 0)
        writer->code = errno ? errno : EIO;
}

int writer_flush(struct writer *writer, FILE *out, struct err *err)
{
    settle(writer, out);
    return writer->code ? err_sys(err, writer->code, "the answer cannot be written") : 0;
}

void writer_now(struct writer *writer)
{
    if (writer->out && writer->next == writer->columns)
        settle(writer, writer->out);
}

bool writer_begun(const struct writer *writer)
{
    return writer->begun;
}

bool writer_says_why(const struct writer *writer)
{
    return writer->form->fail != NULL;
}

void writer_fail(struct writer *writer, const struct writer_failure *failure)
{
    if (!writer->kept && !writer->begun) {
        writer->form->drop(writer->state);
        writer->text.used = 0;
        writer->columns = NULL;
        writer->state = writer->form->begin(&writer->text, &writer->envelope);
    }
    if (writer->form->fail)
        writer->form->fail(writer->state, failure);
}

int writer_end(struct writer *writer, FILE *out, struct err *err)
{
    errno = 0;
    writer->form->end(writer->state);
    flush(writer, out);
    int code = writer->code;
    if (!code && fflush(out) != 0)
        code = errno ? errno : EIO;
    text_done(&writer->text);
    free(writer);
    return code ? err_sys(err, code, "the answer cannot be written") : 0;
}

void writer_drop(struct writer *writer)
{
    if (!writer)
        return;
    writer->form->drop(writer->state);
    text_done(&writer->text);
    free(writer);
}

static void duration_words(int64_t ns, char *words, size_t size)
{
    const char *sign = ns < 0 ? "-" : "";
    double s = (double)(ns < 0 ? -ns : ns) / 1e9;
    if (s == 0)
        snprintf(words, size, "0 s");
    else if (s < 1e-3)
        snprintf(words, size, "%s%.0f us", sign, s * 1e6);
    else if (s < 1)
        snprintf(words, size, "%s%.1f ms", sign, s * 1e3);
    else if (s < 120)
        snprintf(words, size, "%s%.1f s", sign, s);
    else if (s < 7200)
        snprintf(words, size, "%s%.1f min", sign, s / 60);
    else
        snprintf(words, size, "%s%.1f h", sign, s / 3600);
}

static void time_words(uint64_t ns, char *words, size_t size)
{
    const time_t seconds = (time_t)(ns / SECOND_NS);
    struct tm utc;
    strftime(words, size, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &utc));
}

const char *value_words(const struct value *value, char *words, size_t size)
{
    switch (value->kind) {
    case VALUE_TEXT:
        return value->text;
    case VALUE_NUMBER:
    case VALUE_ID:
        snprintf(words, size, "%" PRIu64, value->number);
        break;
    case VALUE_SIGNED:
        snprintf(words, size, "%" PRId64, value->signed_number);
        break;
    case VALUE_BOOL:
        return value->number ? "yes" : "no";
    case VALUE_BYTES:
        unit_words(value->number, "B", words, size);
        break;
    case VALUE_BIT_RATE:
        unit_words(value->number, "bit/s", words, size);
        break;
    case VALUE_DURATION:
        duration_words(value->signed_number, words, size);
        break;
    case VALUE_TIME:
        time_words(value->number, words, size);
        break;
    case VALUE_PERMILLE:
        snprintf(words, size, "%" PRIu64 ".%" PRIu64 " %%", value->number / 10, value->number % 10);
        break;
    case VALUE_ABSENT:
        return "-";
    }
    return words;
}
