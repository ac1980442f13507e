/* Second attempts of tasks whose first computes for too long. */
#include "testbed/sim/cluster/run_state.h"

static bool enabled(const struct run *run)
{
    return run->config->copy_after > 0;
}

int copies_watch(struct run *run, struct run_attempt *a)
{
    if (!enabled(run) || a->copied)
        return 0;
    double due_ns = (double)(run->now_ns + run->config->report_delay_ns) +
                    run->config->copy_after * (double)a->expected_ns;
    return heap_push(&run->suspects, run->suspects_where, due_ns, a->id) ? run_out_of_memory(run)
                                                                         : 0;
}

void copies_forget(struct run *run, const struct run_attempt *a)
{
    if (run->suspects_where[a->id] != HEAP_NOWHERE)
        heap_take(&run->suspects, run->suspects_where, a->id);
}

int64_t copies_next_ns(const struct run *run)
{
    if (!run->suspects.n)
        return INT64_MAX;
    int64_t due_ns = (int64_t)run->suspects.items[0].key;
    return (double)due_ns < run->suspects.items[0].key ? due_ns + 1 : due_ns;
}

static int find_suspects(struct run *run)
{
    while (copies_next_ns(run) <= run->now_ns) {
        const struct run_attempt *a =
            run->attempts[heap_pop(&run->suspects, run->suspects_where).id];
        if (delay_line_push(&run->wanted, run->now_ns, &a->number))
            return run_out_of_memory(run);
    }
    return 0;
}

static struct resources demand_of(const struct run *run, const struct run_attempt *a)
{
    const struct workload_stage *stage = &run->jobs[run_job_index(run, a->job)].stages[a->stage];
    const struct workload_demand *d = workload_demand_of(stage, a->variant);
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

/* The host with the most free slots, except the attempt's own; ENGINE_NONE. */
static uint32_t choose_host(const struct run *run, const struct run_attempt *a,
                            const struct resources *demand)
{
    uint32_t best = ENGINE_NONE;
    int64_t most = -1;
    for (uint32_t h = 0; h < run->config->hosts; h++) {
        struct host_view host;
        if (h == a->host || engine_host(run->engine, h, &host) || !fits(&host, demand) ||
            host.free.amount[RES_SLOTS] <= most)
            continue;
        best = h;
        most = host.free.amount[RES_SLOTS];
    }
    return best;
}

/* Orders it before the engine knows of it, so that a stop cannot overtake it. */
static int send(struct run *run, const struct run_attempt *a, uint64_t number, uint32_t host)
{
    struct order order = {.decision.kind = DECISION_START};
    struct run_attempt *copy = run_attempt_make(run, number, a->job, a->stage, a->task, host);
    if (!copy)
        return run_out_of_memory(run);
    copy->copied = true;
    copy->variant = a->variant;
    order.decision.start.attempt = number;
    return run->config->decision_delay_ns &&
                   delay_line_push(&run->orders, run->now_ns + run->config->decision_delay_ns,
                                   &order)
               ? run_out_of_memory(run)
               : 0;
}

static int begin(struct run *run, uint64_t number)
{
    struct attempt_view view;
    struct run_attempt *copy = run_attempt_find(run, number);
    if (!copy || engine_attempt(run->engine, number, &view))
        return 0;
    run_attempt_set_levels(run, copy, view.coflow_level, view.macroflow_level);
    int r = run_attempt_gather(run, copy);
    if (r || run->config->decision_delay_ns)
        return r;
    return run_attempt_begin(run, copy);
}

static int start_copy(struct run *run, struct run_attempt *a, uint32_t host,
                      const struct resources *demand)
{
    struct event e = {.kind = EVENT_ATTEMPT_GRANTED};
    uint64_t number = (uint64_t)(run->config->engine.epoch + 1) << 32 | ++run->copies;
    a->copied = true;
    run->result->copies++;
    e.attempt_seen.attempt = number;
    e.attempt_seen.job = a->job;
    e.attempt_seen.stage = a->stage;
    e.attempt_seen.task = a->task;
    e.attempt_seen.host = host;
    e.attempt_seen.phase = ATTEMPT_STARTED;
    e.attempt_seen.resources = *demand;
    e.attempt_seen.variant = a->variant;
    int r = send(run, a, number, host);
    r = r ? r : run_step(run, &e, 1);
    return r ? r : begin(run, number);
}

static void note_lost(void *context, const struct engine_input *input)
{
    bool *lost = context;
    *lost |= input->host == ENGINE_NONE;
}

/* WHY: what the original has read may be lost with the host that made it. */
static bool can_read(const struct run *run, const struct run_attempt *a)
{
    bool lost = false;
    if (!a->pipelined)
        engine_inputs(run->engine, a->number, note_lost, &lost);
    return !lost;
}

/* Whether the engine still has use for a copy of it, and the copy can run. */
static bool runs(const struct run *run, const struct run_attempt *a)
{
    struct task_view task;
    return a && !engine_task(run->engine, a->job, a->stage, a->task, &task) &&
           task.state == TASK_RUNNING && task.attempt == a->number && can_read(run, a);
}

static int64_t slots_free(const struct run *run)
{
    struct engine_status status;
    engine_status(run->engine, &status);
    return status.slots_free;
}

int copies_take(struct run *run)
{
    const uint64_t *first;
    uint64_t number;
    int r = enabled(run) ? find_suspects(run) : 0;
    while (!r && (first = delay_line_first(&run->wanted)) && slots_free(run) > 0) {
        struct run_attempt *a = run_attempt_find(run, *first);
        struct resources demand = {{0}};
        uint32_t host = ENGINE_NONE;
        if (runs(run, a)) {
            demand = demand_of(run, a);
            host = choose_host(run, a, &demand);
            if (host == ENGINE_NONE)
                break;
        }
        delay_line_take(&run->wanted, run->now_ns, &number);
        if (host != ENGINE_NONE)
            r = start_copy(run, a, host, &demand);
    }
    return r;
}
