/* Attempts: they receive, compute and end. */
#include "testbed/sim/cluster/run_state.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct run_attempt *run_attempt_find(struct run *run, uint64_t number)
{
    struct run_attempt *a;
    HASH_FIND(hh, run->live, &number, sizeof(number), a);
    return a;
}

static int places(struct run *run)
{
    size_t room = run->attempts_room, same[] = {room, room, room, room};
    if (run_grow((void **)&run->computing_where, &same[0], room + 1, sizeof(uint32_t)) ||
        run_grow((void **)&run->suspects_where, &same[1], room + 1, sizeof(uint32_t)) ||
        run_grow((void **)&run->reports.ends_where, &same[2], room + 1, sizeof(uint32_t)) ||
        run_grow((void **)&run->spare, &same[3], room + 1, sizeof(uint32_t)))
        return -ENOMEM;
    return run_grow((void **)&run->attempts, &run->attempts_room, room + 1,
                    sizeof(struct run_attempt *));
}

struct run_attempt *run_attempt_make(struct run *run, uint64_t number, uint64_t job, uint32_t stage,
                                     uint32_t task, uint32_t host)
{
    if (!run->n_spare && run->n_attempts == run->attempts_room && places(run))
        return NULL;
    struct run_attempt *a = calloc(1, sizeof(*a));
    if (!a)
        return NULL;
    a->number = number;
    a->job = job;
    a->stage = stage;
    a->task = task;
    a->host = host;
    a->decided_ns = run->now_ns;
    a->transfers = &a->one;
    a->transfers_room = 1;
    a->block_host = ENGINE_NONE;
    const struct workload_stage *spec = &run->jobs[run_job_index(run, job)].stages[stage];
    for (uint32_t e = 0; run->pipelines && e < spec->n_parents; e++)
        a->pipelined |= spec->parents[e].pipelined;
    a->id = run->n_spare ? run->spare[--run->n_spare] : (uint32_t)run->n_attempts++;
    run->attempts[a->id] = a;
    run->still = 0;
    run->computing_where[a->id] = run->suspects_where[a->id] = HEAP_NOWHERE;
    run->reports.ends_where[a->id] = HEAP_NOWHERE;
    HASH_ADD(hh, run->live, number, sizeof(a->number), a);
    return a->hh.tbl ? a : NULL;
}

static void release(struct run_attempt *a)
{
    disks_forget(a);
    if (a->transfers != &a->one)
        free(a->transfers);
    free(a->awaited);
    free(a->sources);
    free(a);
}

static void forget(struct run *run, struct run_attempt *a)
{
    run->still = 0;
    if (a->n_open)
        run->receiving[a->host]--;
    if (a->pipelined && a->phase == PHASE_RECEIVING)
        LIST_REMOVE(a, of_pipelined);
    copies_forget(run, a);
    run->gpu_milli_ns += (double)a->gpu_milli * (double)(run->now_ns - a->decided_ns);
    HASH_DELETE(hh, run->live, a);
    run->attempts[a->id] = NULL;
    run->spare[run->n_spare++] = a->id;
    release(a);
}

int run_attempt_drop(struct run *run, struct run_attempt *a)
{
    for (uint32_t i = 0; i < a->n_transfers; i++) {
        struct transfer *t = &a->transfers[i];
        if (t->state != TRANSFER_MOVING)
            continue;
        run->wire_bytes += (double)fluid_received_bytes(run->fluid, t->macroflow);
        if (fluid_stop(run->fluid, t->macroflow))
            return run_out_of_memory(run);
    }
    if (run->computing_where[a->id] != HEAP_NOWHERE)
        heap_take(&run->computing, run->computing_where, a->id);
    if (reports_end(run, a) || disks_leave(run, a))
        return -ENOMEM;
    forget(run, a);
    return 0;
}

void run_attempts_done(struct run *run)
{
    struct run_attempt *a, *next;
    HASH_ITER (hh, run->live, a, next) {
        HASH_DELETE(hh, run->live, a);
        release(a);
    }
    free(run->attempts);
    free(run->computing_where);
    free(run->suspects_where);
    free(run->spare);
}

