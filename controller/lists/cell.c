#include "controller/lists/cell.h"

#include "lib/nearest.h"

#include <errno.h>
#include <string.h>

static int64_t number_at(enum cell_type type, const void *at)
{
    switch (type) {
    case CELL_U32:
        return *(const uint32_t *)at;
    case CELL_U64:
        return (int64_t)(*(const uint64_t *)at);
    case CELL_I32:
        return *(const int32_t *)at;
    case CELL_I64:
        return *(const int64_t *)at;
    default:
        return *(const bool *)at;
    }
}

struct value cell_value(const struct cell *cell, const void *row, char words[CELL_WORDS])
{
    const char *at = (const char *)row + cell->offset;
    if (cell->lacks && cell->lacks(row))
        return value_absent();
    if (cell->value)
        return cell->value(row, words);
    if (cell->type == CELL_TEXT)
        return *at || cell->unless != UNLESS_NOTHING ? value_text(at) : value_absent();
    const int64_t number = number_at(cell->type, at);
    if ((cell->unless == UNLESS_NOTHING && number == 0) ||
        (cell->unless == UNLESS_NEGATIVE && number < 0))
        return value_absent();
    return (struct value){.kind = cell->kind, .number = (uint64_t)number, .signed_number = number};
}

int cell_find(const struct cell *cells, const char *key, const struct cell **ret_cell,
              struct err *err)
{
    struct nearest nearest = NEAREST_TO(key);
    for (; cells->key; cells++) {
        if (strcmp(cells->key, key) == 0) {
            *ret_cell = cells;
            return 0;
        }
        nearest_take(&nearest, cells->key);
    }
    return nearest.found ? err_set(err, EINVAL, "there is no column '%s'; did you mean '%s'?", key,
                                   nearest.found)
                         : err_set(err, EINVAL, "there is no column '%s'", key);
}
