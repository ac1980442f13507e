/* As it comes, in ASCII: a row a line. */
#include "lib/writer.h"

#include <err.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SECOND_NS UINT64_C(1000000000)

struct json_state {
    struct text *out;
    const struct writer_envelope *envelope;
    const struct writer_failure *failure; /* NULL: none */
    bool begun;                           /* the document, or the bare object */
    size_t indent;                        /* of the members of the object that is open, */
    bool members;                         /* which has some */
    bool table;                           /* one is open, */
    bool rows;                            /* and has some */
    bool items;                           /* the table of items was there */
};

static void put(struct json_state *state, const char *word)
{
    text_word(state->out, word);
}

static void line_begin(struct json_state *state, size_t indent)
{
    text_fill(state->out, '\n', 1);
    text_fill(state->out, ' ', indent);
}

static void *some(void *pointer)
{
    if (!pointer)
        errx(1, "out of memory");
    return pointer;
}

/* A peer's text may not be UTF-8; bad bytes are shown as '?' rather than lost. */
static json_t *text_value(const char *text)
{
    json_t *value = json_string(text);
    if (value)
        return value;
    char *clean = some(strdup(text));
    for (char *c = clean; *c; c++)
        if (*c & 0x80)
            *c = '?';
    value = some(json_string(clean));
    free(clean);
    return value;
}

static bool is_plain(char c)
{
    return c >= ' ' && c < 0x7f && c != '"' && c != '\\';
}

/* Whatever needs an escape is left to jansson. */
static void put_text(struct json_state *state, const char *text)
{
    size_t length = 0;
    while (is_plain(text[length]))
        length++;
    if (!text[length]) {
        text_add(state->out, "\"", 1);
        text_add(state->out, text, length);
        text_add(state->out, "\"", 1);
        return;
    }
    json_t *value = text_value(text);
    char *quoted = some(json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII));
    put(state, quoted);
    free(quoted);
    json_decref(value);
}

/* WHY a string: many readers keep 53 bits of a number, and attempts have more. */
static void put_id(struct json_state *state, uint64_t id)
{
    text_fill(state->out, '"', 1);
    text_number(state->out, id);
    text_fill(state->out, '"', 1);
}