void run_attempt_set_levels(struct run *run, struct run_attempt *a, uint64_t coflow,
                            uint64_t macroflow)
{
    a->levels[MODE_SLOT_RICH] = ranks_level(&run->ranks, coflow);
    a->levels[MODE_SLOT_STARVED] = ranks_level(&run->ranks, macroflow);
}

int run_attempt_mark(struct run *run, struct run_attempt *a)
{
    for (uint32_t i = 0; i < a->n_transfers; i++)
        if (a->transfers[i].state == TRANSFER_MOVING &&
            fluid_set_level(run->fluid, a->transfers[i].macroflow, a->levels[run->mode]))
            return run_out_of_memory(run);
    return 0;
}

struct gathering {
    struct run *run;
    struct run_attempt *attempt;
    double factor;      /* reported bytes ÷ true bytes */
    uint32_t free_host; /* whose bytes use no link; ENGINE_NONE */
    size_t awaited_room;
    int error;
};

static bool is_made(struct run *run, const struct run_attempt *a, const struct engine_input *input)
{
    struct task_view map;
    return input->block || engine_task(run->engine, a->job, input->stage, input->task, &map) ||
           map.state == TASK_DONE;
}

static void await(struct gathering *g, const struct engine_input *input, int64_t bytes)
{
    struct run_attempt *a = g->attempt;
    if (run_grow((void **)&a->awaited, &g->awaited_room, a->n_awaited + 1u, sizeof(*a->awaited)))
        g->error = -ENOMEM;
    else
        a->awaited[a->n_awaited++] = (struct awaited){input->stage, input->task, bytes};
}

static void add_source(struct run *run, uint32_t host, int64_t bytes)
{
    if (!run->host_bytes[host])
        run->sources[run->n_sources++].host = host;
    run->host_bytes[host] += bytes;
}

static void add_input(void *context, const struct engine_input *input)
{
    struct gathering *g = context;
    struct run *run = g->run;
    struct run_attempt *a = g->attempt;
    int64_t bytes = (int64_t)input->bytes;
    if (g->factor != 1 && !input->block)
        bytes = (int64_t)ceil((double)input->bytes / g->factor);
    /* WHY unknown ones: a state may have blocks on hosts that were forgotten. */
    const bool here = input->host == g->free_host || input->host >= run_ports(run->config);
    a->total_bytes += bytes;
    if (a->pipelined && !is_made(run, a, input)) {
        await(g, input, bytes);
    } else if (here) {
        a->local_bytes += bytes;
    } else if (input->block && run->hosts) {
        a->block_host = input->host;
        a->block_bytes = bytes;
    } else {
        add_source(run, input->host, bytes);
    }
}

static int by_task(const void *left, const void *right)
{
    const struct awaited *a = left, *b = right;
    if (a->stage != b->stage)
        return a->stage < b->stage ? -1 : 1;
    return a->task < b->task ? -1 : a->task > b->task;
}

/* Copies the sources into their list, which only the next gathering changes. */
static void list_sources(struct run *run)
{
    for (uint32_t i = 0; i < run->n_sources; i++) {
        run->sources[i].bytes = run->host_bytes[run->sources[i].host];
        run->host_bytes[run->sources[i].host] = 0;
    }
}

static int keep_sources(struct run *run, struct run_attempt *a)
{
    size_t bytes = run->n_sources * sizeof(*a->sources);
    a->n_sources = run->n_sources;
    a->sources = malloc(bytes ? bytes : 1);
    if (!a->sources)
        return -ENOMEM;
    memcpy(a->sources, run->sources, bytes);
    return 0;
}

/* Its block is on no host: the engine knows only its size. */
static void gather_from_outside(struct run *run, struct run_attempt *a)
{
    const struct workload_stage *stage = &run->jobs[run_job_index(run, a->job)].stages[a->stage];
    bool placed = stage->replicas && stage->replicas[a->task].n;
    int64_t bytes = stage->input_bytes ? (int64_t)stage->input_bytes[a->task] : 0;
    if (!run->config->outside_bps || placed || !bytes)
        return;
    a->total_bytes += bytes;
    add_source(run, run->config->hosts, bytes);
}

