#include "testbed/sim/bounds.h"

#include "testbed/sim/network/heap.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { MIXES = 40 };

struct capacity {
    double link_bytes_s; /* the fastest downlink */
    double pool_bytes_s; /* all uplinks or all downlinks, the smaller sum */
    double slots;
};

/* What no scheduler can change of a job. Times are after its arrival. */
struct least {
    double arrival_s, alone_s;
    double head_s, tail_s; /* before its first and after its last byte */
    double bytes, slot_s;
};

static int measure_cluster(const struct run_config *config, struct capacity *ret, struct err *err)
{
    struct topology topology = {0};
    double up = 0, down = 0, fastest = 0;
    int r = run_topology(config, &topology, err);
    for (uint32_t h = 0; !r && h < config->hosts; h++) {
        double bytes_s = topology_link_bytes_s(&topology, topology.n_hosts + h);
        up += topology_link_bytes_s(&topology, h);
        down += bytes_s;
        fastest = fmax(fastest, bytes_s);
    }
    topology_done(&topology);
    *ret = (struct capacity){fastest, fmin(up, down), (double)run_slots(config)};
    return r;
}

struct stage_least {
    double begin_s, end_s;
};

static bool is_pipelined(const struct workload_stage *stage)
{
    for (uint32_t i = 0; i < stage->n_parents; i++)
        if (stage->parents[i].pipelined)
            return true;
    return false;
}

struct task_least {
    double receive_s, compute_s, takes_s;
};

/* In the shortest way; its slots in the way that has the fewest. */
static double least_compute_s(const struct workload_stage *stage, uint32_t task)
{
    uint64_t least_ns = workload_compute_ns(stage, 0, task);
    for (uint32_t v = 1; v <= stage->n_variants; v++)
        if (workload_compute_ns(stage, v, task) < least_ns)
            least_ns = workload_compute_ns(stage, v, task);
    return (double)least_ns * 1e-9;
}

static int64_t least_slots(const struct workload_stage *stage)
{
    int64_t slots = stage->demand.slots;
    for (uint32_t v = 1; v <= stage->n_variants; v++)
        if (workload_demand_of(stage, v)->slots < slots)
            slots = workload_demand_of(stage, v)->slots;
    return slots;
}

static struct task_least least_of_task(const struct capacity *c, const struct workload_job *job,
                                       uint32_t s, uint32_t task)
{
    const struct workload_stage *stage = &job->stages[s];
    struct task_least least = {.receive_s = (double)workload_task_shuffle_bytes(job, s, task) /
                                            c->link_bytes_s,
                               .compute_s = least_compute_s(stage, task)};
    least.takes_s = is_pipelined(stage) ? fmax(least.receive_s, least.compute_s)
                                        : least.receive_s + least.compute_s;
    return least;
}

/* How many of the parent's first tasks send something: a sum is split evenly, and the first tasks
 * take the remainder. */
static uint64_t first_senders(const struct workload_edge *edge, uint32_t tasks)
{
    uint64_t most = 0;
    for (uint32_t t = 0; edge->sums && t < tasks; t++)
        most = edge->sums[t] > most ? edge->sums[t] : most;
    return most;
}

static bool row_sends(const struct workload_edge *edge, uint32_t tasks, uint32_t source)
{
    for (uint32_t t = 0; edge->matrix && t < tasks; t++)
        if (edge->matrix[(size_t)source * tasks + t])
            return true;
    return false;
}

/* The least time of those of the parent's tasks whose output this stage reads: a pipelined stage
 * does not wait for the others. */
static double sending_s(const struct capacity *c, const struct workload_job *job, uint32_t s,
                        const struct workload_edge *edge)
{
    uint32_t tasks = job->stages[s].tasks;
    uint64_t first = first_senders(edge, tasks);
    double longest_s = 0;
    for (uint32_t m = 0; m < job->stages[edge->parent].tasks; m++)
        if (m < first || row_sends(edge, tasks, m))
            longest_s = fmax(longest_s, least_of_task(c, job, edge->parent, m).takes_s);
    return longest_s;
}

