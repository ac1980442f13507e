/* Changes to a problem between two solutions, many at a time. */
#include <errno.h>

#include "lib/mincost/graph.h"

/* A change follows a chain of tables: the arc's record, its halves, their ends, the borders between
 * the groups of the ends' halves, and there the halves that move when one comes or goes, with their
 * arcs' records. In a large problem each step waits for memory. So changes are prefetched ahead,
 * CHUNK at a time and in STAGES, one chunk apart; each stage prefetches the next step only. Changes
 * made between may move things; then a prefetch was in vain. */
enum { CHUNK = 4, STAGES = 5, WINDOW = CHUNK * STAGES };

/* The ends of a change's arc; NO_NODE, which has no halves, if they are not known. */
struct look {
    uint32_t ends[2];
};

struct chunk {
    const struct mincost_change *changes;
    struct look *looks;
    size_t count;
};

static bool is_of_node(const struct mincost_change *change)
{
    return change->kind == MINCOST_NODE || change->kind == MINCOST_NODE_GONE;
}

ALWAYS_INLINE void ask_node_tables(const struct mincost *m, uint32_t node)
{
    if (node >= m->nodes_allocated)
        return;
    graph_prefetch_node(m, node);
    __builtin_prefetch(&m->price[node]);
    __builtin_prefetch(&m->posted[node]);
    __builtin_prefetch(&m->excess[node]);
    __builtin_prefetch(&m->supply[node]);
    __builtin_prefetch(&m->labels[node]);
}

static void ask_records(const struct mincost *m, const struct chunk *chunk)
{
    for (size_t i = 0; i < chunk->count; i++) {
        const struct mincost_change *change = &chunk->changes[i];
        if (is_of_node(change)) {
            ask_node_tables(m, change->id);
            continue;
        }
        if (change->id < m->arcs_allocated) {
            graph_prefetch_arc(m, change->id);
            __builtin_prefetch(&m->arc_bits[change->id]);
        }
        if (change->kind == MINCOST_ARC && change->head < m->nodes_allocated)
            graph_prefetch_node(m, change->head);
    }
}

static bool is_of_present_arc(const struct mincost *m, const struct mincost_change *change)
{
    return !is_of_node(change) && change->kind != MINCOST_ARC && arc_is_present(m, change->id);
}

static void ask_halves(const struct mincost *m, const struct chunk *chunk)
{
    for (size_t i = 0; i < chunk->count; i++) {
        if (!is_of_present_arc(m, &chunk->changes[i]))
            continue;
        const struct arc *arc = &m->arcs[chunk->changes[i].id];
        __builtin_prefetch(&m->halves[arc->pos[0]]);
        __builtin_prefetch(&m->halves[arc->pos[1]]);
    }
}

static void find_ends(const struct mincost *m, const struct mincost_change *change,
                      struct look *look)
{
    *look = (struct look){{NO_NODE, NO_NODE}};
    if (is_of_present_arc(m, change))
        *look = (struct look){{arc_tail(m, change->id), arc_head(m, change->id)}};
    else if (change->kind == MINCOST_ARC && node_is_present(m, change->tail) &&
             node_is_present(m, change->head))
        *look = (struct look){{change->tail, change->head}};
}

static void ask_ends(const struct mincost *m, const struct chunk *chunk)
{
    for (size_t i = 0; i < chunk->count; i++) {
        find_ends(m, &chunk->changes[i], &chunk->looks[i]);
        for (int side = 0; side < 2; side++)
            graph_prefetch_node(m, chunk->looks[i].ends[side]);
    }
}

/* Nearly all halves are residual or have a residual mate: a half that goes is replaced by the last
 * residual one or the last of all; a half that comes is put behind all. */
static void ask_borders(const struct mincost *m, const struct chunk *chunk)
{
    for (size_t i = 0; i < chunk->count; i++)
        for (int side = 0; side < 2; side++) {
            const struct node *node = &m->nodes[chunk->looks[i].ends[side]];
            __builtin_prefetch(&m->halves[node->start + node->end[3]]);
            __builtin_prefetch(&m->halves[node->start + node->end[0]]);
        }
}

ALWAYS_INLINE void ask_arc_before(const struct mincost *m, const struct node *node, uint32_t border)
{
    if (border)
        graph_prefetch_arc(m, half_arc(&m->halves[node->start + border - 1]));
}

static void ask_movers(const struct mincost *m, const struct chunk *chunk)
{
    for (size_t i = 0; i < chunk->count; i++) {
        if (chunk->changes[i].kind != MINCOST_ARC_GONE)
            continue;
        for (int side = 0; side < 2; side++) {
            const struct node *node = &m->nodes[chunk->looks[i].ends[side]];
            ask_arc_before(m, node, node->end[0]);
            ask_arc_before(m, node, node->end[3]);
        }
    }
}

static int make_change(struct mincost *m, const struct mincost_change *c)
{
    switch (c->kind) {
    case MINCOST_NODE:
        return mincost_set_node(m, c->id, c->cost);
    case MINCOST_NODE_GONE:
        return mincost_remove_node(m, c->id);
    case MINCOST_ARC:
        return mincost_add_arc(m, c->id, c->tail, c->head, c->lower, c->capacity, c->cost);
    case MINCOST_ARC_MODIFIED:
        return mincost_modify_arc(m, c->id, c->lower, c->capacity, c->cost);
    case MINCOST_ARC_GONE:
        return mincost_remove_arc(m, c->id);
    }
    return -EINVAL;
}

/* Step s looks at chunk s in the first stage, at chunk s − 1 in the second and so on, and makes the
 * changes of chunk s − STAGES. */
int mincost_apply(struct mincost *m, const struct mincost_change *changes, size_t count,
                  size_t *ret_done)
{
    static void (*const stages[STAGES])(const struct mincost *, const struct chunk *) = {
        ask_records, ask_halves, ask_ends, ask_borders, ask_movers};
    struct look looks[WINDOW];
    size_t done = 0, chunks = (count + CHUNK - 1) / CHUNK;
    int error = 0;
    for (size_t step = 0; done < count && !error; step++) {
        for (size_t s = 0; s < STAGES && s <= step; s++) {
            size_t first = (step - s) * CHUNK;
            if (step - s < chunks)
                stages[s](m, &(struct chunk){changes + first, looks + first % WINDOW,
                                             first + CHUNK < count ? CHUNK : count - first});
        }
        for (size_t k = 0; k < CHUNK && step >= STAGES && done < count && !error; k++) {
            error = make_change(m, &changes[done]);
            done += !error;
        }
    }
    if (ret_done)
        *ret_done = done;
    return error;
}
