#include "lib/mincost/hubs.h"

#include <errno.h>
#include <stdlib.h>

#define KEY_GONE INT32_MAX /* of an entry that is not true any more */

enum { SPARE_ENTRIES = 64, POST_PART = 32 };

static struct hub *find_hub(const struct mincost *m, uint32_t node)
{
    uint16_t hub = m->nodes[node].hub;
    return hub ? &m->hubs[hub - 1] : NULL;
}

static int32_t short_key(const struct mincost *m, int64_t key)
{
    key >>= m->key_shift;
    if (key <= INT32_MIN)
        return INT32_MIN;
    return key >= KEY_GONE ? KEY_GONE - 1 : (int32_t)key;
}

/* Of a hub's half. */
static int64_t half_key(const struct mincost *m, const struct half *half, enum hub_side side)
{
    int64_t key = half_cost(m, half) + m->price[half->head];
    return side == HUB_OUT ? key : -key;
}

/* Hubs are at the head of the arcs in their heaps, since no arcs lead to tasks. */
static int64_t true_key(const struct mincost *m, uint32_t arc, enum hub_side side)
{
    return half_key(m, &m->halves[m->arcs[arc].pos[1]], side);
}

static bool is_true(const struct mincost *m, const struct hub *hub, uint32_t arc,
                    enum hub_side side)
{
    if (!(m->arc_bits[arc] & ARC_PRESENT) || arc_head(m, arc) != hub->node)
        return false;
    uint32_t bit = side == HUB_OUT ? HALF_RESIDUAL : HALF_MATE_RESIDUAL;
    return m->halves[m->arcs[arc].pos[1]].ref & bit;
}

static void sift_down(struct hub_heap *heap, uint32_t i)
{
    struct hub_entry *items = heap->items, moving = items[i];
    for (uint32_t child; (child = 2 * i + 1) < heap->ordered; i = child) {
        if (child + 1 < heap->ordered && items[child + 1].key < items[child].key)
            child++;
        if (items[child].key >= moving.key)
            break;
        items[i] = items[child];
    }
    items[i] = moving;
}

static void sift_up(struct hub_heap *heap, uint32_t i)
{
    struct hub_entry *items = heap->items, moving = items[i];
    for (; i > 0 && items[(i - 1) / 2].key > moving.key; i = (i - 1) / 2)
        items[i] = items[(i - 1) / 2];
    items[i] = moving;
}

static int reserve_entries(struct mincost *m, struct hub_heap *heap, uint32_t count)
{
    if (count <= heap->allocated)
        return 0;
    void *grown = memory_resize(m, heap->items, heap->allocated, count, sizeof *heap->items);
    if (!grown)
        return m->failed = -ENOMEM;
    heap->items = grown;
    heap->allocated = count;
    return 0;
}

/* Backward keys hold for every price up to the posted one. */
static int64_t safe_key(const struct mincost *m, uint32_t arc, enum hub_side side)
{
    const struct half *half = &m->halves[m->arcs[arc].pos[1]];
    return side == HUB_OUT ? half_cost(m, half) + m->price[half->head]
                           : -(half_cost(m, half) + m->posted[half->head]);
}

/* False when half of what is in a full heap is not true any more, or memory is short. */
static bool make_room(struct mincost *m, const struct hub *hub, struct hub_heap *heap)
{
    uint32_t degree = node_degree(&m->nodes[hub->node]);
    uint32_t most = degree + degree / 2 + SPARE_ENTRIES;
    uint32_t allocated = heap->allocated + heap->allocated / 4 + SPARE_ENTRIES;
    if (heap->count < heap->allocated)
        return true;
    return heap->allocated < most &&
           reserve_entries(m, heap, allocated < most ? allocated : most) == 0;
}

static void insert(struct mincost *m, struct hub *hub, enum hub_side side, uint32_t arc)
{
    struct hub_heap *heap = &hub->heaps[side];
    if (hub->stale)
        return;
    if (!make_room(m, hub, heap)) {
        m->hubs_stale = hub->stale = true;
        return;
    }
    heap->items[heap->count++] = (struct hub_entry){short_key(m, safe_key(m, arc, side)), arc};
}

