#include "lib/mincost/market.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/mincost/algorithms.h"
#include "lib/mincost/hubs.h"
#include "lib/mincost/repair.h"

#define NOWHERE_PRICE (NO_WAY + (INT64_C(1) << 61)) /* above every value that counts */

enum { MOST_CHOICES = 64 }; /* of tasks that are worth attracting */

/* Room for `count` items of a table, with a little more when it is not the first time. */
static int reserve(struct mincost *m, void **table, uint32_t *allocated, uint64_t count,
                   size_t size)
{
    if (count <= *allocated)
        return 0;
    uint64_t grown_allocated = *allocated ? count + count / 16 : count;
    if (grown_allocated > UINT32_MAX)
        return m->failed = -ENOMEM;
    void *grown = memory_resize(m, *table, *allocated, grown_allocated, size);
    if (!grown)
        return m->failed = -ENOMEM;
    *table = grown;
    *allocated = (uint32_t)grown_allocated;
    return 0;
}

/* Arcs without capacity carry nothing and are left out. */
static bool is_choice(const struct mincost *m, const struct half *half)
{
    return m->arcs[half_arc(half)].capacity > 0;
}

static bool is_task(const struct mincost *m, uint32_t v)
{
    const struct node *node = &m->nodes[v];
    if (!node_is_leaf(node) || m->supply[v] != 1 || v == m->sink)
        return false;
    for (uint32_t i = 0; i < node_degree(node); i++)
        if (m->arcs[half_arc(&m->halves[node->start + i])].lower > 0)
            return false;
    return true;
}

static uint32_t count_choices(const struct mincost *m, uint32_t v)
{
    const struct node *node = &m->nodes[v];
    uint32_t count = 0;
    for (uint32_t i = 0; i < node_degree(node); i++)
        count += is_choice(m, &m->halves[node->start + i]);
    return count;
}

/* Numbers tasks and places in order of their nodes. */
static int count_all(struct market *market)
{
    struct mincost *m = market->m;
    if (reserve(m, (void **)&market->index, &market->index_allocated, m->nodes_allocated,
                sizeof(uint32_t)))
        return m->failed;
    market->place_count = market->task_count = market->link_count = market->choice_count = 0;
    for (uint32_t v = 1; v <= m->max_node; v++) {
        if (!node_is_present(m, v))
            continue;
        if (is_task(m, v)) {
            market->index[v] = market->task_count++;
            market->choice_count += count_choices(m, v);
        } else {
            market->index[v] = market->place_count++;
            market->link_count += 2 * (node_degree(&m->nodes[v]) - m->nodes[v].in_arcs);
        }
    }
    return 0;
}

static int reserve_all(struct market *market)
{
    struct mincost *m = market->m;
    uint64_t places = (uint64_t)market->place_count + 1;
    if (places > market->places_allocated) {
        uint32_t price_allocated = market->places_allocated,
                 ring_allocated = market->places_allocated;
        if (reserve(m, (void **)&market->price, &price_allocated, places, sizeof(int64_t)) ||
            reserve(m, (void **)&market->ring, &ring_allocated, places, sizeof(uint32_t)))
            return m->failed;
    }
    if (reserve(m, (void **)&market->places, &market->places_allocated, places,
                sizeof(struct place)) ||
        reserve(m, (void **)&market->links, &market->links_allocated, market->link_count,
                sizeof(struct link)) ||
        reserve(m, (void **)&market->tasks, &market->tasks_allocated,
                (uint64_t)market->task_count + 1, sizeof(struct market_task)))
        return m->failed;
    return market->wide ? reserve(m, (void **)&market->wide_choices, &market->wide_allocated,
                                  market->choice_count, sizeof(struct wide_choice))
                        : reserve(m, (void **)&market->choices, &market->choices_allocated,
                                  market->choice_count, sizeof(struct choice));
}

static void set_choice(struct market *market, uint32_t c, int64_t cost, uint32_t place)
{
    if (market->wide)
        market->wide_choices[c] = (struct wide_choice){cost, place};
    else
        market->choices[c] = (struct choice){(int32_t)cost, place};
}

/* Of parallel arcs the dearer ones lead nowhere; `ring` holds, for each place, the last choice of
 * it + 1 */
static void add_choice(struct market *market, const struct market_task *task, uint32_t c,
                       int64_t cost, uint32_t place)
{
    uint32_t last = market->ring[place];
    set_choice(market, c, cost, place);
    market->ring[place] = c + 1;
    if (last <= task->first)
        return;
    bool dearer = cost >= choice_cost(market, last - 1);
    uint32_t gone = dearer ? c : last - 1;
    set_choice(market, gone, choice_cost(market, gone), market->place_count);
    market->ring[place] = dearer ? last : c + 1;
}

