#include "controller/engine/place/flow_look.h"

#include "controller/engine/base/say.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/eviction.h"
#include "controller/engine/books/stage.h"
#include "controller/engine/place/flow_stops.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- arcs in words ---- */

static const char *const kinds[] = {
    [FLOW_WISH_HOST] = "block",   [FLOW_WISH_RACK] = "rack of block",
    [FLOW_ANYWHERE] = "anywhere", [FLOW_WAIT] = "wait",
    [FLOW_OF_RACK] = "rack",      [FLOW_ROOM] = "room",
    [FLOW_MOST] = "at most",      [FLOW_SLOTS] = "slots",
    [FLOW_UNSCHEDULED] = "waits",
};

/* What a node is: a word, and what it is of. */
struct node_said {
    char text[sizeof(((struct arc_view *)0)->tail_is)];
};

static const char *host_name(const struct engine *engine, uint32_t index)
{
    const struct host *host = cluster_host(engine, index);
    return host && *host->name ? host->name : "?";
}

static const char *rack_name(const struct engine *engine, const struct flow_view *view,
                             uint32_t rack)
{
    const struct host *host =
        rack < view->rack_hosts_room ? cluster_host(engine, view->rack_hosts[rack]) : NULL;
    return host && *host->rack ? host->rack : "none";
}

static struct node_said host_said(const struct engine *engine, uint32_t host)
{
    struct node_said said;
    snprintf(said.text, sizeof(said.text), "host %s", host_name(engine, host));
    return said;
}

/* Where the class of an arc comes to a host: before its bound, if it has one. */
static struct node_said place_said(const struct engine *engine, const struct flow_arc *arc)
{
    struct node_said said;
    if (!arc->bounded)
        return host_said(engine, arc->host);
    snprintf(said.text, sizeof(said.text), "bound on %s, class %" PRIu32,
             host_name(engine, arc->host), arc->class);
    return said;
}

/* Classes are numbered; the first one is not said, since mostly there is no other. */
static struct node_said class_said(const char *of, const char *name, uint32_t class)
{
    struct node_said said;
    if (class)
        snprintf(said.text, sizeof(said.text), "%s%s, class %" PRIu32, of, name, class);
    else
        snprintf(said.text, sizeof(said.text), "%s%s", of, name);
    return said;
}

/* The ready tasks of a stage. */
static struct node_said group_said(const struct flow_arc *arc)
{
    struct node_said said;
    uint32_t stage = (uint32_t)((arc->part & ~FLOW_RUNNING) >> 32), variant = (uint32_t)arc->part;
    if (arc->part & FLOW_RUNNING)
        snprintf(said.text, sizeof(said.text), "running task %" PRIu64 "/%" PRIu32 "/%" PRIu32,
                 arc->name, stage, variant);
    else if (variant)
        snprintf(said.text, sizeof(said.text), "tasks of %" PRIu64 "/%" PRIu32 " as variant %u",
                 arc->name, stage, variant);
    else
        snprintf(said.text, sizeof(said.text), "tasks of %" PRIu64 "/%" PRIu32, arc->name, stage);
    return said;
}

static struct node_said waiter_said(uint64_t job)
{
    struct node_said said;
    snprintf(said.text, sizeof(said.text), "job %" PRIu64 " waits", job);
    return said;
}

static void ends_say(const struct engine *engine, const struct flow_view *view,
                     const struct flow_arc *arc, struct node_said *tail, struct node_said *head)
{
    const char *rack = rack_name(engine, view, arc->rack);
    switch (arc->kind) {
    case FLOW_WISH_HOST:
        *tail = group_said(arc);
        *head = place_said(engine, arc);
        break;
    case FLOW_WISH_RACK:
        *tail = group_said(arc);
        *head = class_said("rack ", rack, arc->class);
        break;
    case FLOW_ANYWHERE:
        *tail = group_said(arc);
        *head = class_said("anywhere", "", arc->class);
        break;
    case FLOW_WAIT:
        *tail = group_said(arc);
        *head = waiter_said(arc->name);
        break;
    case FLOW_OF_RACK:
        *tail = class_said("anywhere", "", arc->class);
        *head = class_said("rack ", rack, arc->class);
        break;
    case FLOW_ROOM:
        *tail = class_said("rack ", rack, arc->class);
        *head = place_said(engine, arc);
        break;
    case FLOW_MOST:
        *tail = place_said(engine, arc);
        *head = host_said(engine, arc->host);
        break;
    case FLOW_SLOTS:
        *tail = host_said(engine, arc->host);
        *head = class_said("sink", "", 0);
        break;
    case FLOW_UNSCHEDULED:
        *tail = waiter_said(arc->name);
        *head = class_said("sink", "", 0);
        break;
    }
}

