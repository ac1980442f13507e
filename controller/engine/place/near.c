#include "controller/engine/place/near.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/books/attempt.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/spread.h"
#include "controller/engine/watch/framework_sizes.h"
#include "lib/invariant.h"

#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

enum { PATIENCE = 2 /* times what it saves */, MOST_INPUTS = 1 << 16 };

/* Bytes of one task by host, and the most of them; of equals on the lowest host. */
struct tally {
    uint64_t *bytes;
    uint32_t hosts;
    struct near_preferred most;
};

static void add(void *context, const struct engine_input *input)
{
    struct tally *tally = context;
    if (input->host >= tally->hosts)
        return;
    uint64_t bytes = tally->bytes[input->host] += input->bytes;
    if (bytes > tally->most.bytes || (bytes == tally->most.bytes && input->host < tally->most.host))
        tally->most = (struct near_preferred){.host = input->host, .bytes = bytes};
}

static void clear(void *context, const struct engine_input *input)
{
    const struct tally *tally = context;
    if (input->host < tally->hosts)
        tally->bytes[input->host] = 0;
}

static void preferred_learn(struct engine *engine, struct tally *tally, const struct task *task,
                            struct near_preferred *preferred)
{
    tally->most = (struct near_preferred){.host = ENGINE_NONE};
    if (!task->guessed) {
        uint32_t n = (uint32_t)task_outputs_read(task, add, tally);
        engine->counters.visits += n;
        if (n < tally->hosts)
            task_outputs_read(task, clear, tally);
        else
            memset(tally->bytes, 0, tally->hosts * sizeof(*tally->bytes));
    }
    preferred->known = true;
    preferred->host = tally->most.host;
    preferred->bytes = tally->most.bytes;
}

static struct tally tally_begin(struct engine *engine, const struct stage *stage, struct near *near)
{
    struct tally tally = {.hosts = engine->n_hosts};
    if (!near->preferred) {
        near->preferred = engine_allocate(engine, stage->n_tasks, sizeof(*near->preferred));
        near->n_tasks = stage->n_tasks;
    }
    tally.bytes = engine_allocate(engine, tally.hosts, sizeof(*tally.bytes));
    return tally;
}

static bool is_told_apart(const struct edge *edge)
{
    const struct late_edge *late = edge->late;
    return edge->matrix ||
           (late && (late->n_splits || (late->complete && (late->n_rows || late->blocks_room))));
}

static bool is_pipelined(const struct stage *stage)
{
    for (uint32_t i = 0; i < stage->n_edges; i++)
        if (stage->edges[i].kind != EDGE_BARRIER)
            return true;
    return false;
}

/* WHY a framework's stage has none while it is sized, or with more inputs than MOST_INPUTS: each
 * report lists all its ready tasks anew, in one step. */
static bool is_cheap(const struct stage *stage)
{
    uint64_t inputs = 0;
    for (uint32_t i = 0; i < stage->n_edges; i++)
        inputs += stage->job->stages[stage->edges[i].parent]->n_tasks;
    return !stage->framework ||
           (!stage->framework->of_sizing.in && inputs * stage->n_tasks <= MOST_INPUTS);
}

static bool has_preferred(const struct stage *stage)
{
    bool apart = false;
    for (uint32_t i = 0; i < stage->n_edges; i++)
        apart |= is_told_apart(&stage->edges[i]);
    return apart && !is_pipelined(stage) && is_cheap(stage);
}

/* Lists a ready task by its preferred host. */
static void list(struct engine *engine, struct tally *tally, struct near *near,
                 const struct task *task)
{
    assert(task->index < near->n_tasks); /* a stage that grew was closed */
    struct near_preferred *preferred = &near->preferred[task->index];
    if (!preferred->known)
        preferred_learn(engine, tally, task, preferred);
    struct sorted_key key = {preferred->host, UINT64_MAX - task->bytes, task->index};
    engine->counters.visits++;
    if (preferred->host != ENGINE_NONE)
        sorted_place(&near->at, &preferred->listed, key, 0);
}

static void list_all(struct engine *engine, const struct stage *stage, struct near *near)
{
    struct tally tally = tally_begin(engine, stage, near);
    for (struct sorted_node *node = sorted_first(&stage->ready_reduces); node;
         node = sorted_next(node))
        list(engine, &tally, near, container_of(node, struct task, ready));
    free(tally.bytes);
}

static void list_fresh(struct engine *engine, const struct stage *stage, struct near *near)
{
    struct tally tally = tally_begin(engine, stage, near);
    for (uint32_t i = 0; i < near->n_fresh; i++)
        if (task_state(&stage->tasks[near->fresh[i]]) == TASK_READY)
            list(engine, &tally, near, &stage->tasks[near->fresh[i]]);
    free(tally.bytes);
}

/* No input moved since. WHY only of a framework: else a moved output closes the stage. */
static bool inputs_stay(const struct stage *stage, const struct near *near)
{
    return !stage->framework || near->outputs == stage->job->output_changes;
}