void hub_leaf_rose(struct mincost *m, uint32_t leaf)
{
    if (m->price[leaf] <= m->posted[leaf] || !m->hub_count)
        return;
    m->posted[leaf] = m->price[leaf] + m->post_ahead;
    const struct node *node = &m->nodes[leaf];
    const struct half *half = m->halves + node->start, *stop = half + node->end[1];
    for (; half < stop; half++)
        if (half->ref & HALF_TO_HUB)
            insert(m, find_hub(m, half->head), HUB_IN, half_arc(half));
}

void hub_leaf_fell(struct mincost *m, uint32_t leaf)
{
    if (!m->hub_count)
        return;
    const struct node *node = &m->nodes[leaf];
    const struct half *half = m->halves + node->start + node->end[0];
    const struct half *stop = m->halves + node->start + node->end[2];
    for (; half < stop; half++)
        if (half->ref & HALF_TO_HUB)
            insert(m, find_hub(m, half->head), HUB_OUT, half_arc(half));
}

void hub_arc_flowed(struct mincost *m, uint32_t arc)
{
    const struct half *half = &m->halves[m->arcs[arc].pos[0]];
    if (!(half->ref & HALF_TO_HUB))
        return;
    uint32_t leaf = arc_tail(m, arc);
    if (m->price[leaf] > m->posted[leaf])
        m->posted[leaf] = m->price[leaf];
    if (half->ref & HALF_RESIDUAL)
        insert(m, find_hub(m, half->head), HUB_IN, arc);
    if (half->ref & HALF_MATE_RESIDUAL)
        insert(m, find_hub(m, half->head), HUB_OUT, arc);
}

static void make_stale(struct mincost *m, uint32_t node)
{
    struct hub *hub = find_hub(m, node);
    if (hub)
        m->hubs_stale = hub->stale = true;
}

/* On both halves. */
static void mark_arc(struct mincost *m, uint32_t arc, bool to_hub)
{
    for (int side = 0; side < 2; side++) {
        uint32_t *ref = &m->halves[m->arcs[arc].pos[side]].ref;
        *ref = (*ref & ~(uint32_t)HALF_TO_HUB) | (to_hub ? HALF_TO_HUB : 0);
    }
}

/* Whether a hub's half comes from a task, as far as its marks tell. */
static bool is_marked(const struct half *half)
{
    return (half->ref & (HALF_TO_HUB | HALF_AT_HEAD)) == (HALF_TO_HUB | HALF_AT_HEAD);
}

/* A task that gets an arc to it is none any more: it must move to the lists of its hubs. */
static void leave_heaps(struct mincost *m, uint32_t node)
{
    const struct node *n = &m->nodes[node];
    for (uint32_t i = 0; i < node_degree(n); i++) {
        const struct half *half = &m->halves[n->start + i];
        if (!(half->ref & HALF_TO_HUB))
            continue;
        make_stale(m, half->head);
        mark_arc(m, half_arc(half), false);
    }
}

static int add_link(struct mincost *m, struct hub *hub, const struct half *half)
{
    if (hub->link_count == hub->link_allocated) {
        uint32_t allocated = hub->link_allocated * 2 + 64;
        void *grown =
            memory_resize(m, hub->links, hub->link_allocated, allocated, sizeof *hub->links);
        if (!grown)
            return m->failed = -ENOMEM;
        hub->links = grown;
        hub->link_allocated = allocated;
    }
    hub->links[hub->link_count++] = (struct hub_link){
        half_cost(m, half), half->head, half_arc(half) << 1 | (half->ref & HALF_AT_HEAD)};
    return 0;
}

static struct hub_link *find_link(const struct hub *hub, uint32_t via)
{
    for (uint32_t i = 0; i < hub->link_count; i++)
        if (hub->links[i].via == via)
            return &hub->links[i];
    return NULL;
}

/* The hub that the node is, if it is one and its list is in use. */
static struct hub *hub_with_links(const struct mincost *m, uint32_t node)
{
    struct hub *hub = find_hub(m, node);
    return hub && !hub->stale ? hub : NULL;
}