static void copy_choices(struct market *market, uint32_t t, uint32_t *next_choice)
{
    const struct mincost *m = market->m;
    struct market_task *task = &market->tasks[t];
    const struct node *node = &m->nodes[task->node];
    task->first = *next_choice;
    for (uint32_t i = 0; i < node_degree(node); i++) {
        const struct half *half = &m->halves[node->start + i];
        if (!is_choice(m, half))
            continue;
        uint32_t c = (*next_choice)++;
        add_choice(market, task, c, half_cost(m, half) * market->unit, market->index[half->head]);
        if (market->warm && m->arcs[half_arc(half)].flow > 0)
            task->at = c;
    }
    if (task->at != NOBODY && choice_place(market, task->at) == market->place_count)
        task->at = NOBODY;
}

/* The price that the others are relative to, so that they do not grow from round to round. */
static int64_t sink_price(const struct mincost *m)
{
    bool priced = m->sink != NO_NODE && m->price[m->sink] != NO_PRICE;
    return priced ? m->price[m->sink] : 0;
}

static void copy_place(struct market *market, uint32_t v)
{
    const struct mincost *m = market->m;
    uint32_t p = market->index[v];
    market->places[p] =
        (struct place){.excess = m->supply[v], .node = v, .current = 0, .crowd = NOBODY};
    bool priced = market->warm && m->price[v] != NO_PRICE;
    market->price[p] = priced ? (m->price[v] - sink_price(m)) * market->unit : 0;
}

/* Each arc between places gives two links; `current` counts them, then fills them in. */
static void count_links(struct market *market)
{
    const struct mincost *m = market->m;
    for (uint32_t p = 0; p < market->place_count; p++) {
        const struct node *node = &m->nodes[market->places[p].node];
        if (node_degree(node) == node->in_arcs)
            continue;
        for (uint32_t i = 0; i < node_degree(node); i++) {
            const struct half *half = &m->halves[node->start + i];
            if (half->ref & HALF_AT_HEAD)
                continue;
            market->places[p].current++;
            market->places[market->index[half->head]].current++;
        }
    }
    uint32_t first = 0;
    for (uint32_t p = 0; p < market->place_count; p++) {
        market->places[p].first = first;
        first += market->places[p].current;
        market->places[p].current = market->places[p].first;
    }
    market->places[market->place_count].first = first;
}

static void copy_link(struct market *market, uint32_t p, const struct half *half)
{
    const struct arc *arc = &market->m->arcs[half_arc(half)];
    uint32_t q = market->index[half->head], via = half_arc(half) << 1;
    uint32_t out = market->places[p].current++, back = market->places[q].current++;
    int64_t cost = half_cost(market->m, half) * market->unit;
    int32_t flow = market->warm ? arc->flow : arc->lower;
    market->links[out] = (struct link){cost, q, back, arc->capacity - flow, via};
    market->links[back] = (struct link){-cost, p, out, flow - arc->lower, via | 1};
    market->places[p].excess -= flow;
    market->places[q].excess += flow;
}

static void copy_links(struct market *market)
{
    const struct mincost *m = market->m;
    count_links(market);
    for (uint32_t p = 0; p < market->place_count; p++) {
        const struct node *node = &m->nodes[market->places[p].node];
        if (node_degree(node) == node->in_arcs)
            continue;
        for (uint32_t i = 0; i < node_degree(node); i++)
            if (!(m->halves[node->start + i].ref & HALF_AT_HEAD))
                copy_link(market, p, &m->halves[node->start + i]);
    }
    for (uint32_t p = 0; p < market->place_count; p++)
        market->places[p].current = market->places[p].first;
}

static int64_t largest_cost(const struct mincost *m)
{
    unsigned bits = sizeof m->costs_at / sizeof *m->costs_at;
    while (bits > 1 && !m->costs_at[bits - 1])
        bits--;
    return INT64_C(1) << (bits - 1);
}

static uint32_t choice_of(const struct market *market, uint32_t t, uint32_t p)
{
    uint32_t choice = market->tasks[t].first;
    while (choice < task_choices_end(market, t) && choice_place(market, choice) != p)
        choice++;
    return choice < task_choices_end(market, t) ? choice : NOBODY;
}

