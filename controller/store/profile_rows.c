#include "controller/store/profile_rows.h"

#include <errno.h>
#include <stdlib.h>

struct kept {
    uint64_t history;
    int64_t learnt_ns;
    uint32_t variant;
    struct learnt_estimate estimate;
};
struct rows {
    struct kept *at;
    size_t n;
};

static int compare(const void *a, const void *b)
{
    const struct kept *x = a, *y = b;
    if (x->learnt_ns != y->learnt_ns)
        return x->learnt_ns < y->learnt_ns ? -1 : 1;
    if (x->history != y->history)
        return x->history < y->history ? -1 : 1;
    return x->variant < y->variant ? -1 : x->variant > y->variant;
}

static int take(struct rows *rows, const struct row_value *row, struct err *err)
{
    struct kept *grown = reallocarray(rows->at, rows->n + 1, sizeof(*grown));
    if (!grown)
        return err_sys(err, ENOMEM, "the store's profiles");
    rows->at = grown;
    grown[rows->n++] = (struct kept){
        .history = (uint64_t)row[PROFILES_HISTORY].number,
        .learnt_ns = row[PROFILES_LEARNT].number,
        .variant = (uint32_t)row[PROFILES_VARIANT].number,
        .estimate = {.profile = {(uint64_t)row[PROFILES_READ_BYTES].number,
                                 (uint64_t)row[PROFILES_READ_BYTES_S].number,
                                 (uint64_t)row[PROFILES_BEFORE].number,
                                 (uint64_t)row[PROFILES_COMPUTE].number},
                     .tasks = (uint64_t)row[PROFILES_TASKS].number,
                     .error_permille = (uint64_t)row[PROFILES_ERROR].number},
    };
    return 0;
}

static int read_all(struct store *store, struct rows *rows, struct err *err)
{
    struct row_value row[ROW_COLUMNS_MAX];
    struct store_cursor *cursor;
    int r = store_cursor_open(store_file(store), STORE_PROFILES, &cursor, err);
    if (r < 0)
        return r;
    while ((r = store_cursor_next(cursor, row, err)) > 0)
        if ((r = take(rows, row, err)) < 0)
            break;
    store_cursor_close(cursor);
    return r;
}

int profile_rows_read(struct store *store, struct learnt *learnt, struct err *err)
{
    struct rows rows = {0};
    int r = store_file(store) ? read_all(store, &rows, err) : 0;
    if (rows.n)
        qsort(rows.at, rows.n, sizeof(*rows.at), compare);
    for (size_t i = 0; r == 0 && i < rows.n; i++)
        learnt_restore(learnt, rows.at[i].history, rows.at[i].variant, &rows.at[i].estimate);
    free(rows.at);
    return r;
}

void profile_rows_put(struct store *store, const struct learnt *learnt, uint64_t history,
                      uint32_t variant, int64_t wall_ns)
{
    struct learnt_estimate estimate;
    if (!learnt_find(learnt, history, variant, &estimate))
        return;
    const struct profile *profile = &estimate.profile;
    const struct row_value row[PROFILES_COLUMNS] = {ROW_NUMBER(history),
                                                    ROW_NUMBER(variant),
                                                    ROW_NUMBER(estimate.tasks),
                                                    ROW_NUMBER(profile->read_bytes),
                                                    ROW_NUMBER(profile->read_bytes_s),
                                                    ROW_NUMBER(profile->before),
                                                    ROW_NUMBER(profile->compute_ns),
                                                    ROW_NUMBER(estimate.error_permille),
                                                    ROW_NUMBER(wall_ns)};
    store_put(store, STORE_PROFILES, row);
}
