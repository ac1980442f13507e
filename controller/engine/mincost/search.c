#include <errno.h>

#include "controller/engine/mincost/queue.h"
#include "controller/engine/mincost/search.h"

#define FAR INT64_MAX

enum direction { FORWARD, BACKWARD };

/* What is on the way from the start of a search to its counterpart. */
struct quest {
    enum direction direction;
    int64_t bound;    /* distance of the counterpart found so far */
    uint32_t target;  /* that counterpart, or NO_NODE */
    int64_t distance; /* of the node that is being scanned */
};

#define INLINE static inline __attribute__((always_inline))

INLINE bool is_counterpart(const struct mincost *m, enum direction direction, uint32_t node)
{
    return node == m->sink || (direction == FORWARD ? m->excess[node] < 0 : m->excess[node] > 0);
}

/* A shorter way to `w`. Nodes at the distance of the one being scanned skip the heap. */
INLINE void reach(struct mincost *m, struct quest *quest, uint32_t w, int64_t distance,
                  uint32_t via)
{
    struct label *label = &m->labels[w];
    if (label->stamp == m->stamp && label->distance <= distance)
        return;
    *label = (struct label){distance, via, m->stamp};
    if (is_counterpart(m, quest->direction, w)) {
        quest->bound = distance;
        quest->target = w;
    } else if (distance == quest->distance) {
        list_add(m, &m->stack, w);
    } else {
        queue_put(m, distance, w);
    }
}

/* The flow's own side of a half: backward searches walk its mate. */
INLINE uint32_t via_of(enum direction direction, const struct half *half)
{
    uint32_t side = half->ref & HALF_AT_HEAD;
    return half_arc(half) << 1 | (direction == FORWARD ? side : side ^ 1);
}

INLINE void scan(struct mincost *m, struct quest *quest, uint32_t v)
{
    const struct node *node = &m->nodes[v];
    bool forward = quest->direction == FORWARD;
    const struct half *half = m->halves + node->start + (forward ? 0 : node->end[0]);
    const struct half *stop = m->halves + node->start + node->end[forward ? 1 : 2];
    int64_t base = quest->distance + (forward ? -m->price[v] : m->price[v]);
    m->work += (uint64_t)(stop - half);
    for (; half < stop; half++) {
        int64_t through = half->cost + m->price[half->head];
        int64_t distance = forward ? base + through : base - through;
        if (distance >= quest->bound)
            continue;
        reach(m, quest, half->head, distance, via_of(quest->direction, half));
        if (quest->bound == quest->distance)
            return;
    }
}

/* The arc to the sink first: it bounds all others. */
INLINE void scan_sink_arc(struct mincost *m, struct quest *quest, uint32_t v)
{
    uint32_t arc = m->nodes[v].sink_arc;
    if (arc == NO_ARC)
        return;
    bool forward = quest->direction == FORWARD;
    if (arc_residual(&m->arcs[arc], forward ? 0 : 1) <= 0)
        return;
    int64_t reduced = arc_cost(m, arc) - m->price[v] + m->price[m->sink];
    int64_t distance = quest->distance + (forward ? reduced : -reduced);
    if (distance < quest->bound)
        reach(m, quest, m->sink, distance, arc << 1 | (forward ? 0 : 1));
}

/* Raises the price of a task to what its best residual arc allows, so that it is scanned only where
 * it truly lies. Returns by how much. */
INLINE int64_t tighten_leaf(struct mincost *m, uint32_t v)
{
    const struct node *node = &m->nodes[v];
    const struct half *half = m->halves + node->start, *stop = half + node->end[1];
    int64_t best = FAR;
    m->work += node->end[1];
    for (; half < stop; half++) {
        int64_t through = half->cost + m->price[half->head];
        if (through < best)
            best = through;
    }
    int64_t rise = best == FAR ? 0 : best - m->price[v];
    m->price[v] += rise;
    return rise;
}

/* The next node to scan, or NO_NODE when all that are nearer than the counterpart have been. */
INLINE uint32_t next_node(struct mincost *m, struct quest *quest)
{
    if (m->stack.count)
        return m->stack.items[--m->stack.count];
    while (m->queue.count) {
        struct queue_entry entry = queue_take(&m->queue);
        if (entry.key >= quest->bound)
            return NO_NODE;
        if (m->labels[entry.node].distance != entry.key)
            continue;
        quest->distance = entry.key;
        return entry.node;
    }
    return NO_NODE;
}

INLINE void visit(struct mincost *m, struct quest *quest, uint32_t v)
{
    if (quest->direction == FORWARD && node_is_leaf(&m->nodes[v])) {
        int64_t rise = tighten_leaf(m, v);
        if (rise > 0) {
            m->labels[v].distance = quest->distance + rise;
            if (m->labels[v].distance < quest->bound)
                queue_put(m, m->labels[v].distance, v);
            return;
        }
    }
    list_add(m, &m->settled, v);
    scan_sink_arc(m, quest, v);
    if (quest->bound > quest->distance)
        scan(m, quest, v);
}

INLINE void run(struct mincost *m, struct quest *quest, uint32_t start)
{
    m->stack.count = m->queue.count = m->settled.count = 0;
    m->stamp++;
    m->searches++;
    m->labels[start] = (struct label){0, 0, m->stamp};
    for (uint32_t v = start; v != NO_NODE && quest->bound > quest->distance;
         v = next_node(m, quest))
        visit(m, quest, v);
}

/* Prices of nodes nearer than the counterpart move until the way to it costs nothing. */
INLINE void move_prices(struct mincost *m, const struct quest *quest)
{
    for (uint32_t i = 0; i < m->settled.count; i++) {
        uint32_t v = m->settled.items[i];
        int64_t by = quest->bound - m->labels[v].distance;
        m->price[v] += quest->direction == FORWARD ? by : -by;
    }
}

static uint32_t previous_node(const struct mincost *m, enum direction direction, uint32_t via)
{
    bool mate = via & 1;
    return mate == (direction == FORWARD) ? arc_head(m, via >> 1) : arc_tail(m, via >> 1);
}

static int64_t absolute(int64_t value)
{
    return value < 0 ? -value : value;
}

static void send(struct mincost *m, const struct quest *quest, uint32_t start)
{
    int64_t amount = absolute(m->excess[start]);
    if (quest->target != m->sink && absolute(m->excess[quest->target]) < amount)
        amount = absolute(m->excess[quest->target]);
    for (uint32_t v = quest->target; v != start;) {
        uint32_t via = m->labels[v].via;
        int64_t residual = arc_residual(&m->arcs[via >> 1], via & 1);
        if (residual < amount)
            amount = residual;
        v = previous_node(m, quest->direction, via);
    }
    for (uint32_t v = quest->target; v != start;) {
        uint32_t via = m->labels[v].via;
        v = previous_node(m, quest->direction, via);
        graph_push(m, via >> 1, via & 1, amount);
    }
}

INLINE int balance(struct mincost *m, enum direction direction, uint32_t start)
{
    while (m->excess[start] != 0) {
        if (m->work_budget && m->work > m->work_budget)
            return -EAGAIN;
        struct quest quest = {.direction = direction, .bound = FAR};
        run(m, &quest, start);
        if (m->failed)
            return m->failed;
        if (quest.target == NO_NODE)
            return -EDOM;
        move_prices(m, &quest);
        send(m, &quest, start);
    }
    return 0;
}

int search_from_excess(struct mincost *m, uint32_t node)
{
    return balance(m, FORWARD, node);
}

int search_from_deficit(struct mincost *m, uint32_t node)
{
    return balance(m, BACKWARD, node);
}
