#include "controller/engine/books/late.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/job_stages.h"
#include "lib/invariant.h"

#include <stdlib.h>
#include <string.h>

/* WHY not sizeof: account.h. */
enum {
    TAKES_POINTER = 8,
    TAKES_BLOCK = 576,
    TAKES_ROWS = 576,
    TAKES_ROW = 48,
    TAKES_SPLITS = 800,
    TAKES_HOST = 16,
    TAKES_CELL = 16,
    TAKES_POINTERS = 1 << 17,
};

uint64_t late_worst(uint32_t n)
{
    return TAKES_POINTERS + TAKES_ROWS + TAKES_ROW + TAKES_SPLITS +
           (uint64_t)n * (TAKES_BLOCK + TAKES_HOST + TAKES_CELL);
}

_Static_assert(LATE_BLOCK == 32, "a bit for each");

struct late_edge *late_make(struct engine *engine)
{
    return engine_allocate(engine, 1, sizeof(struct late_edge));
}

static void split_done(struct late_split *split)
{
    free(split->hosts);
    free(split->bytes);
    *split = (struct late_split){0};
}

static void block_destroy(struct late_block *block)
{
    for (uint32_t i = 0; block->splits && i < LATE_BLOCK; i++)
        split_done(&block->splits[i]);
    free(block->splits);
    free(block);
}

static void rows_destroy(struct late_rows *rows)
{
    for (uint32_t i = 0; i < LATE_BLOCK; i++) {
        if (rows->at[i].told)
            free(rows->at[i].told->cells);
        free(rows->at[i].told);
    }
    free(rows);
}

bool late_shrink(struct late_edge **late, uint32_t *left)
{
    struct late_edge *of = *late;
    for (; of && of->rows_room && *left; --*left)
        if (of->rows[--of->rows_room])
            rows_destroy(of->rows[of->rows_room]);
    for (; of && of->blocks_room && *left; --*left)
        if (of->blocks[--of->blocks_room])
            block_destroy(of->blocks[of->blocks_room]);
    if (of && (of->rows_room || of->blocks_room))
        return false;
    if (of) {
        free(of->rows);
        free(of->blocks);
    }
    free(of);
    *late = NULL;
    return true;
}

/* Makes the array of pointers large enough for `place`; new ones are NULL. */
static void *enlarge(struct engine *engine, struct late_edge *late, void *array, uint32_t *room,
                     uint32_t place)
{
    uint32_t more = *room ? *room : 1;
    while (more <= place)
        more *= 2;
    if (place < *room)
        return array;
    void **larger = engine_allocate(engine, more, sizeof(*larger));
    if (*room)
        memcpy(larger, array, *room * sizeof(*larger));
    free(array);
    late->bytes += (more - *room) * (uint64_t)TAKES_POINTER;
    *room = more;
    return larger;
}

struct late_block *late_block(struct engine *engine, struct late_edge *late, uint32_t reduce)
{
    uint32_t place = reduce / LATE_BLOCK;
    late->blocks = enlarge(engine, late, late->blocks, &late->blocks_room, place);
    if (!late->blocks[place]) {
        late->blocks[place] = engine_allocate(engine, 1, sizeof(struct late_block));
        late->bytes += TAKES_BLOCK;
    }
    return late->blocks[place];
}

struct late_split late_split_of(const struct late_edge *late, uint32_t reduce)
{
    const struct late_block *block = late_block_find(late, reduce);
    return block && block->splits ? block->splits[reduce % LATE_BLOCK] : (struct late_split){0};
}

static void set_split(struct engine *engine, struct late_edge *late, struct late_split *split,
                      const struct u32s *hosts, const struct u64s *bytes)
{
    assert(late->n_splits >= (split->n > 0) && late->bytes >= TAKES_HOST * (uint64_t)split->n);
    late->n_splits -= split->n > 0;
    late->bytes -= TAKES_HOST * (uint64_t)split->n;
    split_done(split);
    if (!hosts->n)
        return;
    late->n_splits++;
    late->bytes += TAKES_HOST * (uint64_t)hosts->n;
    *split = (struct late_split){hosts->n, engine_allocate(engine, hosts->n, sizeof(uint32_t)),
                                 engine_allocate(engine, hosts->n, sizeof(uint64_t))};
    memcpy(split->hosts, hosts->at, hosts->n * sizeof(*split->hosts));
    memcpy(split->bytes, bytes->at, hosts->n * sizeof(*split->bytes));
}

