/* Hosts that fail: what ends with them, and the controller's reaction to their silence. */
#include "testbed/sim/cluster/run_state.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The controller's timers (schemas/duopolyd.yaml); a start is asked for once before it counts as
 * lost. */
static const int64_t SILENT_NS = 3000000000, HOST_LOST_NS = 30000000000,
                     UNANSWERED_NS = 2 * INT64_C(5000000000);

enum { TIMER_SILENT, TIMER_LOST, TIMERS };

struct host_words hosts_words(const struct run *run, uint32_t host)
{
    uint32_t racks = run->config->racks;
    struct host_words words = {0};
    const struct cluster *cluster = run->config->cluster;
    if (cluster) {
        snprintf(words.name, sizeof(words.name), "%s", cluster->hosts[host].name);
        snprintf(words.rack, sizeof(words.rack), "%s", cluster->hosts[host].class->rack);
        return words;
    }
    snprintf(words.name, sizeof(words.name), "h%u", host);
    if (racks)
        snprintf(words.rack, sizeof(words.rack), "rack%u", host / (run->config->hosts / racks) + 1);
    return words;
}

static void class_describe(const struct cluster_class *class, struct class_words *ret)
{
    cluster_labels(class, ret->labels, sizeof(ret->labels));
    cluster_unit_names(class, ret->unit_names, sizeof(ret->unit_names));
    for (uint32_t u = 0; u < class->n_units; u++) {
        uint64_t *unit = ret->units + u * ENGINE_RESOURCES;
        unit[RES_SLOTS] = (uint64_t) class->units[u].slots;
        unit[RES_CPU_MILLI] = (uint64_t) class->units[u].cpu_milli;
        unit[RES_MEM_BYTES] = (uint64_t) class->units[u].mem_bytes;
        unit[RES_GPU_MILLI] = (uint64_t) class->units[u].gpu_milli;
        unit[RES_GPU_MEM_BYTES] = (uint64_t) class->units[u].gpu_mem_bytes;
        unit[RES_IO_BYTES_S] = (uint64_t) class->units[u].io_bytes_s;
    }
}

static int classes_open(struct run *run)
{
    const struct cluster *cluster = run->config->cluster;
    if (!cluster)
        return 0;
    run->classes = calloc(cluster->n_classes, sizeof(*run->classes));
    for (uint32_t c = 0; run->classes && c < cluster->n_classes; c++)
        class_describe(&cluster->classes[c], &run->classes[c]);
    return run->classes ? 0 : -ENOMEM;
}

int hosts_open(struct run *run)
{
    const struct run_config *c = run->config;
    run->vector[RES_SLOTS] = c->slots;
    run->unanswered.item_bytes = sizeof(uint64_t);
    if (classes_open(run))
        return run_out_of_memory(run);
    if (!faults_hosts_fail(&c->faults))
        return 0;
    run->hosts = calloc(c->hosts, sizeof(*run->hosts));
    run->timers_where = calloc((size_t)c->hosts * TIMERS, sizeof(*run->timers_where));
    if (!run->hosts || !run->timers_where)
        return run_out_of_memory(run);
    for (uint32_t h = 0; h < c->hosts; h++) {
        run->hosts[h] = (struct run_host){.generation = 1, .heard_ns = INT64_MIN};
        run->hosts[h].words = hosts_words(run, h);
    }
    for (uint32_t i = 0; i < c->hosts * TIMERS; i++)
        run->timers_where[i] = HEAP_NOWHERE;
    return faults_init(&run->faults, &c->faults, c->hosts, run->err);
}

void hosts_close(struct run *run)
{
    faults_done(&run->faults);
    heap_done(&run->timers);
    free(run->timers_where);
    free(run->classes);
    delay_line_done(&run->unanswered);
    free(run->hosts);
}

bool hosts_any_down(const struct run *run)
{
    for (uint32_t h = 0; run->hosts && h < run->config->hosts; h++)
        if (run->hosts[h].down)
            return true;
    return false;
}

bool hosts_miss(const struct run *run, const struct run_attempt *a)
{
    const struct run_host *host = run->hosts ? &run->hosts[a->host] : NULL;
    return host && (host->down || a->decided_ns < host->heard_ns);
}

bool hosts_source_gone(const struct run *run, const struct transfer *t)
{
    const struct run_host *host = run->hosts ? &run->hosts[t->host] : NULL;
    return host && (host->down || (!t->block && t->named_ns < host->heard_ns));
}

