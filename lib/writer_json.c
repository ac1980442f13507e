/* As jansson would print it with two blanks of indent and in ASCII, but as it comes. */
#include "lib/writer.h"

#include <err.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct json_state {
    struct text *out;
    bool fields; /* the object has some */
    bool table;  /* it is open, */
    bool rows;   /* and has some */
};

static void put(struct json_state *state, const char *word)
{
    text_word(state->out, word);
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

/* JSON readers keep 53 bits of a number: larger ones (attempts) go as strings. */
static void put_number(struct json_state *state, uint64_t number)
{
    const bool quoted = number > UINT64_C(1) << 53;
    text_fill(state->out, '"', quoted);
    text_number(state->out, number);
    text_fill(state->out, '"', quoted);
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
    case VALUE_MS:
        put_number(state, value->number);
        break;
    case VALUE_SIGNED:
    case VALUE_DURATION:
        text_signed(state->out, value->signed_number);
        break;
    case VALUE_BOOL:
        put(state, value->number ? "true" : "false");
        break;
    case VALUE_ABSENT:
        put(state, "null");
        break;
    }
}

static void put_key(struct json_state *state, const char *key)
{
    put(state, state->fields ? ",\n  " : "\n  ");
    state->fields = true;
    put_text(state, key);
    put(state, ": ");
}

static void *begin(struct text *out)
{
    struct json_state *state = some(calloc(1, sizeof(*state)));
    state->out = out;
    put(state, "{");
    return state;
}

static void field(void *opaque, const struct column *column, const struct value *value)
{
    struct json_state *state = opaque;
    put_key(state, column->key);
    put_value(state, value);
}

static void table_begin(void *opaque, const char *key, const struct column *columns)
{
    struct json_state *state = opaque;
    (void)columns;
    put_key(state, key);
    put(state, "[");
    state->table = true;
    state->rows = false;
}

static void cell(void *opaque, const struct column *column, const struct value *value,
                 bool first_of_row)
{
    struct json_state *state = opaque;
    if (first_of_row)
        put(state, state->rows ? ",\n    {" : "\n    {");
    put(state, first_of_row ? "\n      " : ",\n      ");
    state->rows = true;
    put_text(state, column->key);
    put(state, ": ");
    put_value(state, value);
    if (!column[1].key)
        put(state, "\n    }");
}

static void table_end(void *opaque)
{
    struct json_state *state = opaque;
    put(state, state->rows ? "\n  ]" : "]");
    state->table = false;
}

static void document(void *opaque, const char *key, const char *text)
{
    struct json_state *state = opaque;
    put_key(state, key);
    put_text(state, text);
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
    put(state, state->fields ? "\n}\n" : "}\n");
    drop(state);
}

const struct writer_form writer_form_json = {
    "json", begin, field, table_begin, cell, table_end, document, end, drop,
};