/* When it can begin, and when it can end, by its parents alone. */
static struct stage_least after_parents(const struct capacity *c, const struct workload_job *job,
                                        uint32_t s, const struct stage_least *stages)
{
    const struct workload_stage *stage = &job->stages[s];
    struct stage_least least = {0, 0};
    for (uint32_t i = 0; i < stage->n_parents; i++) {
        const struct workload_edge *edge = &stage->parents[i];
        const struct stage_least *parent = &stages[edge->parent];
        double sent_s =
            edge->pipelined ? parent->begin_s + sending_s(c, job, s, edge) : parent->end_s;
        least.begin_s = fmax(least.begin_s, edge->pipelined ? parent->begin_s : parent->end_s);
        least.end_s = fmax(least.end_s, sent_s);
    }
    return least;
}

static void add_stage(const struct capacity *c, const struct workload_job *job, uint32_t s,
                      struct stage_least *stages, struct least *least)
{
    const struct workload_stage *stage = &job->stages[s];
    bool pipelined = is_pipelined(stage);
    double longest_s = 0, slot_s = 0, bytes = 0;
    stages[s] = after_parents(c, job, s, stages);
    for (uint32_t t = 0; t < stage->tasks; t++) {
        struct task_least task = least_of_task(c, job, s, t);
        longest_s = fmax(longest_s, task.takes_s);
        slot_s += task.takes_s * (double)least_slots(stage);
        bytes += (double)workload_task_shuffle_bytes(job, s, t);
        if (task.receive_s > 0) {
            least->tail_s = fmin(least->tail_s, pipelined ? 0 : task.compute_s);
            least->head_s = fmin(least->head_s, stages[s].begin_s);
        }
    }
    double takes_s = fmax(longest_s, fmax(slot_s / c->slots, bytes / c->pool_bytes_s));
    stages[s].end_s = fmax(stages[s].end_s, stages[s].begin_s + takes_s);
    least->alone_s = fmax(least->alone_s, stages[s].end_s);
    least->bytes += bytes;
    least->slot_s += slot_s;
}

static struct least least_of(const struct capacity *c, const struct workload_job *job)
{
    struct stage_least stages[WORKLOAD_STAGES_MAX];
    struct least least = {
        .arrival_s = (double)job->arrival_ns * 1e-9, .head_s = INFINITY, .tail_s = INFINITY};
    for (uint32_t s = 0; s < job->n_stages; s++)
        add_stage(c, job, s, stages, &least);
    if (!(least.bytes > 0))
        least.head_s = least.tail_s = 0;
    return least;
}

struct served {
    double released_s, work_s, left_s, end_s;
};

struct server {
    struct served *jobs;
    struct heap waiting;
    double now_s;
};

static int by_release(const void *a, const void *b, void *jobs)
{
    const struct served *all = jobs, *x = &all[*(const uint32_t *)a],
                        *y = &all[*(const uint32_t *)b];
    return (x->released_s > y->released_s) - (x->released_s < y->released_s);
}

/* Serves until then, or until all released jobs are served. */
static int serve_until(struct server *s, double until_s)
{
    while (s->waiting.n && s->now_s < until_s) {
        uint32_t id = heap_pop(&s->waiting, NULL).id;
        struct served *job = &s->jobs[id];
        double takes_s = fmin(job->left_s, until_s - s->now_s);
        bool ends = takes_s >= job->left_s;
        job->left_s -= takes_s;
        s->now_s += takes_s;
        job->end_s = s->now_s;
        if (!ends && heap_push(&s->waiting, NULL, job->left_s, id))
            return -ENOMEM;
    }
    s->now_s = fmax(s->now_s, until_s);
    return 0;
}