uint32_t hosts_replica(const struct run *run, const struct run_attempt *a, uint32_t after)
{
    const struct workload_stage *stage = &run->jobs[run_job_index(run, a->job)].stages[a->stage];
    const struct workload_replicas *replicas = stage->replicas ? &stage->replicas[a->task] : NULL;
    uint32_t n = replicas ? replicas->n : 0, first = 0;
    for (uint32_t i = 0; i < n; i++)
        if (replicas->hosts[i] % run->config->hosts == after)
            first = i + 1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t host = replicas->hosts[(first + i) % n] % run->config->hosts;
        if (!run->hosts || !run->hosts[host].down)
            return host;
    }
    return ENGINE_NONE;
}

int hosts_unanswered(struct run *run, const struct run_attempt *a)
{
    return delay_line_push(&run->unanswered, run->now_ns + UNANSWERED_NS, &a->number)
               ? run_out_of_memory(run)
               : 0;
}

/* Stops its transfers from a host that is down; its block continues elsewhere. */
static int break_transfers(struct run *run, struct run_attempt *a, uint32_t host)
{
    for (uint32_t i = 0; i < a->n_transfers; i++) {
        struct transfer *t = &a->transfers[i];
        if (t->state != TRANSFER_MOVING || t->host != host)
            continue;
        t->arrived_bytes = fluid_received_bytes(run->fluid, t->macroflow);
        run->wire_bytes += (double)t->arrived_bytes;
        t->state = TRANSFER_BROKEN;
        if (fluid_stop(run->fluid, t->macroflow))
            return run_out_of_memory(run);
    }
    return 0;
}

/* Restarts blocks whose source is down at a replica that is up, from their first byte. */
static int resume_blocks(struct run *run, struct run_attempt *a)
{
    for (uint32_t i = 0; i < a->n_transfers; i++) {
        struct transfer *t = &a->transfers[i];
        uint32_t host =
            t->block && t->state == TRANSFER_BROKEN ? hosts_replica(run, a, t->host) : ENGINE_NONE;
        if (host == ENGINE_NONE)
            continue;
        t->host = host;
        t->arrived_bytes = 0;
        int r = run_attempt_transfer_start(run, a, i);
        if (r)
            return r;
    }
    return 0;
}

static int set_timer(struct run *run, uint32_t host, int timer, int64_t after_ns)
{
    double due_ns = (double)(run->now_ns + run->config->report_delay_ns + after_ns);
    return heap_set(&run->timers, run->timers_where, due_ns, host * TIMERS + (uint32_t)timer)
               ? run_out_of_memory(run)
               : 0;
}

static int host_down(struct run *run, uint32_t h)
{
    struct run_attempt *a, *next;
    struct run_host *host = &run->hosts[h];
    host->down = true;
    host->heard_ns = INT64_MAX;
    run->result->host_failures++;
    run_notify(run, RUN_HOST_DOWN, NULL, h);
    HASH_ITER (hh, run->live, a, next) {
        if (a->phase == PHASE_SENT)
            continue;
        bool here = a->host == h;
        if (here) {
            run->result->lost_attempts++;
            run_notify(run, RUN_LOST, a, h);
        }
        int r = here ? run_attempt_drop(run, a) : break_transfers(run, a, h);
        if (!r && !here)
            r = resume_blocks(run, a);
        if (r)
            return r;
    }
    int r = set_timer(run, h, TIMER_SILENT, SILENT_NS);
    return r ? r : set_timer(run, h, TIMER_LOST, HOST_LOST_NS);
}

struct event hosts_load(uint32_t host, enum host_load_resource resource, uint32_t per_mille)
{
    struct event load = {.kind = EVENT_HOST_LOAD};
    load.host_load.host = host;
    load.host_load.resource = resource;
    load.host_load.permille = per_mille;
    return load;
}

int hosts_report_foreign(struct run *run, uint32_t h)
{
    const struct run_config *c = run->config;
    struct event up = hosts_load(h, LOAD_UPLINK, (uint32_t)lround(1000 * run_foreign_share(c, h))),
                 down = hosts_load(h, LOAD_DOWNLINK,
                                   (uint32_t)lround(1000 * run_foreign_share(c, run_ports(c) + h)));
    int r = up.host_load.permille ? run_report(run, &up) : 0;
    return r || !down.host_load.permille ? r : run_report(run, &down);
}

