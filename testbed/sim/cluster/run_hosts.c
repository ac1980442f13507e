/* Hosts that fail: what ends with them, and what the controller makes of their silence. */
#include "testbed/sim/cluster/run_state.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The controller's timers (schemas/duopolyd.yaml): a start is asked for once before it is lost. */
static const int64_t SILENT_NS = 3000000000, HOST_LOST_NS = 30000000000,
                     UNANSWERED_NS = 2 * INT64_C(5000000000);

enum { TIMER_SILENT, TIMER_LOST, TIMERS };

int hosts_open(struct run *r)
{
    const struct run_config *c = r->config;
    r->vector[RES_SLOTS] = c->slots;
    r->unanswered.item_bytes = sizeof(uint64_t);
    if (!faults_hosts_fail(&c->faults))
        return 0;
    r->hosts = calloc(c->hosts, sizeof(*r->hosts));
    r->timers_where = calloc((size_t)c->hosts * TIMERS, sizeof(*r->timers_where));
    if (!r->hosts || !r->timers_where)
        return run_out_of_memory(r);
    for (uint32_t h = 0; h < c->hosts; h++) {
        r->hosts[h] = (struct run_host){.generation = 1, .heard_ns = INT64_MIN};
        snprintf(r->hosts[h].name, sizeof(r->hosts[h].name), "h%u", h);
    }
    for (uint32_t i = 0; i < c->hosts * TIMERS; i++)
        r->timers_where[i] = HEAP_NOWHERE;
    return faults_init(&r->faults, &c->faults, c->hosts, r->err);
}

void hosts_close(struct run *r)
{
    faults_done(&r->faults);
    heap_done(&r->timers);
    free(r->timers_where);
    delay_line_done(&r->unanswered);
    free(r->hosts);
}

bool hosts_any_down(const struct run *r)
{
    for (uint32_t h = 0; r->hosts && h < r->config->hosts; h++)
        if (r->hosts[h].down)
            return true;
    return false;
}

/* ---- who answers ---- */

bool hosts_miss(const struct run *r, const struct attempt *a)
{
    const struct run_host *host = r->hosts ? &r->hosts[a->host] : NULL;
    return host && (host->down || a->decided_ns < host->heard_ns);
}

bool hosts_source_gone(const struct run *r, const struct transfer *t)
{
    const struct run_host *host = r->hosts ? &r->hosts[t->host] : NULL;
    return host && (host->down || (!t->block && t->named_ns < host->heard_ns));
}

uint32_t hosts_replica(const struct run *r, const struct attempt *a, uint32_t after)
{
    const struct workload_stage *stage = &r->jobs[run_job_index(r, a->job)].stages[a->stage];
    const struct workload_replicas *replicas = stage->replicas ? &stage->replicas[a->task] : NULL;
    uint32_t n = replicas ? replicas->n : 0, first = 0;
    for (uint32_t i = 0; i < n; i++)
        if (replicas->hosts[i] % r->config->hosts == after)
            first = i + 1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t host = replicas->hosts[(first + i) % n] % r->config->hosts;
        if (!r->hosts || !r->hosts[host].down)
            return host;
    }
    return ENGINE_NONE;
}

int hosts_unanswered(struct run *r, const struct attempt *a)
{
    return delay_line_push(&r->unanswered, r->now_ns + UNANSWERED_NS, &a->number)
               ? run_out_of_memory(r)
               : 0;
}

/* ---- failure ---- */

/* What it reads from a host that is gone stands still; its block goes on elsewhere. */
static int break_transfers(struct run *r, struct attempt *a, uint32_t host)
{
    for (uint32_t i = 0; i < a->n_transfers; i++) {
        struct transfer *t = &a->transfers[i];
        if (t->state != TRANSFER_MOVING || t->host != host)
            continue;
        t->arrived_bytes = fluid_received_bytes(r->fluid, t->macroflow);
        r->wire_bytes += (double)t->arrived_bytes;
        t->state = TRANSFER_BROKEN;
        if (fluid_stop(r->fluid, t->macroflow))
            return run_out_of_memory(r);
    }
    return 0;
}

/* Blocks whose source is down go on at a replica that is up, from their first byte. */
static int resume_blocks(struct run *r, struct attempt *a)
{
    for (uint32_t i = 0; i < a->n_transfers; i++) {
        struct transfer *t = &a->transfers[i];
        uint32_t host =
            t->block && t->state == TRANSFER_BROKEN ? hosts_replica(r, a, t->host) : ENGINE_NONE;
        if (host == ENGINE_NONE)
            continue;
        t->host = host;
        t->arrived_bytes = 0;
        int rc = run_attempt_transfer_start(r, a, i);
        if (rc)
            return rc;
    }
    return 0;
}

