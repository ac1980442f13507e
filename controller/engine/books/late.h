/* What a framework has told of one edge, in as much memory as was told: rows of cells per map, sums
 * per reduce task, sums per reduce task and source host. What it means is framework_sizes.h's.
 * Private to controller/engine.
 *
 * A row has the cells of reduce tasks 0 to n − 1 in an array, as a whole row is told, and others
 * one by one: a cell of the millionth reduce task needs no place for those before it. What stands
 * per reduce task stands in blocks of LATE_BLOCK, made when something is told of one of them. Cells
 * that were told stay, whatever is told later. */
#pragma once

#include "controller/engine/base/state.h"

enum { LATE_BLOCK = 32 };

/* Bytes of one reduce task by source host, in the order in which they were told. */
struct late_split {
    uint32_t n;
    uint32_t *hosts;
    uint64_t *bytes;
};
struct late_block {
    uint64_t columns[LATE_BLOCK]; /* sums of cells, modulo 2^64 */
    uint64_t sums[LATE_BLOCK];
    uint32_t summed;           /* a bit each: its sum was told */
    struct late_split *splits; /* NULL: of none */
};
struct late_cell {
    uint32_t reduce;
    uint64_t bytes;
};
struct late_told {
    uint32_t n_cells;
    struct late_cell *cells; /* by reduce task, all ≥ n */
    uint64_t bytes[];
};
/* WHY so small: what a task reads is looked up row by row. */
struct late_row {
    struct late_told *told; /* NULL: nothing was told of the map */
    uint32_t n;
};
struct late_rows {
    struct late_row at[LATE_BLOCK];
};
struct late_edge {
    struct late_rows **rows;    /* by map ÷ LATE_BLOCK; NULL: of none of them */
    struct late_block **blocks; /* by reduce task ÷ LATE_BLOCK; likewise */
    uint32_t rows_room, blocks_room;
    uint32_t n_rows;
    uint32_t n_splits; /* reduce tasks with one */
    uint64_t bytes; /* that it takes, but for itself; by the structures here, not by the heap's */
    bool complete;  /* the cells count */
};

struct late_edge *late_make(struct engine *engine);
/* Gives back up to *left blocks of it, and takes their number from *left. True: all of it is gone;
 * NULL is, too. */
bool late_shrink(struct late_edge **late, uint32_t *left);

/* The block that a reduce task stands in, at index % LATE_BLOCK. NULL: nothing was told of it.
 * O(1). The other makes it. */
static inline const struct late_block *late_block_find(const struct late_edge *late,
                                                       uint32_t reduce)
{
    return reduce / LATE_BLOCK < late->blocks_room ? late->blocks[reduce / LATE_BLOCK] : NULL;
}
struct late_block *late_block(struct engine *engine, struct late_edge *late, uint32_t reduce);
static inline bool late_is_summed(const struct late_block *block, uint32_t reduce)
{
    return block->summed >> reduce % LATE_BLOCK & 1;
}
/* Its sum is told, by these hosts (copied; none: by nobody). */
void late_set_sum(struct engine *engine, struct late_edge *late, uint32_t reduce, uint64_t sum,
                  const struct u32s *hosts, const struct u64s *bytes);
/* An empty one where it was told without hosts, or not at all. O(1). */
struct late_split late_split_of(const struct late_edge *late, uint32_t reduce);

/* At most so many bytes more does a piece of n cells, sums or hosts take. */
uint64_t late_worst(uint32_t n);

/* NULL: nothing was told of the map. O(1). The other makes it. */
static inline struct late_row *late_row_find(const struct late_edge *late, uint32_t map)
{
    struct late_rows *rows =
        map / LATE_BLOCK < late->rows_room ? late->rows[map / LATE_BLOCK] : NULL;
    return rows && rows->at[map % LATE_BLOCK].told ? &rows->at[map % LATE_BLOCK] : NULL;
}
struct late_row *late_row(struct engine *engine, struct late_edge *late, uint32_t map);
/* NULL: that cell was not told. O(log cells), O(1) below n. */
uint64_t *late_row_cell_beyond(const struct late_row *row, uint32_t reduce);
static inline uint64_t *late_row_cell(const struct late_row *row, uint32_t reduce)
{
    return reduce < row->n ? &row->told->bytes[reduce] : late_row_cell_beyond(row, reduce);
}

/* The cells of a piece: of reduce tasks 0, 1, … (at NULL) or of these, in any order, of which those
 * below `most` count. How many of them the row (NULL: none) has no place for; makes place for them.
 * O(n log n) and, where some come between others, its cells. */
struct late_places {
    const uint32_t *at;
    uint32_t n, most;
};
uint32_t late_row_lacks(struct engine *engine, const struct late_row *row,
                        const struct late_places *places);
void late_row_extend(struct engine *engine, struct late_edge *late, struct late_row *row,
                     const struct late_places *places);

/* One input of a reduce task by an edge: in order of maps where cells or sums are known, of hosts
 * where these are. `each` may set what it likes of `input`; its stage is set. O(maps). */
int late_each_input(const struct edge *edge, const struct task *task,
                    void (*locate)(const struct task *map, struct engine_input *input),
                    void (*each)(void *context, const struct engine_input *input), void *context);