/* Least remaining first. Fills end_s; a job without work ends when it is released. */
static int serve(struct served *jobs, size_t n)
{
    struct server server = {.jobs = jobs};
    uint32_t *order = calloc(n ? n : 1, sizeof(*order));
    int r = order ? 0 : -ENOMEM;
    for (uint32_t i = 0; !r && i < n; i++)
        order[i] = i;
    if (!r)
        qsort_r(order, n, sizeof(*order), by_release, jobs);
    for (size_t i = 0; !r && i < n; i++) {
        struct served *job = &jobs[order[i]];
        job->left_s = job->work_s;
        job->end_s = job->released_s;
        r = i ? serve_until(&server, job->released_s) : 0;
        server.now_s = i ? server.now_s : job->released_s;
        if (!r && job->work_s > 0)
            r = heap_push(&server.waiting, NULL, job->work_s, order[i]);
    }
    r = r ? r : serve_until(&server, INFINITY);
    heap_done(&server.waiting);
    free(order);
    return r;
}

/* add_slots and add_links: the sum over all jobs of the times in such a schedule. */

static int add_slots(const struct capacity *c, const struct least *least, size_t n,
                     struct served *jobs, double *ret_sum_s)
{
    for (size_t i = 0; i < n; i++)
        jobs[i] =
            (struct served){.released_s = least[i].arrival_s, .work_s = least[i].slot_s / c->slots};
    int r = serve(jobs, n);
    *ret_sum_s = 0;
    for (size_t i = 0; !r && i < n; i++)
        *ret_sum_s += jobs[i].end_s - least[i].arrival_s;
    return r;
}

/* Only jobs whose bytes would take all links at least `part` of their time alone are served. */
static int add_links(const struct capacity *c, const struct least *least, size_t n, double part,
                     struct served *jobs, double *ret_sum_s)
{
    for (size_t i = 0; i < n; i++) {
        double work_s = least[i].bytes / c->pool_bytes_s;
        jobs[i] = (struct served){.released_s = least[i].arrival_s + least[i].head_s,
                                  .work_s = work_s < part * least[i].alone_s ? 0 : work_s};
    }
    int r = serve(jobs, n);
    *ret_sum_s = 0;
    for (size_t i = 0; !r && i < n; i++)
        *ret_sum_s += jobs[i].work_s > 0 ? jobs[i].end_s + least[i].tail_s - least[i].arrival_s
                                         : least[i].alone_s;
    return r;
}

static int add_mixed(const struct capacity *c, const struct least *least, size_t n,
                     struct served *jobs, double *ret_sum_s)
{
    int r = 0;
    for (int e = -MIXES; !r && e < 0; e++) {
        double sum_s;
        r = add_links(c, least, n, exp2(e / 4.0), jobs, &sum_s);
        *ret_sum_s = fmax(*ret_sum_s, sum_s);
    }
    return r;
}

static int bound(const struct capacity *c, const struct least *least, size_t n, struct bounds *sums)
{
    struct served *jobs = calloc(n ? n : 1, sizeof(*jobs));
    int r = jobs ? add_slots(c, least, n, jobs, &sums->slots_s) : -ENOMEM;
    r = r ? r : add_links(c, least, n, 0, jobs, &sums->links_s);
    sums->mixed_s = sums->links_s;
    r = r ? r : add_mixed(c, least, n, jobs, &sums->mixed_s);
    free(jobs);
    for (size_t i = 0; i < n; i++)
        sums->alone_s += least[i].alone_s;
    return r;
}

int bounds_of(const struct run_config *config, const struct workload_job *jobs, size_t n,
              struct bounds *ret_bounds, struct err *err)
{
    struct capacity cluster;
    struct bounds b = {0};
    struct least *least = calloc(n ? n : 1, sizeof(*least));
    int r = least ? measure_cluster(config, &cluster, err) : -ENOMEM;
    for (size_t i = 0; !r && i < n; i++)
        least[i] = least_of(&cluster, &jobs[i]);
    r = r ? r : bound(&cluster, least, n, &b);
    free(least);
    if (r == -ENOMEM)
        return err_set(err, ENOMEM, "not enough memory for the bounds of %zu jobs", n);
    if (r)
        return r;
    double of = n ? (double)n : 1, most = fmax(fmax(b.alone_s, b.mixed_s), b.slots_s);
    *ret_bounds = (struct bounds){b.alone_s / of, b.links_s / of, b.mixed_s / of,
                                  b.slots_s / of, most / of,      !config->local_free};
    return 0;
}