static void link_added(struct mincost *m, uint32_t node, uint32_t arc, uint32_t side)
{
    struct hub *hub = hub_with_links(m, node);
    if (!hub)
        return;
    if (hub->link_count < HUB_LINKS)
        add_link(m, hub, &m->halves[m->arcs[arc].pos[side]]);
    else
        m->hubs_stale = hub->stale = true;
}

static void link_changed(struct mincost *m, uint32_t node, uint32_t arc, uint32_t side)
{
    struct hub *hub = hub_with_links(m, node);
    struct hub_link *link = hub ? find_link(hub, arc << 1 | side) : NULL;
    if (link)
        link->cost = half_cost(m, &m->halves[m->arcs[arc].pos[side]]);
}

static void link_removed(struct mincost *m, uint32_t node, uint32_t arc, uint32_t side)
{
    struct hub *hub = hub_with_links(m, node);
    struct hub_link *link = hub ? find_link(hub, arc << 1 | side) : NULL;
    if (link)
        *link = hub->links[--hub->link_count];
}

void hub_arc_added(struct mincost *m, uint32_t arc, uint32_t tail, uint32_t head)
{
    if (m->nodes[head].in_arcs == 1)
        leave_heaps(m, head);
    if (node_degree(&m->nodes[head]) == HUB_DEGREE || node_degree(&m->nodes[tail]) == HUB_DEGREE)
        m->hubs_wanted = true;
    link_added(m, tail, arc, 0);
    if (!m->nodes[head].hub)
        return;
    if (!node_is_leaf(&m->nodes[tail])) {
        link_added(m, head, arc, 1);
        return;
    }
    mark_arc(m, arc, true);
    if (m->price[tail] != NO_PRICE)
        hub_arc_flowed(m, arc);
}

void hub_arc_changed(struct mincost *m, uint32_t arc, uint32_t tail, uint32_t head)
{
    link_changed(m, tail, arc, 0);
    if (!(m->halves[m->arcs[arc].pos[0]].ref & HALF_TO_HUB))
        link_changed(m, head, arc, 1);
    else if (m->price[tail] != NO_PRICE)
        hub_arc_flowed(m, arc);
}

void hub_arc_removed(struct mincost *m, uint32_t arc, uint32_t tail, uint32_t head)
{
    link_removed(m, tail, arc, 0);
    if (!(m->halves[m->arcs[arc].pos[0]].ref & HALF_TO_HUB))
        link_removed(m, head, arc, 1);
}

void hub_drop(struct mincost *m, uint32_t node)
{
    struct hub *hub = find_hub(m, node);
    if (!hub)
        return;
    const struct node *n = &m->nodes[node];
    for (uint32_t i = 0; i < node_degree(n); i++)
        if (is_marked(&m->halves[n->start + i]))
            mark_arc(m, half_arc(&m->halves[n->start + i]), false);
    hub->node = NO_NODE;
    m->nodes[node].hub = 0;
    m->hub_count--;
}

static int make_hub(struct mincost *m, uint32_t node)
{
    uint32_t i = 0;
    while (i < m->hub_allocated && m->hubs[i].node != NO_NODE)
        i++;
    if (i == UINT16_MAX)
        return 0;
    if (i == m->hub_allocated) {
        uint32_t allocated = m->hub_allocated * 2 + 16;
        struct hub *grown = memory_resize(m, m->hubs, m->hub_allocated, allocated, sizeof *grown);
        if (!grown)
            return m->failed = -ENOMEM;
        for (uint32_t k = m->hub_allocated; k < allocated; k++)
            grown[k] = (struct hub){0};
        m->hubs = grown;
        m->hub_allocated = allocated;
    }
    m->hubs[i].node = node;
    m->hubs_stale = m->hubs[i].stale = true;
    m->nodes[node].hub = (uint16_t)(i + 1);
    m->hub_count++;
    return 0;
}

static void append(struct mincost *m, struct hub *hub, enum hub_side side, const struct half *half)
{
    struct hub_heap *heap = &hub->heaps[side];
    if (!(half->ref & (side == HUB_OUT ? HALF_RESIDUAL : HALF_MATE_RESIDUAL)))
        return;
    heap->items[heap->count++] =
        (struct hub_entry){short_key(m, half_key(m, half, side)), half_arc(half)};
}

