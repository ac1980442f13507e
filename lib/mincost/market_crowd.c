#include "lib/mincost/market.h"

/* Two heaps into one; the top of equal ones is `a`. */
static uint32_t join(struct market_task *tasks, uint32_t a, uint32_t b)
{
    if (tasks[b].key < tasks[a].key) {
        uint32_t other = a;
        a = b;
        b = other;
    }
    uint32_t child = tasks[a].child;
    tasks[b].next = child;
    tasks[b].prev = a;
    if (child != NOBODY)
        tasks[child].prev = b;
    tasks[a].child = b;
    return a;
}

/* Joins a list of siblings in pairs, then the pairs from the last to the first. */
static uint32_t join_list(struct market_task *tasks, uint32_t first)
{
    uint32_t pairs = NOBODY;
    while (first != NOBODY) {
        uint32_t a = first, b = tasks[a].next;
        first = b == NOBODY ? NOBODY : tasks[b].next;
        uint32_t pair = b == NOBODY ? a : join(tasks, a, b);
        tasks[pair].next = pairs;
        pairs = pair;
    }
    if (pairs == NOBODY)
        return NOBODY;
    uint32_t top = pairs;
    pairs = tasks[top].next;
    while (pairs != NOBODY) {
        uint32_t pair = pairs;
        pairs = tasks[pair].next;
        top = join(tasks, top, pair);
    }
    return top;
}

static void insert(struct market *market, struct place *place, uint32_t t)
{
    struct market_task *task = &market->tasks[t];
    task->child = task->next = task->prev = NOBODY;
    place->crowd = place->crowd == NOBODY ? t : join(market->tasks, place->crowd, t);
}

static void take_out(struct market *market, struct place *place, uint32_t t)
{
    struct market_task *tasks = market->tasks, *task = &tasks[t];
    uint32_t below = join_list(tasks, task->child);
    if (place->crowd == t) {
        place->crowd = below;
        return;
    }
    if (tasks[task->prev].child == t)
        tasks[task->prev].child = task->next;
    else
        tasks[task->prev].next = task->next;
    if (task->next != NOBODY)
        tasks[task->next].prev = task->prev;
    if (below != NOBODY)
        place->crowd = join(tasks, place->crowd, below);
}

static inline __attribute__((always_inline)) struct offer look(const struct market *market,
                                                               uint32_t t, bool wide)
{
    struct offer offer = {NO_WAY, NO_WAY, NOBODY};
    uint32_t at = market->tasks[t].at, stop = task_choices_end(market, t);
    for (uint32_t i = market->tasks[t].first; i < stop; i++) {
        int64_t cost = wide ? market->wide_choices[i].cost : market->choices[i].cost;
        uint32_t place = wide ? market->wide_choices[i].place : market->choices[i].place;
        int64_t value = cost + market->price[place];
        if (value >= offer.second || i == at)
            continue;
        if (value < offer.value) {
            offer.second = offer.value;
            offer.value = value;
            offer.choice = i;
        } else {
            offer.second = value;
        }
    }
    return offer;
}

struct offer task_look(struct market *market, uint32_t t)
{
    market->m->work += task_choices_end(market, t) - market->tasks[t].first;
    return market->wide ? look(market, t, true) : look(market, t, false);
}

void task_stand(struct market *market, uint32_t t, uint32_t choice, int64_t other)
{
    struct place *place = &market->places[choice_place(market, choice)];
    market->tasks[t].at = choice;
    market->tasks[t].key = other == NO_WAY ? NO_WAY : other - choice_cost(market, choice);
    place->excess++;
    insert(market, place, t);
}

void task_leave(struct market *market, uint32_t t)
{
    struct place *place = &market->places[choice_place(market, market->tasks[t].at)];
    place->excess--;
    take_out(market, place, t);
}

void crowd_raise(struct market *market, uint32_t t, int64_t key)
{
    struct place *place = &market->places[choice_place(market, market->tasks[t].at)];
    take_out(market, place, t);
    market->tasks[t].key = key;
    insert(market, place, t);
}

uint32_t crowd_top(struct market *market, uint32_t p, struct offer *ret_offer)
{
    const struct place *place = &market->places[p];
    uint32_t looked_at = NOBODY;
    struct offer offer = {NO_WAY, NO_WAY, NOBODY};
    while (place->crowd != looked_at) {
        struct market_task *task = &market->tasks[looked_at = place->crowd];
        offer = task_look(market, looked_at);
        int64_t key = offer.value == NO_WAY ? NO_WAY : offer.value - choice_cost(market, task->at);
        if (key > task->key)
            crowd_raise(market, looked_at, key);
    }
    *ret_offer = offer;
    return looked_at;
}
