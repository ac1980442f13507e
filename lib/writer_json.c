#include "lib/writer.h"

#include <err.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct json_state {
    json_t *root, *rows, *row;
};

static json_t *some(json_t *value)
{
    if (!value)
        errx(1, "out of memory");
    return value;
}

/* A peer's text may not be UTF-8; bad bytes are shown as '?' rather than lost. */
static json_t *text_value(const char *text)
{
    json_t *value = json_string(text);
    if (value)
        return value;
    char *clean = strdup(text);
    if (!clean)
        errx(1, "out of memory");
    for (char *c = clean; *c; c++)
        if (*c & 0x80)
            *c = '?';
    value = some(json_string(clean));
    free(clean);
    return value;
}

/* JSON readers keep 53 bits of a number: larger ones (attempts) go as strings. */
static json_t *number_value(uint64_t number)
{
    char digits[24];
    if (number <= UINT64_C(1) << 53)
        return some(json_integer((json_int_t)number));
    snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
    return some(json_string(digits));
}

static json_t *json_of(const struct value *value)
{
    switch (value->kind) {
    case VALUE_TEXT:
        return text_value(value->text);
    case VALUE_NUMBER:
    case VALUE_BYTES:
    case VALUE_PERMILLE:
    case VALUE_BIT_RATE:
    case VALUE_MS:
        return number_value(value->number);
    case VALUE_SIGNED:
    case VALUE_DURATION:
        return some(json_integer(value->signed_number));
    case VALUE_BOOL:
        return json_boolean(value->number);
    case VALUE_ABSENT:
        break;
    }
    return json_null();
}

static void *begin(void)
{
    struct json_state *state = calloc(1, sizeof(*state));
    if (!state)
        errx(1, "out of memory");
    state->root = some(json_object());
    return state;
}

static void field(void *opaque, const struct column *column, const struct value *value)
{
    struct json_state *state = opaque;
    json_object_set_new(state->root, column->key, json_of(value));
}

static void table_begin(void *opaque, const char *key, const struct column *columns)
{
    struct json_state *state = opaque;
    (void)columns;
    state->rows = some(json_array());
    json_object_set_new(state->root, key, state->rows);
}

static void cell(void *opaque, const struct column *column, const struct value *value,
                 bool first_of_row)
{
    struct json_state *state = opaque;
    if (first_of_row) {
        state->row = some(json_object());
        json_array_append_new(state->rows, state->row);
    }
    json_object_set_new(state->row, column->key, json_of(value));
}

static void table_end(void *opaque)
{
    struct json_state *state = opaque;
    state->rows = state->row = NULL;
}

static void document(void *opaque, const char *key, const char *text)
{
    struct json_state *state = opaque;
    json_object_set_new(state->root, key, text_value(text));
}

static void drop(void *opaque)
{
    struct json_state *state = opaque;
    json_decref(state->root);
    free(state);
}

static int end(void *opaque, FILE *out)
{
    struct json_state *state = opaque;
    int r = json_dumpf(state->root, out, JSON_INDENT(2) | JSON_ENSURE_ASCII) < 0 ||
            fputc('\n', out) == EOF || fflush(out) != 0;
    drop(state);
    return r ? -EIO : 0;
}

const struct writer_form writer_form_json = {
    "json", begin, field, table_begin, cell, table_end, document, end, drop,
};