void late_set_sum(struct engine *engine, struct late_edge *late, uint32_t reduce, uint64_t sum,
                  const struct u32s *hosts, const struct u64s *bytes)
{
    struct late_block *block = late_block(engine, late, reduce);
    block->sums[reduce % LATE_BLOCK] = sum;
    block->summed |= UINT32_C(1) << reduce % LATE_BLOCK;
    if (hosts->n && !block->splits) {
        block->splits = engine_allocate(engine, LATE_BLOCK, sizeof(*block->splits));
        late->bytes += TAKES_SPLITS;
    }
    if (block->splits)
        set_split(engine, late, &block->splits[reduce % LATE_BLOCK], hosts, bytes);
}

struct late_row *late_row(struct engine *engine, struct late_edge *late, uint32_t map)
{
    uint32_t place = map / LATE_BLOCK;
    late->rows = enlarge(engine, late, late->rows, &late->rows_room, place);
    if (!late->rows[place]) {
        late->rows[place] = engine_allocate(engine, 1, sizeof(struct late_rows));
        late->bytes += TAKES_ROWS;
    }
    struct late_row *row = &late->rows[place]->at[map % LATE_BLOCK];
    if (!row->told) {
        row->told = engine_allocate(engine, 1, sizeof(*row->told));
        late->n_rows++;
        late->bytes += TAKES_ROW;
    }
    return row;
}

/* The place of the first cell of a reduce task ≥ reduce. */
static uint32_t place_of(const struct late_row *row, uint32_t reduce)
{
    uint32_t from = 0, to = row->told->n_cells;
    while (from < to) {
        uint32_t half = from + (to - from) / 2;
        if (row->told->cells[half].reduce < reduce)
            from = half + 1;
        else
            to = half;
    }
    return from;
}

uint64_t *late_row_cell_beyond(const struct late_row *row, uint32_t reduce)
{
    uint32_t place = place_of(row, reduce);
    return place < row->told->n_cells && row->told->cells[place].reduce == reduce
               ? &row->told->cells[place].bytes
               : NULL;
}

