#include "controller/store/rows.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct row_value row_text(const char *text)
{
    return (struct row_value){.at = text, .length = strlen(text)};
}

void row_bytes_done(struct row_bytes *bytes)
{
    free(bytes->at);
    *bytes = (struct row_bytes){0};
}

static void append(struct row_bytes *bytes, const void *at, size_t length)
{
    if (bytes->used + length > bytes->size) {
        size_t size = 2 * (bytes->used + length) + 256;
        uint8_t *grown = realloc(bytes->at, size);
        if (!grown) {
            bytes->failed = true;
            return;
        }
        bytes->at = grown;
        bytes->size = size;
    }
    if (length)
        memcpy(bytes->at + bytes->used, at, length);
    bytes->used += length;
}

void row_encode(const struct row_table *tables, unsigned table, enum row_change change,
                const struct row_value *values, unsigned columns, struct row_bytes *bytes)
{
    const uint8_t head[] = {(uint8_t)change, (uint8_t)table, (uint8_t)columns};
    append(bytes, head, sizeof(head));
    for (unsigned i = 0; i < columns; i++) {
        const uint32_t length = (uint32_t)values[i].length;
        if (tables[table].column[i].type == COLUMN_NUMBER) {
            append(bytes, &values[i].number, sizeof(values[i].number));
        } else {
            append(bytes, &length, sizeof(length));
            append(bytes, values[i].at, values[i].length);
        }
    }
}

size_t row_decode(const struct row_table *tables, const uint8_t *at, struct row_decoded *ret_row)
{
    const uint8_t *begin = at;
    ret_row->change = (enum row_change)at[0];
    ret_row->table = at[1];
    ret_row->columns = at[2];
    at += 3;
    for (unsigned i = 0; i < ret_row->columns; i++) {
        struct row_value *value = &ret_row->values[i];
        uint32_t length;
        *value = (struct row_value){0};
        if (tables[ret_row->table].column[i].type == COLUMN_NUMBER) {
            memcpy(&value->number, at, sizeof(value->number));
            at += sizeof(value->number);
            continue;
        }
        memcpy(&length, at, sizeof(length));
        value->at = at + sizeof(length);
        value->length = length;
        at += sizeof(length) + length;
    }
    ret_row->hash =
        ret_row->change == ROW_PUT ? (int64_t)XXH3_64bits(begin, (size_t)(at - begin)) : 0;
    return (size_t)(at - begin);
}

int64_t row_hash(const struct row_table *tables, unsigned table, const struct row_value *values,
                 struct row_bytes *room)
{
    room->used = 0;
    row_encode(tables, table, ROW_PUT, values, tables[table].columns, room);
    return (int64_t)XXH3_64bits(room->at, room->used);
}