static void arc_fill(const struct engine *engine, const struct flow_view *view,
                     const struct flow_arc *arc, uint32_t number, struct arc_view *ret_arc)
{
    struct node_said tail, head;
    ends_say(engine, view, arc, &tail, &head);
    *ret_arc = (struct arc_view){.arc = number,
                                 .what = arc->home ? "stay" : kinds[arc->kind],
                                 .tail = arc->tail,
                                 .head = arc->head,
                                 .lower = arc->lower,
                                 .capacity = arc->capacity,
                                 .flow = arc->flow,
                                 .cost = arc->cost,
                                 .ranked = arc->ranked};
    snprintf(ret_arc->tail_is, sizeof(ret_arc->tail_is), "%s", tail.text);
    snprintf(ret_arc->head_is, sizeof(ret_arc->head_is), "%s", head.text);
}

bool flow_look_arc(const struct engine *engine, const struct flow_view *view, uint64_t after,
                   struct arc_view *ret_arc)
{
    struct flow_arc arc;
    uint32_t most = view->graph ? flow_last_max(view->graph) : 0;
    for (uint64_t number = after + 1; number <= most; number++) {
        if (!flow_last_arc(view->graph, (uint32_t)number, &arc) || !arc.capacity)
            continue;
        arc_fill(engine, view, &arc, (uint32_t)number, ret_arc);
        return true;
    }
    return false;
}

/* ---- what was weighed for a task ---- */

/* A way to a host: its own cost, and that of the host's next slot. */
static void say_block(const struct flow_view *view, const struct flow_weights *weights,
                      const struct stage *stage, const struct host *host, uint32_t number,
                      struct engine_explanation *e)
{
    int64_t load, cost = flow_cost_of_way(weights, FLOW_BY_HOST, true) +
                         flow_cost_of_host(weights, stage, host);
    const char *name = *host->name ? host->name : "?";
    char fact[sizeof(e->fact[0].name)];
    snprintf(fact, sizeof(fact), "arc_block_%" PRIu32, number);
    if (view->graph && flow_next_slot(view->graph, host->index, &load)) {
        say(e, " %s (its block) %" PRId64 ", and %" PRId64 " for the load there;", name, cost,
            load);
        say_fact(e, fact, "%s: %" PRId64 " + %" PRId64 " for load", name, cost, load);
        return;
    }
    say(e, " %s (its block, full) %" PRId64 ";", name, cost);
    say_fact(e, fact, "%s: %" PRId64 ", full", name, cost);
}

static void say_ways(const struct engine *engine, const struct flow_view *view,
                     const struct flow_weights *weights, const struct task *task,
                     struct engine_explanation *e)
{
    bool has_block = task_n_replicas(task) > 0 && !task->bytes;
    int64_t rack = flow_cost_of_way(weights, FLOW_BY_RACK, has_block),
            anywhere = flow_cost_of_way(weights, FLOW_BY_CLUSTER, has_block),
            load = weights->load * FLOW_DIMENSION,
            wishes = flow_cost_of_host(weights, task->stage, NULL);
    bool in_rack = false;
    say(e, " Its arcs:");
    for (uint32_t i = 0; has_block && i < task_n_replicas(task); i++) {
        const struct host *host = cluster_host(engine, task_replicas(task)[i]);
        bool again = !host;
        for (uint32_t j = 0; j < i; j++)
            again |= task_replicas(task)[j] == task_replicas(task)[i];
        if (again)
            continue;
        say_block(view, weights, task->stage, host, i + 1, e);
        in_rack |= *host->rack != '\0';
    }
    if (in_rack) {
        say(e, " elsewhere in the rack of a block %" PRId64 ";", rack);
        say_fact(e, "arc_rack", "%" PRId64, rack);
    }
    say(e, " %s host %" PRId64 ", and up to %" PRId64 " by its load;",
        has_block ? "any other" : "any", anywhere, load);
    say_fact(e, "arc_anywhere", "%" PRId64 " + up to %" PRId64 " for load", anywhere, load);
    if (!wishes)
        return;
    say(e, " up to %" PRId64 " more on a host that is less than all that it prefers;", wishes);
    say_fact(e, "arc_prefer", "%" PRId64, wishes);
}

