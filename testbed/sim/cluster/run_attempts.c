/* What happens to attempts: they receive, compute and end. */
#include "testbed/sim/cluster/run_state.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct attempt *run_attempt_find(struct run *r, uint64_t number)
{
    struct attempt *a;
    HASH_FIND(hh, r->live, &number, sizeof(number), a);
    return a;
}

static int places(struct run *r)
{
    size_t room = r->attempts_room, same[] = {room, room, room, room};
    if (run_grow((void **)&r->computing_where, &same[0], room + 1, sizeof(uint32_t)) ||
        run_grow((void **)&r->suspects_where, &same[1], room + 1, sizeof(uint32_t)) ||
        run_grow((void **)&r->reports.ends_where, &same[2], room + 1, sizeof(uint32_t)) ||
        run_grow((void **)&r->spare, &same[3], room + 1, sizeof(uint32_t)))
        return -ENOMEM;
    return run_grow((void **)&r->attempts, &r->attempts_room, room + 1, sizeof(struct attempt *));
}

struct attempt *run_attempt_make(struct run *r, uint64_t number, uint64_t job, uint32_t stage,
                                 uint32_t task, uint32_t host)
{
    if (!r->n_spare && r->n_attempts == r->attempts_room && places(r))
        return NULL;
    struct attempt *a = calloc(1, sizeof(*a));
    if (!a)
        return NULL;
    a->number = number;
    a->job = job;
    a->stage = stage;
    a->task = task;
    a->host = host;
    a->decided_ns = r->now_ns;
    a->transfers = &a->one;
    a->transfers_room = 1;
    a->block_host = ENGINE_NONE;
    const struct workload_stage *spec = &r->jobs[run_job_index(r, job)].stages[stage];
    for (uint32_t e = 0; r->pipelines && e < spec->n_parents; e++)
        a->pipelined |= spec->parents[e].pipelined;
    a->id = r->n_spare ? r->spare[--r->n_spare] : (uint32_t)r->n_attempts++;
    r->attempts[a->id] = a;
    r->computing_where[a->id] = r->suspects_where[a->id] = HEAP_NOWHERE;
    r->reports.ends_where[a->id] = HEAP_NOWHERE;
    HASH_ADD(hh, r->live, number, sizeof(a->number), a);
    return a->hh.tbl ? a : NULL;
}

static void release(struct attempt *a)
{
    if (a->transfers != &a->one)
        free(a->transfers);
    free(a->awaited);
    free(a->sources);
    free(a);
}

static void forget(struct run *r, struct attempt *a)
{
    if (a->pipelined && a->phase == PHASE_RECEIVING)
        LIST_REMOVE(a, of_pipelined);
    copies_forget(r, a);
    HASH_DELETE(hh, r->live, a);
    r->attempts[a->id] = NULL;
    r->spare[r->n_spare++] = a->id;
    release(a);
}

int run_attempt_drop(struct run *r, struct attempt *a)
{
    for (uint32_t i = 0; i < a->n_transfers; i++) {
        struct transfer *t = &a->transfers[i];
        if (t->state != TRANSFER_MOVING)
            continue;
        r->wire_bytes += (double)fluid_received_bytes(r->fluid, t->macroflow);
        if (fluid_stop(r->fluid, t->macroflow))
            return run_out_of_memory(r);
    }
    if (r->computing_where[a->id] != HEAP_NOWHERE)
        heap_take(&r->computing, r->computing_where, a->id);
    if (reports_end(r, a))
        return -ENOMEM;
    forget(r, a);
    return 0;
}

void run_attempts_done(struct run *r)
{
    struct attempt *a, *next;
    HASH_ITER (hh, r->live, a, next) {
        HASH_DELETE(hh, r->live, a);
        release(a);
    }
    free(r->attempts);
    free(r->computing_where);
    free(r->suspects_where);
    free(r->spare);
}

/* ---- levels ---- */

void run_attempt_set_levels(struct run *r, struct attempt *a, uint64_t coflow, uint64_t macroflow)
{
    a->levels[MODE_SLOT_RICH] = ranks_level(&r->ranks, coflow);
    a->levels[MODE_SLOT_STARVED] = ranks_level(&r->ranks, macroflow);
}

