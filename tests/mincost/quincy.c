#include "tests/mincost/quincy_state.h"

#include <stdlib.h>
#include <string.h>

static uint64_t draw(struct quincy *q, uint64_t below)
{
    uint64_t z = (q->stream += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % below;
}

static int64_t between(struct quincy *q, int64_t least, int64_t most)
{
    return least + (int64_t)draw(q, (uint64_t)(most - least + 1));
}

static void *table(size_t count, size_t size)
{
    void *made = calloc(count, size);
    if (!made)
        abort();
    return made;
}

static uint32_t take_id(struct free_ids *ids)
{
    return ids->count ? ids->items[--ids->count] : ++ids->next;
}

static void give_id(struct free_ids *ids, uint32_t id)
{
    if (ids->count == ids->room) {
        ids->room = ids->room * 2 + 64;
        ids->items = realloc(ids->items, ids->room * sizeof id);
        if (!ids->items)
            abort();
    }
    ids->items[ids->count++] = id;
}

static void put(struct quincy *q, struct mincost_change change)
{
    changes_add(&q->changes, change);
    plain_apply(&q->plain, &change);
}

static uint32_t add_arc(struct quincy *q, uint32_t tail, uint32_t head, int64_t capacity,
                        int64_t cost)
{
    uint32_t id = take_id(&q->arc_ids);
    put(q, (struct mincost_change){MINCOST_ARC, id, tail, head, 0, capacity, cost});
    return id;
}

static void remove_arc(struct quincy *q, uint32_t *arc)
{
    if (!*arc)
        return;
    put(q, (struct mincost_change){.kind = MINCOST_ARC_GONE, .id = *arc});
    give_id(&q->arc_ids, *arc);
    *arc = 0;
}

static void change_cost(struct quincy *q, uint32_t arc, int64_t cost)
{
    put(q, (struct mincost_change){
               .kind = MINCOST_ARC_MODIFIED, .id = arc, .capacity = 1, .cost = cost});
}

static uint32_t rack_node(uint32_t rack)
{
    return FIRST_RACK + rack;
}

struct quincy *quincy_create(const struct quincy_shape *shape)
{
    struct quincy *q = table(1, sizeof *q);
    q->shape = *shape;
    q->stream = shape->seed;
    q->racks = (shape->machines + shape->rack_machines - 1) / shape->rack_machines;
    q->jobs = (shape->tasks + shape->job_tasks - 1) / shape->job_tasks;
    q->cluster_arc = table(q->racks, sizeof *q->cluster_arc);
    q->machines = table(shape->machines, sizeof *q->machines);
    q->failed = table(shape->machines, sizeof *q->failed);
    q->job = table(q->jobs, sizeof *q->job);
    q->tasks = table(shape->tasks, sizeof *q->tasks);
    return q;
}

void quincy_destroy(struct quincy *q)
{
    free(q->cluster_arc);
    free(q->machines);
    free(q->failed);
    free(q->job);
    free(q->tasks);
    free(q->arc_ids.items);
    free(q->node_ids.items);
    free(q->changes.items);
    plain_done(&q->plain);
    free(q);
}

static void start_machine(struct quincy *q, uint32_t i)
{
    struct machine *m = &q->machines[i];
    m->node = take_id(&q->node_ids);
    m->down = false;
    m->used = 0;
    put(q, (struct mincost_change){.kind = MINCOST_NODE, .id = m->node});
    m->sink_arc = add_arc(q, m->node, NODE_SINK, q->shape.slots, 0);
    m->rack_arc = add_arc(q, rack_node(i / q->shape.rack_machines), m->node, q->shape.slots,
                          between(q, 0, 9));
}

/* Follows the number of the job's tasks with its bounds: some tasks of one job in eight must wait,
 * in the others some must run. */
static void bound_job(struct quincy *q, uint32_t j)
{
    struct quincy_job *job = &q->job[j];
    uint32_t lower = job->lower < job->tasks ? job->lower : job->tasks;
    uint32_t upper = job->running_at_least < job->tasks ? job->tasks - job->running_at_least : 0;
    put(q, (struct mincost_change){MINCOST_ARC_MODIFIED, job->arc, 0, 0, lower,
                                   upper > lower ? upper : lower, 0});
}

/* Popular input lies on three machines of ten. */
static uint32_t draw_machine(struct quincy *q, bool popular)
{
    uint32_t i = (uint32_t)draw(q, q->shape.machines);
    uint32_t near = i - i % 10 + i % 3;
    return popular && near < q->shape.machines ? near : i;
}

static bool prefer_machines(struct quincy *q, struct quincy_task *t)
{
    bool popular = draw(q, 100) < q->shape.popular_percent, without_input = draw(q, 8) == 0;
    for (uint32_t i = 0; i < PREFERRED; i++) {
        t->machine[i] = draw_machine(q, popular);
        t->machine_cost[i] = (int32_t)between(q, 20, 200);
        const struct machine *m = &q->machines[t->machine[i]];
        bool again = false;
        for (uint32_t k = 0; k < i; k++)
            again |= t->machine[k] == t->machine[i];
        t->machine_arc[i] = m->down || again || without_input
                                ? 0
                                : add_arc(q, t->node, m->node, 1, t->machine_cost[i]);
    }
    return without_input;
}

static void start_task(struct quincy *q, struct quincy_task *t)
{
    t->node = take_id(&q->node_ids);
    t->job = (uint32_t)draw(q, q->jobs);
    t->placed = t->run_on = NOWHERE;
    t->run_arc = 0;
    put(q, (struct mincost_change){.kind = MINCOST_NODE, .id = t->node, .cost = 1});
    bool without_input = prefer_machines(q, t);
    for (uint32_t i = 0; i < PREFERRED_RACKS; i++) {
        t->rack[i] = t->machine[i] / q->shape.rack_machines;
        t->rack_cost[i] = (int32_t)between(q, 200, 400);
        bool again = i > 0 && t->rack[0] == t->rack[i];
        t->rack_arc[i] = again || without_input
                             ? 0
                             : add_arc(q, t->node, rack_node(t->rack[i]), 1, t->rack_cost[i]);
    }
    t->cluster_cost = (int32_t)between(q, 400, 600);
    t->cluster_arc = add_arc(q, t->node, NODE_CLUSTER, 1, t->cluster_cost);
    t->wait_cost = (int32_t)between(q, 800, 2000);
    t->wait_arc = add_arc(q, t->node, q->job[t->job].node, 1, t->wait_cost);
    q->job[t->job].tasks++;
    q->alive++;
}

static void end_task(struct quincy *q, struct quincy_task *t)
{
    for (uint32_t i = 0; i < PREFERRED; i++)
        remove_arc(q, &t->machine_arc[i]);
    for (uint32_t i = 0; i < PREFERRED_RACKS; i++)
        remove_arc(q, &t->rack_arc[i]);
    remove_arc(q, &t->cluster_arc);
    remove_arc(q, &t->wait_arc);
    remove_arc(q, &t->run_arc);
    put(q, (struct mincost_change){.kind = MINCOST_NODE_GONE, .id = t->node});
    give_id(&q->node_ids, t->node);
    if (t->placed != NOWHERE)
        q->machines[t->placed].used--;
    q->job[t->job].tasks--;
    q->alive--;
    t->node = 0;
}

static void bound_all_jobs(struct quincy *q)
{
    for (uint32_t j = 0; j < q->jobs; j++)
        bound_job(q, j);
}

static void set_demand(struct quincy *q)
{
    put(q,
        (struct mincost_change){.kind = MINCOST_NODE, .id = NODE_SINK, .cost = -(int64_t)q->alive});
}

static void start_jobs(struct quincy *q)
{
    for (uint32_t j = 0; j < q->jobs; j++) {
        struct quincy_job *job = &q->job[j];
        job->node = take_id(&q->node_ids);
        job->lower = draw(q, 8) ? 0 : 2;
        job->running_at_least = job->lower ? 0 : (uint32_t)draw(q, 4);
        put(q, (struct mincost_change){.kind = MINCOST_NODE, .id = job->node});
        job->arc = add_arc(q, job->node, NODE_SINK, 0, 0);
    }
}

void quincy_first_round(struct quincy *q)
{
    q->changes.count = 0;
    q->node_ids.next = rack_node(q->racks) - 1;
    for (uint32_t v = NODE_SINK; v < rack_node(q->racks); v++)
        put(q, (struct mincost_change){.kind = MINCOST_NODE, .id = v});
    for (uint32_t r = 0; r < q->racks; r++)
        q->cluster_arc[r] =
            add_arc(q, NODE_CLUSTER, rack_node(r), (int64_t)q->shape.rack_machines * q->shape.slots,
                    between(q, 0, 9));
    for (uint32_t i = 0; i < q->shape.machines; i++)
        start_machine(q, i);
    start_jobs(q);
    for (uint32_t t = 0; t < q->shape.tasks; t++)
        start_task(q, &q->tasks[t]);
    bound_all_jobs(q);
    set_demand(q);
}

/* The running arc: cheap, to where the task runs. */
static void begin_running(struct quincy *q, struct quincy_task *t)
{
    t->run_on = t->placed;
    t->run_cost = (int32_t)between(q, 0, 15);
    for (uint32_t i = 0; i < PREFERRED; i++)
        if (t->machine[i] == t->run_on && t->machine_arc[i]) {
            change_cost(q, t->machine_arc[i], t->run_cost);
            return;
        }
    t->run_arc = add_arc(q, t->node, q->machines[t->run_on].node, 1, t->run_cost);
}

static void end_running(struct quincy *q, struct quincy_task *t)
{
    if (t->run_on == NOWHERE)
        return;
    if (t->run_arc)
        remove_arc(q, &t->run_arc);
    else
        for (uint32_t i = 0; i < PREFERRED; i++)
            if (t->machine[i] == t->run_on && t->machine_arc[i])
                change_cost(q, t->machine_arc[i], t->machine_cost[i]);
    t->run_on = NOWHERE;
}

static void follow_placements(struct quincy *q)
{
    for (uint32_t i = 0; i < q->shape.tasks; i++) {
        struct quincy_task *t = &q->tasks[i];
        if (!t->node || t->placed == t->run_on)
            continue;
        end_running(q, t);
        if (t->placed != NOWHERE)
            begin_running(q, t);
    }
}

static void fail_machine(struct quincy *q, uint32_t i)
{
    struct machine *m = &q->machines[i];
    for (uint32_t k = 0; k < q->shape.tasks; k++) {
        struct quincy_task *t = &q->tasks[k];
        if (!t->node)
            continue;
        if (t->run_on == i) {
            remove_arc(q, &t->run_arc);
            t->run_on = NOWHERE;
        }
        if (t->placed == i)
            t->placed = NOWHERE;
        for (uint32_t p = 0; p < PREFERRED; p++)
            if (t->machine[p] == i)
                remove_arc(q, &t->machine_arc[p]);
    }
    remove_arc(q, &m->rack_arc);
    remove_arc(q, &m->sink_arc);
    put(q, (struct mincost_change){.kind = MINCOST_NODE_GONE, .id = m->node});
    give_id(&q->node_ids, m->node);
    m->down = true;
    m->used = 0;
    q->failed[q->failed_count++] = i;
}

static void fail_some(struct quincy *q, uint32_t count)
{
    uint32_t back[64], returning = q->failed_count < 64 ? q->failed_count : 64;
    memcpy(back, q->failed, returning * sizeof *back);
    q->failed_count = 0;
    for (uint32_t i = 0; i < returning; i++)
        start_machine(q, back[i]);
    while (count > 0) {
        uint32_t i = (uint32_t)draw(q, q->shape.machines);
        if (q->machines[i].down)
            continue;
        fail_machine(q, i);
        count--;
    }
}

static void replace_tasks(struct quincy *q, uint32_t count)
{
    uint32_t *ended = table(count, sizeof *ended);
    for (uint32_t i = 0; i < count;) {
        uint32_t t = (uint32_t)draw(q, q->shape.tasks);
        if (!q->tasks[t].node || q->tasks[t].placed == NOWHERE)
            continue;
        end_task(q, &q->tasks[t]);
        ended[i++] = t;
    }
    for (uint32_t i = 0; i < count; i++)
        start_task(q, &q->tasks[ended[i]]);
    free(ended);
}

void quincy_churn_round(struct quincy *q, uint32_t per_mille)
{
    uint32_t failures = (uint32_t)((uint64_t)q->shape.machines * per_mille / 20000);
    q->changes.count = 0;
    follow_placements(q);
    replace_tasks(q, (uint32_t)((uint64_t)q->shape.tasks * per_mille / 1000));
    fail_some(q, failures > 60 ? 60 : failures ? failures : 1);
    bound_all_jobs(q);
    set_demand(q);
}

void quincy_event_round(struct quincy *q)
{
    q->changes.count = 0;
    follow_placements(q);
    uint32_t t;
    do
        t = (uint32_t)draw(q, q->shape.tasks);
    while (q->tasks[t].placed == NOWHERE);
    uint32_t old_job = q->tasks[t].job;
    end_task(q, &q->tasks[t]);
    start_task(q, &q->tasks[t]);
    fail_some(q, 1);
    bound_job(q, old_job);
    bound_job(q, q->tasks[t].job);
    set_demand(q);
}

static void age_task(struct quincy *q, struct quincy_task *t)
{
    t->run_cost -= (int32_t)between(q, 1, 3);
    uint32_t arc = t->run_arc;
    for (uint32_t i = 0; i < PREFERRED && !arc; i++)
        if (t->machine[i] == t->run_on)
            arc = t->machine_arc[i];
    change_cost(q, arc, t->run_cost);
}

void quincy_age_round(struct quincy *q)
{
    q->changes.count = 0;
    follow_placements(q);
    for (uint32_t i = 0; i < q->shape.tasks; i++)
        if (q->tasks[i].node && q->tasks[i].run_on != NOWHERE)
            age_task(q, &q->tasks[i]);
}

const struct changes *quincy_changes(const struct quincy *q)
{
    return &q->changes;
}

const struct plain *quincy_plain(const struct quincy *q)
{
    return &q->plain;
}
