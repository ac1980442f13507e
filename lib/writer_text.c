#include "lib/writer.h"

#include <err.h>
#include <errno.h>
#include <libsmartcols/libsmartcols.h>
#include <stdlib.h>
#include <string.h>

/* Blocks in the order of their coming: a run of fields is a table of two columns, unheaded. */
struct text_state {
    struct libscols_table **tables;
    size_t n;
    struct libscols_table *fields; /* the open run of fields; NULL: none */
    struct libscols_table *rows;
    struct libscols_line *row;
    char *document; /* comes first; NULL: none */
};

static void *some(void *pointer)
{
    if (!pointer)
        errx(1, "out of memory");
    return pointer;
}

static void *begin(void)
{
    return some(calloc(1, sizeof(struct text_state)));
}

static struct libscols_table *table_add(struct text_state *state, bool headings)
{
    struct libscols_table *table = some(scols_new_table());
    scols_table_enable_noheadings(table, !headings);
    state->tables = some(reallocarray(state->tables, state->n + 1, sizeof(*state->tables)));
    state->tables[state->n++] = table;
    return table;
}

static bool is_quantity(const struct value *value)
{
    return value->kind != VALUE_TEXT && value->kind != VALUE_BOOL && value->kind != VALUE_ABSENT;
}

static void field(void *opaque, const struct column *column, const struct value *value)
{
    struct text_state *state = opaque;
    char words[64];
    if (!column->heading)
        return;
    if (!state->fields) {
        state->fields = table_add(state, false);
        some(scols_table_new_column(state->fields, "name", 0, 0));
        some(scols_table_new_column(state->fields, "value", 0, 0));
    }
    struct libscols_line *line = some(scols_table_new_line(state->fields, NULL));
    scols_line_set_data(line, 0, column->heading);
    scols_line_set_data(line, 1, value_words(value, words, sizeof(words)));
}

static void table_begin(void *opaque, const char *key, const struct column *columns)
{
    struct text_state *state = opaque;
    const struct column *shown = columns;
    (void)key;
    state->fields = NULL;
    while (shown->key && !shown->heading)
        shown++;
    state->rows = shown->key ? table_add(state, true) : NULL;
    for (; columns->key; columns++)
        if (columns->heading)
            some(scols_table_new_column(state->rows, columns->heading, 0, 0));
}

static struct libscols_column *column_named(struct libscols_table *table, const char *heading)
{
    struct libscols_iter *iterator = some(scols_new_iter(SCOLS_ITER_FORWARD));
    struct libscols_column *column, *found = NULL;
    while (!found && scols_table_next_column(table, iterator, &column) == 0)
        if (strcmp(scols_cell_get_data(scols_column_get_header(column)), heading) == 0)
            found = column;
    scols_free_iter(iterator);
    return found;
}

static void cell(void *opaque, const struct column *column, const struct value *value,
                 bool first_of_row)
{
    struct text_state *state = opaque;
    char words[64];
    if (!state->rows)
        return;
    if (first_of_row)
        state->row = some(scols_table_new_line(state->rows, NULL));
    if (!column->heading)
        return;
    struct libscols_column *at = column_named(state->rows, column->heading);
    if (is_quantity(value))
        scols_column_set_flags(at, SCOLS_FL_RIGHT);
    scols_line_set_column_data(state->row, at, value_words(value, words, sizeof(words)));
}

static void table_end(void *opaque)
{
    struct text_state *state = opaque;
    state->rows = NULL;
    state->row = NULL;
}

static void document(void *opaque, const char *key, const char *text)
{
    struct text_state *state = opaque;
    (void)key;
    free(state->document);
    state->document = some(strdup(text));
}

static void drop(void *opaque)
{
    struct text_state *state = opaque;
    for (size_t i = 0; i < state->n; i++)
        scols_unref_table(state->tables[i]);
    free(state->tables);
    free(state->document);
    free(state);
}

static int end(void *opaque, FILE *out)
{
    struct text_state *state = opaque;
    if (state->document)
        fputs(state->document, out);
    for (size_t i = 0; i < state->n; i++) {
        scols_table_set_stream(state->tables[i], out);
        if (i)
            fputc('\n', out);
        if (scols_table_is_empty(state->tables[i]))
            fputs("none\n", out);
        else
            scols_print_table(state->tables[i]);
    }
    drop(state);
    return fflush(out) != 0 || ferror(out) ? -EIO : 0;
}

const struct writer_form writer_form_text = {
    "text", begin, field, table_begin, cell, table_end, document, end, drop,
};