int run_attempt_mark(struct run *r, struct attempt *a)
{
    for (uint32_t i = 0; i < a->n_transfers; i++)
        if (a->transfers[i].state == TRANSFER_MOVING &&
            fluid_set_level(r->fluid, a->transfers[i].macroflow, a->levels[r->mode]))
            return run_out_of_memory(r);
    return 0;
}

/* ---- what it reads ---- */

struct gathering {
    struct run *run;
    struct attempt *attempt;
    double factor;      /* what was told ÷ the truth */
    uint32_t free_host; /* whose bytes cost nothing; ENGINE_NONE */
    size_t awaited_room;
    int rc;
};

static bool is_made(struct run *r, const struct attempt *a, const struct engine_input *input)
{
    struct task_view map;
    return input->block || engine_task(r->engine, a->job, input->stage, input->task, &map) ||
           map.state == TASK_DONE;
}

static void await(struct gathering *g, const struct engine_input *input, int64_t bytes)
{
    struct attempt *a = g->attempt;
    if (run_grow((void **)&a->awaited, &g->awaited_room, a->n_awaited + 1u, sizeof(*a->awaited)))
        g->rc = -ENOMEM;
    else
        a->awaited[a->n_awaited++] = (struct awaited){input->stage, input->task, bytes};
}

static void add_source(struct run *r, uint32_t host, int64_t bytes)
{
    if (!r->host_bytes[host])
        r->sources[r->n_sources++].host = host;
    r->host_bytes[host] += bytes;
}

static void add_input(void *context, const struct engine_input *input)
{
    struct gathering *g = context;
    struct run *r = g->run;
    struct attempt *a = g->attempt;
    int64_t bytes = (int64_t)input->bytes;
    if (g->factor != 1 && !input->block)
        bytes = (int64_t)ceil((double)input->bytes / g->factor);
    a->total_bytes += bytes;
    if (a->pipelined && !is_made(r, a, input)) {
        await(g, input, bytes);
    } else if (input->host == g->free_host) {
        a->local_bytes += bytes;
    } else if (input->block && r->hosts) {
        a->block_host = input->host;
        a->block_bytes = bytes;
    } else {
        add_source(r, input->host, bytes);
    }
}

static int by_task(const void *left, const void *right)
{
    const struct awaited *a = left, *b = right;
    if (a->stage != b->stage)
        return a->stage < b->stage ? -1 : 1;
    return a->task < b->task ? -1 : a->task > b->task;
}

/* The sources into their list, which only the next gathering changes. */
static void list_sources(struct run *r)
{
    for (uint32_t i = 0; i < r->n_sources; i++) {
        r->sources[i].bytes = r->host_bytes[r->sources[i].host];
        r->host_bytes[r->sources[i].host] = 0;
    }
}

static int keep_sources(struct run *r, struct attempt *a)
{
    size_t bytes = r->n_sources * sizeof(*a->sources);
    a->n_sources = r->n_sources;
    a->sources = malloc(bytes ? bytes : 1);
    if (!a->sources)
        return -ENOMEM;
    memcpy(a->sources, r->sources, bytes);
    return 0;
}

/* A copy that was granted reads its block too, of which the engine does not know. */
static void gather_block_of_copy(struct run *r, struct attempt *a)
{
    const struct workload_stage *stage = &r->jobs[run_job_index(r, a->job)].stages[a->stage];
    bool copy = a->number >> 32 != r->config->engine.epoch;
    if (!copy || !stage->input_bytes || !stage->replicas)
        return;
    const struct workload_replicas *replicas = &stage->replicas[a->task];
    for (uint8_t i = 0; i < replicas->n; i++)
        if (replicas->hosts[i] % r->config->hosts == a->host)
            return;
    uint32_t host = hosts_replica(r, a, ENGINE_NONE);
    int64_t bytes = (int64_t)stage->input_bytes[a->task];
    if (host == ENGINE_NONE || !bytes)
        return;
    a->total_bytes += bytes;
    if (r->hosts) {
        a->block_host = host;
        a->block_bytes = bytes;
    } else {
        add_source(r, host, bytes);
    }
}

