#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/mincost/graph.h"
#include "lib/mincost/market.h"

enum { SMALL_PAGE = 4096, HUGE_PAGE = 2 << 20 };

/* Large tables are read at random, which small pages make slower. Only a hint, to a kernel that may
 * not have others; for the whole mapping, since realloc cannot move one of two kinds. */
static void want_huge_pages(void *array)
{
    size_t bytes = malloc_usable_size(array), before = (uintptr_t)array % SMALL_PAGE;
    if (bytes >= HUGE_PAGE)
        madvise((char *)array - before, bytes + before, MADV_HUGEPAGE);
}

void *memory_resize(struct mincost *m, void *array, size_t old_count, size_t new_count, size_t size)
{
    void *grown = realloc(array, new_count * size);
    if (!grown)
        return NULL;
    want_huge_pages(grown);
    m->bytes += (new_count - old_count) * size;
    return grown;
}

int memory_grow(struct mincost *m, void **items, uint32_t *allocated, size_t size)
{
    uint32_t wanted = *allocated + *allocated / 2 + 64;
    void *grown = memory_resize(m, *items, *allocated, wanted, size);
    if (!grown)
        return m->failed = -ENOMEM;
    *items = grown;
    *allocated = wanted;
    return 0;
}

static void trim(struct mincost *m, struct u32_list *list)
{
    m->bytes -= list->allocated * sizeof *list->items;
    free(list->items);
    *list = (struct u32_list){0};
}

void memory_trim(struct mincost *m)
{
    trim(m, &m->stack);
    m->bytes -= m->queue.allocated * sizeof *m->queue.items;
    free(m->queue.items);
    m->queue = (struct queue){0};
    market_done(m);
}

void memory_trim_touched(struct mincost *m)
{
    trim(m, &m->touched);
    m->bulky = false;
}

enum {
    SPARE_SHARE = 16,  /* the pool is compacted when more than this part of it lies free */
    GROWTH_SHARE = 32, /* pool and tables grow by this part of what they are */
};

/* Classes: every size to 16, then eight to each doubling, so that a block is at most an eighth too
 * large. */
uint32_t block_size(uint8_t size_class)
{
    if (size_class < 16)
        return size_class + 1u;
    return (9u + (size_class & 7u)) << ((size_class - 16) / 8 + 1);
}

struct span {
    uint32_t start, node;
};

static int compare_spans(const void *left, const void *right)
{
    const struct span *a = left, *b = right;
    return a->start < b->start ? -1 : a->start > b->start;
}

static void slide_block(struct mincost *m, uint32_t v, uint32_t start)
{
    struct node *node = &m->nodes[v];
    uint32_t degree = node_degree(node);
    memmove(m->halves + start, m->halves + node->start, degree * sizeof *m->halves);
    for (uint32_t i = 0; i < degree; i++) {
        const struct half *half = &m->halves[start + i];
        m->arcs[half_arc(half)].pos[half->ref & HALF_AT_HEAD] = start + i;
    }
    node->start = start;
}

/* Slides all blocks together, so that blocks that were outgrown are used again. O(nodes log nodes +
 * arcs). */
static int pool_compact(struct mincost *m)
{
    struct span *spans = malloc(((size_t)m->node_count + 1) * sizeof *spans);
    size_t count = 0;
    if (!spans)
        return -ENOMEM;
    for (uint32_t v = 1; v <= m->max_node; v++)
        if (node_degree(&m->nodes[v]))
            spans[count++] = (struct span){m->nodes[v].start, v};
    qsort(spans, count, sizeof *spans, compare_spans);
    uint32_t used = 0;
    for (size_t i = 0; i < count; i++) {
        slide_block(m, spans[i].node, used);
        used += block_size(m->nodes[spans[i].node].size_class);
    }
    free(spans);
    memset(m->free_block, 0, sizeof m->free_block);
    m->halves_used = used;
    m->halves_free = 0;
    return 0;
}

