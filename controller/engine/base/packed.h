/* Packed arrays of numbers that arrive in order: bytes between tasks. Private to controller/engine.
 *
 * Numbers are in blocks of PACKED_BLOCK; the largest number of a block determines the width of all
 * of them. So a matrix of few or small numbers takes less memory than on the wire, and no array
 * takes more than 8.2 bytes a number. WHY blocks and not a length for each number: any number is
 * found in O(1), since a task's start reads a column.
 *
 * An array is made with its length and filled once, from its beginning; the rest reads as 0. */
#pragma once

#include "controller/engine/base/state.h"

#include <endian.h>
#include <string.h>

enum {
    PACKED_BLOCK_BITS = 6,
    PACKED_BLOCK = 1 << PACKED_BLOCK_BITS, /* numbers of one width */
    PACKED_PIECE_BITS = 10,
    PACKED_PIECE = 1 << PACKED_PIECE_BITS, /* numbers that are packed together */
    PACKED_BLOCKS = PACKED_PIECE / PACKED_BLOCK
};

struct packed_piece {
    uint32_t blocks[PACKED_BLOCKS]; /* offset in `bits`, in bytes << 8 | width in bits */
    uint8_t bits[];
};

struct packed {
    uint64_t n, filled;
    uint64_t *open;                /* the numbers of the piece that is being filled; NULL: none */
    struct packed_piece *pieces[]; /* NULL: not there yet */
};

/* n ≥ 1. */
struct packed *packed_make(struct engine *engine, uint64_t n);
/* Appends the next numbers, which must fit. O(n). */
void packed_append(struct engine *engine, struct packed *packed, const uint64_t *numbers,
                   uint32_t n);
/* Frees up to *left pieces from the end and subtracts their number from *left. True: all of it is
 * freed, or it was NULL. */
bool packed_shrink(struct packed **packed, uint32_t *left);

/* at < length. O(1). */
static inline uint64_t packed_at(const struct packed *packed, uint64_t at)
{
    const struct packed_piece *piece = packed->pieces[at >> PACKED_PIECE_BITS];
    if (!piece)
        return at < packed->filled ? packed->open[at % PACKED_PIECE] : 0;
    uint32_t block = piece->blocks[(at >> PACKED_BLOCK_BITS) % PACKED_BLOCKS];
    uint32_t width = block & 0xff, bit = (uint32_t)(at % PACKED_BLOCK) * width;
    uint64_t word;
    memcpy(&word, piece->bits + (block >> 8) + bit / 8, sizeof(word));
    return le64toh(word) >> bit % 8 & UINT64_MAX >> (64 - width);
}
