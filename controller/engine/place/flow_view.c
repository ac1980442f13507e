#include "controller/engine/place/flow_view.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/base/table.h"
#include "controller/engine/books/at_most.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/stage.h"
#include "controller/engine/books/variant.h"
#include "lib/fnv1a.h"

#include <stdlib.h>
#include <string.h>

/* ---- hosts ---- */

static void *check(struct engine *engine, void *made)
{
    if (!made)
        longjmp(engine->no_memory, 1);
    return made;
}

static void rack_hosts_hold(struct engine *engine, struct flow_view *view, uint32_t number)
{
    uint32_t room = view->rack_hosts_room ? view->rack_hosts_room : 16;
    while (room <= number)
        room *= 2;
    if (room == view->rack_hosts_room)
        return;
    uint32_t *hosts = check(engine, reallocarray(view->rack_hosts, room, sizeof(*hosts)));
    for (uint32_t i = view->rack_hosts_room; i < room; i++)
        hosts[i] = 0;
    view->rack_hosts = hosts;
    view->rack_hosts_room = room;
}

static uint32_t rack_number(struct engine *engine, struct flow_view *view, const struct host *host)
{
    uint64_t name = job_name_hash(host->rack);
    uintptr_t number = (uintptr_t)table_find(&view->rack_numbers, name);
    if (!number) {
        number = view->rack_numbers.n + 1;
        table_put(engine, &view->rack_numbers, name, (void *)number);
        rack_hosts_hold(engine, view, (uint32_t)number - 1);
        view->rack_hosts[number - 1] = host->index;
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

static struct flow_freed *freed_of(const struct host *host)
{
    return host->kept[QUESTION_PLACE];
}

/* The same with slots that only count as free. */
static uint32_t times_with(const struct host *host, const struct shape *shape)
{
    bool here = host->shapes[shape->index]->capable && !shape->application && !shape->bound;
    return times_on(host, shape) + (here ? freed_of(host)->slots : 0);
}

/* The number of its length's class among those that receive. */
static uint32_t length_of(uint64_t bytes)
{
    uint32_t length = 0;
    while (length + 1 < FLOW_LENGTHS && bytes >= (uint64_t)FLOW_SHORT << 3 * length)
        length++;
    return length;
}

/* Tasks that receive and are shorter than this one find no one there that is as short. */
static uint32_t open_lengths(const struct host *host)
{
    const struct sorted_node *shortest = sorted_first(&host->receiving[ORDER_COFLOW]);
    return shortest ? length_of(shortest->key.a) : FLOW_LENGTHS;
}

/* Room of a class of tasks that receive, if some were there: for one, where none receives that is
 * as short. */
static void show_length(struct flow_view *view, const struct host *host, uint32_t kind,
                        uint32_t times)
{
    if (view->opened[kind])
        flow_set_room(view->graph, host->index, kind,
                      times && kind / view->n_classes <= open_lengths(host), 0);
}

/* WHY not before its first task: a class has an arc for each host, and few lengths are there. */
static void open_length(struct engine *engine, struct flow_view *view, uint32_t kind)
{
    const struct shape *shape = engine->shapes[kind % view->n_classes];
    if (kind < view->n_classes || view->opened[kind])
        return;
    view->opened[kind] = true;
    engine->counters.visits += engine->n_hosts;
    for (uint32_t i = 0; i < engine->n_hosts && i < view->racks_room; i++)
        if (view->racks[i])
            show_length(view, engine->hosts[i], kind, times_with(engine->hosts[i], shape));
}

/* What a bound of `most` leaves (0: none), within `room`. */
static uint32_t left_of(uint32_t most, uint32_t now, uint32_t room)
{
    uint32_t left = most > now ? most - now : 0;
    return most && left < room ? left : room;
}

/* WHY apart from the rack's: that changes with other hosts. */
static uint32_t room_on_host(const struct stage *first, const struct host *host)
{
    const struct job *job = first->job;
    uint32_t room = left_of(job->at_most.host, at_most_on_host(job, NULL, host), UINT32_MAX);
    return left_of(first->at_most.host, at_most_on_host(job, first, host), room);
}

static uint32_t room_in_rack(const struct stage *first, const struct host *host)
{
    const struct job *job = first->job;
    uint32_t room = left_of(job->at_most.rack, at_most_on_rack(job, NULL, host), UINT32_MAX);
    return left_of(first->at_most.rack, at_most_on_rack(job, first, host), room);
}

bool flow_is_bounded(const struct stage *stage)
{
    const struct at_most of_stage = stage->first->at_most, of_job = stage->job->at_most;
    return of_stage.host || of_stage.rack || of_job.host || of_job.rack;
}

static bool prefers(const struct flow_view *view, const struct stage *stage)
{
    return stage->first->n_wishes && view->weights.prefer;
}

/* With `remote` its maps leave their blocks' hosts for such as it prefers, and for no other. */
static bool stays_near(const struct flow_view *view, const struct stage *stage)
{
    return view->weights.remote && stage->replicas;
}

static void show_special(const struct engine *engine, struct flow_view *view,
                         const struct flow_special *special, const struct host *host)
{
    const struct stage *stage = TAILQ_FIRST(&special->stages)->stage;
    uint32_t times = times_with(host, engine->shapes[special->shape]);
    int64_t cost = flow_cost_of_host(&view->weights, stage, host);
    if (special->length)
        times = times && special->length <= open_lengths(host);
    if (special->near && cost && cost == flow_cost_of_host(&view->weights, stage, NULL))
        times = 0;
    flow_set_room(view->graph, host->index, special->class, times, cost);
    if (flow_is_bounded(stage))
        flow_set_most(view->graph, host->index, special->class, room_on_host(stage->first, host),
                      room_in_rack(stage->first, host));
}

static void show_host(struct engine *engine, struct flow_view *view, const struct host *host)
{
    uint32_t freed = freed_of(host)->slots, free = freed;
    engine->counters.visits++;
    for (uint32_t s = 0; s < engine->n_shapes; s++) {
        uint32_t times = times_with(host, engine->shapes[s]);
        free = times > free ? times : free;
    }
    flow_set_host(view->graph, host->index, view->racks[host->index] - 1, host->running - freed,
                  free, view->weights.load * FLOW_DIMENSION, host->tie);
    for (uint32_t s = 0; s < engine->n_shapes; s++) {
        uint32_t times = times_with(host, engine->shapes[s]);
        flow_set_room(view->graph, host->index, s, times, 0);
        for (uint32_t length = 1; view->weights.stalls && length <= FLOW_LENGTHS; length++)
            show_length(view, host, length * view->n_classes + s, times);
    }
    const struct flow_special *special;
    TAILQ_FOREACH (special, &view->specials, of_view) {
        engine->counters.visits++;
        show_special(engine, view, special, host);
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
    view->racks = racks;
    uint64_t *labels = check(engine, reallocarray(view->labels, room, sizeof(*labels)));
    view->labels = labels;
    for (uint32_t i = view->racks_room; i < room; i++)
        racks[i] = 0;
    view->racks_room = room;
}

/* The host as it is now; false: its rack or labels are others, so that the graph must be made
 * anew. */
static bool follow_host(struct engine *engine, struct flow_view *view, uint32_t index)
{
    const struct host *host = cluster_host(engine, index);
    if (!host)
        return true;
    uint32_t rack = rack_number(engine, view, host) + 1;
    uint64_t labels = fnv1a(FNV1A_NOTHING, host->labels, strlen(host->labels));
    grow_racks(engine, view, index);
    if (view->racks[index] && (view->racks[index] != rack || view->labels[index] != labels))
        return false;
    view->racks[index] = rack;
    view->labels[index] = labels;
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

/* Wishes of one task in a group: the hosts of its block, and their racks, each once, `more` dearer
 * than its ways there. Returns for how many hosts. WHY none for racks where there are bounds: X → R
 * keeps them. With `remote` there is no other way. */
static uint32_t wish_in(struct engine *engine, struct flow_view *view, struct flow_group *group,
                        const struct task *task, int sign, int64_t more)
{
    const uint32_t *replicas = task_replicas(task);
    uint32_t racks[ENGINE_REPLICAS_MAX], n_racks = 0, n = 0;
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
        n++;
        flow_wish_host(view->graph, group, replicas[i], sign,
                       more + flow_cost_of_way(&view->weights, FLOW_BY_HOST, true) +
                           flow_cost_of_host(&view->weights, task->stage, host));
        for (uint32_t j = 0; j < n_racks; j++)
            again |= racks[j] == rack;
        if (again || !*host->rack || flow_is_bounded(task->stage) || view->weights.remote)
            continue;
        racks[n_racks++] = rack;
        flow_wish_rack(view->graph, group, rack, job_name_hash(host->rack), sign,
                       more + flow_cost_of_way(&view->weights, FLOW_BY_RACK, true));
    }
    return n;
}

static void wish(struct engine *engine, struct flow_view *view, const struct task *task, int sign)
{
    struct flow_stage *kept = stage_of(task->stage);
    kept->blocks += (uint32_t)sign * wish_in(engine, view, kept->group, task, sign, 0);
}

static void set_wait(struct flow_view *view, const struct job *job)
{
    struct flow_job *kept = job_of(job);
    int64_t cost = flow_cost_of_wait(&view->weights, job);
    if (!kept->waiter || kept->cost == cost)
        return;
    kept->cost = cost;
    flow_set_waiter(view->graph, kept->waiter, kept->lower, UINT32_MAX, cost);
}

void flow_view_bound(struct flow_view *view, const struct job *job, uint32_t lower)
{
    struct flow_job *kept = job_of(job);
    if (!kept->waiter || kept->lower == lower)
        return;
    kept->lower = lower;
    flow_set_waiter(view->graph, kept->waiter, lower, UINT32_MAX, kept->cost);
}

/* Tasks that receive are of classes of their own. */
static uint32_t kind_of_stage(const struct flow_view *view, const struct stage *stage)
{
    uint32_t shape = stage->bucket->shape->index;
    if (!view->weights.stalls || !stage->ready_reduces.n)
        return shape;
    return (length_of(stage_coflow_bytes(stage)) + 1) * view->n_classes + shape;
}

/* WHY not by its number: that depends on what shapes there were before. */
static uint64_t name_of_kind(const struct flow_view *view, uint32_t kind)
{
    uint32_t length = kind / view->n_classes;
    return fnv1a(view->classes[kind % view->n_classes], &length, sizeof(length));
}

static uint64_t special_key(const struct flow_view *view, const struct stage *stage, uint32_t kind)
{
    const struct stage *first = stage->first;
    uint64_t hash = name_of_kind(view, kind);
    for (uint32_t i = 0; i < first->n_wishes; i++) {
        const char *constraint = first->wishes[i].constraint;
        hash = fnv1a(hash, constraint, strlen(constraint) + 1);
        hash = fnv1a(hash, &first->wishes[i].utility, sizeof(first->wishes[i].utility));
    }
    if (stays_near(view, stage))
        hash = fnv1a(hash, "near", strlen("near"));
    if (!flow_is_bounded(stage))
        return hash;
    hash = fnv1a(hash, &stage->job->number, sizeof(stage->job->number));
    hash = fnv1a(hash, &stage->index, sizeof(stage->index));
    return fnv1a(hash, &stage->variant, sizeof(stage->variant));
}

static struct flow_special *special_add(struct engine *engine, struct flow_view *view,
                                        struct flow_stage *kept, uint64_t key)
{
    struct flow_special *special = engine_allocate(engine, 1, sizeof(*special));
    special->class = flow_add_class(view->graph, flow_is_bounded(kept->stage));
    flow_name_class(view->graph, special->class, key);
    special->shape = kept->kind % view->n_classes;
    special->length = kept->kind / view->n_classes;
    special->near = stays_near(view, kept->stage);
    special->key = key;
    TAILQ_INIT(&special->stages);
    TAILQ_INSERT_TAIL(&special->stages, kept, of_special);
    TAILQ_INSERT_TAIL(&view->specials, special, of_view);
    table_put(engine, &view->special_keys, key, special);
    for (uint32_t i = 0; i < engine->n_hosts; i++)
        if (i < view->racks_room && view->racks[i])
            show_special(engine, view, special, engine->hosts[i]);
    engine->counters.visits += engine->n_hosts;
    return special;
}

/* NULL: the stage neither prefers hosts nor has bounds. */
static struct flow_special *special_join(struct engine *engine, struct flow_view *view,
                                         struct flow_stage *kept)
{
    const struct stage *stage = kept->stage;
    if (!flow_is_bounded(stage) && !prefers(view, stage))
        return NULL;
    uint64_t key = special_key(view, stage, kept->kind);
    struct flow_special *special = table_find(&view->special_keys, key);
    if (!special)
        return special_add(engine, view, kept, key);
    TAILQ_INSERT_TAIL(&special->stages, kept, of_special);
    return special;
}

static void special_drop(struct flow_view *view, struct flow_special *special)
{
    TAILQ_REMOVE(&view->specials, special, of_view);
    table_drop(&view->special_keys, special->key);
    free(special);
}

static void special_leave(struct flow_view *view, struct flow_stage *kept)
{
    struct flow_special *special = kept->special;
    if (!special)
        return;
    kept->special = NULL;
    TAILQ_REMOVE(&special->stages, kept, of_special);
    if (!TAILQ_EMPTY(&special->stages))
        return;
    flow_remove_class(view->graph, special->class);
    special_drop(view, special);
}

static void add_group(struct engine *engine, struct flow_view *view, struct stage *stage)
{
    struct flow_stage *kept = stage_of(stage);
    struct flow_job *job = job_of(stage->job);
    if (!job->groups) {
        job->waiter = check(engine, flow_add_waiter(view->graph, stage->job->number));
        job->cost = -1;
        job->lower = 0;
        set_wait(view, stage->job);
    }
    job->groups++;
    kept->stage = stage;
    kept->blocks = 0;
    kept->kind = kind_of_stage(view, stage);
    kept->special = special_join(engine, view, kept);
    if (!kept->special)
        open_length(engine, view, kept->kind);
    kept->group = check(
        engine,
        flow_add_group(view->graph, job->waiter, kept->special ? kept->special->class : kept->kind,
                       stage->job->number, (uint64_t)stage->index << 32 | stage->variant, kept));
    mark(view, kept);
}

/* Adds what the stage's ready maps wish, from the queue in which they stand. */
static void wish_all(struct engine *engine, struct flow_view *view, struct stage *stage)
{
    for (struct sorted_node *node = sorted_first(&stage->ready_maps); node;
         node = sorted_next(node))
        wish(engine, view, container_of(node, struct task, ready), 1);
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

void flow_view_job_on_host(struct engine *engine, struct flow_view *view, const struct job *job,
                           const struct host *host)
{
    bool seen = host->index < view->racks_room && view->racks[host->index];
    if (job->bounded && seen && follows(engine, view))
        show_host(engine, view, host);
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
    special_leave(view, kept);
    if (!--job->groups)
        job->waiter = NULL;
}

void flow_view_leave(struct flow_view *view, struct flow_stage *kept)
{
    if (view->graph)
        leave(view, kept);
}

/* What it costs to run a task of the stage's group anywhere, `more` dearer than that way; `blocks`:
 * for so many hosts its tasks wish. */
static void set_anywhere(struct flow_view *view, const struct stage *stage,
                         struct flow_group *group, uint32_t blocks, int64_t more)
{
    bool may = !blocks || !view->weights.remote || prefers(view, stage);
    int64_t cost = more + flow_cost_of_way(&view->weights, FLOW_BY_CLUSTER, blocks);
    flow_set_anywhere(view->graph, group, may ? cost : FLOW_NOWHERE);
}

/* The stage as it is now. */
static void follow_stage(struct engine *engine, struct flow_view *view, struct flow_stage *kept)
{
    struct stage *stage = kept->stage;
    bool other = kept->special && kept->special->near != stays_near(view, stage);
    if (other || kept->kind != kind_of_stage(view, stage)) {
        leave(view, kept);
        add_group(engine, view, stage);
        wish_all(engine, view, stage);
    }
    engine->counters.visits++;
    flow_set_tasks(view->graph, kept->group, stage->n_ready);
    set_anywhere(view, stage, kept->group, kept->blocks, 0);
}

/* ---- running tasks ---- */

void flow_view_show(struct engine *engine, struct flow_view *view, const struct host *host)
{
    if (host->index < view->racks_room && view->racks[host->index])
        show_host(engine, view, host);
}

void flow_view_stage(struct engine *engine, struct flow_view *view, struct stage *stage)
{
    if (!stage_of(stage)->group)
        add_group(engine, view, stage);
}

void flow_view_leave_out(struct flow_view *view, struct stage *stage, uint32_t n, uint32_t of_job)
{
    const struct job *job = stage->job;
    uint64_t left = job->n_ready > of_job ? job->n_ready - of_job : 0;
    struct stage *way;
    if (job_of(job)->lower > left)
        flow_view_bound(view, job, (uint32_t)left);
    VARIANT_FOREACH (way, stage)
        if (stage_of(way) && stage_of(way)->group)
            flow_set_tasks(view->graph, stage_of(way)->group,
                           way->n_ready > n ? way->n_ready - n : 0);
}

/* WHY the plain class where it only may stay or wait: the other ways lead through what is counted
 * for ready tasks. */
void flow_view_run(struct engine *engine, struct flow_view *view, struct flow_victim *victim,
                   uint32_t order)
{
    const struct task *task = victim->attempt->task;
    const struct stage *stage = task->stage;
    const struct flow_stage *kept = stage_of(stage);
    const struct flow_weights *weights = &view->weights;
    uint32_t class = !victim->moves  ? stage->bucket->shape->index
                     : kept->special ? kept->special->class
                                     : kept->kind;
    uint64_t part = FLOW_RUNNING | (uint64_t)stage->index << 32 | task->index;
    struct flow_group *group = check(engine, flow_add_group(view->graph, job_of(stage->job)->waiter,
                                                            class, stage->job->number, part, NULL));
    victim->group = group;
    flow_set_tasks(view->graph, group, 1);
    if (victim->moves) {
        uint32_t blocks = wish_in(engine, view, group, task, 1, victim->lost);
        set_anywhere(view, stage, group, blocks, victim->lost);
    }
    flow_set_home(view->graph, group, victim->attempt->host->index, victim->stays);
    int64_t waits = flow_cost_of_stop(weights, stage->job, victim->stays, victim->lost);
    flow_set_wait(view->graph, group, victim->moves ? FLOW_NOWHERE : waits, order);
}

/* ---- the whole ---- */

/* What distinguishes a shape. */
static uint64_t class_of(const struct shape *shape)
{
    uint64_t hash = fnv1a(job_name_hash(shape->constraint), &shape->demand, sizeof(shape->demand));
    hash = fnv1a(hash, &shape->application, sizeof(shape->application));
    return fnv1a(hash, &shape->bound, sizeof(shape->bound));
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
           a->wait == b->wait && a->prefer == b->prefer && a->priority == b->priority &&
           a->fair == b->fair && a->stalls == b->stalls && a->remote == b->remote &&
           a->preempt == b->preempt;
}

static void forget_stage(struct flow_stage *kept)
{
    if (!kept)
        return;
    kept->group = NULL;
    kept->special = NULL;
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
    struct flow_job *kept = job_of(stage->job);
    (void)engine;
    (void)view;
    forget_stage(stage_of(stage));
    if (!kept)
        return;
    kept->waiter = NULL;
    kept->groups = 0;
}

static void show_stage(struct engine *engine, struct flow_view *view, struct stage *stage)
{
    if (!stage->n_ready)
        return;
    if (view->weights.wait && !job_of(stage->job)->wait.waits)
        flow_wait_begin(&view->waits, stage->job, &job_of(stage->job)->wait, engine->now_ns);
    add_group(engine, view, stage);
    wish_all(engine, view, stage);
}

void flow_view_forget(struct engine *engine, struct flow_view *view)
{
    if (!view->graph)
        return;
    struct flow_waits waits = view->waits;
    each_stage(engine, view, forget);
    flow_view_done(view);
    flow_view_init(view);
    view->waits = waits;
}

static void make(struct engine *engine, struct flow_view *view, const struct flow_weights *weights)
{
    flow_view_forget(engine, view);
    if (flow_graph_create((FLOW_LENGTHS + 1) * engine->n_shapes, &view->graph) < 0)
        longjmp(engine->no_memory, 1);
    view->weights = *weights;
    view->n_classes = engine->n_shapes;
    view->classes = engine_allocate(engine, engine->n_shapes + 1, sizeof(*view->classes));
    view->opened =
        engine_allocate(engine, (FLOW_LENGTHS + 1) * engine->n_shapes + 1, sizeof(*view->opened));
    for (uint32_t s = 0; s < engine->n_shapes; s++)
        view->classes[s] = class_of(engine->shapes[s]);
    for (uint32_t kind = 0; kind < (FLOW_LENGTHS + 1) * engine->n_shapes; kind++)
        flow_name_class(view->graph, kind, name_of_kind(view, kind));
    for (uint32_t i = 0; i < engine->n_hosts; i++)
        follow_host(engine, view, i);
    view->seen = engine->n_changes;
    each_stage(engine, view, show_stage);
}

void flow_view_init(struct flow_view *view)
{
    *view = (struct flow_view){0};
    TAILQ_INIT(&view->dirty);
    TAILQ_INIT(&view->specials);
}

void flow_view_done(struct flow_view *view)
{
    struct flow_special *special;
    while ((special = TAILQ_FIRST(&view->specials)))
        special_drop(view, special);
    flow_graph_destroy(view->graph);
    table_done(&view->special_keys);
    table_done(&view->rack_numbers);
    free(view->classes);
    free(view->opened);
    free(view->racks);
    free(view->labels);
    free(view->rack_hosts);
}

static struct flow_wait *wait_of(const struct job *job)
{
    return &job_of(job)->wait;
}

static void count_waits(struct engine *engine, struct flow_view *view)
{
    struct job *job;
    for (int n = 0; n < FLOW_WAIT_MOST; n++) {
        if (!(job = flow_wait_next(engine, &view->waits, wait_of)))
            return;
        engine->counters.visits++;
        flow_view_job(view, job);
    }
}

void flow_view_follow(struct engine *engine, struct flow_view *view,
                      const struct flow_weights *weights)
{
    struct flow_stage *kept;
    count_waits(engine, view);
    if (!follows(engine, view) || !same_classes(engine, view) ||
        !same_weights(&view->weights, weights) || !follow_hosts(engine, view))
        make(engine, view, weights);
    while ((kept = TAILQ_FIRST(&view->dirty))) {
        follow_stage(engine, view, kept);
        TAILQ_REMOVE(&view->dirty, kept, of_dirty);
        kept->dirty = false;
    }
}
