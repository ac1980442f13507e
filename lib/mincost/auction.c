#include "lib/mincost/auction.h"

#define TASK (UINT32_C(1) << 31) /* in the queue of a search: not a place but a task */

static uint32_t links_end(const struct market *market, uint32_t p)
{
    return market->places[p + 1].first;
}

static void activate(struct market *market, uint32_t p)
{
    struct place *place = &market->places[p];
    if (place->listed || place->excess <= 0)
        return;
    place->listed = true;
    uint32_t last = market->ring_first + market->ring_count++;
    market->ring[last < market->place_count ? last : last - market->place_count] = p;
}

static uint32_t next_active(struct market *market)
{
    uint32_t p = market->ring[market->ring_first];
    market->ring_first = market->ring_first + 1 == market->place_count ? 0 : market->ring_first + 1;
    market->ring_count--;
    market->places[p].listed = false;
    return p;
}

static void send_link(struct market *market, uint32_t p, struct link *link, int64_t amount)
{
    link->residual = (int32_t)(link->residual - amount);
    market->links[link->mate].residual = (int32_t)(market->links[link->mate].residual + amount);
    market->places[p].excess -= amount;
    market->places[link->place].excess += amount;
}

/* Takes the offer; returns the place where the task now stands. */
static uint32_t move_task(struct market *market, uint32_t t, const struct offer *offer)
{
    uint32_t left = market->tasks[t].at;
    int64_t back = choice_cost(market, left) + market->price[choice_place(market, left)];
    task_leave(market, t);
    task_stand(market, t, offer->choice, back < offer->second ? back : offer->second);
    return choice_place(market, offer->choice);
}

static int64_t offer_key(const struct market *market, uint32_t t, const struct offer *offer)
{
    return offer->value == NO_WAY ? NO_WAY
                                  : offer->value - choice_cost(market, market->tasks[t].at);
}

static void tighten_crowd(struct market *market, uint32_t p, int64_t epsilon)
{
    struct offer offer;
    for (;;) {
        uint32_t top = market->places[p].crowd;
        if (top == NOBODY || market->tasks[top].key >= market->price[p] - epsilon)
            return;
        uint32_t t = crowd_top(market, p, &offer);
        if (offer_key(market, t, &offer) >= market->price[p] - epsilon)
            return;
        move_task(market, t, &offer);
    }
}

void auction_tighten(struct market *market, int64_t epsilon)
{
    for (uint32_t p = 0; p < market->place_count; p++)
        for (uint32_t i = market->places[p].first; i < links_end(market, p); i++) {
            struct link *link = &market->links[i];
            int64_t reduced = link->cost - market->price[p] + market->price[link->place];
            if (link->residual > 0 && reduced < -epsilon)
                send_link(market, p, link, link->residual);
        }
    for (uint32_t p = 0; p < market->place_count; p++)
        tighten_crowd(market, p, epsilon);
    for (uint32_t p = 0; p < market->place_count; p++)
        market->places[p].current = market->places[p].first;
    market->m->work += market->link_count;
}

/* Sends over links that are admissible: value below `most`. */
static void discharge_links(struct market *market, uint32_t p, int64_t most)
{
    struct place *place = &market->places[p];
    uint32_t stop = links_end(market, p);
    for (; place->current < stop; place->current++) {
        struct link *link = &market->links[place->current];
        market->m->work++;
        if (link->residual <= 0 || link->cost + market->price[link->place] >= most)
            continue;
        send_link(market, p, link, link->residual < place->excess ? link->residual : place->excess);
        activate(market, link->place);
        if (place->excess == 0)
            return;
    }
}

static int64_t least_link(const struct market *market, uint32_t p)
{
    int64_t least = NO_WAY;
    for (uint32_t i = market->places[p].first; i < links_end(market, p); i++) {
        const struct link *link = &market->links[i];
        if (link->residual > 0 && link->cost + market->price[link->place] < least)
            least = link->cost + market->price[link->place];
    }
    market->m->work += links_end(market, p) - market->places[p].first;
    return least;
}

/* Everything that today's price lets out, or one raise of the price and what it lets out first.
 * False when no price would do. */
static bool step(struct market *market, uint32_t p, int64_t epsilon)
{
    struct place *place = &market->places[p];
    int64_t most = market->price[p] + (epsilon == 0);
    discharge_links(market, p, most);
    if (place->excess == 0)
        return true;
    struct offer offer;
    uint32_t t = crowd_top(market, p, &offer);
    int64_t key = t == NOBODY ? NO_WAY : offer_key(market, t, &offer);
    if (key >= most) {
        int64_t link = least_link(market, p), least = link < key ? link : key;
        market->overflow |= least > PRICE_MAX && least != NO_WAY;
        if (least > PRICE_MAX)
            return false;
        market->price[p] = least + epsilon;
        place->current = place->first;
        if (link <= key)
            return true;
    }
    activate(market, move_task(market, t, &offer));
    return true;
}

bool auction_run(struct market *market, int64_t epsilon, uint64_t moves)
{
    bool going = true;
    for (uint32_t p = 0; p < market->place_count; p++)
        activate(market, p);
    while (market->ring_count && going) {
        uint32_t p = next_active(market);
        while (market->places[p].excess > 0 && going) {
            market->m->searches++;
            going = step(market, p, epsilon) && --moves > 0;
        }
    }
    while (market->ring_count)
        next_active(market);
    return going;
}

struct quest {
    struct market *market;
    int64_t distance;
    int64_t bound;
    uint32_t target;
};

