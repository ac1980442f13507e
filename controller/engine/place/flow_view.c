#include "controller/engine/place/flow_view.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/table.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/stage.h"
#include "controller/engine/books/variant.h"

#include <stdlib.h>

/* ---- costs ---- */

static int64_t most_of_running(const struct flow_weights *weights)
{
    return (weights->locality + weights->load) * FLOW_DIMENSION;
}

/* FLOW_TURN for the first in turn, less by FLOW_OCTAVE where the turn counts twice as much. */
static int64_t urgency(const struct job *job)
{
    uint64_t number = job->turn.a, parts = FLOW_OCTAVE;
    if (!number)
        return FLOW_TURN;
    unsigned octave = 63 - (unsigned)__builtin_clzll(number);
    uint64_t part = (number << (63 - octave) << 1) >> (64 - __builtin_ctzll(parts));
    return FLOW_TURN - (int64_t)(octave * parts + part);
}

int64_t flow_cost_of_wait(const struct flow_weights *weights, const struct job *job)
{
    int64_t least = most_of_running(weights) + 1, priority = job->priority - FLOW_PRIORITY_LEAST;
    priority = priority < 0 ? 0 : priority < FLOW_PRIORITIES ? priority : FLOW_PRIORITIES - 1;
    return least + weights->turn * urgency(job) +
           (weights->priority ? priority * (least + weights->turn * FLOW_TURN + 1) : 0);
}

int64_t flow_cost_of_way(const struct flow_weights *weights, enum flow_way way, bool has_block)
{
    int64_t distance = way == FLOW_BY_HOST   ? 0
                       : way == FLOW_BY_RACK ? FLOW_DIMENSION / 2
                                             : FLOW_DIMENSION;
    return has_block ? weights->locality * distance : 0;
}

/* ---- hosts ---- */

static void *check(struct engine *engine, void *made)
{
    if (!made)
        longjmp(engine->no_memory, 1);
    return made;
}

/* FNV-1a. */
static uint64_t hash_of(const void *bytes, size_t n, uint64_t hash)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}

static uint32_t rack_number(struct engine *engine, struct flow_view *view, const struct host *host)
{
    uint64_t name = job_name_hash(host->rack);
    uintptr_t number = (uintptr_t)table_find(&view->rack_numbers, name);
    if (!number) {
        number = view->rack_numbers.n + 1;
        table_put(engine, &view->rack_numbers, name, (void *)number);
    }
    return (uint32_t)number - 1;
}

static uint32_t times_on(const struct host *host, const struct shape *shape)
{
    const struct host_shape *here = host->shapes[shape->index];
    uint32_t units = shape->application ? 1 : host->n_units;
    int64_t times = 0;
    for (uint32_t u = 0; here->fitting && u < units; u++)
        times += here->fit[u].times > 0 ? here->fit[u].times : 0;
    return times < INT32_MAX / 2 ? (uint32_t)times : INT32_MAX / 2;
}

/* The number of its length's class among those that receive. */
static uint32_t length_of(uint64_t bytes)
{
    uint32_t length = 0;
    while (length + 1 < FLOW_LENGTHS && bytes >= (uint64_t)FLOW_SHORT << 3 * length)
        length++;
    return length;
}

/* Room for one task that receives, where none does that is as short. */
static void show_downlink(const struct engine *engine, struct flow_view *view,
                          const struct host *host, uint32_t shape, uint32_t times)
{
    const struct sorted_node *shortest = sorted_first(&host->receiving[ORDER_COFLOW]);
    uint32_t open = shortest ? length_of(shortest->key.a) : FLOW_LENGTHS;
    for (uint32_t length = 0; length < FLOW_LENGTHS; length++)
        flow_set_room(view->graph, host->index, (length + 1) * engine->n_shapes + shape,
                      times && length < open);
}

static void show_host(struct engine *engine, struct flow_view *view, const struct host *host)
{
    uint32_t free = 0;
    engine->counters.visits++;
    for (uint32_t s = 0; s < engine->n_shapes; s++) {
        uint32_t times = times_on(host, engine->shapes[s]);
        free = times > free ? times : free;
    }
    flow_set_host(view->graph, host->index, view->racks[host->index] - 1, host->running, free,
                  view->weights.load * FLOW_DIMENSION, host->tie);
    for (uint32_t s = 0; s < engine->n_shapes; s++) {
        uint32_t times = times_on(host, engine->shapes[s]);
        flow_set_room(view->graph, host->index, s, times);
        if (view->weights.stalls)
            show_downlink(engine, view, host, s, times);
    }
}