int run_attempt_gather(struct run *r, struct attempt *a)
{
    struct gathering g = {.run = r, .attempt = a, .factor = 1, .free_host = ENGINE_NONE};
    struct task_view task;
    if (engine_task(r->engine, a->job, a->stage, a->task, &task))
        return err_set(r->err, EINVAL, "job %llu lost a task that was just started",
                       (unsigned long long)a->job);
    a->gathered = true;
    a->expected_ns = (int64_t)task.compute_ns;
    double slowness = faults_slowness(&r->config->faults, a->job, a->stage, a->task, a->host);
    a->compute_ns = slowness > 1 ? (int64_t)((double)task.compute_ns * slowness) : a->expected_ns;
    if (r->config->told)
        g.factor = r->config->told[run_job_index(r, a->job)];
    if (r->config->local_free)
        g.free_host = a->host;
    r->n_sources = 0;
    engine_inputs(r->engine, a->number, add_input, &g);
    gather_block_of_copy(r, a);
    list_sources(r);
    if (a->n_awaited)
        qsort(a->awaited, a->n_awaited, sizeof(*a->awaited), by_task);
    a->n_missing = a->n_awaited;
    return g.rc || keep_sources(r, a) ? run_out_of_memory(r) : 0;
}

/* ---- transfers ---- */

static int add_transfer(struct run *r, struct attempt *a, struct transfer transfer)
{
    if (a->n_transfers == a->transfers_room) {
        size_t room = 0;
        struct transfer *grown = NULL;
        if (run_grow((void **)&grown, &room, 2 * a->n_transfers, sizeof(*grown)))
            return run_out_of_memory(r);
        memcpy(grown, a->transfers, a->n_transfers * sizeof(*grown));
        if (a->transfers != &a->one)
            free(a->transfers);
        a->transfers = grown;
        a->transfers_room = (uint32_t)room;
    }
    a->transfers[a->n_transfers++] = transfer;
    a->n_open++;
    return 0;
}

static int start_transfer(struct run *r, struct attempt *a, uint32_t index,
                          const struct fluid_source *sources, uint32_t n)
{
    struct transfer *t = &a->transfers[index];
    t->state = TRANSFER_MOVING;
    return fluid_start(r->fluid, a->host, a->levels[r->mode], sources, n,
                       (uint64_t)a->id << 32 | index, &t->macroflow)
               ? run_out_of_memory(r)
               : 0;
}

int run_attempt_transfer_start(struct run *r, struct attempt *a, uint32_t index)
{
    struct transfer *t = &a->transfers[index];
    struct fluid_source source = {t->host, t->bytes};
    if (!hosts_source_gone(r, t))
        return start_transfer(r, a, index, &source, 1);
    t->state = TRANSFER_BROKEN;
    return 0;
}

int run_attempt_receive(struct run *r, struct attempt *a, struct transfer t)
{
    if (t.block && hosts_source_gone(r, &t)) {
        uint32_t other = hosts_replica(r, a, t.host);
        t.host = other == ENGINE_NONE ? t.host : other;
    }
    if (t.host == a->host && r->config->local_free) {
        a->local_bytes += t.bytes;
        return 0;
    }
    a->remote_bytes += t.bytes;
    int rc = add_transfer(r, a, t);
    return rc ? rc : run_attempt_transfer_start(r, a, a->n_transfers - 1);
}

static int receive_sources(struct run *r, struct attempt *a)
{
    int rc = 0;
    struct transfer all = {.host = ENGINE_NONE};
    for (uint32_t i = 0; r->hosts && !rc && i < a->n_sources; i++)
        rc = run_attempt_receive(r, a,
                                 (struct transfer){.host = a->sources[i].host,
                                                   .named_ns = a->decided_ns,
                                                   .bytes = a->sources[i].bytes});
    if (!rc && a->block_host != ENGINE_NONE)
        rc = run_attempt_receive(
            r, a, (struct transfer){.host = a->block_host, .block = true, .bytes = a->block_bytes});
    if (rc || r->hosts || !a->n_sources)
        return rc;
    for (uint32_t i = 0; i < a->n_sources; i++)
        all.bytes += a->sources[i].bytes;
    a->remote_bytes += all.bytes;
    rc = add_transfer(r, a, all);
    return rc ? rc : start_transfer(r, a, a->n_transfers - 1, a->sources, a->n_sources);
}