/* Who would have its slot, among those that wait. */
static void say_displaced(const struct flow_view *view, const struct attempt *attempt,
                          struct engine_explanation *e)
{
    int64_t gain;
    const struct flow_group *group =
        flow_next_in_line(view->graph, attempt->host->index, attempt->job_number, &gain);
    if (!group) {
        say(e, " No other job waits for its slot.");
        return;
    }
    say(e,
        " Job %" PRIu64 " waits in its place: of those that wait it would gain most there, %" PRId64
        ".",
        flow_group_name(group), gain);
    say_fact(e, "displaced_job", "%" PRIu64, flow_group_name(group));
    say_fact(e, "displaced_gain", "%" PRId64, gain);
}

/* How many of its stage the last optimum left. */
static void say_waiting(const struct flow_view *view, const struct task *task,
                        struct engine_explanation *e)
{
    const struct flow_stage *kept = task->stage->kept[QUESTION_PLACE];
    if (!kept || !kept->group)
        return;
    say(e, " In the last optimum %" PRId64 " of its stage's tasks wait.",
        flow_waiting(view->graph, kept->group));
    say_fact(e, "stage_waits", "%" PRId64, flow_waiting(view->graph, kept->group));
}

/* What it would cost to stop it. */
static void say_stop(const struct engine *engine, const struct flow_weights *weights,
                     const struct task *task, struct engine_explanation *e)
{
    int64_t lost = flow_cost_of_lost(weights, engine->now_ns - task->attempts->started_ns);
    say(e, " To stop it costs %" PRId64 " for what it has run.", lost);
    say_fact(e, "arc_lost", "%" PRId64, lost);
}

static bool was_for(const struct evicted *stop, const struct task *task)
{
    return stop->reason == REASON_OPTIMUM_STOPS && stop->by_job == task->stage->job->number &&
           stop->by_stage == task->stage->index && stop->by_task == task->index;
}

/* The first task that was stopped so that it gets a slot; NULL: none. */
static const struct evicted *stop_for(const struct engine *engine, const struct task *task,
                                      uint64_t *ret_job)
{
    for (struct sorted_node *j = sorted_first(&engine->active); j; j = sorted_next(j)) {
        const struct job *job = container_of(j, struct job, by_turn);
        *ret_job = job->number;
        for (struct sorted_node *t = sorted_first(&job->evicted); t; t = sorted_next(t))
            if (was_for(container_of(t, struct evicted, of_job), task))
                return container_of(t, struct evicted, of_job);
    }
    return NULL;
}

static void say_stopped_for(const struct engine *engine, const struct task *task,
                            struct engine_explanation *e)
{
    uint64_t job = 0;
    const struct evicted *stop = stop_for(engine, task, &job);
    if (!stop)
        return;
    uint64_t stage = stop->of_job.key.a, number = stop->of_job.key.b;
    say(e, " Task %" PRIu64 "/%" PRIu64 "/%" PRIu64 " was stopped on %s for it.", job, stage,
        number, host_name(engine, stop->host));
    say_fact(e, "stopped_for_it", "%" PRIu64 "/%" PRIu64 "/%" PRIu64, job, stage, number);
}

void flow_look_explain(const struct engine *engine, const struct flow_view *view,
                       const struct flow_weights *weights, const struct task *task,
                       struct engine_explanation *e)
{
    int64_t wait = flow_cost_of_wait(weights, task->stage->job);
    say_ways(engine, view, weights, task, e);
    say(e, " to wait %" PRId64 ".", wait);
    say_fact(e, "arc_wait", "%" PRId64, wait);
    if (task->attempts && flow_may_stop(engine))
        say_stop(engine, weights, task, e);
    say_stopped_for(engine, task, e);
    if (view->graph && task->attempts)
        say_displaced(view, task->attempts, e);
    else if (view->graph)
        say_waiting(view, task, e);
}