/* Queues the loss of the task at a half's head if it comes to place `p`. */
static void list_comer(struct market *market, uint32_t p, const struct half *half)
{
    uint32_t t = market->index[half->head];
    if (!(half->ref & HALF_AT_HEAD) || t >= market->task_count ||
        market->tasks[t].node != half->head)
        return;
    struct market_task *task = &market->tasks[t];
    if (task_choices_end(market, t) - task->first > MOST_CHOICES ||
        (task->at = choice_of(market, t, p)) == NOBODY)
        return;
    int64_t other = task_look(market, t).value;
    queue_put(market->m, &market->m->queue,
              other == NO_WAY ? -NO_WAY : choice_cost(market, task->at) - other, t);
    task->at = NOBODY;
}

/* Lowers the price of a place with a deficit until enough tasks would come: otherwise everything
 * else would have to become dearer. */
static void attract(struct market *market, uint32_t p)
{
    struct mincost *m = market->m;
    const struct node *node = &m->nodes[market->places[p].node];
    int64_t lacking = -market->places[p].excess, price = 0;
    m->queue.count = 0;
    for (uint32_t i = 0; i < node_degree(node); i++)
        list_comer(market, p, &m->halves[node->start + i]);
    for (; lacking > 0 && m->queue.count; lacking--)
        price = -queue_take(&m->queue).key;
    if (price < 0)
        market->price[p] = price;
}

/* Each task stands at its best choice, or, when warm, at the one that carries its unit. */
static void place_tasks(struct market *market)
{
    for (uint32_t t = 0; t < market->task_count; t++) {
        uint32_t kept = market->tasks[t].at;
        struct offer offer = task_look(market, t);
        if (kept != NOBODY)
            task_stand(market, t, kept, offer.value);
        else if (offer.choice != NOBODY)
            task_stand(market, t, offer.choice, offer.second);
        else
            market->stuck_task = t;
    }
}

static void copy_all(struct market *market)
{
    const struct mincost *m = market->m;
    uint32_t next_choice = 0, next_task = 0;
    for (uint32_t v = 1; v <= m->max_node; v++) {
        if (!node_is_present(m, v))
            continue;
        if (is_task(m, v))
            market->tasks[next_task++] = (struct market_task){.at = NOBODY, .node = v};
        else
            copy_place(market, v);
    }
    memset(market->ring, 0, ((size_t)market->place_count + 1) * sizeof *market->ring);
    market->price[market->place_count] = NOWHERE_PRICE;
    for (uint32_t t = 0; t < market->task_count; t++)
        copy_choices(market, t, &next_choice);
    market->tasks[market->task_count].first = next_choice;
    copy_links(market);
}

int market_open(struct mincost *m, bool fine, bool warm, struct market **ret_market)
{
    if (!m->market) {
        m->market = calloc(1, sizeof *m->market);
        if (!m->market)
            return m->failed = -ENOMEM;
        m->bytes += sizeof *m->market;
    }
    struct market *market = m->market;
    market->m = m;
    market->warm = warm;
    market->infeasible = market->overflow = false;
    market->stuck_task = NOBODY;
    market->ring_first = market->ring_count = 0;
    if (count_all(market))
        return m->failed;
    market->unit = fine ? (int64_t)market->place_count + 1 : 1;
    market->largest_cost = largest_cost(m) * market->unit;
    market->wide = market->largest_cost >= INT64_C(1) << 30;
    if (reserve_all(market))
        return m->failed;
    copy_all(market);
    for (uint32_t p = 0; p < market->place_count && !warm; p++)
        if (market->places[p].excess < 0)
            attract(market, p);
    place_tasks(market);
    *ret_market = market;
    return m->failed;
}

bool market_find_shift(struct market *market, int64_t epsilon)
{
    int64_t unit = market->unit, gap = 0;
    market->shift = 0;
    if (epsilon == 0)
        return true;
    if (epsilon > unit || unit > (int64_t)market->place_count + 1)
        return false;
    memset(market->ring, 0, (size_t)unit * sizeof *market->ring);
    for (uint32_t p = 0; p < market->place_count; p++)
        market->ring[(market->price[p] % unit + unit) % unit] = 1;
    for (int64_t i = 0; i < 2 * unit && gap < epsilon; i++) {
        gap = market->ring[i % unit] ? 0 : gap + 1;
        market->shift = (epsilon - 1 - i) % unit;
    }
    return gap >= epsilon;
}

