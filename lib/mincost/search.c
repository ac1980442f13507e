#include <errno.h>

#include "lib/mincost/hubs.h"
#include "lib/mincost/search.h"

#define FAR INT64_MAX

/* In a queue: not a node reached but one to go on reading. */
#define MORE (UINT32_C(1) << 31)

/* In a label's `via`: the node is done with. A task put off may stand in the queue twice with one
 * key. */
#define SETTLED (UINT32_C(1) << 31)

/* How much farther than the search has come halves are followed at once; the others wait, since
 * most searches end before they count. */
enum { WINDOW = 4 };

enum direction { FORWARD, BACKWARD };

/* The path from the start of a search to its counterpart. */
struct quest {
    enum direction direction;
    int64_t bound;    /* distance of the counterpart found so far */
    uint32_t target;  /* that counterpart, or NO_NODE */
    int64_t distance; /* of the node that is being scanned */
    int64_t next;     /* of its nearest half that was not followed yet, at most the bound */
};

#define INLINE static inline __attribute__((always_inline))

INLINE bool is_counterpart(const struct mincost *m, enum direction direction, uint32_t node)
{
    if (node == m->sink || node == m->depot)
        return true;
    if (!(m->nodes[node].bits & NODE_UNBALANCED))
        return false;
    return direction == FORWARD ? m->excess[node] < 0 : m->excess[node] > 0;
}

INLINE void enqueue(struct mincost *m, int64_t key, uint32_t node)
{
    if (key < DIAL_KEYS)
        dial_put(m, &m->dial, (uint32_t)key, node);
    else
        queue_put(m, &m->queue, key, node);
}

/* A shorter way to `w`. */
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
    } else {
        graph_prefetch_node(m, w);
        enqueue(m, distance, w);
    }
}

/* The flow's own side of a half: backward searches walk its mate. */
INLINE uint32_t via_of(enum direction direction, const struct half *half)
{
    uint32_t side = half->ref & HALF_AT_HEAD;
    return half_arc(half) << 1 | (direction == FORWARD ? side : side ^ 1);
}

/* Follows the halves of `v` that lie as far as the search has come or up to `window` farther, and
 * sets quest->next to the distance of the nearest of the others. Returns whether any was followed.
 * Halves to the sink are followed at any distance: they bound all others. */
INLINE bool scan(struct mincost *m, struct quest *quest, uint32_t v, int64_t window)
{
    const struct node *node = &m->nodes[v];
    bool forward = quest->direction == FORWARD;
    const struct half *half = m->halves + node->start + (forward ? 0 : node->end[0]);
    const struct half *stop = m->halves + node->start + node->end[forward ? 1 : 2];
    int64_t base = m->labels[v].distance + (forward ? -m->price[v] : m->price[v]);
    int64_t reached = quest->distance + window, next = quest->bound;
    bool any = false;
    m->work += (uint64_t)(stop - half);
    for (; half < stop; half++) {
        int64_t through = half_cost(m, half) + m->price[half->head];
        int64_t distance = forward ? base + through : base - through;
        if (distance >= next || distance < quest->distance)
            continue;
        if (distance > reached && half->head != m->sink) {
            next = distance;
            continue;
        }
        any = true;
        reach(m, quest, half->head, distance, via_of(quest->direction, half));
        if (quest->bound < next)
            next = quest->bound;
        if (next == quest->distance)
            break;
    }
    quest->next = next;
    return any;
}

INLINE bool is_stale(const struct mincost *m, int64_t key, uint32_t v)
{
    const struct label *label = &m->labels[v];
    return label->distance != key || (label->via & SETTLED);
}