static void grow_racks(struct engine *engine, struct flow_view *view, uint32_t host)
{
    uint32_t room = view->racks_room ? view->racks_room : 64;
    while (room <= host)
        room *= 2;
    if (room == view->racks_room)
        return;
    uint32_t *racks = check(engine, reallocarray(view->racks, room, sizeof(*racks)));
    for (uint32_t i = view->racks_room; i < room; i++)
        racks[i] = 0;
    view->racks = racks;
    view->racks_room = room;
}

/* The host as it is now; false: its rack is another one, so that the graph must be made anew. */
static bool follow_host(struct engine *engine, struct flow_view *view, uint32_t index)
{
    const struct host *host = cluster_host(engine, index);
    if (!host)
        return true;
    uint32_t rack = rack_number(engine, view, host) + 1;
    grow_racks(engine, view, index);
    if (view->racks[index] && view->racks[index] != rack)
        return false;
    view->racks[index] = rack;
    show_host(engine, view, host);
    return true;
}

static bool follow_hosts(struct engine *engine, struct flow_view *view)
{
    bool same = true, all = engine->n_changes - view->seen > CHANGES;
    if (all)
        for (uint32_t i = 0; i < engine->n_hosts; i++)
            same = follow_host(engine, view, i) && same;
    else
        for (uint64_t i = view->seen; i < engine->n_changes; i++)
            same = follow_host(engine, view, engine->changes[i % CHANGES]) && same;
    view->seen = engine->n_changes;
    return same;
}

/* ---- ready tasks ---- */

static struct flow_stage *stage_of(const struct stage *stage)
{
    return stage->kept[QUESTION_PLACE];
}

static struct flow_job *job_of(const struct job *job)
{
    return job->kept[QUESTION_PLACE];
}

static void mark(struct flow_view *view, struct flow_stage *kept)
{
    if (!kept->dirty)
        TAILQ_INSERT_TAIL(&view->dirty, kept, of_dirty);
    kept->dirty = true;
}

/* Wishes of one task: the hosts of its block, and their racks, each once. */
static void wish(struct engine *engine, struct flow_view *view, const struct task *task, int sign)
{
    struct flow_stage *kept = stage_of(task->stage);
    const uint32_t *replicas = task_replicas(task);
    uint32_t racks[ENGINE_REPLICAS_MAX], n_racks = 0;
    for (uint32_t i = 0; i < task_n_replicas(task); i++) {
        const struct host *host = cluster_host(engine, replicas[i]);
        bool again = !host;
        for (uint32_t j = 0; j < i; j++)
            again |= replicas[j] == replicas[i];
        if (again)
            continue;
        if (replicas[i] >= view->racks_room || !view->racks[replicas[i]])
            follow_host(engine, view, replicas[i]);
        uint32_t rack = view->racks[replicas[i]] - 1;
        engine->counters.visits++;
        kept->blocks += (uint32_t)sign;
        flow_wish_host(view->graph, kept->group, replicas[i], sign,
                       flow_cost_of_way(&view->weights, FLOW_BY_HOST, true));
        for (uint32_t j = 0; j < n_racks; j++)
            again |= racks[j] == rack;
        if (again || !*host->rack)
            continue;
        racks[n_racks++] = rack;
        flow_wish_rack(view->graph, kept->group, rack, job_name_hash(host->rack), sign,
                       flow_cost_of_way(&view->weights, FLOW_BY_RACK, true));
    }
}

static bool is_ready_map(const struct task *task)
{
    return task->state == TASK_READY && !task->bytes;
}

static void set_wait(struct flow_view *view, const struct job *job)
{
    struct flow_job *kept = job_of(job);
    int64_t wait = flow_cost_of_wait(&view->weights, job);
    if (!kept->waiter || kept->wait == wait)
        return;
    kept->wait = wait;
    flow_set_waiter(view->graph, kept->waiter, 0, UINT32_MAX, wait);
}

