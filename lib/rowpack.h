/* Rows of one kind of message, each written as what differs from the row before it. Rows of a long
 * list are alike: of a task that follows another one its number differs, and not much more.
 *
 * A row is a number, a varint, and then so many bytes: twice the length of these bytes, and one
 * more where the row stands alone. The bytes are an encoded message (Protocol Buffers). It stands
 * alone, or it is merged over the row before it: a field that it lacks is as it was. So any
 * implementation reads them (in Python by MergeFromString). WHY not nanopb itself: it goes through
 * all fields of a row twice to write it and once more to empty it.
 *
 * Only rows of numbers, booleans, enumerations and strings, without parts and repetitions. Pure. */
#pragma once

#include <pb.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ROWPACK_FIELDS = 48, ROWPACK_TAGS = 128 };

struct rowpack_field {
    uint8_t tag, type; /* PB_LTYPE_… */
    bool optional;     /* a bool at `has` says whether it is there */
    uint16_t at, has, size;
};

struct rowpack {
    size_t row_bytes;
    uint8_t n;
    uint8_t place[ROWPACK_TAGS]; /* of the field with this tag, + 1; 0: there is none */
    struct rowpack_field fields[ROWPACK_FIELDS];
};

/* False: rows of this kind cannot be written so. `row_bytes`: of their structure. O(fields). */
bool rowpack_init(struct rowpack *pack, const pb_msgdesc_t *kind, size_t row_bytes);

/* Writes `row` to to[room]. `before`: the row before it; NULL: it is to stand alone. Returns the
 * bytes that it takes; 0: there is no room for it. O(fields). */
size_t rowpack_put(const struct rowpack *pack, const void *before, const void *row, uint8_t *to,
                   size_t room);

/* Reads a row from from[size] over `row`, which holds the one before it. Fields that this program
 * does not know are passed over; strings are made valid UTF-8. Returns the bytes that it took; 0:
 * it is malformed, and `row` is undefined. O(its bytes), and O(row_bytes) if it stands alone. */
size_t rowpack_take(const struct rowpack *pack, const uint8_t *from, size_t size, void *row);