static void reach(struct quest *quest, uint32_t q, int64_t distance, uint32_t task, uint32_t via)
{
    if (distance < quest->distance)
        distance = quest->distance;
    struct mincost *m = quest->market->m;
    struct place *place = &quest->market->places[q];
    if (distance >= quest->bound || (place->seen == m->stamp && place->distance <= distance))
        return;
    if (place->seen != m->stamp)
        list_add(m, &m->settled, q);
    place->seen = m->stamp;
    place->distance = distance;
    place->task = task;
    place->via = via;
    if (place->excess < 0) {
        quest->bound = distance;
        quest->target = q;
    } else {
        queue_put(m, &m->queue, distance, q);
    }
}

static void queue_task(struct quest *quest, uint32_t t, int64_t from, int64_t price)
{
    int64_t key = quest->market->tasks[t].key;
    int64_t distance = key < price ? from : from + (key - price);
    if (distance < quest->bound)
        queue_put(quest->market->m, &quest->market->m->queue, distance, t | TASK);
}

static void scan_place(struct quest *quest, uint32_t p, int64_t distance)
{
    struct market *market = quest->market;
    const struct place *place = &market->places[p];
    int64_t base = distance - market->price[p];
    for (uint32_t i = place->first; i < links_end(market, p); i++) {
        const struct link *link = &market->links[i];
        if (link->residual > 0)
            reach(quest, link->place, base + link->cost + market->price[link->place], NOBODY, i);
    }
    market->m->work += links_end(market, p) - place->first;
    if (place->crowd != NOBODY)
        queue_task(quest, place->crowd, distance, market->price[p]);
}

static void scan_task(struct quest *quest, uint32_t t)
{
    struct market *market = quest->market;
    struct market_task *task = &market->tasks[t];
    if (task->seen == market->m->stamp)
        return;
    task->seen = market->m->stamp;
    uint32_t p = choice_place(market, task->at);
    int64_t from = market->places[p].distance, best = NO_WAY;
    int64_t own = choice_cost(market, task->at), base = from - own - market->price[p];
    for (uint32_t c = task->child; c != NOBODY; c = market->tasks[c].next)
        queue_task(quest, c, from, market->price[p]);
    uint32_t stop = task_choices_end(market, t);
    market->m->work += stop - task->first;
    for (uint32_t i = task->first; i < stop; i++) {
        uint32_t q = choice_place(market, i);
        int64_t value = choice_cost(market, i) + market->price[q];
        if (i == task->at)
            continue;
        if (value < best)
            best = value;
        reach(quest, q, base + value, t, i);
    }
    if (best != NO_WAY && best - own > task->key)
        crowd_raise(market, t, best - own);
}

static bool find_deficit(struct quest *quest, uint32_t start)
{
    struct mincost *m = quest->market->m;
    m->stamp++;
    m->searches++;
    m->queue.count = m->settled.count = 0;
    reach(quest, start, 0, NOBODY, NOBODY);
    while (m->queue.count && !m->failed) {
        struct queue_entry entry = queue_take(&m->queue);
        if (entry.key >= quest->bound)
            break;
        quest->distance = entry.key;
        if (entry.node & TASK)
            scan_task(quest, entry.node & ~TASK);
        else if (quest->market->places[entry.node].distance == entry.key)
            scan_place(quest, entry.node, entry.key);
    }
    return quest->target != NOBODY;
}

static void raise_prices(struct quest *quest)
{
    const struct u32_list *reached = &quest->market->m->settled;
    for (uint32_t i = 0; i < reached->count; i++) {
        const struct place *place = &quest->market->places[reached->items[i]];
        if (place->distance < quest->bound)
            quest->market->price[reached->items[i]] += quest->bound - place->distance;
        quest->market->overflow |= quest->market->price[reached->items[i]] > PRICE_MAX;
    }
}

static uint32_t before(const struct market *market, const struct place *place)
{
    if (place->task != NOBODY)
        return choice_place(market, market->tasks[place->task].at);
    return market->links[market->links[place->via].mate].place;
}

static int64_t path_residual(const struct quest *quest, uint32_t start)
{
    const struct market *market = quest->market;
    int64_t residual = -market->places[quest->target].excess;
    if (market->places[start].excess < residual)
        residual = market->places[start].excess;
    for (uint32_t p = quest->target; p != start; p = before(market, &market->places[p])) {
        const struct place *place = &market->places[p];
        int64_t here = place->task == NOBODY ? market->links[place->via].residual : 1;
        if (here < residual)
            residual = here;
    }
    return residual;
}

static void send_path(struct quest *quest, uint32_t start)
{
    struct market *market = quest->market;
    int64_t amount = path_residual(quest, start);
    for (uint32_t p = quest->target, back; p != start; p = back) {
        const struct place *place = &market->places[p];
        back = before(market, place);
        if (place->task == NOBODY) {
            send_link(market, back, &market->links[place->via], amount);
            continue;
        }
        task_leave(market, place->task);
        market->tasks[place->task].at = place->via;
        task_stand(market, place->task, place->via, task_look(market, place->task).value);
    }
}

static bool augment(struct market *market, uint32_t start)
{
    struct quest quest = {market, 0, NO_WAY, NOBODY};
    if (!find_deficit(&quest, start)) {
        market->infeasible = true;
        market->stuck_place = start;
        return false;
    }
    raise_prices(&quest);
    send_path(&quest, start);
    return true;
}

static bool out_of_budget(const struct market *market)
{
    const struct mincost *m = market->m;
    return m->work_budget && m->work > m->work_budget;
}

bool auction_augment(struct market *market)
{
    for (uint32_t p = 0; p < market->place_count; p++)
        while (market->places[p].excess > 0)
            if (out_of_budget(market) || !augment(market, p) || market->m->failed)
                return false;
    return !market->overflow;
}