/* Only tasks that became ready since were reported, and nothing else has changed. */
static bool only_fresh(const struct stage *stage, const struct near *near)
{
    return near->preferred && near->closed == stage->closed && inputs_stay(stage, near) &&
           stage->readied - near->readied == near->n_fresh;
}

void near_follow(struct engine *engine, const struct stage *stage, struct near *near)
{
    if (near->readied == stage->readied && inputs_stay(stage, near))
        return;
    bool fresh = only_fresh(stage, near);
    if (fresh)
        list_fresh(engine, stage, near);
    else
        near_done(near);
    near->n_fresh = 0;
    near->readied = stage->readied;
    near->closed = stage->closed;
    near->outputs = stage->job->output_changes;
    if (!fresh && has_preferred(stage) && stage->ready_reduces.n)
        list_all(engine, stage, near);
}

void near_ready(struct engine *engine, struct near *near, const struct task *task)
{
    if (!near->preferred || near->n_fresh == near->n_tasks || task->index >= near->n_tasks)
        return;
    if (!near->fresh)
        near->fresh = engine_allocate(engine, near->n_tasks, sizeof(*near->fresh));
    near->fresh[near->n_fresh++] = task->index;
}

void near_done(struct near *near)
{
    free(near->fresh);
    free(near->preferred);
    *near = (struct near){0};
}

static uint64_t most_outputs(const struct job *job)
{
    return job->output_hosts ? UINT64_MAX - sorted_least(spread_ordered(job)) : 0;
}

/* For evenly split bytes: the first host with most of the job's outputs. */
static struct near_preferred preferred_by_outputs(const struct task *task)
{
    const struct job *job = task->stage->job;
    uint64_t most = most_outputs(job);
    if (!most || task->guessed || is_pipelined(task->stage))
        return (struct near_preferred){.host = ENGINE_NONE};
    const struct sorted_node *node = sorted_first_below(spread_ordered(job), UINT64_MAX - most + 1);
    return (struct near_preferred){.host = (uint32_t)node->key.a,
                                   .bytes = (uint64_t)((wide)task->bytes * most / job->n_outputs)};
}

/* Whether its preferred host could run it. */
static bool is_open(const struct engine *engine, const struct task *task, uint32_t preferred)
{
    const struct host *host = preferred == ENGINE_NONE ? NULL : cluster_host(engine, preferred);
    return host && host->shapes[task->stage->bucket->shape->index]->capable;
}

static int64_t link_ns(const struct engine *engine, uint64_t bytes)
{
    if (!engine->uplink_bps)
        return 0;
    wide ns = (wide)bytes * 8 * engine->up * 1000000000 / engine->uplink_bps;
    return ns > INT64_MAX / 4 ? INT64_MAX / 4 : (int64_t)ns;
}

int64_t near_until_ns(const struct engine *engine, const struct near *near, const struct task *task)
{
    struct near_preferred preferred =
        near->preferred ? near->preferred[task->index] : preferred_by_outputs(task);
    uint64_t part = engine->up ? task->bytes / engine->up : task->bytes;
    if (preferred.bytes <= part || !is_open(engine, task, preferred.host))
        return task->ready_ns;
    return task->ready_ns + PATIENCE * link_ns(engine, preferred.bytes - part);
}

bool near_is_preferred(const struct near *near, const struct task *task, const struct host *host)
{
    if (near->preferred)
        return near->preferred[task->index].host == host->index;
    const struct job *job = task->stage->job;
    uint32_t outputs = spread_outputs(job, host);
    return outputs && outputs == most_outputs(job);
}

static void each_by_outputs(const struct job *job, void (*each)(void *context, uint32_t host),
                            void *context)
{
    uint64_t limit = UINT64_MAX - most_outputs(job) + 1;
    for (struct sorted_node *node = sorted_first_below(spread_ordered(job), limit); node;
         node = sorted_next_below(node, limit))
        each(context, (uint32_t)node->key.a);
}

void near_each_preferred(const struct near *near, const struct task *task,
                         void (*each)(void *context, uint32_t host), void *context)
{
    if (!near->preferred)
        each_by_outputs(task->stage->job, each, context);
    for (struct sorted_node *node = sorted_first(&near->at); node;
         node = sorted_from(&near->at, (struct sorted_key){node->key.a + 1, 0, 0}))
        each(context, (uint32_t)node->key.a);
}

/* WHY tasks that are no longer ready leave only here: no other question lists them. */
struct task *near_largest(struct near *near, const struct stage *stage, const struct host *host)
{
    const struct sorted_key first = {host->index, 0, 0};
    struct sorted_node *node;
    while ((node = sorted_from(&near->at, first)) && node->key.a == host->index) {
        struct task *task = &stage->tasks[node->key.c];
        if (task_state(task) == TASK_READY)
            return task;
        sorted_remove(&near->at, node);
    }
    return NULL;
}
