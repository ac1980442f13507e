#include "controller/engine/place/near.h"

#include "controller/engine/base/ground.h"
#include "controller/engine/books/attempt.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/spread.h"
#include "controller/engine/watch/framework_sizes.h"

#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

enum { PATIENCE = 2 }; /* times what it saves */

struct near_task {
    uint32_t home, task;
    uint32_t next; /* of the first with this home: before it none is ready any more */
    uint64_t bytes;
};

/* ---- what is told ---- */

/* Bytes of one task by host, and the most of them; of equals on the lowest host. */
struct tally {
    uint64_t *bytes;
    uint32_t hosts;
    struct near_home most;
};

static void add(void *context, const struct engine_input *input)
{
    struct tally *tally = context;
    if (input->host >= tally->hosts)
        return;
    uint64_t bytes = tally->bytes[input->host] += input->bytes;
    if (bytes > tally->most.bytes || (bytes == tally->most.bytes && input->host < tally->most.host))
        tally->most = (struct near_home){input->host, true, bytes};
}

static void clear(void *context, const struct engine_input *input)
{
    const struct tally *tally = context;
    if (input->host < tally->hosts)
        tally->bytes[input->host] = 0;
}

static struct near_home home_of(struct engine *engine, struct tally *tally, const struct task *task)
{
    tally->most = (struct near_home){ENGINE_NONE, true, 0};
    if (task->guessed)
        return tally->most;
    uint32_t n = (uint32_t)task_outputs_read(task, add, tally);
    engine->counters.visits += n;
    if (n < tally->hosts)
        task_outputs_read(task, clear, tally);
    else
        memset(tally->bytes, 0, tally->hosts * sizeof(*tally->bytes));
    return tally->most;
}

static struct tally tally_begin(struct engine *engine, const struct stage *stage, struct near *near)
{
    struct tally tally = {.hosts = engine->n_hosts};
    if (!near->homes)
        near->homes = engine_allocate(engine, stage->n_tasks, sizeof(*near->homes));
    tally.bytes = engine_allocate(engine, tally.hosts, sizeof(*tally.bytes));
    return tally;
}

static int by_home(const void *a, const void *b)
{
    const struct near_task *x = a, *y = b;
    if (x->home != y->home)
        return x->home < y->home ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->task < y->task ? -1 : 1;
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

static bool has_homes(const struct stage *stage)
{
    bool apart = false;
    for (uint32_t i = 0; i < stage->n_edges; i++)
        apart |= is_told_apart(&stage->edges[i]);
    return apart && !is_pipelined(stage);
}

static void tally_all(struct engine *engine, const struct stage *stage, struct near *near)
{
    struct tally tally = tally_begin(engine, stage, near);
    near->at = engine_allocate(engine, stage->ready_reduces.n, sizeof(*near->at));
    for (struct sorted_node *node = sorted_first(&stage->ready_reduces); node;
         node = sorted_next(node)) {
        const struct task *task = container_of(node, struct task, ready);
        struct near_home *home = &near->homes[task->index];
        engine->counters.visits++;
        if (!home->known)
            *home = home_of(engine, &tally, task);
        if (home->host != ENGINE_NONE)
            near->at[near->n++] =
                (struct near_task){.home = home->host, .task = task->index, .bytes = task->bytes};
    }
    free(tally.bytes);
    if (near->n)
        qsort(near->at, near->n, sizeof(*near->at), by_home);
    for (uint32_t i = 0; i < near->n; i++)
        near->at[i].next = i;
}

void near_follow(struct engine *engine, const struct stage *stage, struct near *near)
{
    if (near->readied == stage->readied)
        return;
    /* WHY a task's home stays while its stage is open: no output moves, for that would close it. */
    if (stage->framework || near->closed != stage->closed)
        near_done(near);
    free(near->at);
    near->at = NULL;
    near->n = 0;
    near->readied = stage->readied;
    near->closed = stage->closed;
    if (has_homes(stage) && stage->ready_reduces.n)
        tally_all(engine, stage, near);
}

void near_learn(struct engine *engine, const struct stage *stage, struct near *near)
{
    bool later = near->closed != stage->closed || near->learned < stage->opening;
    if (!later || stage->framework || !has_homes(stage))
        return;
    if (near->closed != stage->closed)
        near_done(near);
    near->closed = stage->closed;
    struct tally tally = tally_begin(engine, stage, near);
    for (; near->learned < stage->opening; near->learned++) {
        const struct task *task = &stage->tasks[near->learned];
        struct near_home *home = &near->homes[near->learned];
        if (task->state == TASK_READY && !home->known)
            *home = home_of(engine, &tally, task);
    }
    free(tally.bytes);
}

void near_done(struct near *near)
{
    free(near->at);
    free(near->homes);
    *near = (struct near){0};
}

/* ---- questions ---- */

static uint64_t most_outputs(const struct job *job)
{
    return job->output_hosts ? UINT64_MAX - sorted_least(spread_ordered(job)) : 0;
}

/* Of evenly split bytes: the first host with most of the job's outputs. */
static struct near_home home_by_outputs(const struct task *task)
{
    const struct job *job = task->stage->job;
    uint64_t most = most_outputs(job);
    if (!most || task->guessed || is_pipelined(task->stage))
        return (struct near_home){ENGINE_NONE, true, 0};
    const struct sorted_node *node = sorted_first_below(spread_ordered(job), UINT64_MAX - most + 1);
    return (struct near_home){(uint32_t)node->key.a, true,
                              (uint64_t)((wide)task->bytes * most / job->n_outputs)};
}

/* Its home could run it. */
static bool is_open(const struct engine *engine, const struct task *task, uint32_t home)
{
    const struct host *host = home == ENGINE_NONE ? NULL : cluster_host(engine, home);
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
    struct near_home home = near->homes ? near->homes[task->index] : home_by_outputs(task);
    uint64_t part = engine->up ? task->bytes / engine->up : task->bytes;
    if (home.bytes <= part || !is_open(engine, task, home.host))
        return task->ready_ns;
    return task->ready_ns + PATIENCE * link_ns(engine, home.bytes - part);
}

bool near_is_home(const struct near *near, const struct task *task, const struct host *host)
{
    if (near->homes)
        return near->homes[task->index].host == host->index;
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

void near_each_home(const struct near *near, const struct task *task,
                    void (*each)(void *context, uint32_t host), void *context)
{
    if (!near->homes)
        each_by_outputs(task->stage->job, each, context);
    for (uint32_t i = 0; i < near->n; i++)
        if (!i || near->at[i].home != near->at[i - 1].home)
            each(context, near->at[i].home);
}

static uint32_t first_at(const struct near *near, uint32_t home)
{
    uint32_t low = 0, high = near->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (near->at[middle].home < home)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct task *near_largest(struct near *near, const struct stage *stage, const struct host *host)
{
    uint32_t first = first_at(near, host->index);
    if (first == near->n || near->at[first].home != host->index)
        return NULL;
    uint32_t *next = &near->at[first].next;
    for (; *next < near->n && near->at[*next].home == host->index; ++*next) {
        struct task *task = &stage->tasks[near->at[*next].task];
        if (task->state == TASK_READY)
            return task;
    }
    return NULL;
}