int64_t run_attempt_arrived_bytes(struct run *r, const struct attempt *a)
{
    int64_t bytes = a->local_bytes;
    for (uint32_t i = 0; i < a->n_transfers; i++) {
        const struct transfer *t = &a->transfers[i];
        bytes += t->state == TRANSFER_OVER     ? t->bytes
                 : t->state == TRANSFER_MOVING ? fluid_received_bytes(r->fluid, t->macroflow)
                                               : t->arrived_bytes;
    }
    return bytes;
}

int run_attempt_transfer_over(struct run *r, uint64_t subject)
{
    struct attempt *a = r->attempts[subject >> 32];
    struct transfer *t = &a->transfers[(uint32_t)subject];
    t->state = TRANSFER_OVER;
    r->wire_bytes += (double)t->bytes;
    a->n_open--;
    return run_attempt_settle(r, a);
}

/* ---- computing ---- */

static void note_overlap(struct run *r, struct attempt *a)
{
    double part =
        a->total_bytes ? (double)run_attempt_arrived_bytes(r, a) / (double)a->total_bytes : 1;
    a->overlap_end_ns =
        fmax(a->overlap_end_ns, (double)r->now_ns + (double)a->compute_ns * (1 - part));
}

void run_attempts_note_overlap(struct run *r)
{
    struct attempt *a;
    LIST_FOREACH (a, &r->pipelined, of_pipelined)
        note_overlap(r, a);
}

/* Only what comes from stages before it is a Coflow. */
static void note_coflow(struct run *r, const struct attempt *a, bool end)
{
    struct run_coflow *coflow = run_coflow(r, a);
    if (!a->n_transfers || !r->jobs[run_job_index(r, a->job)].stages[a->stage].n_parents)
        return;
    if (!coflow->began)
        coflow->first_ns = r->now_ns;
    coflow->began = true;
    if (end)
        coflow->last_ns = r->now_ns;
}

static int compute(struct run *r, struct attempt *a)
{
    double end_ns = (double)(r->now_ns + a->compute_ns);
    if (a->pipelined) {
        LIST_REMOVE(a, of_pipelined);
        end_ns = ceil(a->overlap_end_ns - 1e-3);
    }
    a->phase = PHASE_COMPUTING;
    note_coflow(r, a, true);
    run_watch(r, RUN_RECEIVED, a, a->host);
    if (heap_push(&r->computing, r->computing_where, end_ns, a->id))
        return run_out_of_memory(r);
    int rc = reports_end(r, a);
    return rc ? rc : copies_watch(r, a);
}

int run_attempt_settle(struct run *r, struct attempt *a)
{
    if (a->n_open || a->n_missing)
        return 0;
    int rc = run_report_attempt(r, EVENT_ATTEMPT_RECEIVED, a->number, (uint64_t)a->remote_bytes);
    return rc ? rc : compute(r, a);
}

int run_attempt_begin(struct run *r, struct attempt *a)
{
    if (hosts_miss(r, a)) {
        r->result->lost_attempts++;
        return hosts_unanswered(r, a) ? -ENOMEM : run_attempt_drop(r, a);
    }
    int rc = run_report_attempt(r, EVENT_ATTEMPT_STARTED, a->number, 0);
    a->phase = PHASE_RECEIVING;
    r->result->attempts++;
    run_watch(r, RUN_STARTED, a, a->host);
    if (a->pipelined) {
        a->overlap_end_ns = (double)(r->now_ns + a->compute_ns);
        LIST_INSERT_HEAD(&r->pipelined, a, of_pipelined);
    }
    rc = rc ? rc : receive_sources(r, a);
    free(a->sources);
    a->sources = NULL;
    note_coflow(r, a, false);
    if (rc)
        return rc;
    return a->n_open || a->n_missing ? reports_begin(r, a) : compute(r, a);
}

int run_attempts_output_ready(struct run *r, const struct order *output)
{
    struct awaited key = {output->stage, output->task, 0};
    struct attempt *a, *next;
    for (a = LIST_FIRST(&r->pipelined); a; a = next) {
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
        int rc = run_attempt_receive(r, a, t);
        rc = rc ? rc : run_attempt_settle(r, a);
        if (rc)
            return rc;
    }
    return 0;
}