static int compare_u32(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static bool lacks(const struct late_row *row, const struct late_places *places, uint32_t i)
{
    return places->at[i] < places->most && !(row && late_row_cell(row, places->at[i]));
}

/* The piece continues where the row's array ends. */
static bool goes_on(const struct late_row *row, const struct late_places *places)
{
    uint32_t n = row ? row->n : 0, i = 0;
    while (i < places->n && places->at[i] == n + i && places->at[i] < places->most)
        i++;
    return i == places->n && !(row && row->told->n_cells);
}

/* The places that the row lacks, each once and in order; the caller frees them. */
static uint32_t lacking(struct engine *engine, const struct late_row *row,
                        const struct late_places *places, uint32_t **ret_at)
{
    uint32_t *at = *ret_at = engine_allocate(engine, places->n, sizeof(*at)), n = 0, unique = 0;
    for (uint32_t i = 0; i < places->n; i++)
        if (lacks(row, places, i))
            at[n++] = places->at[i];
    if (n)
        qsort(at, n, sizeof(*at), compare_u32);
    for (uint32_t i = 0; i < n; i++)
        if (!i || at[i] != at[i - 1])
            at[unique++] = at[i];
    return unique;
}

uint32_t late_row_lacks(struct engine *engine, const struct late_row *row,
                        const struct late_places *places)
{
    uint32_t *at, n = places->n, i = 0;
    if (!places->at)
        return n - (!row ? 0 : n < row->n ? n : row->n + place_of(row, n));
    if (goes_on(row, places))
        return n;
    while (i < n && !lacks(row, places, i))
        i++;
    if (i == n)
        return 0;
    n = lacking(engine, row, places, &at);
    free(at);
    return n;
}

/* Lengthens the array and moves the cells into it that it now covers. */
static void lengthen(struct engine *engine, struct late_row *row, uint32_t n)
{
    if (n <= row->n)
        return;
    uint32_t taken = place_of(row, n);
    struct late_told *told = realloc(row->told, sizeof(*told) + n * sizeof(told->bytes[0]));
    if (!told)
        longjmp(engine->no_memory, 1);
    memset(told->bytes + row->n, 0, (n - row->n) * sizeof(told->bytes[0]));
    for (uint32_t i = 0; i < taken; i++)
        told->bytes[told->cells[i].reduce] = told->cells[i].bytes;
    if (taken)
        memmove(told->cells, told->cells + taken, (told->n_cells - taken) * sizeof(*told->cells));
    told->n_cells -= taken;
    row->told = told;
    row->n = n;
}

/* Merges from the end, so that each cell moves once. */
static void insert(struct engine *engine, struct late_row *row, const uint32_t *at, uint32_t n)
{
    uint32_t had = row->told->n_cells, all = had + n;
    if (!n)
        return;
    struct late_cell *cells = reallocarray(row->told->cells, all, sizeof(*cells));
    if (!cells)
        longjmp(engine->no_memory, 1);
    row->told->cells = cells;
    row->told->n_cells = all;
    while (n)
        if (had && cells[had - 1].reduce > at[n - 1])
            cells[--all] = cells[--had];
        else
            cells[--all] = (struct late_cell){at[--n], 0};
}

void late_row_extend(struct engine *engine, struct late_edge *late, struct late_row *row,
                     const struct late_places *places)
{
    uint32_t *at, n, next = 0;
    late->bytes += (uint64_t)TAKES_CELL * late_row_lacks(engine, row, places);
    if (!places->at || goes_on(row, places)) {
        lengthen(engine, row, places->at ? row->n + places->n : places->n);
        return;
    }
    n = lacking(engine, row, places, &at);
    while (!row->told->n_cells && next < n && at[next] == row->n + next)
        next++;
    lengthen(engine, row, row->n + next);
    insert(engine, row, at + next, n - next);
    free(at);
}

static uint64_t cell_bytes(const struct late_edge *late, uint32_t map, uint32_t reduce)
{
    const struct late_row *row = late_row_find(late, map);
    const uint64_t *cell = row ? late_row_cell(row, reduce) : NULL;
    return cell ? *cell : 0;
}

int late_each_input(const struct edge *edge, const struct task *task,
                    void (*locate)(const struct task *map, struct engine_input *input),
                    void (*each)(void *context, const struct engine_input *input), void *context)
{
    const struct late_edge *late = edge->late;
    const struct stage *parent = job_stage_at(task->stage->job, edge->parent);
    const struct late_block *block = late_block_find(late, task->index);
    const struct late_split split = late_split_of(late, task->index);
    const uint64_t sum = block ? block->sums[task->index % LATE_BLOCK] : 0;
    const uint64_t part = parent->n_tasks ? sum / parent->n_tasks : 0,
                   more = sum - part * parent->n_tasks;
    struct engine_input input = {.stage = edge->parent};
    int n = 0;
    for (uint32_t i = 0; !late->complete && i < split.n; i++, n++) {
        input = (struct engine_input){split.hosts[i], false, edge->parent,
                                      ENGINE_NONE,    0,     split.bytes[i]};
        each(context, &input);
    }
    for (uint32_t m = 0; block && (late->complete || !split.n) && m < parent->n_tasks; m++) {
        input.task = m;
        input.bytes = late->complete ? cell_bytes(late, m, task->index) : part + (m < more);
        if (!input.bytes)
            continue;
        locate(&parent->tasks[m], &input);
        each(context, &input);
        n++;
    }
    return n;
}
