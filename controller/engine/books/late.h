/* What a framework reported about one edge, in memory proportional to the report: rows of cells per
 * map, sums per reduce task, sums per reduce task and source host. framework_sizes.h says what it
 * means. Private to controller/engine.
 *
 * A row has the cells of reduce tasks 0 to n − 1 in an array, for rows that are reported whole, and
 * others one by one: a cell of the millionth reduce task needs no place for those before it. Data
 * per reduce task is in blocks of LATE_BLOCK, made with the first report about one of them.
 * Reported cells are kept, whatever is reported later. */
#pragma once

#include "controller/engine/base/state.h"

enum { LATE_BLOCK = 32 };

/* Bytes of one reduce task by source host, in the order of their report. */
struct late_split {
    uint32_t n;
    uint32_t *hosts;
    uint64_t *bytes;
};
struct late_block {
    uint64_t columns[LATE_BLOCK]; /* sums of cells, modulo 2^64 */
    uint64_t sums[LATE_BLOCK];
    uint32_t summed;           /* a bit each: its sum was reported */
    struct late_split *splits; /* NULL: no task of the block has one */
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
/* WHY so small: a task's inputs are looked up row by row. */
struct late_row {
    struct late_told *told; /* NULL: the map was not reported */
    uint32_t n;
};
struct late_rows {
    struct late_row at[LATE_BLOCK];
};
struct late_edge {
    struct late_rows **rows;    /* by map ÷ LATE_BLOCK; NULL: none of these maps was reported */
    struct late_block **blocks; /* by reduce task ÷ LATE_BLOCK; likewise */
    uint32_t rows_room, blocks_room;
    uint32_t n_rows;
    uint32_t n_splits; /* reduce tasks with one */
    uint64_t bytes;    /* that it takes without itself; by the structures here, not by the heap's */
    bool complete;     /* every map has its row: the cells count */
};

struct late_edge *late_make(struct engine *engine);
/* Frees up to *left blocks and subtracts their number from *left. True: all of it is freed, or it
 * was NULL. */
bool late_shrink(struct late_edge **late, uint32_t *left);

/* The block of a reduce task, which is its entry index % LATE_BLOCK. NULL: not reported. O(1).
 * late_block makes it. */
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
/* Sets its sum and its source hosts (copied; may be none). */
void late_set_sum(struct engine *engine, struct late_edge *late, uint32_t reduce, uint64_t sum,
                  const struct u32s *hosts, const struct u64s *bytes);
/* Empty where it was reported without hosts or not at all. O(1). */
struct late_split late_split_of(const struct late_edge *late, uint32_t reduce);

/* The most bytes that a piece of n cells, sums or hosts adds. */
uint64_t late_worst(uint32_t n);

/* NULL: the map was not reported. O(1). late_row makes it. */
static inline struct late_row *late_row_find(const struct late_edge *late, uint32_t map)
{
    struct late_rows *rows =
        map / LATE_BLOCK < late->rows_room ? late->rows[map / LATE_BLOCK] : NULL;
    return rows && rows->at[map % LATE_BLOCK].told ? &rows->at[map % LATE_BLOCK] : NULL;
}
struct late_row *late_row(struct engine *engine, struct late_edge *late, uint32_t map);
/* NULL: that cell was not reported. O(log cells), O(1) below n. */
uint64_t *late_row_cell_beyond(const struct late_row *row, uint32_t reduce);
static inline uint64_t *late_row_cell(const struct late_row *row, uint32_t reduce)
{
    return reduce < row->n ? &row->told->bytes[reduce] : late_row_cell_beyond(row, reduce);
}

/* The cells of a piece: of reduce tasks 0, 1, … (at NULL) or of these, in any order; only tasks
 * below `most` count. late_row_lacks: how many of them have no place in the row (NULL: an empty
 * one); late_row_extend makes place for them. O(n log n) and, where some come between others, the
 * row's cells. */
struct late_places {
    const uint32_t *at;
    uint32_t n, most;
};
uint32_t late_row_lacks(struct engine *engine, const struct late_row *row,
                        const struct late_places *places);
void late_row_extend(struct engine *engine, struct late_edge *late, struct late_row *row,
                     const struct late_places *places);

/* Calls `each` for each input of a reduce task by an edge: in order of maps where cells or sums are
 * known, of hosts where hosts are. `each` may change `input`, whose stage is set. O(maps). */
int late_each_input(const struct edge *edge, const struct task *task,
                    void (*locate)(const struct task *map, struct engine_input *input),
                    void (*each)(void *context, const struct engine_input *input), void *context);
