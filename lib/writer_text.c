#include "lib/writer.h"

#include "lib/grow.h"
#include "lib/printable.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLUMNS_MAX = 40,
    ROWS_AT_ONCE = 1024, /* whose widths are taken together */
};

/* A cell's word. */
struct word {
    size_t length, width; /* bytes, characters */
};

/* The last amount of a column, in words: rows that follow each other often have the same one. */
struct amount {
    struct value value;
    char words[64];
    size_t length; /* 0: there was none */
};

/* Rows of cells, one after the other. */
struct grid {
    size_t columns, width[COLUMNS_MAX];
    bool right[COLUMNS_MAX]; /* it has quantities */
    const char *headings[COLUMNS_MAX];
    struct amount amounts[COLUMNS_MAX];
    bool headed;   /* the headings are written, or there are none */
    size_t column; /* of the next cell */
    size_t rows;
    bool any; /* it had rows */
    struct text words;
    struct word *cells; /* whose words these are */
    size_t n, size;
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
    state->grid =
        (struct grid){.words = words, .cells = state->grid.cells, .size = state->grid.size};
    text_fill(state->out, '\n', state->blocks);
    state->blocks = true;
}

static void word_put(struct text *out, const struct grid *grid, size_t column, const char *word,
                     struct word is)
{
    const size_t room = grid->width[column], blanks = room > is.width ? room - is.width : 0;
    const bool last = column + 1 == grid->columns, right = grid->right[column];
    const size_t before = (column > 0) + (right ? blanks : 0), after = right || last ? 0 : blanks;
    char *to = text_room(out, before + is.length + after + last);
    if (!to)
        return;
    memset(to, ' ', before);
    if (is.length)
        memcpy(to + before, word, is.length);
    memset(to + before + is.length, last ? '\n' : ' ', after + last);
}

/* Writes the rows that are collected. */
static void grid_put(struct text *out, struct grid *grid)
{
    const char *word = grid->words.at;
    for (size_t column = 0; !grid->headed && column < grid->columns; column++) {
        const char *heading = grid->headings[column];
        word_put(out, grid, column, heading, (struct word){strlen(heading), width_of(heading)});
    }
    grid->headed = true;
    for (size_t i = 0, column = 0; i < grid->rows * grid->columns; i++) {
        word_put(out, grid, column, word, grid->cells[i]);
        word += grid->cells[i].length;
        column = column + 1 < grid->columns ? column + 1 : 0;
    }
    grid->rows = grid->words.used = grid->n = 0;
}

/* What was added to the words since `at` is a cell. */
static void cell_end(struct grid *grid, size_t at, size_t width)
{
    const size_t column = grid->column;
    if (grid->words.failed || !array_grow(grid->cells, grid->n, grid->size, 256))
        errx(1, "out of memory");
    grid->cells[grid->n++] = (struct word){grid->words.used - at, width};
    if (width > grid->width[column])
        grid->width[column] = width;
    grid->column = column + 1 < grid->columns ? column + 1 : 0;
    grid->rows += !grid->column;
    grid->any |= !grid->column;
}

static void text_cell(struct grid *grid, const char *word)
{
    struct text *words = &grid->words;
    const size_t at = words->used, plain = printable_plain(word);
    if (plain != SIZE_MAX) {
        text_add(words, word, plain);
        cell_end(grid, at, plain);
        return;
    }
    text_add(words, word, strlen(word) + 1);
    if (words->failed)
        errx(1, "out of memory");
    printable_clean(words->at + at);
    words->used = at + strlen(words->at + at);
    cell_end(grid, at, width_of(words->at + at));
}

static void amount_cell(struct grid *grid, const struct value *value)
{
    struct amount *last = &grid->amounts[grid->column];
    const size_t at = grid->words.used;
    if (!last->length || last->value.kind != value->kind || last->value.number != value->number ||
        last->value.signed_number != value->signed_number) {
        last->value = *value;
        value_words(value, last->words, sizeof(last->words));
        last->length = strlen(last->words);
    }
    text_add(&grid->words, last->words, last->length);
    cell_end(grid, at, last->length);
}

static void cell_add(struct grid *grid, const struct value *value)
{
    const size_t at = grid->words.used;
    char words[64];
    switch (value->kind) {
    case VALUE_TEXT:
    case VALUE_BOOL:
    case VALUE_ABSENT:
        text_cell(grid, value_words(value, words, sizeof(words)));
        return;
    case VALUE_NUMBER:
    case VALUE_ID:
        text_number(&grid->words, value->number);
        break;
    case VALUE_SIGNED:
        text_signed(&grid->words, value->signed_number);
        break;
    default:
        amount_cell(grid, value);
        return;
    }
    cell_end(grid, at, grid->words.used - at);
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
    if (!column->heading)
        return;
    if (!state->fields) {
        grid_begin(state);
        state->grid.columns = 2;
        state->grid.headed = state->fields = true;
    }
    text_cell(&state->grid, column->heading);
    cell_add(&state->grid, value);
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
    (void)first_of_row;
    if (state->hidden || !heading_of(state, column))
        return;
    grid->right[grid->column] |= is_quantity(value);
    cell_add(grid, value);
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
    free(state->grid.cells);
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