static int set_timer(struct run *r, uint32_t host, int timer, int64_t after_ns)
{
    double due_ns = (double)(r->now_ns + r->config->report_delay_ns + after_ns);
    return heap_set(&r->timers, r->timers_where, due_ns, host * TIMERS + (uint32_t)timer)
               ? run_out_of_memory(r)
               : 0;
}

static int host_down(struct run *r, uint32_t h)
{
    struct attempt *a, *next;
    struct run_host *host = &r->hosts[h];
    host->down = true;
    host->heard_ns = INT64_MAX;
    r->result->host_failures++;
    run_watch(r, RUN_HOST_DOWN, NULL, h);
    HASH_ITER (hh, r->live, a, next) {
        if (a->phase == PHASE_SENT)
            continue;
        bool here = a->host == h;
        if (here) {
            r->result->lost_attempts++;
            run_watch(r, RUN_LOST, a, h);
        }
        int rc = here ? run_attempt_drop(r, a) : break_transfers(r, a, h);
        if (!rc && !here)
            rc = resume_blocks(r, a);
        if (rc)
            return rc;
    }
    int rc = set_timer(r, h, TIMER_SILENT, SILENT_NS);
    return rc ? rc : set_timer(r, h, TIMER_LOST, HOST_LOST_NS);
}

static int host_up(struct run *r, uint32_t h)
{
    struct run_host *host = &r->hosts[h];
    struct event join = {.kind = EVENT_HOST_JOIN}, load = {.kind = EVENT_HOST_LOAD};
    host->down = false;
    host->generation++;
    run_watch(r, RUN_HOST_UP, NULL, h);
    join.host_join.host = h;
    join.host_join.generation = host->generation;
    load.host_load.host = h;
    load.host_load.resource = LOAD_UPLINK;
    int rc = run_report(r, &join);
    rc = rc ? rc : run_report(r, &load);
    for (struct attempt *a = r->live; a && !rc; a = a->hh.next)
        if (a->phase == PHASE_RECEIVING)
            rc = resume_blocks(r, a);
    return rc;
}

/* ---- what the controller notices ---- */

static void clear_timers(struct run *r, uint32_t host)
{
    for (uint32_t i = host * TIMERS; i < (host + 1) * TIMERS; i++)
        if (r->timers_where[i] != HEAP_NOWHERE)
            heap_take(&r->timers, r->timers_where, i);
}

static uint64_t link_bps(const struct run *r, uint32_t link)
{
    return (uint64_t)llround(topology_link_bytes_s(&r->topology, link) * 8);
}

void hosts_describe(const struct run *r, struct event *event)
{
    uint32_t h = event->host_join.host;
    event->host_join.uplink_bps = link_bps(r, h);
    event->host_join.downlink_bps = link_bps(r, r->topology.n_hosts + h);
}

void hosts_deliver(struct run *r, struct event *event)
{
    if (event->kind != EVENT_HOST_JOIN)
        return;
    uint32_t h = event->host_join.host;
    struct run_host *host = &r->hosts[h];
    event->host_join.name = host->name;
    event->host_join.rack = event->host_join.labels = "";
    hosts_describe(r, event);
    event->host_join.units = (struct u64s){r->vector, ENGINE_RESOURCES};
    if (host->down || event->host_join.generation != host->generation)
        return;
    host->heard_ns = r->now_ns;
    clear_timers(r, h);
}

int64_t hosts_timers_next_ns(const struct run *r)
{
    int64_t timer_ns = r->timers.n ? (int64_t)r->timers.items[0].key : INT64_MAX;
    int64_t unanswered_ns = delay_line_next_ns(&r->unanswered);
    return timer_ns < unanswered_ns ? timer_ns : unanswered_ns;
}

static int take_timers(struct run *r)
{
    uint64_t number;
    while (r->timers.n && r->timers.items[0].key <= (double)r->now_ns) {
        uint32_t id = heap_pop(&r->timers, r->timers_where).id;
        struct event e = {.kind = id % TIMERS == TIMER_LOST ? EVENT_HOST_LOST : EVENT_HOST_SILENT};
        e.host.host = id / TIMERS;
        if (run_tell(r, &e))
            return -ENOMEM;
    }
    while (delay_line_take(&r->unanswered, r->now_ns, &number)) {
        struct event e = {.kind = EVENT_ATTEMPT_LOST};
        e.attempt.attempt = number;
        if (run_tell(r, &e))
            return -ENOMEM;
    }
    return 0;
}

int hosts_take(struct run *r)
{
    struct fault_change change;
    int taken = 0, rc = 0;
    if (!r->hosts)
        return 0;
    while (!rc && (taken = faults_take(&r->faults, r->now_ns, &change)) > 0)
        if (change.down != r->hosts[change.host].down)
            rc = change.down ? host_down(r, change.host) : host_up(r, change.host);
    if (taken < 0)
        return run_out_of_memory(r);
    return rc ? rc : take_timers(r);
}