static void put_time(struct json_state *state, uint64_t ns)
{
    const time_t seconds = (time_t)(ns / SECOND_NS);
    struct tm utc;
    char second[32], words[48];
    strftime(second, sizeof(second), "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &utc));
    snprintf(words, sizeof(words), "\"%s.%03uZ\"", second,
             (unsigned)(ns % SECOND_NS / (SECOND_NS / 1000)));
    put(state, words);
}

static void put_value(struct json_state *state, const struct value *value)
{
    switch (value->kind) {
    case VALUE_TEXT:
        put_text(state, value->text);
        break;
    case VALUE_NUMBER:
    case VALUE_BYTES:
    case VALUE_PERMILLE:
    case VALUE_BIT_RATE:
        text_number(state->out, value->number);
        break;
    case VALUE_ID:
        put_id(state, value->number);
        break;
    case VALUE_SIGNED:
    case VALUE_DURATION:
        text_signed(state->out, value->signed_number);
        break;
    case VALUE_BOOL:
        put(state, value->number ? "true" : "false");
        break;
    case VALUE_TIME:
        put_time(state, value->number);
        break;
    case VALUE_ABSENT:
        put(state, "null");
        break;
    }
}

static void put_key(struct json_state *state, const char *key)
{
    text_fill(state->out, ',', state->members ? 1 : 0);
    line_begin(state, state->indent);
    state->members = true;
    put_text(state, key);
    put(state, ": ");
}

static void head_put(struct json_state *state, const char *schema)
{
    put_key(state, "schema");
    put_text(state, schema);
    put_key(state, "version");
    text_number(state->out, WRITER_VERSION);
    put_key(state, "generated_at");
    put_time(state, state->envelope->generated_ns);
}

static void object_begin(struct json_state *state, size_t indent)
{
    put(state, "{");
    state->indent = indent;
    state->members = false;
}

static void object_end(struct json_state *state)
{
    state->indent -= 2;
    line_begin(state, state->indent);
    put(state, "}");
    state->members = true;
}

/* Once: what comes before the first field or table. */
static void document_begin(struct json_state *state)
{
    if (state->begun)
        return;
    state->begun = true;
    object_begin(state, 2);
    if (!state->envelope->schema)
        return;
    head_put(state, state->envelope->schema);
    if (state->envelope->items)
        return;
    put_key(state, "items");
    put(state, "[");
    line_begin(state, 4);
    object_begin(state, 6);
}

static void *begin(struct text *out, const struct writer_envelope *envelope)
{
    struct json_state *state = some(calloc(1, sizeof(*state)));
    state->out = out;
    state->envelope = envelope;
    return state;
}

static void field(void *opaque, const struct column *column, const struct value *value)
{
    struct json_state *state = opaque;
    document_begin(state);
    put_key(state, column->key);
    put_value(state, value);
}

static bool is_items(const struct writer_envelope *envelope, const char *key)
{
    return envelope->schema && envelope->items && strcmp(envelope->items, key) == 0;
}

static void table_begin(void *opaque, const char *key, const struct column *columns)
{
    struct json_state *state = opaque;
    (void)columns;
    document_begin(state);
    bool items = is_items(state->envelope, key);
    state->items |= items;
    put_key(state, items ? "items" : key);
    put(state, "[");
    state->table = true;
    state->rows = false;
}

static void cell(void *opaque, const struct column *column, const struct value *value,
                 bool first_of_row)
{
    struct json_state *state = opaque;
    if (first_of_row) {
        text_fill(state->out, ',', state->rows ? 1 : 0);
        line_begin(state, state->indent + 2);
    }
    put(state, first_of_row ? "{" : ", ");
    state->rows = true;
    put_text(state, column->key);
    put(state, ": ");
    put_value(state, value);
    if (!column[1].key)
        put(state, "}");
}

static void table_end(void *opaque)
{
    struct json_state *state = opaque;
    if (state->rows)
        line_begin(state, state->indent);
    put(state, "]");
    state->table = false;
}

static void document(void *opaque, const char *key, const char *text)
{
    struct json_state *state = opaque;
    document_begin(state);
    put_key(state, key);
    put_text(state, text);
}

static void fail(void *opaque, const struct writer_failure *failure)
{
    ((struct json_state *)opaque)->failure = failure;
}

static void failure_put(struct json_state *state)
{
    const struct writer_failure *failure = state->failure;
    put_key(state, "error");
    object_begin(state, 4);
    put_key(state, "code");
    text_signed(state->out, failure->code);
    put_key(state, "reason");
    put_text(state, failure->reason);
    put_key(state, "text");
    put_text(state, failure->text);
    put_key(state, "hint");
    if (failure->hint)
        put_text(state, failure->hint);
    else
        put(state, "null");
    object_end(state);
}

/* What follows the items of a document. */
static void items_end(struct json_state *state)
{
    if (!state->envelope->items) {
        object_end(state);
        state->indent = 2;
        line_begin(state, state->indent);
        put(state, "]");
    } else if (!state->items) {
        put_key(state, "items");
        put(state, "[]");
    }
    put_key(state, "partial");
    put(state, state->failure ? "true" : "false");
}

static void drop(void *opaque)
{
    free(opaque);
}

static void end(void *opaque)
{
    struct json_state *state = opaque;
    if (state->table)
        table_end(state);
    if (state->failure && !state->begun) {
        object_begin(state, 2);
        head_put(state, "error");
    } else {
        document_begin(state);
        if (state->envelope->schema)
            items_end(state);
    }
    if (state->failure)
        failure_put(state);
    put(state, "\n}\n");
    drop(state);
}

const struct writer_form writer_form_json = {
    "json", begin, field, table_begin, cell, table_end, document, fail, end, drop,
};