/* The next node to scan, or NO_NODE when all that are nearer than the counterpart have been. */
INLINE uint32_t next_node(struct mincost *m, struct quest *quest)
{
    uint32_t v, near;
    while (dial_take(&m->dial, &near, &v)) {
        if (near >= quest->bound)
            return NO_NODE;
        if (!(v & MORE) && is_stale(m, near, v))
            continue;
        quest->distance = near;
        uint32_t after = dial_peek(&m->dial, near);
        if (after != NO_NODE)
            graph_prefetch_halves(m, after & ~MORE);
        return v;
    }
    while (m->queue.count) {
        struct queue_entry entry = queue_take(&m->queue);
        if (entry.key >= quest->bound)
            return NO_NODE;
        if (!(entry.node & MORE) && is_stale(m, entry.key, entry.node))
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
            enqueue(m, base + key, v | MORE);
            return;
        }
        uint32_t arc;
        if (!hub_next(m, hub, side, &arc, &key) || base + key >= quest->bound)
            continue;
        bool here = base + key == quest->distance;
        if (here)
            enqueue(m, quest->distance, v | MORE);
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

/* Prices a task where it truly lies, which is farther than here; it waits in the queue till then.
 */
INLINE void put_off_leaf(struct mincost *m, struct quest *quest, uint32_t v)
{
    bool forward = quest->direction == FORWARD;
    int64_t by = quest->next - quest->distance;
    m->price[v] += forward ? by : -by;
    if (forward)
        hub_leaf_rose(m, v);
    else
        hub_leaf_fell(m, v);
    m->labels[v].distance = quest->next;
    if (quest->next < quest->bound)
        enqueue(m, quest->next, v);
}

INLINE void settle(struct mincost *m, uint32_t v)
{
    list_add(m, &m->settled, v);
    m->labels[v].via |= SETTLED;
}

INLINE void visit(struct mincost *m, struct quest *quest, uint32_t v)
{
    bool leaf = node_is_leaf(&m->nodes[v]);
    if (m->nodes[v].hub) {
        settle(m, v);
        visit_hub(m, quest, v);
        return;
    }
    if (!scan(m, quest, v, leaf ? 0 : WINDOW) && leaf && quest->next < FAR) {
        put_off_leaf(m, quest, v);
        return;
    }
    settle(m, v);
    if (quest->next < quest->bound)
        enqueue(m, quest->next, v | MORE);
}

INLINE void visit_again(struct mincost *m, struct quest *quest, uint32_t v)
{
    if (m->nodes[v].hub) {
        read_hub(m, quest, v);
        return;
    }
    scan(m, quest, v, WINDOW);
    if (quest->next < quest->bound)
        enqueue(m, quest->next, v | MORE);
}

INLINE void visit_from(struct mincost *m, struct quest *quest, uint32_t v)
{
    while (v != NO_NODE) {
        if (v & MORE)
            visit_again(m, quest, v & ~MORE);
        else
            visit(m, quest, v);
        v = quest->bound > quest->distance ? next_node(m, quest) : NO_NODE;
    }
}

INLINE void run(struct mincost *m, struct quest *quest, uint32_t start)
{
    m->queue.count = m->settled.count = 0;
    dial_clear(&m->dial);
    m->stamp++;
    m->searches++;
    m->labels[start] = (struct label){0, 0, m->stamp};
    visit_from(m, quest, start);
}

/* Prices of nodes nearer than the counterpart move until the way to it costs nothing. */
INLINE void move_prices(struct mincost *m, const struct quest *quest)
{
    for (uint32_t i = 0; i < m->settled.count; i++) {
        uint32_t v = m->settled.items[i];
        int64_t by = quest->bound - m->labels[v].distance;
        m->labels[v].distance = quest->bound;
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

/* How much the way to the counterpart takes; 0 when what was sent before closed it. */
static int64_t path_residual(const struct mincost *m, const struct quest *quest, uint32_t start)
{
    int64_t amount = absolute(m->excess[start]);
    bool takes_all = quest->target == m->sink || quest->target == m->depot;
    if (!takes_all && absolute(m->excess[quest->target]) < amount)
        amount = absolute(m->excess[quest->target]);
    for (uint32_t v = quest->target; v != start;) {
        uint32_t via = m->labels[v].via & ~SETTLED;
        int64_t residual = arc_residual(&m->arcs[via >> 1], via & 1);
        if (residual < amount)
            amount = residual;
        v = previous_node(m, quest->direction, via);
    }
    return amount;
}

static void send(struct mincost *m, const struct quest *quest, uint32_t start, int64_t amount)
{
    for (uint32_t v = quest->target; v != start;) {
        uint32_t via = m->labels[v].via & ~SETTLED;
        v = previous_node(m, quest->direction, via);
        graph_push(m, via >> 1, via & 1, amount);
    }
}

/* Goes on among the nodes that are as near as the last counterpart, by the same labels: what was
 * sent only closed ways. Returns the room of the way to one more, or 0. */
INLINE int64_t run_on(struct mincost *m, struct quest *quest, uint32_t start)
{
    int64_t residual = 0;
    while (residual == 0 && quest->distance == quest->bound) {
        m->labels[quest->target].stamp = 0;
        quest->target = NO_NODE;
        quest->bound++;
        visit_from(m, quest, next_node(m, quest));
        if (quest->target != NO_NODE)
            residual = path_residual(m, quest, start);
    }
    return residual;
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
        int64_t residual = path_residual(m, &quest, start);
        while (residual > 0) {
            send(m, &quest, start, residual);
            residual = m->excess[start] ? run_on(m, &quest, start) : 0;
        }
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
