/* Second attempts of tasks whose first computes for too long. */
#include "testbed/sim/cluster/run_state.h"

#include <errno.h>

static bool enabled(const struct run *r)
{
    return r->config->copy_after > 0;
}

int copies_watch(struct run *r, struct attempt *a)
{
    if (!enabled(r) || a->copied)
        return 0;
    double due_ns = (double)(r->now_ns + r->config->report_delay_ns) +
                    r->config->copy_after * (double)a->expected_ns;
    return heap_push(&r->suspects, r->suspects_where, due_ns, a->id) ? run_out_of_memory(r) : 0;
}

void copies_forget(struct run *r, const struct attempt *a)
{
    if (r->suspects_where[a->id] != HEAP_NOWHERE)
        heap_take(&r->suspects, r->suspects_where, a->id);
}

int64_t copies_next_ns(const struct run *r)
{
    if (!r->suspects.n)
        return INT64_MAX;
    int64_t due_ns = (int64_t)r->suspects.items[0].key;
    return (double)due_ns < r->suspects.items[0].key ? due_ns + 1 : due_ns;
}

static int find_suspects(struct run *r)
{
    while (copies_next_ns(r) <= r->now_ns) {
        const struct attempt *a = r->attempts[heap_pop(&r->suspects, r->suspects_where).id];
        if (delay_line_push(&r->wanted, r->now_ns, &a->number))
            return run_out_of_memory(r);
    }
    return 0;
}

static struct resources demand_of(const struct run *r, const struct attempt *a)
{
    const struct workload_demand *d = &r->jobs[run_job_index(r, a->job)].stages[a->stage].demand;
    return (struct resources){
        {d->slots, d->cpu_milli, d->mem_bytes, d->gpu_milli, d->gpu_mem_bytes, d->io_bytes_s}};
}

static bool fits(const struct host_view *host, const struct resources *demand)
{
    bool enough = host->joined && !host->silent && !host->lost && !host->draining;
    for (int i = 0; i < ENGINE_RESOURCES; i++)
        enough = enough && host->free.amount[i] >= demand->amount[i];
    return enough;
}

/* The host with the most free slots, without the attempt's own; ENGINE_NONE. */
static uint32_t choose_host(const struct run *r, const struct attempt *a,
                            const struct resources *demand)
{
    uint32_t best = ENGINE_NONE;
    int64_t most = -1;
    for (uint32_t h = 0; h < r->config->hosts; h++) {
        struct host_view host;
        if (h == a->host || engine_host(r->engine, h, &host) || !fits(&host, demand) ||
            host.free.amount[RES_SLOTS] <= most)
            continue;
        best = h;
        most = host.free.amount[RES_SLOTS];
    }
    return best;
}

/* Orders it before the engine hears of it, so that a stop cannot overtake it. */
static int send(struct run *r, const struct attempt *a, uint64_t number, uint32_t host)
{
    struct order order = {.decision.kind = DECISION_START};
    struct attempt *copy = run_attempt_make(r, number, a->job, a->stage, a->task, host);
    if (!copy)
        return run_out_of_memory(r);
    copy->copied = true;
    order.decision.start.attempt = number;
    return r->config->decision_delay_ns &&
                   delay_line_push(&r->orders, r->now_ns + r->config->decision_delay_ns, &order)
               ? run_out_of_memory(r)
               : 0;
}

static int begin(struct run *r, uint64_t number)
{
    struct attempt_view view;
    struct attempt *copy = run_attempt_find(r, number);
    if (!copy || engine_attempt(r->engine, number, &view))
        return 0;
    run_attempt_set_levels(r, copy, view.coflow_level, view.macroflow_level);
    int rc = run_attempt_gather(r, copy);
    if (rc || r->config->decision_delay_ns)
        return rc;
    return run_attempt_begin(r, copy);
}

static int start_copy(struct run *r, struct attempt *a, uint32_t host,
                      const struct resources *demand)
{
    struct event e = {.kind = EVENT_ATTEMPT_GRANTED};
    uint64_t number = (uint64_t)(r->config->engine.epoch + 1) << 32 | ++r->copies;
    a->copied = true;
    r->result->copies++;
    e.attempt_seen.attempt = number;
    e.attempt_seen.job = a->job;
    e.attempt_seen.stage = a->stage;
    e.attempt_seen.task = a->task;
    e.attempt_seen.host = host;
    e.attempt_seen.phase = ATTEMPT_STARTED;
    e.attempt_seen.resources = *demand;
    int rc = send(r, a, number, host);
    rc = rc ? rc : run_step(r, &e, 1);
    return rc ? rc : begin(r, number);
}

static void note_lost(void *context, const struct engine_input *input)
{
    bool *lost = context;
    *lost |= input->host == ENGINE_NONE;
}

/* What the original has read may be gone with the host that made it. */
static bool can_read(const struct run *r, const struct attempt *a)
{
    bool lost = false;
    if (!a->pipelined)
        engine_inputs(r->engine, a->number, note_lost, &lost);
    return !lost;
}

/* Whether a copy of it is still of use to the engine, and can run. */
static bool runs(const struct run *r, const struct attempt *a)
{
    struct task_view task;
    return a && !engine_task(r->engine, a->job, a->stage, a->task, &task) &&
           task.state == TASK_RUNNING && task.attempt == a->number && can_read(r, a);
}

static int64_t slots_free(const struct run *r)
{
    struct engine_status status;
    engine_status(r->engine, &status);
    return status.slots_free;
}

int copies_take(struct run *r)
{
    const uint64_t *first;
    uint64_t number;
    int rc = enabled(r) ? find_suspects(r) : 0;
    while (!rc && (first = delay_line_first(&r->wanted)) && slots_free(r) > 0) {
        struct attempt *a = run_attempt_find(r, *first);
        struct resources demand = {{0}};
        uint32_t host = ENGINE_NONE;
        if (runs(r, a)) {
            demand = demand_of(r, a);
            host = choose_host(r, a, &demand);
            if (host == ENGINE_NONE)
                break;
        }
        delay_line_take(&r->wanted, r->now_ns, &number);
        if (host != ENGINE_NONE)
            rc = start_copy(r, a, host, &demand);
    }
    return rc;
}