/* A granted copy reads its block too, which the engine does not know. */
static void gather_block_of_copy(struct run *run, struct run_attempt *a)
{
    const struct workload_stage *stage = &run->jobs[run_job_index(run, a->job)].stages[a->stage];
    bool copy = run->config->framework ? a->unasked : a->number >> 32 != run->config->engine.epoch;
    if (!copy || !stage->input_bytes || !stage->replicas)
        return;
    const struct workload_replicas *replicas = &stage->replicas[a->task];
    for (uint8_t i = 0; i < replicas->n; i++)
        if (replicas->hosts[i] % run->config->hosts == a->host)
            return;
    uint32_t host = hosts_replica(run, a, ENGINE_NONE);
    int64_t bytes = (int64_t)stage->input_bytes[a->task];
    if (host == ENGINE_NONE || !bytes)
        return;
    a->total_bytes += bytes;
    if (run->hosts) {
        a->block_host = host;
        a->block_bytes = bytes;
    } else {
        add_source(run, host, bytes);
    }
}

/* How many times as fast the stage's tasks compute on the host. */
static uint32_t speed_on(const struct run *run, const struct workload_stage *stage, uint32_t index)
{
    uint32_t speed = 1;
    struct host_view host;
    if (!stage->n_wishes || engine_host(run->engine, index, &host) < 0)
        return speed;
    const struct constraint_host words = {host.name, host.rack, host.labels};
    for (uint32_t i = 0; i < stage->n_wishes; i++) {
        const struct workload_wish *wish = &stage->wishes[i];
        if (wish->speed > speed && constraint_is_met(wish->constraint, &words))
            speed = wish->speed;
    }
    return speed;
}

int run_attempt_gather(struct run *run, struct run_attempt *a)
{
    struct gathering g = {.run = run, .attempt = a, .factor = 1, .free_host = ENGINE_NONE};
    struct task_view task;
    if (engine_task(run->engine, a->job, a->stage, a->task, &task))
        return err_set(run->err, EINVAL, "job %llu lost a task that was just started",
                       (unsigned long long)a->job);
    const struct workload_stage *spec = &run->jobs[run_job_index(run, a->job)].stages[a->stage];
    a->gathered = true;
    a->gpu_milli = workload_demand_of(spec, a->variant)->gpu_milli;
    /* WHY not as the engine knows it: a framework may not have told it. */
    a->expected_ns =
        (int64_t)(workload_compute_ns(spec, a->variant, a->task) / speed_on(run, spec, a->host));
    double slowness = faults_slowness(&run->config->faults, a->job, a->stage, a->task, a->host);
    a->compute_ns = slowness > 1 ? (int64_t)((double)a->expected_ns * slowness) : a->expected_ns;
    a->compute_ns += faults_lateness_ns(&run->config->faults, a->job, a->stage, a->task, a->host);
    if (run->config->told)
        g.factor = run->config->told[run_job_index(run, a->job)];
    if (run->config->local_free)
        g.free_host = a->host;
    run->n_sources = 0;
    engine_inputs(run->engine, a->number, add_input, &g);
    gather_block_of_copy(run, a);
    gather_from_outside(run, a);
    list_sources(run);
    if (a->n_awaited)
        qsort(a->awaited, a->n_awaited, sizeof(*a->awaited), by_task);
    a->n_missing = a->n_awaited;
    return g.error || keep_sources(run, a) ? run_out_of_memory(run) : 0;
}

