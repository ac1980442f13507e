#include <inttypes.h>
#include <stdlib.h>

#include "lib/mincost/mincost.h"
#include "tests/mincost/quincy_state.h"

/* Units that come to each machine through its rack, and to each rack through the cluster, not yet
 * given to a task. */
struct tokens {
    uint32_t *machine, *rack;
    uint32_t *next_machine, next_rack;
};

static uint32_t take_in_rack(const struct quincy *q, struct tokens *tokens, uint32_t rack)
{
    uint32_t *i = &tokens->next_machine[rack], stop = (rack + 1) * q->shape.rack_machines;
    while (*i < stop && *i < q->shape.machines && tokens->machine[*i] == 0)
        ++*i;
    if (*i >= stop || *i >= q->shape.machines)
        abort();
    tokens->machine[*i]--;
    return *i;
}

static uint32_t take_in_cluster(const struct quincy *q, struct tokens *tokens)
{
    while (tokens->rack[tokens->next_rack] == 0)
        tokens->next_rack++;
    tokens->rack[tokens->next_rack]--;
    return take_in_rack(q, tokens, tokens->next_rack);
}

static bool flows(const struct mincost *problem, uint32_t arc)
{
    return arc && mincost_flow(problem, arc) > 0;
}

static uint32_t find_placement(const struct quincy *q, const struct mincost *problem,
                               const struct quincy_task *t, struct tokens *tokens)
{
    if (flows(problem, t->run_arc))
        return t->run_on;
    for (uint32_t i = 0; i < PREFERRED; i++)
        if (flows(problem, t->machine_arc[i]))
            return t->machine[i];
    for (uint32_t i = 0; i < PREFERRED_RACKS; i++)
        if (flows(problem, t->rack_arc[i]))
            return take_in_rack(q, tokens, t->rack[i]);
    return flows(problem, t->cluster_arc) ? take_in_cluster(q, tokens) : NOWHERE;
}

static void read_tokens(const struct quincy *q, const struct mincost *problem,
                        struct tokens *tokens)
{
    for (uint32_t i = 0; i < q->shape.machines; i++)
        tokens->machine[i] = (uint32_t)mincost_flow(problem, q->machines[i].rack_arc);
    for (uint32_t r = 0; r < q->racks; r++) {
        tokens->rack[r] = (uint32_t)mincost_flow(problem, q->cluster_arc[r]);
        tokens->next_machine[r] = r * q->shape.rack_machines;
    }
}

void quincy_observe(struct quincy *q, const struct mincost *problem)
{
    struct tokens tokens = {calloc(q->shape.machines, 4), calloc(q->racks, 4), calloc(q->racks, 4),
                            0};
    if (!tokens.machine || !tokens.rack || !tokens.next_machine)
        abort();
    read_tokens(q, problem, &tokens);
    for (uint32_t i = 0; i < q->shape.machines; i++)
        q->machines[i].used = 0;
    for (uint32_t i = 0; i < q->shape.tasks; i++) {
        struct quincy_task *t = &q->tasks[i];
        if (!t->node)
            continue;
        t->placed = find_placement(q, problem, t, &tokens);
        if (t->placed != NOWHERE)
            q->machines[t->placed].used++;
    }
    free(tokens.machine);
    free(tokens.rack);
    free(tokens.next_machine);
}

struct census {
    uint64_t arcs, waiting, free_slots, through_cluster;
    int64_t least_cost, most_cost;
};

static void count_task(const struct quincy *q, const struct quincy_task *t, struct census *census)
{
    if (!t->node)
        return;
    for (uint32_t i = 0; i < PREFERRED; i++)
        census->arcs += t->machine_arc[i] != 0;
    for (uint32_t i = 0; i < PREFERRED_RACKS; i++)
        census->arcs += t->rack_arc[i] != 0;
    census->arcs += t->run_arc ? 3 : 2;
    census->waiting += t->placed == NOWHERE;
    bool preferred = false;
    for (uint32_t i = 0; i < PREFERRED; i++)
        preferred |= t->machine[i] == t->placed;
    for (uint32_t i = 0; i < PREFERRED_RACKS; i++)
        preferred |= t->placed != NOWHERE && t->rack[i] == t->placed / q->shape.rack_machines;
    census->through_cluster += t->placed != NOWHERE && !preferred;
}

static void count_costs(const struct plain *plain, struct census *census)
{
    for (uint32_t a = 1; a <= plain->max_arc; a++) {
        if (!plain->arcs[a].tail)
            continue;
        int64_t cost = plain->arcs[a].cost;
        census->least_cost = cost < census->least_cost ? cost : census->least_cost;
        census->most_cost = cost > census->most_cost ? cost : census->most_cost;
    }
}

void quincy_print_statistics(const struct quincy *q, FILE *file)
{
    struct census c = {0};
    for (uint32_t i = 0; i < q->shape.tasks; i++)
        count_task(q, &q->tasks[i], &c);
    for (uint32_t i = 0; i < q->shape.machines; i++)
        if (!q->machines[i].down)
            c.free_slots += q->shape.slots - q->machines[i].used;
    count_costs(&q->plain, &c);
    fprintf(file,
            "%" PRIu32 " machines, %" PRIu32 " tasks in %" PRIu32
            " jobs, %.2f arcs per task, costs %" PRId64 " to %" PRId64 ", %" PRIu64
            " slots free, %" PRIu64 " tasks wait, %.1f %% placed through X\n",
            q->shape.machines, q->alive, q->jobs, (double)c.arcs / q->alive, c.least_cost,
            c.most_cost, c.free_slots, c.waiting, 100.0 * (double)c.through_cluster / q->alive);
}

bool quincy_is_waiting(const struct quincy *q, uint32_t task)
{
    return q->tasks[task].node && q->tasks[task].placed == NOWHERE;
}

uint32_t quincy_free_slots(const struct quincy *q, uint32_t machine)
{
    const struct machine *m = &q->machines[machine];
    return m->down ? 0 : q->shape.slots - m->used;
}
