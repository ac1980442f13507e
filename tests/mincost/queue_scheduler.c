#include "tests/mincost/queue_scheduler.h"

#include <stdlib.h>

#include "tests/mincost/quincy_state.h"

struct queue_scheduler {
    uint32_t machines;
    uint32_t *free_slots, *rack;
    int32_t *load_cost; /* X → R and R → M */
    int32_t *rack_load_cost;
    uint64_t stream;
};

struct queue_scheduler *queue_scheduler_create(const struct quincy *q)
{
    struct queue_scheduler *s = calloc(1, sizeof *s);
    uint32_t count = q->shape.machines;
    s->machines = count;
    s->free_slots = calloc(count, sizeof *s->free_slots);
    s->rack = calloc(count, sizeof *s->rack);
    s->load_cost = calloc(count, sizeof *s->load_cost);
    s->rack_load_cost = calloc(count, sizeof *s->rack_load_cost);
    s->stream = 1;
    for (uint32_t i = 0; i < count; i++) {
        s->rack[i] = i / q->shape.rack_machines;
        s->free_slots[i] = quincy_free_slots(q, i);
        if (q->machines[i].down)
            continue;
        s->rack_load_cost[i] = (int32_t)q->plain.arcs[q->machines[i].rack_arc].cost;
        s->load_cost[i] =
            s->rack_load_cost[i] + (int32_t)q->plain.arcs[q->cluster_arc[s->rack[i]]].cost;
    }
    return s;
}

void queue_scheduler_destroy(struct queue_scheduler *s)
{
    free(s->free_slots);
    free(s->rack);
    free(s->load_cost);
    free(s->rack_load_cost);
    free(s);
}

static int32_t score(const struct queue_scheduler *s, const struct quincy_task *t, uint32_t machine)
{
    int32_t best = t->cluster_cost + s->load_cost[machine];
    for (uint32_t i = 0; i < PREFERRED_RACKS; i++)
        if (t->rack_arc[i] && t->rack[i] == s->rack[machine] &&
            t->rack_cost[i] + s->rack_load_cost[machine] < best)
            best = t->rack_cost[i] + s->rack_load_cost[machine];
    for (uint32_t i = 0; i < PREFERRED; i++)
        if (t->machine_arc[i] && t->machine[i] == machine && t->machine_cost[i] < best)
            best = t->machine_cost[i];
    return best;
}

static uint32_t draw_machine(struct queue_scheduler *s)
{
    s->stream = s->stream * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((s->stream >> 33) % s->machines);
}

static int32_t place_task(struct queue_scheduler *s, const struct quincy_task *t, uint32_t sample)
{
    uint32_t best_machine = 0;
    int32_t best = INT32_MAX;
    uint32_t count = sample ? sample : s->machines;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t machine = sample ? draw_machine(s) : i;
        if (!s->free_slots[machine])
            continue;
        int32_t cost = score(s, t, machine);
        if (cost < best) {
            best = cost;
            best_machine = machine;
        }
    }
    if (best >= t->wait_cost)
        return t->wait_cost;
    s->free_slots[best_machine]--;
    return best;
}

int64_t queue_scheduler_place(struct queue_scheduler *s, const struct quincy *q, uint32_t sample)
{
    int64_t cost = 0;
    for (uint32_t i = 0; i < q->shape.tasks; i++)
        if (quincy_is_waiting(q, i))
            cost += place_task(s, &q->tasks[i], sample);
    return cost;
}