/* Tasks that receive are of classes of their own. */
static uint32_t class_of_stage(const struct flow_view *view, const struct stage *stage)
{
    uint32_t shape = stage->bucket->shape->index;
    if (!view->weights.stalls || !stage->ready_reduces.n)
        return shape;
    return (length_of(stage_coflow_bytes(stage)) + 1) * view->n_classes + shape;
}

static void add_group(struct engine *engine, struct flow_view *view, struct stage *stage)
{
    struct flow_stage *kept = stage_of(stage);
    struct flow_job *job = job_of(stage->job);
    if (!job->groups) {
        job->waiter = check(engine, flow_add_waiter(view->graph, stage->job->number));
        job->wait = -1;
        set_wait(view, stage->job);
    }
    job->groups++;
    kept->stage = stage;
    kept->blocks = 0;
    kept->class = class_of_stage(view, stage);
    kept->group =
        check(engine, flow_add_group(view->graph, job->waiter, kept->class, stage->job->number,
                                     (uint64_t)stage->index << 32 | stage->variant, kept));
    mark(view, kept);
}

/* Adds what the stage's ready maps wish, from the queue in which they stand. */
static void wish_all(struct engine *engine, struct flow_view *view, struct stage *stage)
{
    struct sorted_node *node =
        sorted_from(&stage->bucket->ready_maps, (struct sorted_key){stage->index, 0, 0});
    for (; node; node = sorted_next(node)) {
        struct task *task = container_of(node, struct task, ready);
        if (task->stage != stage)
            return;
        if (is_ready_map(task))
            wish(engine, view, task, 1);
    }
}

/* WHY a number is enough: where another shape took one's place the graph is made anew before it is
 * asked. */
static bool follows(const struct engine *engine, struct flow_view *view)
{
    view->stale = view->stale || (view->graph && engine->n_shapes != view->n_classes);
    return view->graph && !view->stale;
}

void flow_view_task(struct engine *engine, struct flow_view *view, struct task *task, bool ready)
{
    struct flow_stage *kept = stage_of(task->stage);
    if (!follows(engine, view) || (!kept->group && !ready))
        return;
    if (!kept->group)
        add_group(engine, view, task->stage);
    if (!task->bytes && (ready || kept->blocks))
        wish(engine, view, task, ready ? 1 : -1);
    mark(view, kept);
}

void flow_view_no_wishes(struct flow_view *view, struct stage *stage)
{
    struct flow_stage *kept = stage_of(stage);
    if (!view->graph || !kept || !kept->group)
        return;
    flow_drop_wishes(view->graph, kept->group);
    kept->blocks = 0;
    mark(view, kept);
}

void flow_view_job(struct flow_view *view, const struct job *job)
{
    if (view->graph)
        set_wait(view, job);
}

static void blocks_of_stage(struct engine *engine, struct flow_view *view, struct stage *stage)
{
    if (!stage_of(stage) || !stage_of(stage)->group)
        return;
    mark(view, stage_of(stage));
    if (!stage->replicas)
        return;
    flow_view_no_wishes(view, stage);
    wish_all(engine, view, stage);
}

void flow_view_blocks(struct engine *engine, struct flow_view *view, struct job *job)
{
    for (uint32_t s = 0; follows(engine, view) && s < job->n_stages; s++) {
        struct stage *way;
        VARIANT_FOREACH (way, job->stages[s])
            blocks_of_stage(engine, view, way);
    }
}

static void leave(struct flow_view *view, struct flow_stage *kept)
{
    if (kept->dirty)
        TAILQ_REMOVE(&view->dirty, kept, of_dirty);
    kept->dirty = false;
    if (!kept->group)
        return;
    struct flow_job *job = job_of(kept->stage->job);
    flow_remove_group(view->graph, kept->group);
    kept->group = NULL;
    if (!--job->groups)
        job->waiter = NULL;
}

void flow_view_leave(struct flow_view *view, struct flow_stage *kept)
{
    if (view->graph)
        leave(view, kept);
}

/* The stage as it is now. */
static void follow_stage(struct engine *engine, struct flow_view *view, struct flow_stage *kept)
{
    struct stage *stage = kept->stage;
    if (kept->class != class_of_stage(view, stage)) {
        leave(view, kept);
        add_group(engine, view, stage);
        wish_all(engine, view, stage);
    }
    engine->counters.visits++;
    flow_set_tasks(view->graph, kept->group, stage->n_ready);
    flow_set_anywhere(view->graph, kept->group,
                      flow_cost_of_way(&view->weights, FLOW_BY_CLUSTER, kept->blocks));
}