static int add_transfer(struct run *run, struct run_attempt *a, struct transfer transfer)
{
    if (a->n_transfers == a->transfers_room) {
        size_t room = 0;
        struct transfer *grown = NULL;
        if (run_grow((void **)&grown, &room, 2 * a->n_transfers, sizeof(*grown)))
            return run_out_of_memory(run);
        memcpy(grown, a->transfers, a->n_transfers * sizeof(*grown));
        if (a->transfers != &a->one)
            free(a->transfers);
        a->transfers = grown;
        a->transfers_room = (uint32_t)room;
    }
    a->transfers[a->n_transfers++] = transfer;
    if (!a->n_open++)
        run->receiving[a->host]++;
    return 0;
}

static int start_transfer(struct run *run, struct run_attempt *a, uint32_t index,
                          const struct fluid_source *sources, uint32_t n)
{
    struct transfer *t = &a->transfers[index];
    t->state = TRANSFER_MOVING;
    return fluid_start(run->fluid, a->host, a->levels[run->mode], sources, n,
                       (uint64_t)a->id << 32 | index, &t->macroflow)
               ? run_out_of_memory(run)
               : 0;
}

int run_attempt_transfer_start(struct run *run, struct run_attempt *a, uint32_t index)
{
    struct transfer *t = &a->transfers[index];
    struct fluid_source source = {t->host, t->bytes};
    if (!hosts_source_gone(run, t))
        return start_transfer(run, a, index, &source, 1);
    t->state = TRANSFER_BROKEN;
    return 0;
}

int run_attempt_receive(struct run *run, struct run_attempt *a, struct transfer t)
{
    if (t.block && hosts_source_gone(run, &t)) {
        uint32_t other = hosts_replica(run, a, t.host);
        t.host = other == ENGINE_NONE ? t.host : other;
    }
    if (t.host == a->host && run->config->local_free) {
        a->local_bytes += t.bytes;
        return 0;
    }
    a->remote_bytes += t.bytes;
    int r = add_transfer(run, a, t);
    return r ? r : run_attempt_transfer_start(run, a, a->n_transfers - 1);
}

static int receive_sources(struct run *run, struct run_attempt *a)
{
    int r = 0;
    struct transfer all = {.host = ENGINE_NONE};
    for (uint32_t i = 0; run->hosts && !r && i < a->n_sources; i++)
        r = run_attempt_receive(run, a,
                                (struct transfer){.host = a->sources[i].host,
                                                  .named_ns = a->decided_ns,
                                                  .bytes = a->sources[i].bytes});
    if (!r && a->block_host != ENGINE_NONE)
        r = run_attempt_receive(
            run, a,
            (struct transfer){.host = a->block_host, .block = true, .bytes = a->block_bytes});
    if (r || run->hosts || !a->n_sources)
        return r;
    for (uint32_t i = 0; i < a->n_sources; i++)
        all.bytes += a->sources[i].bytes;
    a->remote_bytes += all.bytes;
    r = add_transfer(run, a, all);
    return r ? r : start_transfer(run, a, a->n_transfers - 1, a->sources, a->n_sources);
}

int64_t run_attempt_arrived_bytes(struct run *run, const struct run_attempt *a)
{
    int64_t bytes = a->local_bytes + a->before_bytes;
    for (uint32_t i = 0; i < a->n_transfers; i++) {
        const struct transfer *t = &a->transfers[i];
        bytes += t->state == TRANSFER_OVER     ? t->bytes
                 : t->state == TRANSFER_MOVING ? fluid_received_bytes(run->fluid, t->macroflow)
                                               : t->arrived_bytes;
    }
    return bytes;
}

int run_attempt_transfer_over(struct run *run, uint64_t subject)
{
    struct run_attempt *a = run->attempts[subject >> 32];
    struct transfer *t = &a->transfers[(uint32_t)subject];
    t->state = TRANSFER_OVER;
    run->wire_bytes += (double)t->bytes;
    if (!--a->n_open)
        run->receiving[a->host]--;
    return run_attempt_settle(run, a);
}

static void note_overlap(struct run *run, struct run_attempt *a)
{
    double part =
        a->total_bytes ? (double)run_attempt_arrived_bytes(run, a) / (double)a->total_bytes : 1;
    a->overlap_end_ns =
        fmax(a->overlap_end_ns, (double)run->now_ns + (double)a->compute_ns * (1 - part));
}

