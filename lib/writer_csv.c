/* The items of an answer: a row each below the names of their members, and of one thing its fields.
 * Tables in an item or beside the items have no place in it. A text has no line of its own: what is
 * not printable is '?', as in text. */
#include "lib/writer_raw.h"

#include "lib/printable.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>

struct csv_state {
    struct text *out;
    const struct writer_envelope *envelope;
    struct text keys, values; /* of one thing */
    bool items;               /* the table that is open has them */
};

static void *some(void *pointer)
{
    if (!pointer)
        errx(1, "out of memory");
    return pointer;
}

static void put_text(struct text *out, const char *text)
{
    const size_t plain = printable_plain(text);
    if (plain != SIZE_MAX && !text[strcspn(text, "\",")]) {
        text_add(out, text, plain);
        return;
    }
    char *clean = some(strdup(text));
    printable_clean(clean);
    const bool quoted = strpbrk(clean, "\",") != NULL;
    text_fill(out, '"', quoted);
    for (const char *c = clean; *c; c++) {
        text_fill(out, '"', *c == '"');
        text_add(out, c, 1);
    }
    text_fill(out, '"', quoted);
    free(clean);
}

static void put_value(struct text *out, const struct value *value)
{
    if (value->kind == VALUE_TEXT)
        put_text(out, value->text);
    else
        raw_put(out, value);
}

static void *begin(struct text *out, const struct writer_envelope *envelope)
{
    struct csv_state *state = some(calloc(1, sizeof(*state)));
    state->out = out;
    state->envelope = envelope;
    return state;
}

static void field(void *opaque, const struct column *column, const struct value *value)
{
    struct csv_state *state = opaque;
    if (state->envelope->items)
        return;
    const bool more = state->keys.used;
    text_fill(&state->keys, ',', more);
    text_fill(&state->values, ',', more);
    put_text(&state->keys, column->key);
    put_value(&state->values, value);
}

static void table_begin(void *opaque, const char *key, const struct column *columns)
{
    struct csv_state *state = opaque;
    state->items = state->envelope->items && strcmp(state->envelope->items, key) == 0;
    for (const struct column *column = columns; state->items && column->key; column++) {
        text_fill(state->out, ',', column != columns);
        put_text(state->out, column->key);
    }
    text_fill(state->out, '\n', state->items);
}

static void cell(void *opaque, const struct column *column, const struct value *value,
                 bool first_of_row)
{
    struct csv_state *state = opaque;
    if (!state->items)
        return;
    text_fill(state->out, ',', !first_of_row);
    put_value(state->out, value);
    if (first_of_row && !column[1].key && value->kind == VALUE_ABSENT)
        text_word(state->out, "\"\""); /* an empty line is no row to many readers */
    text_fill(state->out, '\n', !column[1].key);
}

static void table_end(void *opaque)
{
    ((struct csv_state *)opaque)->items = false;
}

static void document(void *opaque, const char *key, const char *text)
{
    const struct column column = {key, key};
    const struct value value = value_text(text);
    field(opaque, &column, &value);
}

static void drop(void *opaque)
{
    struct csv_state *state = opaque;
    text_done(&state->keys);
    text_done(&state->values);
    free(state);
}

static void end(void *opaque)
{
    struct csv_state *state = opaque;
    state->out->failed |= state->keys.failed || state->values.failed;
    if (state->keys.used) {
        text_add(state->out, state->keys.at, state->keys.used);
        text_fill(state->out, '\n', 1);
        if (state->values.used)
            text_add(state->out, state->values.at, state->values.used);
        text_fill(state->out, '\n', 1);
    }
    drop(state);
}

const struct writer_form writer_form_csv = {
    "csv", begin, field, table_begin, cell, table_end, document, NULL, NULL, end, drop,
};