/* ---- the whole ---- */

/* What distinguishes a shape. */
static uint64_t class_of(const struct shape *shape)
{
    uint64_t hash =
        hash_of(&shape->demand, sizeof(shape->demand), job_name_hash(shape->constraint));
    hash = hash_of(&shape->application, sizeof(shape->application), hash);
    return hash_of(&shape->bound, sizeof(shape->bound), hash);
}

static bool same_classes(const struct engine *engine, const struct flow_view *view)
{
    bool same = engine->n_shapes == view->n_classes;
    for (uint32_t s = 0; same && s < engine->n_shapes; s++)
        same = view->classes[s] == class_of(engine->shapes[s]);
    return same;
}

static bool same_weights(const struct flow_weights *a, const struct flow_weights *b)
{
    return a->locality == b->locality && a->load == b->load && a->turn == b->turn &&
           a->priority == b->priority && a->stalls == b->stalls;
}

static void forget_stage(struct flow_stage *kept)
{
    if (!kept)
        return;
    kept->group = NULL;
    kept->dirty = false;
}

/* Calls it for each way to run a stage of each active job, in order of their numbers. */
static void each_stage(struct engine *engine, struct flow_view *view,
                       void (*visit)(struct engine *, struct flow_view *, struct stage *))
{
    for (struct sorted_node *n = sorted_first(&engine->jobs); n; n = sorted_next(n)) {
        struct job *job = container_of(n, struct job, by_number);
        for (uint32_t s = 0; job->state == JOB_ACTIVE && s < job->n_stages; s++) {
            struct stage *way;
            engine->counters.visits++;
            VARIANT_FOREACH (way, job->stages[s])
                visit(engine, view, way);
        }
    }
}

static void forget(struct engine *engine, struct flow_view *view, struct stage *stage)
{
    (void)engine;
    (void)view;
    forget_stage(stage_of(stage));
    if (job_of(stage->job))
        *job_of(stage->job) = (struct flow_job){0};
}

static void show_stage(struct engine *engine, struct flow_view *view, struct stage *stage)
{
    if (!stage->n_ready)
        return;
    add_group(engine, view, stage);
    wish_all(engine, view, stage);
}

void flow_view_forget(struct engine *engine, struct flow_view *view)
{
    if (!view->graph)
        return;
    each_stage(engine, view, forget);
    flow_view_done(view);
    flow_view_init(view);
}

static void make(struct engine *engine, struct flow_view *view, const struct flow_weights *weights)
{
    flow_view_forget(engine, view);
    if (flow_graph_create((FLOW_LENGTHS + 1) * engine->n_shapes, &view->graph) < 0)
        longjmp(engine->no_memory, 1);
    view->weights = *weights;
    view->n_classes = engine->n_shapes;
    view->classes = engine_allocate(engine, engine->n_shapes + 1, sizeof(*view->classes));
    for (uint32_t s = 0; s < engine->n_shapes; s++)
        view->classes[s] = class_of(engine->shapes[s]);
    for (uint32_t i = 0; i < engine->n_hosts; i++)
        follow_host(engine, view, i);
    view->seen = engine->n_changes;
    each_stage(engine, view, show_stage);
}

void flow_view_init(struct flow_view *view)
{
    *view = (struct flow_view){0};
    TAILQ_INIT(&view->dirty);
}

void flow_view_done(struct flow_view *view)
{
    flow_graph_destroy(view->graph);
    table_done(&view->rack_numbers);
    free(view->classes);
    free(view->racks);
}

void flow_view_follow(struct engine *engine, struct flow_view *view,
                      const struct flow_weights *weights)
{
    struct flow_stage *kept;
    if (!follows(engine, view) || !same_classes(engine, view) ||
        !same_weights(&view->weights, weights) || !follow_hosts(engine, view))
        make(engine, view, weights);
    while ((kept = TAILQ_FIRST(&view->dirty))) {
        follow_stage(engine, view, kept);
        TAILQ_REMOVE(&view->dirty, kept, of_dirty);
        kept->dirty = false;
    }
}