/* Collects what to send over arcs, as (arc, flow): sending moves halves. */
static void list_flow(struct mincost *m, uint32_t arc, int64_t flow)
{
    if (m->arcs[arc].flow == flow)
        return;
    list_add(m, &m->stack, arc);
    list_add(m, &m->stack, (uint32_t)flow);
}

static void send_listed(struct mincost *m)
{
    for (uint32_t i = 0; i < m->stack.count; i += 2) {
        uint32_t arc = m->stack.items[i];
        int64_t amount = (int64_t)m->stack.items[i + 1] - m->arcs[arc].flow;
        graph_push(m, arc, 0, amount);
    }
    m->stack.count = 0;
}

static void list_task_flows(struct market *market, const struct market_task *task)
{
    struct mincost *m = market->m;
    const struct node *node = &m->nodes[task->node];
    uint32_t choice = task->first;
    for (uint32_t i = 0; i < node_degree(node); i++) {
        const struct half *half = &m->halves[node->start + i];
        if (is_choice(m, half))
            list_flow(m, half_arc(half), choice++ == task->at);
    }
}

static void price_task(struct mincost *m, uint32_t v)
{
    const struct node *node = &m->nodes[v];
    int64_t best = INT64_MAX, carried = 0;
    for (uint32_t i = 0; i < node_degree(node); i++) {
        const struct half *half = &m->halves[node->start + i];
        int64_t through = half_cost(m, half) + m->price[half->head];
        if ((half->ref & HALF_RESIDUAL) && through < best)
            best = through;
        if (half->ref & HALF_MATE_RESIDUAL)
            carried = through;
    }
    m->price[v] = best == INT64_MAX ? carried : best;
}

/* The most that fits into a price of `unit`s, counted from `shift`. */
static int64_t whole_price(const struct market *market, uint32_t p)
{
    int64_t price = market->price[p] + market->shift;
    return price / market->unit - (price % market->unit < 0);
}

void market_close(struct market *market)
{
    struct mincost *m = market->m;
    int64_t origin = m->sink == NO_NODE ? 0 : whole_price(market, market->index[m->sink]);
    m->stack.count = 0;
    for (uint32_t i = 0; i < market->link_count; i++) {
        const struct link *link = &market->links[i];
        if (link->via & 1)
            list_flow(m, link->via >> 1, m->arcs[link->via >> 1].lower + link->residual);
    }
    for (uint32_t t = 0; t < market->task_count; t++)
        list_task_flows(market, &market->tasks[t]);
    send_listed(m);
    for (uint32_t p = 0; p < market->place_count; p++)
        m->price[market->places[p].node] = whole_price(market, p) - origin;
    for (uint32_t t = 0; t < market->task_count; t++)
        price_task(m, market->tasks[t].node);
    hubs_forget(m);
    repair_forget_changes(m);
    paths_forget_balanced(m);
}

/* Labels what the last search reached, as one over the nodes themselves would have. */
static void label_reached(struct market *market)
{
    struct mincost *m = market->m;
    for (uint32_t p = 0; p < market->place_count; p++)
        if (market->places[p].seen == m->stamp)
            m->labels[market->places[p].node].stamp = m->stamp;
    for (uint32_t t = 0; t < market->task_count; t++) {
        uint32_t at = market->tasks[t].at;
        if (at != NOBODY && market->places[choice_place(market, at)].seen == m->stamp)
            m->labels[market->tasks[t].node].stamp = m->stamp;
    }
}

int market_refuse(struct market *market)
{
    struct mincost *m = market->m;
    if (market->stuck_task != NOBODY) {
        uint32_t node = market->tasks[market->stuck_task].node;
        m->labels[node].stamp = ++m->stamp;
        witness_excess(m, node, 1);
    } else {
        const struct place *place = &market->places[market->stuck_place];
        label_reached(market);
        witness_excess(m, place->node, place->excess);
    }
    return -EDOM;
}

void market_done(struct mincost *m)
{
    struct market *market = m->market;
    if (!market)
        return;
    m->market = NULL;
    m->bytes -= sizeof *market +
                market->places_allocated *
                    (sizeof *market->price + sizeof *market->ring + sizeof *market->places) +
                market->links_allocated * sizeof *market->links +
                market->tasks_allocated * sizeof *market->tasks +
                market->choices_allocated * sizeof *market->choices +
                market->wide_allocated * sizeof *market->wide_choices +
                market->index_allocated * sizeof *market->index;
    free(market->price);
    free(market->places);
    free(market->links);
    free(market->tasks);
    free(market->choices);
    free(market->wide_choices);
    free(market->index);
    free(market->ring);
    free(market);
}