static int fill_hub(struct mincost *m, struct hub *hub)
{
    const struct node *node = &m->nodes[hub->node];
    for (uint32_t i = 0; i < node_degree(node); i++) {
        const struct half *half = &m->halves[node->start + i];
        if (!is_marked(half)) {
            if (!node_is_leaf(&m->nodes[half->head])) {
                if (add_link(m, hub, half))
                    return m->failed;
                continue;
            }
            mark_arc(m, half_arc(half), true);
        }
        if (m->price[half->head] == NO_PRICE)
            continue;
        m->posted[half->head] = m->price[half->head];
        append(m, hub, HUB_OUT, half);
        append(m, hub, HUB_IN, half);
    }
    return 0;
}

/* Rooms follow how many entries there truly are, with a quarter more to come before the next
 * building. */
static int build_hub(struct mincost *m, struct hub *hub)
{
    const struct node *node = &m->nodes[hub->node];
    uint32_t out = node->end[1], in = node->end[2] - node->end[0];
    hub->heaps[HUB_OUT].count = hub->heaps[HUB_IN].count = hub->link_count = 0;
    if (reserve_entries(m, &hub->heaps[HUB_OUT], out + out / 4 + SPARE_ENTRIES) ||
        reserve_entries(m, &hub->heaps[HUB_IN], in + in / 4 + SPARE_ENTRIES) || fill_hub(m, hub))
        return m->failed;
    for (int side = 0; side < 2; side++) {
        hub->heaps[side].ordered = hub->heaps[side].count;
        for (uint32_t i = hub->heaps[side].count / 2; i-- > 0;)
            sift_down(&hub->heaps[side], i);
    }
    hub->stale = false;
    m->work += node_degree(node);
    return 0;
}

static uint32_t count_links(const struct mincost *m, uint32_t node)
{
    const struct node *n = &m->nodes[node];
    uint32_t links = 0;
    for (uint32_t i = 0; i < node_degree(n); i++)
        links += !is_marked(&m->halves[n->start + i]) &&
                 !node_is_leaf(&m->nodes[m->halves[n->start + i].head]);
    return links;
}

static bool is_worth_a_hub(const struct mincost *m, uint32_t node, uint32_t least_degree)
{
    return node != m->sink && node_is_present(m, node) && !node_is_leaf(&m->nodes[node]) &&
           node_degree(&m->nodes[node]) >= least_degree && count_links(m, node) <= HUB_LINKS;
}

static int find_hubs(struct mincost *m)
{
    m->hubs_wanted = false;
    for (uint32_t v = 1; v <= m->max_node; v++)
        if (!m->nodes[v].hub && is_worth_a_hub(m, v, HUB_DEGREE) && make_hub(m, v))
            return m->failed;
    return 0;
}

/* Enough shift that a path of sixteen dearest arcs has a short key; longer ones are cut, which only
 * costs time. A task that became a little dearer is posted as if it were a good deal dearer, since
 * it often goes on so and each time costs an entry in all its hubs. */
static void choose_units(struct mincost *m)
{
    unsigned bits = sizeof m->costs_at / sizeof *m->costs_at;
    while (bits > 1 && !m->costs_at[bits - 1])
        bits--;
    unsigned shift = bits > 27 ? bits - 27 : 0;
    if (shift != m->key_shift)
        hubs_forget(m);
    m->key_shift = shift;
    m->post_ahead = (INT64_C(1) << bits) / POST_PART;
}

int hubs_prepare(struct mincost *m)
{
    choose_units(m);
    if (m->hubs_wanted && find_hubs(m))
        return m->failed;
    if (!m->hubs_stale)
        return 0;
    m->hubs_stale = false;
    for (uint32_t i = 0; i < m->hub_allocated; i++) {
        struct hub *hub = &m->hubs[i];
        if (hub->node == NO_NODE || !hub->stale)
            continue;
        if (!is_worth_a_hub(m, hub->node, HUB_DEGREE / 2))
            hub_drop(m, hub->node);
        else if (build_hub(m, hub))
            return m->failed;
    }
    return 0;
}

