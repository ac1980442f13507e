#include "controller/engine/base/packed.h"

#include "controller/engine/base/ground.h"

#include <stdlib.h>

/* Bits. A wider number begins at a byte, so that 8 bytes always hold all of it. */
enum { WIDEST = 57 };

static uint64_t pieces_of(uint64_t n)
{
    return (n + PACKED_PIECE - 1) / PACKED_PIECE;
}

struct packed *packed_make(struct engine *engine, uint64_t n)
{
    struct packed *packed =
        engine_allocate(engine, 1, sizeof(*packed) + pieces_of(n) * sizeof(packed->pieces[0]));
    packed->n = n;
    return packed;
}

/* At least 1, so that no shift is by 64. */
static uint32_t width_of(const uint64_t *numbers, uint32_t n)
{
    uint64_t all = 1;
    for (uint32_t i = 0; i < n; i++)
        all |= numbers[i];
    uint32_t width = 64 - (uint32_t)__builtin_clzll(all);
    return width > WIDEST ? 64 : width;
}

static void block_put(uint8_t *bits, const uint64_t *numbers, uint32_t n, uint32_t width)
{
    for (uint32_t i = 0; i < n; i++) {
        uint8_t *at = bits + i * width / 8;
        uint64_t word;
        memcpy(&word, at, sizeof(word));
        word |= htole64(numbers[i] << i * width % 8);
        memcpy(at, &word, sizeof(word));
    }
}

static struct packed_piece *pack(struct engine *engine, const uint64_t *numbers, uint32_t n)
{
    uint32_t blocks[PACKED_BLOCKS] = {0}, used = 0;
    for (uint32_t first = 0; first < n; first += PACKED_BLOCK) {
        uint32_t of = n - first < PACKED_BLOCK ? n - first : PACKED_BLOCK,
                 width = width_of(numbers + first, of);
        blocks[first / PACKED_BLOCK] = used << 8 | width;
        used += (of * width + 7) / 8;
    }
    /* WHY 8 more: reading the last number reads that far. */
    struct packed_piece *piece = engine_allocate(engine, 1, sizeof(*piece) + used + 8);
    memcpy(piece->blocks, blocks, sizeof(blocks));
    for (uint32_t first = 0; first < n; first += PACKED_BLOCK)
        block_put(piece->bits + (blocks[first / PACKED_BLOCK] >> 8), numbers + first,
                  n - first < PACKED_BLOCK ? n - first : PACKED_BLOCK,
                  blocks[first / PACKED_BLOCK] & 0xff);
    return piece;
}

static uint32_t of_piece(const struct packed *packed, uint64_t place)
{
    uint64_t left = packed->n - place * PACKED_PIECE;
    return left < PACKED_PIECE ? (uint32_t)left : PACKED_PIECE;
}

void packed_append(struct engine *engine, struct packed *packed, const uint64_t *numbers,
                   uint32_t n)
{
    while (n) {
        uint64_t place = packed->filled / PACKED_PIECE;
        uint32_t all = of_piece(packed, place), at = (uint32_t)(packed->filled % PACKED_PIECE),
                 more = n < all - at ? n : all - at;
        if (!packed->open)
            packed->open = engine_allocate(engine, all, sizeof(*packed->open));
        memcpy(packed->open + at, numbers, more * sizeof(*numbers));
        packed->filled += more;
        numbers += more;
        n -= more;
        if (at + more < all)
            return;
        packed->pieces[place] = pack(engine, packed->open, all);
        free(packed->open);
        packed->open = NULL;
    }
}

bool packed_shrink(struct packed **packed, uint32_t *left)
{
    struct packed *of = *packed;
    if (!of)
        return true;
    uint64_t pieces = pieces_of(of->n);
    for (; pieces && *left; --*left)
        free(of->pieces[--pieces]);
    of->n = pieces * PACKED_PIECE;
    if (pieces)
        return false;
    free(of->open);
    free(of);
    *packed = NULL;
    return true;
}
