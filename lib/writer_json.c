/* As it comes, in ASCII: one document, a row a line; or as lines, each item one, and the last one
 * the document without its items. */
#include "lib/grow.h"
#include "lib/writer_raw.h"

#include <err.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct json_state {
    struct text *out;
    struct text *to;    /* where what comes is written: `out`, or */
    struct text beside; /* in lines: what the last one will have */
    bool lines;
    const struct writer_envelope *envelope;
    const struct writer_failure *failure; /* NULL: none */
    bool begun;                           /* the document, or the bare object */
    size_t indent;                        /* of the members of the object that is open, */
    bool members;                         /* which has some */
    bool table;                           /* one is open, */
    bool apart;                           /* whose rows are lines, */
    bool rows;                            /* and has some */
    bool items;                           /* the table of items was there */
    struct text keys;                     /* of its columns, as they are written before a cell */
    struct key {
        size_t at, length;
    } * key; /* where they are; the next cell's is number `place` */
    size_t n_keys, size, place;
};

static void put(struct json_state *state, const char *word)
{
    text_word(state->to, word);
}

static void line_begin(struct json_state *state, size_t indent)
{
    if (state->lines)
        return;
    text_fill(state->to, '\n', 1);
    text_fill(state->to, ' ', indent);
}

/* Between members, and between rows. */
static void put_comma(struct json_state *state)
{
    put(state, state->lines ? ", " : ",");
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
        text_add(state->to, "\"", 1);
        text_add(state->to, text, length);
        text_add(state->to, "\"", 1);
        return;
    }
    json_t *value = text_value(text);
    char *quoted = some(json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII));
    put(state, quoted);
    free(quoted);
    json_decref(value);
}

static void put_value(struct json_state *state, const struct value *value)
{
    const bool quoted = raw_is_quoted(value);
    if (value->kind == VALUE_TEXT) {
        put_text(state, value->text);
    } else if (value->kind == VALUE_ABSENT) {
        put(state, "null");
    } else {
        text_fill(state->to, '"', quoted);
        raw_put(state->to, value);
        text_fill(state->to, '"', quoted);
    }
}

/* WHY once for a table: rows are mostly keys. */
static void keys_set(struct json_state *state, const struct column *columns)
{
    struct text *to = state->to;
    state->to = &state->keys;
    state->keys.used = state->n_keys = 0;
    for (; columns->key; columns++) {
        const size_t at = state->keys.used;
        put(state, state->n_keys ? ", " : "{");
        put_text(state, columns->key);
        put(state, ": ");
        if (!array_grow(state->key, state->n_keys, state->size, 32))
            errx(1, "out of memory");
        state->key[state->n_keys++] = (struct key){at, state->keys.used - at};
    }
    if (state->keys.failed)
        errx(1, "out of memory");
    state->to = to;
}

static void put_key(struct json_state *state, const char *key)
{
    if (state->members)
        put_comma(state);
    line_begin(state, state->indent);
    state->members = true;
    put_text(state, key);
    put(state, ": ");
}

static void head_put(struct json_state *state, const char *schema)
{
    const struct value generated = value_time(state->envelope->generated_ns);
    put_key(state, "schema");
    put_text(state, schema);
    put_key(state, "version");
    text_number(state->to, WRITER_VERSION);
    put_key(state, "generated_at");
    put_value(state, &generated);
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
    const struct writer_envelope *envelope = state->envelope;
    if (state->begun)
        return;
    state->begun = true;
    if (state->lines && envelope->schema && envelope->items) {
        state->to = &state->beside; /* what follows its head */
        state->members = true;
        return;
    }
    object_begin(state, 2);
    if (state->lines || !envelope->schema)
        return;
    head_put(state, envelope->schema);
    if (envelope->items)
        return;
    put_key(state, "items");
    put(state, "[");
    line_begin(state, 4);
    object_begin(state, 6);
}

static struct json_state *state_new(struct text *out, const struct writer_envelope *envelope)
{
    struct json_state *state = some(calloc(1, sizeof(*state)));
    state->out = state->to = out;
    state->envelope = envelope;
    return state;
}

static void *begin(struct text *out, const struct writer_envelope *envelope)
{
    return state_new(out, envelope);
}

static void *lines_begin(struct text *out, const struct writer_envelope *envelope)
{
    struct json_state *state = state_new(out, envelope);
    state->lines = true;
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
    document_begin(state);
    keys_set(state, columns);
    const bool items = is_items(state->envelope, key);
    state->items |= items;
    state->table = true;
    state->rows = false;
    state->apart = items && state->lines;
    if (state->apart) {
        state->to = state->out;
        return;
    }
    put_key(state, items ? "items" : key);
    put(state, "[");
}

static void cell(void *opaque, const struct column *column, const struct value *value,
                 bool first_of_row)
{
    struct json_state *state = opaque;
    if (first_of_row && !state->apart) {
        if (state->rows)
            put_comma(state);
        line_begin(state, state->indent + 2);
    }
    state->rows = true;
    state->place = first_of_row ? 0 : state->place + 1;
    const struct key *key = &state->key[state->place];
    text_add(state->to, state->keys.at + key->at, key->length);
    put_value(state, value);
    if (!column[1].key)
        put(state, state->apart ? "}\n" : "}");
}

static void table_end(void *opaque)
{
    struct json_state *state = opaque;
    state->table = false;
    if (state->apart) {
        state->to = &state->beside;
        return;
    }
    if (state->rows)
        line_begin(state, state->indent);
    put(state, "]");
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
    text_signed(state->to, failure->code);
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

/* The items are all there: of a document what follows them, of lines the last one. */
static void items_end(struct json_state *state)
{
    if (state->lines) {
        if (!state->envelope->items)
            put(state, "}\n");
        state->to = state->out;
        object_begin(state, 2);
        head_put(state, state->envelope->schema);
        if (state->beside.used)
            text_add(state->out, state->beside.at, state->beside.used);
        state->out->failed |= state->beside.failed;
    } else if (!state->envelope->items) {
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
    struct json_state *state = opaque;
    text_done(&state->beside);
    text_done(&state->keys);
    free(state->key);
    free(state);
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
    put(state, state->lines ? "}\n" : "\n}\n");
    drop(state);
}

const struct writer_form writer_form_json = {
    "json", begin, field, table_begin, cell, table_end, document, NULL, fail, end, drop,
};
const struct writer_form writer_form_lines = {
    "json-lines", lines_begin, field, table_begin, cell, table_end, document, NULL, fail, end, drop,
};