static int host_up(struct run *run, uint32_t h)
{
    struct run_host *host = &run->hosts[h];
    struct event join = {.kind = EVENT_HOST_JOIN}, load = hosts_load(h, LOAD_UPLINK, 0);
    host->down = false;
    host->generation++;
    run_notify(run, RUN_HOST_UP, NULL, h);
    join.host_join.host = h;
    join.host_join.generation = host->generation;
    int r = run_report(run, &join);
    r = r ? r : run_report(run, &load);
    r = r ? r : hosts_report_foreign(run, h);
    for (struct run_attempt *a = run->live; a && !r; a = a->hh.next)
        if (a->phase == PHASE_RECEIVING)
            r = resume_blocks(run, a);
    return r;
}

static void clear_timers(struct run *run, uint32_t host)
{
    for (uint32_t i = host * TIMERS; i < (host + 1) * TIMERS; i++)
        if (run->timers_where[i] != HEAP_NOWHERE)
            heap_take(&run->timers, run->timers_where, i);
}

static uint64_t link_bps(const struct run *run, uint32_t link)
{
    double bytes_s = topology_link_bytes_s(&run->topology, link);
    const struct run_config *c = run->config;
    return (uint64_t)llround(bytes_s * 8 / (1 - run_foreign_share(c, link)) / (1 - c->headers));
}

/* What a rack may send to others, where it is less than its hosts may. */
static uint64_t rack_bps(const struct run *run)
{
    const struct topology *t = &run->topology;
    double bytes_s = t->core_bytes_s * t->n_spines, least = t->edge_bytes_s * t->hosts_per_rack;
    return t->n_racks > 1 && bytes_s < least ? (uint64_t)llround(bytes_s * 8) : 0;
}

void hosts_describe(const struct run *run, struct event *event)
{
    uint32_t h = event->host_join.host;
    const struct cluster *cluster = run->config->cluster;
    const struct cluster_class *class = cluster ? cluster->hosts[h].class : NULL;
    const struct class_words *words = cluster ? &run->classes[class - cluster->classes] : NULL;
    event->host_join.labels = words ? words->labels : "";
    event->host_join.unit_names = words ? words->unit_names : NULL;
    event->host_join.units = words && class->n_units
                                 ? (struct u64s){words->units, class->n_units * ENGINE_RESOURCES}
                                 : (struct u64s){run->vector, ENGINE_RESOURCES};
    event->host_join.uplink_bps = link_bps(run, h);
    event->host_join.downlink_bps = link_bps(run, run->topology.n_hosts + h);
    event->host_join.rack_bps = rack_bps(run);
    event->host_join.disk_bytes_s = class ? (uint64_t) class->disk_bytes_s : 0;
}

void hosts_deliver(struct run *run, struct event *event)
{
    if (event->kind != EVENT_HOST_JOIN)
        return;
    uint32_t h = event->host_join.host;
    struct run_host *host = &run->hosts[h];
    event->host_join.name = host->words.name;
    event->host_join.rack = host->words.rack;
    hosts_describe(run, event);
    if (host->down || event->host_join.generation != host->generation)
        return;
    host->heard_ns = run->now_ns;
    clear_timers(run, h);
}

int64_t hosts_timers_next_ns(const struct run *run)
{
    int64_t timer_ns = run->timers.n ? (int64_t)run->timers.items[0].key : INT64_MAX;
    int64_t unanswered_ns = delay_line_next_ns(&run->unanswered);
    return timer_ns < unanswered_ns ? timer_ns : unanswered_ns;
}

static int take_timers(struct run *run)
{
    uint64_t number;
    while (run->timers.n && run->timers.items[0].key <= (double)run->now_ns) {
        uint32_t id = heap_pop(&run->timers, run->timers_where).id;
        struct event e = {.kind = id % TIMERS == TIMER_LOST ? EVENT_HOST_LOST : EVENT_HOST_SILENT};
        e.host.host = id / TIMERS;
        if (run_tell(run, &e))
            return -ENOMEM;
    }
    while (delay_line_take(&run->unanswered, run->now_ns, &number)) {
        struct event e = {.kind = EVENT_ATTEMPT_LOST};
        e.attempt.attempt = number;
        if (run_tell(run, &e))
            return -ENOMEM;
    }
    return 0;
}

int hosts_take(struct run *run)
{
    struct fault_change change;
    int taken = 0, r = 0;
    if (!run->hosts)
        return 0;
    while (!r && (taken = faults_take(&run->faults, run->now_ns, &change)) > 0)
        if (change.down != run->hosts[change.host].down)
            r = change.down ? host_down(run, change.host) : host_up(run, change.host);
    if (taken < 0)
        return run_out_of_memory(run);
    return r ? r : take_timers(run);
}