uint32_t hubs_busiest(const struct mincost *m)
{
    uint32_t busiest = NO_NODE, most = 0;
    for (uint32_t i = 0; i < m->hub_allocated; i++) {
        uint32_t node = m->hubs[i].node;
        if (node == NO_NODE || node_degree(&m->nodes[node]) <= most)
            continue;
        busiest = node;
        most = node_degree(&m->nodes[node]);
    }
    return busiest;
}

void hubs_forget(struct mincost *m)
{
    m->hubs_stale = true;
    for (uint32_t i = 0; i < m->hub_allocated; i++)
        m->hubs[i].stale = true;
}

void hubs_done(struct mincost *m)
{
    for (uint32_t i = 0; i < m->hub_allocated; i++) {
        free(m->hubs[i].heaps[0].items);
        free(m->hubs[i].heaps[1].items);
        free(m->hubs[i].links);
        free(m->hubs[i].frontier.items);
    }
    free(m->hubs);
}

static void frontier_put(struct mincost *m, struct hub *hub, enum hub_side side, uint32_t position)
{
    const struct hub_heap *heap = &hub->heaps[side];
    struct u32_list *frontier = &hub->frontier;
    if (position >= heap->ordered || heap->items[position].key == KEY_GONE)
        return;
    list_add(m, frontier, position);
    if (m->failed)
        return;
    uint32_t i = frontier->count - 1;
    int32_t key = heap->items[position].key;
    for (; i > 0 && heap->items[frontier->items[(i - 1) / 2]].key > key; i = (i - 1) / 2)
        frontier->items[i] = frontier->items[(i - 1) / 2];
    frontier->items[i] = position;
}

static uint32_t frontier_take(struct hub *hub, enum hub_side side)
{
    const struct hub_entry *entries = hub->heaps[side].items;
    uint32_t *items = hub->frontier.items, least = items[0];
    uint32_t last = items[--hub->frontier.count], i = 0;
    for (uint32_t child; (child = 2 * i + 1) < hub->frontier.count; i = child) {
        if (child + 1 < hub->frontier.count &&
            entries[items[child + 1]].key < entries[items[child]].key)
            child++;
        if (entries[items[child]].key >= entries[last].key)
            break;
        items[i] = items[child];
    }
    items[i] = last;
    return least;
}

void hub_start(struct mincost *m, struct hub *hub, enum hub_side side)
{
    struct hub_heap *heap = &hub->heaps[side];
    while (heap->ordered < heap->count)
        sift_up(heap, heap->ordered++);
    hub->frontier.count = 0;
    frontier_put(m, hub, side, 0);
}

bool hub_least(const struct mincost *m, const struct hub *hub, enum hub_side side,
               int64_t *ret_least)
{
    if (!hub->frontier.count)
        return false;
    int32_t key = hub->heaps[side].items[hub->frontier.items[0]].key;
    *ret_least = (int64_t)key * (INT64_C(1) << m->key_shift);
    return true;
}

/* Only the part of the heap below a position that was taken changes, and no search has looked there
 * yet. */
bool hub_next(struct mincost *m, struct hub *hub, enum hub_side side, uint32_t *ret_arc,
              int64_t *ret_key)
{
    uint32_t position = frontier_take(hub, side);
    struct hub_entry *entry = &hub->heaps[side].items[position];
    m->work++;
    bool holds = is_true(m, hub, entry->arc, side);
    int64_t key = holds ? true_key(m, entry->arc, side) : 0;
    int32_t cut = holds ? short_key(m, key) : KEY_GONE;
    if (entry->key < cut) {
        entry->key = cut;
        if (holds && side == HUB_IN)
            m->posted[arc_tail(m, entry->arc)] = m->price[arc_tail(m, entry->arc)];
        sift_down(&hub->heaps[side], position);
        frontier_put(m, hub, side, position);
        return false;
    }
    *ret_arc = entry->arc;
    *ret_key = key;
    frontier_put(m, hub, side, 2 * position + 1);
    frontier_put(m, hub, side, 2 * position + 2);
    return true;
}