void run_attempts_note_overlap(struct run *run)
{
    struct run_attempt *a;
    LIST_FOREACH (a, &run->pipelined, of_pipelined)
        note_overlap(run, a);
}

/* Only transfers from earlier stages form a Coflow. */
static void note_coflow(struct run *run, const struct run_attempt *a, bool end)
{
    struct run_coflow *coflow = run_coflow(run, a);
    if (!a->n_transfers || !run->jobs[run_job_index(run, a->job)].stages[a->stage].n_parents)
        return;
    if (!coflow->began)
        coflow->first_ns = run->now_ns;
    coflow->began = true;
    if (end)
        coflow->last_ns = run->now_ns;
}

static int compute(struct run *run, struct run_attempt *a)
{
    double end_ns = (double)(run->now_ns + a->compute_ns);
    if (a->pipelined) {
        LIST_REMOVE(a, of_pipelined);
        end_ns = ceil(a->overlap_end_ns - 1e-3);
    }
    a->phase = PHASE_COMPUTING;
    note_coflow(run, a, true);
    run_notify(run, RUN_RECEIVED, a, a->host);
    int r = disks_take_turns(a) ? disks_begin_turns(run, a)
            : heap_push(&run->computing, run->computing_where, end_ns, a->id)
                ? run_out_of_memory(run)
                : 0;
    r = r ? r : reports_end(run, a);
    return r ? r : copies_watch(run, a);
}

int run_attempt_settle(struct run *run, struct run_attempt *a)
{
    if (a->n_open || a->n_missing || a->n_reads)
        return 0;
    if (!a->n_transfers && !a->n_awaited && !a->before_bytes)
        return compute(run, a);
    int r = run_report_attempt(run, EVENT_ATTEMPT_RECEIVED, a->number, (uint64_t)a->remote_bytes);
    return r ? r : compute(run, a);
}

int run_attempt_go_on(struct run *run, struct run_attempt *a)
{
    int r = receive_sources(run, a);
    r = r ? r : disks_read(run, a);
    free(a->sources);
    a->sources = NULL;
    note_coflow(run, a, false);
    if (r)
        return r;
    return a->n_open || a->n_missing ? reports_begin(run, a) : run_attempt_settle(run, a);
}

int run_attempt_begin(struct run *run, struct run_attempt *a)
{
    if (hosts_miss(run, a)) {
        run->result->lost_attempts++;
        return hosts_unanswered(run, a) ? -ENOMEM : run_attempt_drop(run, a);
    }
    int r = run_report_attempt(run, EVENT_ATTEMPT_STARTED, a->number, 0);
    a->phase = PHASE_RECEIVING;
    run->result->attempts++;
    run_notify(run, RUN_STARTED, a, a->host);
    if (a->pipelined) {
        a->overlap_end_ns = (double)(run->now_ns + a->compute_ns);
        LIST_INSERT_HEAD(&run->pipelined, a, of_pipelined);
    }
    return r ? r : run_attempt_go_on(run, a);
}

int run_attempts_output_ready(struct run *run, const struct order *output)
{
    struct awaited key = {output->stage, output->task, 0};
    struct run_attempt *a, *next;
    for (a = LIST_FIRST(&run->pipelined); a; a = next) {
        next = LIST_NEXT(a, of_pipelined);
        struct awaited *w = a->job == output->job && a->n_missing
                                ? bsearch(&key, a->awaited, a->n_awaited, sizeof(key), by_task)
                                : NULL;
        if (!w || !w->bytes)
            continue;
        struct transfer t = {
            .host = output->host, .named_ns = output->decided_ns, .bytes = w->bytes};
        w->bytes = 0;
        a->n_missing--;
        int r = run_attempt_receive(run, a, t);
        r = r ? r : disks_send(run, a, t.host, t.bytes);
        r = r ? r : run_attempt_settle(run, a);
        if (r)
            return r;
    }
    return 0;
}