static int pool_grow(struct mincost *m, uint32_t needed)
{
    if (m->halves_free > m->halves_used / SPARE_SHARE + needed)
        return pool_compact(m);
    uint64_t allocated = (uint64_t)m->halves_used + needed;
    if (allocated < m->halves_allocated + m->halves_allocated / GROWTH_SHARE)
        allocated = m->halves_allocated + m->halves_allocated / GROWTH_SHARE;
    if (allocated > UINT32_MAX)
        return -ERANGE;
    void *grown = memory_resize(m, m->halves, m->halves_allocated, allocated, sizeof(struct half));
    if (!grown)
        return -ENOMEM;
    m->halves = grown;
    m->halves_allocated = (uint32_t)allocated;
    return 0;
}

/* Prefetches the next block to be taken: it has long left the caches. */
ALWAYS_INLINE void ask_block(const struct mincost *m, uint32_t start)
{
    const char *block = (const char *)(m->halves + start);
    for (int line = 0; line < 3; line++)
        __builtin_prefetch(block + line * 64, 1);
}

int block_take(struct mincost *m, uint8_t size_class, uint32_t *ret_start)
{
    uint32_t first = m->free_block[size_class];
    if (first) {
        uint32_t next = m->halves[first - 1].head;
        *ret_start = first - 1;
        m->free_block[size_class] = next;
        if (next)
            ask_block(m, next - 1);
        m->halves_free -= block_size(size_class);
        return 0;
    }
    uint32_t size = block_size(size_class);
    if (size > m->halves_allocated - m->halves_used) {
        int error = pool_grow(m, size);
        if (error)
            return error;
    }
    *ret_start = m->halves_used;
    m->halves_used += size;
    return 0;
}

void block_give(struct mincost *m, uint8_t size_class, uint32_t start)
{
    m->halves[start].head = m->free_block[size_class];
    m->free_block[size_class] = start + 1;
    m->halves_free += block_size(size_class);
}

static int resize_all(struct mincost *m, uint32_t old_allocated, uint32_t new_allocated,
                      size_t count, void **const arrays[], const size_t sizes[])
{
    for (size_t i = 0; i < count; i++) {
        char *grown = memory_resize(m, *arrays[i], old_allocated, new_allocated, sizes[i]);
        if (!grown)
            return -ENOMEM;
        memset(grown + old_allocated * sizes[i], 0,
               (size_t)(new_allocated - old_allocated) * sizes[i]);
        *arrays[i] = grown;
    }
    return 0;
}

/* Room for `highest`, and when that is a surprise a little more. */
static uint32_t grown_allocated(uint32_t old_allocated, uint32_t highest)
{
    uint32_t step = old_allocated + old_allocated / GROWTH_SHARE + 16;
    return highest + 1 > step || old_allocated == 0 ? highest + 1 : step;
}

int graph_reserve_nodes(struct mincost *m, uint32_t highest)
{
    if (highest < m->nodes_allocated)
        return 0;
    uint32_t allocated = grown_allocated(m->nodes_allocated, highest);
    void **const arrays[] = {(void **)&m->nodes,  (void **)&m->price,  (void **)&m->excess,
                             (void **)&m->supply, (void **)&m->labels, (void **)&m->posted};
    const size_t sizes[] = {sizeof(struct node), sizeof(int64_t),      sizeof(int64_t),
                            sizeof(int64_t),     sizeof(struct label), sizeof(int64_t)};
    int error = resize_all(m, m->nodes_allocated, allocated, 6, arrays, sizes);
    if (!error)
        m->nodes_allocated = allocated;
    return error;
}

int graph_reserve_arcs(struct mincost *m, uint32_t highest)
{
    if (highest < m->arcs_allocated)
        return 0;
    uint32_t allocated = grown_allocated(m->arcs_allocated, highest);
    void **const arrays[] = {(void **)&m->arcs, (void **)&m->arc_bits, (void **)&m->wide_cost};
    const size_t sizes[] = {sizeof(struct arc), 1, sizeof(int64_t)};
    int error = resize_all(m, m->arcs_allocated, allocated, m->wide_cost ? 3 : 2, arrays, sizes);
    if (!error)
        m->arcs_allocated = allocated;
    return error;
}
