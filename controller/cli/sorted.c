#include "controller/cli/sorted.h"

#include "lib/grow.h"

#include <errno.h>
#include <pb_decode.h>
#include <pb_encode.h>
#include <stdlib.h>
#include <string.h>

/* What a row is sorted by. Numbers of a column are all signed or all not, and are kept so that
 * unsigned comparison orders them. */
struct key {
    bool absent;
    uint64_t number; /* or, of a text, where it begins behind the keys */
};

struct kept {
    uint64_t turn; /* of coming */
    size_t length; /* of the row, behind keys and texts */
    size_t row;    /* where it begins behind the keys */
    struct key keys[];
};

struct sorted {
    const struct selection *selection;
    struct kept **rows; /* with a limit that is reached: a heap, the last in order on top */
    size_t n, allocated;
    uint64_t turns;
    void *row; /* room for one */
};

static char *behind(const struct sorted *sorted, const struct kept *kept)
{
    return (char *)(uintptr_t)&kept->keys[sorted->selection->by_n];
}

static int keys_order(const struct sorted *sorted, const struct kept *a, const struct kept *b,
                      uint8_t i)
{
    const struct selection_sort *by = &sorted->selection->by[i];
    const struct key *x = &a->keys[i], *y = &b->keys[i];
    if (x->absent || y->absent)
        return x->absent - y->absent;
    int order = by->cell->kind == VALUE_TEXT
                    ? strverscmp(behind(sorted, a) + x->number, behind(sorted, b) + y->number)
                    : (x->number > y->number) - (x->number < y->number);
    return by->down ? -order : order;
}

static int order_of(const struct sorted *sorted, const struct kept *a, const struct kept *b)
{
    for (uint8_t i = 0; i < sorted->selection->by_n; i++) {
        int order = keys_order(sorted, a, b, i);
        if (order)
            return order;
    }
    return (a->turn > b->turn) - (a->turn < b->turn);
}

static int in_order(const void *a, const void *b, void *sorted)
{
    return order_of(sorted, *(struct kept *const *)a, *(struct kept *const *)b);
}

struct sorted *sorted_create(const struct selection *selection)
{
    struct sorted *sorted = calloc(1, sizeof(*sorted));
    if (!sorted)
        return NULL;
    sorted->selection = selection;
    sorted->row = malloc(selection->list->row_bytes);
    if (!sorted->row) {
        free(sorted);
        return NULL;
    }
    return sorted;
}

/* ---- keeping ---- */

static uint64_t number_key(const struct value *value)
{
    const bool is_signed = value->kind == VALUE_SIGNED || value->kind == VALUE_DURATION;
    return is_signed ? (uint64_t)value->signed_number ^ (UINT64_C(1) << 63) : value->number;
}

/* NULL: out of memory. */
static struct kept *kept_new(struct sorted *sorted, const void *row)
{
    const struct selection *selection = sorted->selection;
    const struct list *list = selection->list;
    struct value values[SELECTION_SORTS];
    char words[SELECTION_SORTS][CELL_WORDS];
    size_t texts = 0, length = list->row_bytes;
    for (uint8_t i = 0; i < selection->by_n; i++) {
        values[i] = cell_value(selection->by[i].cell, row, words[i]);
        texts += values[i].kind == VALUE_TEXT ? strlen(values[i].text) + 1 : 0;
    }
    if (list->fields && !pb_get_encoded_size(&length, list->fields, row))
        return NULL;
    struct kept *kept =
        malloc(sizeof(*kept) + selection->by_n * sizeof(struct key) + texts + length);
    if (!kept)
        return NULL;
    kept->turn = sorted->turns++;
    kept->length = length;
    kept->row = texts;
    char *to = behind(sorted, kept);
    for (uint8_t i = 0; i < selection->by_n; i++) {
        const bool is_text = values[i].kind == VALUE_TEXT;
        kept->keys[i].absent = values[i].kind == VALUE_ABSENT;
        kept->keys[i].number =
            is_text ? (uint64_t)(to - behind(sorted, kept)) : number_key(&values[i]);
        if (is_text)
            to = stpcpy(to, values[i].text) + 1;
    }
    pb_ostream_t out = pb_ostream_from_buffer((pb_byte_t *)to, length);
    if (!list->fields)
        memcpy(to, row, length);
    else if (!pb_encode(&out, list->fields, row)) {
        free(kept);
        return NULL;
    }
    return kept;
}

/* The row at `i` may come before one below it. */
static void heap_sink(struct sorted *sorted, size_t i)
{
    for (size_t child; (child = 2 * i + 1) < sorted->n; i = child) {
        struct kept **rows = sorted->rows;
        if (child + 1 < sorted->n && order_of(sorted, rows[child + 1], rows[child]) > 0)
            child++;
        if (order_of(sorted, rows[i], rows[child]) >= 0)
            return;
        struct kept *row = rows[i];
        rows[i] = rows[child];
        rows[child] = row;
    }
}

/* As many are kept as are wanted: the last in order goes. */
static void heap_take(struct sorted *sorted, struct kept *kept)
{
    if (order_of(sorted, kept, sorted->rows[0]) > 0) {
        free(kept);
        return;
    }
    free(sorted->rows[0]);
    sorted->rows[0] = kept;
    heap_sink(sorted, 0);
}

int sorted_take(struct sorted *sorted, const void *row, struct err *err)
{
    const uint64_t limit = sorted->selection->limit;
    if (sorted->n == SORTED_ROWS_MAX && limit > sorted->n)
        return err_set(err, E2BIG,
                       "more than %d rows cannot be sorted: take fewer of them with --filter, or "
                       "the first of them with --limit",
                       SORTED_ROWS_MAX);
    struct kept *kept = kept_new(sorted, row);
    if (kept && sorted->n == limit) {
        heap_take(sorted, kept);
        return 0;
    }
    if (!kept || !array_grow(sorted->rows, sorted->n, sorted->allocated, 256)) {
        free(kept);
        return err_sys(err, ENOMEM, "the rows");
    }
    sorted->rows[sorted->n++] = kept;
    for (size_t i = sorted->n == limit ? sorted->n / 2 : 0; i > 0; i--)
        heap_sink(sorted, i - 1);
    return 0;
}

/* ---- handing out ---- */

static const void *row_of(struct sorted *sorted, const struct kept *kept)
{
    const struct list *list = sorted->selection->list;
    const char *at = behind(sorted, kept) + kept->row;
    if (!list->fields) {
        memcpy(sorted->row, at, kept->length);
        return sorted->row;
    }
    pb_istream_t in = pb_istream_from_buffer((const pb_byte_t *)at, kept->length);
    return pb_decode(&in, list->fields, sorted->row) ? sorted->row : NULL;
}

void sorted_end(struct sorted *sorted, void (*each)(void *user, const void *row), void *user)
{
    if (sorted->n)
        qsort_r(sorted->rows, sorted->n, sizeof(*sorted->rows), in_order, sorted);
    for (size_t i = 0; i < sorted->n; i++) {
        const void *row = row_of(sorted, sorted->rows[i]);
        if (row) /* as it was encoded here, it is always */
            each(user, row);
    }
    sorted_destroy(sorted);
}

void sorted_destroy(struct sorted *sorted)
{
    if (!sorted)
        return;
    for (size_t i = 0; i < sorted->n; i++)
        free(sorted->rows[i]);
    free(sorted->rows);
    free(sorted->row);
    free(sorted);
}
