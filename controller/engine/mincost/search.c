#include <errno.h>

#include "controller/engine/mincost/hubs.h"
#include "controller/engine/mincost/queue.h"
#include "controller/engine/mincost/search.h"

#define FAR INT64_MAX

/* On stack and queue: not a node reached but a hub to go on reading. */
#define MORE_OF_HUB (UINT32_C(1) << 31)

/* In a label's `via`: the node is done with. A task put off may stand in the queue twice with one
 * key. */
#define SETTLED (UINT32_C(1) << 31)

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

/* The same downwards, for searches that come to the task from behind. */
INLINE int64_t loosen_leaf(struct mincost *m, uint32_t v)
{
    const struct node *node = &m->nodes[v];
    const struct half *half = m->halves + node->start + node->end[0];
    const struct half *stop = m->halves + node->start + node->end[2];
    int64_t best = -FAR;
    m->work += node->end[2] - node->end[0];
    for (; half < stop; half++) {
        int64_t through = half->cost + m->price[half->head];
        if (through > best)
            best = through;
    }
    int64_t fall = best == -FAR ? 0 : m->price[v] - best;
    m->price[v] -= fall;
    return fall;
}

INLINE bool is_stale(const struct mincost *m, struct queue_entry entry)
{
    const struct label *label = &m->labels[entry.node];
    return label->distance != entry.key || (label->via & SETTLED);
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
        if (!(entry.node & MORE_OF_HUB) && is_stale(m, entry))
            continue;
        quest->distance = entry.key;
        return entry.node;
    }
    return NO_NODE;
}

/* Reads a hub's heap as far as the search has come. What lies at this very distance is followed
 * before more is read. */
INLINE void read_hub(struct mincost *m, struct quest *quest, uint32_t v)
{
    bool forward = quest->direction == FORWARD;
    enum hub_side side = forward ? HUB_OUT : HUB_IN;
    struct hub *hub = &m->hubs[m->nodes[v].hub - 1];
    int64_t base = m->labels[v].distance + (forward ? -m->price[v] : m->price[v]);
    int64_t key;
    while (hub_least(m, hub, side, &key) && base + key < quest->bound) {
        if (base + key > quest->distance) {
            queue_put(m, base + key, v | MORE_OF_HUB);
            return;
        }
        uint32_t arc;
        if (!hub_next(m, hub, side, &arc, &key) || base + key >= quest->bound)
            continue;
        bool here = base + key == quest->distance;
        if (here)
            list_add(m, &m->stack, v | MORE_OF_HUB);
        reach(m, quest, arc_tail(m, arc), base + key, arc << 1 | forward);
        if (here)
            return;
    }
}

INLINE void scan_links(struct mincost *m, struct quest *quest, uint32_t v)
{
    bool forward = quest->direction == FORWARD;
    const struct hub *hub = &m->hubs[m->nodes[v].hub - 1];
    const struct hub_link *link = hub->links, *stop = link + hub->link_count;
    int64_t base = quest->distance + (forward ? -m->price[v] : m->price[v]);
    m->work += hub->link_count;
    for (; link < stop; link++) {
        int64_t through = link->cost + m->price[link->head];
        int64_t distance = forward ? base + through : base - through;
        uint32_t via = forward ? link->via : link->via ^ 1;
        if (distance < quest->bound && distance >= quest->distance &&
            arc_residual(&m->arcs[via >> 1], via & 1) > 0)
            reach(m, quest, link->head, distance, via);
    }
}

INLINE void visit_hub(struct mincost *m, struct quest *quest, uint32_t v)
{
    hub_start(m, &m->hubs[m->nodes[v].hub - 1], quest->direction == FORWARD ? HUB_OUT : HUB_IN);
    scan_links(m, quest, v);
    if (quest->bound > quest->distance)
        read_hub(m, quest, v);
}

/* Prices a task where it truly lies. Whether it lies farther than here; then it waits in the queue.
 */
INLINE bool put_off_leaf(struct mincost *m, struct quest *quest, uint32_t v)
{
    bool forward = quest->direction == FORWARD;
    int64_t by = forward ? tighten_leaf(m, v) : loosen_leaf(m, v);
    if (by <= 0)
        return false;
    if (forward)
        hub_leaf_rose(m, v);
    else
        hub_leaf_fell(m, v);
    m->labels[v].distance = quest->distance + by;
    if (m->labels[v].distance < quest->bound)
        queue_put(m, m->labels[v].distance, v);
    return true;
}

INLINE void visit(struct mincost *m, struct quest *quest, uint32_t v)
{
    if (node_is_leaf(&m->nodes[v]) && put_off_leaf(m, quest, v))
        return;
    list_add(m, &m->settled, v);
    m->labels[v].via |= SETTLED;
    scan_sink_arc(m, quest, v);
    if (quest->bound <= quest->distance)
        return;
    if (m->nodes[v].hub)
        visit_hub(m, quest, v);
    else
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
        if (v & MORE_OF_HUB)
            read_hub(m, quest, v & ~MORE_OF_HUB);
        else
            visit(m, quest, v);
}

/* Prices of nodes nearer than the counterpart move until the way to it costs nothing. */
INLINE void move_prices(struct mincost *m, const struct quest *quest)
{
    for (uint32_t i = 0; i < m->settled.count; i++) {
        uint32_t v = m->settled.items[i];
        int64_t by = quest->bound - m->labels[v].distance;
        m->price[v] += quest->direction == FORWARD ? by : -by;
        if (!node_is_leaf(&m->nodes[v]))
            continue;
        if (quest->direction == FORWARD)
            hub_leaf_rose(m, v);
        else
            hub_leaf_fell(m, v);
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
        uint32_t via = m->labels[v].via & ~SETTLED;
        int64_t residual = arc_residual(&m->arcs[via >> 1], via & 1);
        if (residual < amount)
            amount = residual;
        v = previous_node(m, quest->direction, via);
    }
    for (uint32_t v = quest->target; v != start;) {
        uint32_t via = m->labels[v].via & ~SETTLED;
        v = previous_node(m, quest->direction, via);
        graph_push(m, via >> 1, via & 1, amount);
    }
}

INLINE int balance(struct mincost *m, enum direction direction, uint32_t start)
{
    while (m->excess[start] != 0) {
        if (m->work_budget && m->work > m->work_budget)
            return -EAGAIN;
        if (m->hubs_stale && hubs_prepare(m))
            return m->failed;
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
