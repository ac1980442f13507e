#include "lib/writer.h"

#include "lib/printable.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLUMNS_MAX = 40,
    ROWS_AT_ONCE = 1024, /* whose widths are taken together */
};

/* Rows of cells, each a word and its NUL. */
struct grid {
    size_t columns, width[COLUMNS_MAX];
    bool right[COLUMNS_MAX]; /* it has quantities */
    const char *headings[COLUMNS_MAX];
    bool headed;   /* the headings are written, or there are none */
    size_t column; /* of the next cell */
    size_t rows;
    bool any; /* it had rows */
    struct text words;
};

/* Blocks in the order of their coming: a run of fields is a grid of two columns, unheaded. */
struct text_state {
    struct text *out;
    bool wide;   /* a column without a heading has its key for one */
    bool blocks; /* there was one before */
    bool fields; /* the grid is an open run of fields; */
    bool table;  /* or an open table, */
    bool hidden; /* of which people see nothing */
    struct grid grid;
};

/* Characters of UTF-8. */
static size_t width_of(const char *word)
{
    size_t width = 0;
    for (; *word; word++)
        width += (*word & 0xc0) != 0x80;
    return width;
}

static void grid_begin(struct text_state *state)
{
    struct text words = state->grid.words;
    words.used = 0;
    state->grid = (struct grid){.words = words};
    text_fill(state->out, '\n', state->blocks);
    state->blocks = true;
}

static void word_put(struct text *out, const struct grid *grid, size_t column, const char *word)
{
    const size_t width = width_of(word), room = grid->width[column];
    const size_t blanks = room > width ? room - width : 0;
    const bool last = column + 1 == grid->columns;
    text_fill(out, ' ', column ? 1 : 0);
    text_fill(out, ' ', grid->right[column] ? blanks : 0);
    text_word(out, word);
    text_fill(out, ' ', grid->right[column] || last ? 0 : blanks);
    text_fill(out, '\n', last);
}

/* Writes the rows that are collected. */
static void grid_put(struct text *out, struct grid *grid)
{
    const char *word = grid->words.at;
    for (size_t column = 0; !grid->headed && column < grid->columns; column++)
        word_put(out, grid, column, grid->headings[column]);
    grid->headed = true;
    for (size_t i = 0; i < grid->rows * grid->columns; i++) {
        word_put(out, grid, i % grid->columns, word);
        word += strlen(word) + 1;
    }
    grid->rows = grid->words.used = 0;
}

static void cell_add(struct grid *grid, const char *word)
{
    const size_t at = grid->words.used, column = grid->column;
    text_add(&grid->words, word, strlen(word) + 1);
    if (grid->words.failed)
        errx(1, "out of memory");
    printable_clean(grid->words.at + at);
    grid->words.used = at + strlen(grid->words.at + at) + 1;
    const size_t width = width_of(grid->words.at + at);
    if (width > grid->width[column])
        grid->width[column] = width;
    grid->column = (column + 1) % grid->columns;
    grid->rows += !grid->column;
    grid->any |= !grid->column;
}

static bool is_quantity(const struct value *value)
{
    return value->kind != VALUE_TEXT && value->kind != VALUE_BOOL && value->kind != VALUE_TIME &&
           value->kind != VALUE_ABSENT;
}

static void *begin(struct text *out, const struct writer_envelope *envelope)
{
    (void)envelope;
    struct text_state *state = calloc(1, sizeof(*state));
    if (!state)
        errx(1, "out of memory");
    state->out = out;
    return state;
}

static void *wide_begin(struct text *out, const struct writer_envelope *envelope)
{
    struct text_state *state = begin(out, envelope);
    state->wide = true;
    return state;
}

/* NULL: people do not see it. */
static const char *heading_of(const struct text_state *state, const struct column *column)
{
    return column->heading || !state->wide ? column->heading : column->key;
}

static void fields_end(struct text_state *state)
{
    if (state->fields)
        grid_put(state->out, &state->grid);
    state->fields = false;
}

static void field(void *opaque, const struct column *column, const struct value *value)
{
    struct text_state *state = opaque;
    char words[64];
    if (!column->heading)
        return;
    if (!state->fields) {
        grid_begin(state);
        state->grid.columns = 2;
        state->grid.headed = state->fields = true;
    }
    cell_add(&state->grid, column->heading);
    cell_add(&state->grid, value_words(value, words, sizeof(words)));
}

static void table_begin(void *opaque, const char *key, const struct column *columns)
{
    struct text_state *state = opaque;
    struct grid *grid = &state->grid;
    const struct column *shown = columns;
    (void)key;
    fields_end(state);
    while (shown->key && !shown->heading)
        shown++;
    state->table = true;
    state->hidden = !shown->key;
    if (state->hidden)
        return;
    grid_begin(state);
    for (; columns->key; columns++) {
        const char *heading = heading_of(state, columns);
        if (!heading)
            continue;
        if (grid->columns == COLUMNS_MAX)
            errx(1, "a table has more than %d columns", COLUMNS_MAX);
        grid->width[grid->columns] = width_of(heading);
        grid->headings[grid->columns++] = heading;
    }
}

static void cell(void *opaque, const struct column *column, const struct value *value,
                 bool first_of_row)
{
    struct text_state *state = opaque;
    struct grid *grid = &state->grid;
    char words[64];
    (void)first_of_row;
    if (state->hidden || !heading_of(state, column))
        return;
    grid->right[grid->column] |= is_quantity(value);
    cell_add(grid, value_words(value, words, sizeof(words)));
    if (grid->rows == ROWS_AT_ONCE)
        grid_put(state->out, grid);
}

static void table_end(void *opaque)
{
    struct text_state *state = opaque;
    if (!state->hidden && !state->grid.any)
        text_word(state->out, "none\n");
    else if (!state->hidden)
        grid_put(state->out, &state->grid);
    state->table = state->hidden = false;
}

static void document(void *opaque, const char *key, const char *text)
{
    struct text_state *state = opaque;
    (void)key;
    text_word(state->out, text);
}

static void settle(void *opaque)
{
    struct text_state *state = opaque;
    if (state->table && !state->hidden && state->grid.rows)
        grid_put(state->out, &state->grid);
}

static void drop(void *opaque)
{
    struct text_state *state = opaque;
    text_done(&state->grid.words);
    free(state);
}

static void end(void *opaque)
{
    struct text_state *state = opaque;
    fields_end(state);
    if (state->table)
        table_end(state);
    drop(state);
}

const struct writer_form writer_form_text = {
    "text", begin, field, table_begin, cell, table_end, document, settle, NULL, end, drop,
};
const struct writer_form writer_form_wide = {
    "wide", wide_begin, field, table_begin, cell, table_end, document, settle, NULL, end, drop,
};
