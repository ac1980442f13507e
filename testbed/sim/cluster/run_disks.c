/* What attempts read from disks: their profile's bytes, blocks on their host, and at the hosts that
 * they fetch from what those send them. */
#include "lib/container_of.h"
#include "testbed/sim/cluster/run_state.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* A task that reads while it computes takes turns. WHY so many: reading and computing of tasks that
 * begin together mix, and each turn costs two events. */
enum { TURNS = 8 };

struct run_read {
    struct disk_reader reader;
    struct run_attempt *attempt;
    uint32_t host;
    double asked_bytes_s; /* of the disk, as reports count it */
    LIST_ENTRY(run_read) of_attempt;
};

static struct disk *disk_of(const struct run *run, uint32_t host)
{
    struct disk *disk =
        run->disks.of_host && host < run->config->hosts ? &run->disks.of_host[host] : NULL;
    return disk && disk->bytes_s > 0 ? disk : NULL;
}

static bool any_disk(const struct run_config *config)
{
    for (uint32_t c = 0; config->cluster && c < config->cluster->n_classes; c++)
        if (config->cluster->classes[c].disk_bytes_s)
            return true;
    return false;
}

int disks_check(const struct run_config *config, struct err *err)
{
    return any_disk(config) && (faults_hosts_fail(&config->faults) || config->copy_after > 0)
               ? err_set(err, EINVAL,
                         "disks are simulated without failing hosts and copies; leave out either "
                         "these or `disk` of the cluster file")
               : 0;
}

int disks_open(struct run *run)
{
    const struct run_config *c = run->config;
    struct run_disks *disks = &run->disks;
    if (!any_disk(c))
        return 0;
    disks->of_host = calloc(c->hosts, sizeof(*disks->of_host));
    disks->asked_bytes_s = calloc(c->hosts, sizeof(*disks->asked_bytes_s));
    disks->ends_where = malloc(c->hosts * sizeof(*disks->ends_where));
    disks->changed = calloc(c->hosts, sizeof(*disks->changed));
    disks->is_changed = calloc(c->hosts, sizeof(*disks->is_changed));
    if (!disks->of_host || !disks->asked_bytes_s || !disks->ends_where || !disks->changed ||
        !disks->is_changed)
        return run_out_of_memory(run);
    for (uint32_t h = 0; h < c->hosts; h++) {
        const struct cluster_class *class = c->cluster->hosts[h].class;
        disk_init(&disks->of_host[h], (double)class->disk_bytes_s, (double)class->disk_loss / 1000);
        disks->ends_where[h] = HEAP_NOWHERE;
    }
    return 0;
}

void disks_close(struct run *run)
{
    struct run_disks *disks = &run->disks;
    heap_done(&disks->ends);
    free(disks->of_host);
    free(disks->asked_bytes_s);
    free(disks->ends_where);
    free(disks->changed);
    free(disks->is_changed);
}

/* The next end and what is asked there follow; the engine is told at the end of the instant. */
static int follow(struct run *run, uint32_t host, double more_bytes_s)
{
    struct run_disks *disks = &run->disks;
    const struct disk *disk = &disks->of_host[host];
    disks->asked_bytes_s[host] += more_bytes_s;
    if (!disks->is_changed[host])
        disks->changed[disks->n_changed++] = host;
    disks->is_changed[host] = true;
    double next_ns = disk->next_ns == DISK_NEVER ? INFINITY : (double)disk->next_ns;
    return heap_set(&disks->ends, disks->ends_where, next_ns, host) ? run_out_of_memory(run) : 0;
}

/* `asked`: what reports count while it reads. */
static int read_begin(struct run *run, struct run_attempt *a, uint32_t host, double bytes,
                      double most_bytes_s, double asked_bytes_s)
{
    struct disk *disk = disk_of(run, host);
    if (!disk || bytes <= 0)
        return 0;
    struct run_read *read = malloc(sizeof(*read));
    if (!read)
        return run_out_of_memory(run);
    *read = (struct run_read){.reader = {.left_bytes = bytes, .most_bytes_s = most_bytes_s},
                              .attempt = a,
                              .host = host,
                              .asked_bytes_s = asked_bytes_s};
    LIST_INSERT_HEAD(&a->reads, read, of_attempt);
    a->n_reads++;
    disk_begin(disk, &read->reader, run->now_ns);
    return follow(run, host, asked_bytes_s);
}

static int read_end(struct run *run, struct run_read *read)
{
    uint32_t host = read->host;
    double asked_bytes_s = read->asked_bytes_s;
    disk_end(&run->disks.of_host[host], &read->reader, run->now_ns);
    LIST_REMOVE(read, of_attempt);
    read->attempt->n_reads--;
    free(read);
    return follow(run, host, -asked_bytes_s);
}

static const struct workload_stage *spec_of(const struct run *run, const struct run_attempt *a)
{
    return &run->jobs[run_job_index(run, a->job)].stages[a->stage];
}

/* Whether its block is on its host; *ret_bytes: of its block, wherever that is. */
static bool has_block(const struct run *run, const struct run_attempt *a, int64_t *ret_bytes)
{
    const struct workload_stage *spec = spec_of(run, a);
    *ret_bytes = spec->input_bytes ? (int64_t)spec->input_bytes[a->task] : 0;
    if (!spec->replicas || !*ret_bytes)
        return false;
    for (uint8_t i = 0; i < spec->replicas[a->task].n; i++)
        if (spec->replicas[a->task].hosts[i] % run->config->hosts == a->host)
            return true;
    return false;
}

/* A block that is fetched is what the profile speaks of. */
static struct profile own_reading(const struct run *run, const struct run_attempt *a)
{
    const struct workload_stage *spec = spec_of(run, a);
    int64_t block_bytes;
    bool there = has_block(run, a, &block_bytes);
    bool fetched = !there && block_bytes && spec->replicas && spec->replicas[a->task].n;
    return fetched || !disk_of(run, a->host) ? (struct profile){0}
                                             : workload_profile_of(spec, a->variant);
}

int disks_send(struct run *run, struct run_attempt *a, uint32_t host, int64_t bytes)
{
    const struct disk *disk = disk_of(run, host);
    if (!disk)
        return 0;
    double link_bytes_s = topology_link_bytes_s(&run->topology, host);
    double most_bytes_s =
        host == a->host || disk->bytes_s < link_bytes_s ? disk->bytes_s : link_bytes_s;
    return read_begin(run, a, host, (double)bytes, most_bytes_s, most_bytes_s);
}

int disks_read(struct run *run, struct run_attempt *a)
{
    int64_t block_bytes;
    int r = 0;
    if (!run->disks.of_host)
        return 0;
    a->own = own_reading(run, a);
    const struct profile own = a->own;
    for (uint32_t i = 0; !r && i < a->n_sources; i++)
        r = disks_send(run, a, a->sources[i].host, a->sources[i].bytes);
    r = r ? r : disks_send(run, a, a->host, a->local_bytes);
    if (!r && !own.read_bytes && has_block(run, a, &block_bytes))
        r = disks_send(run, a, a->host, block_bytes);
    if (r || !own.read_bytes)
        return r;
    if (own.before || a->pipelined)
        return read_begin(run, a, a->host, (double)own.read_bytes, (double)own.read_bytes_s,
                          (double)profile_asked_bytes_s(&own));
    a->turns_left = TURNS;
    return 0;
}

/* WHY by its own computing: tasks of a stage differ. */
static int64_t slice_ns(const struct run_attempt *a)
{
    int64_t reading_ns = (int64_t)profile_read_ns(&a->own), all_ns = a->compute_ns - reading_ns;
    all_ns = all_ns > 0 ? all_ns : 0;
    int64_t done = TURNS - (int64_t)a->turns_left;
    return all_ns / TURNS + (done < all_ns % TURNS);
}

static int begin_turn(struct run *run, struct run_attempt *a)
{
    double bytes = (double)a->own.read_bytes / TURNS;
    return read_begin(run, a, a->host, bytes, (double)a->own.read_bytes_s, 0);
}

bool disks_take_turns(const struct run_attempt *a)
{
    return a->turns_left > 0;
}

/* WHY what it asks is counted from now to its end: in the mean of its turns it asks for that. */
int disks_begin_turns(struct run *run, struct run_attempt *a)
{
    a->turns_bytes_s = (double)profile_asked_bytes_s(&a->own);
    int r = begin_turn(run, a);
    return r ? r : follow(run, a->host, a->turns_bytes_s);
}

int disks_next_turn(struct run *run, struct run_attempt *a)
{
    if (!a->turns_left || !--a->turns_left)
        return 0;
    int r = begin_turn(run, a);
    return r ? r : 1;
}

int disks_leave(struct run *run, struct run_attempt *a)
{
    int r = 0;
    while (!r && !LIST_EMPTY(&a->reads))
        r = read_end(run, LIST_FIRST(&a->reads));
    if (!r && a->turns_bytes_s > 0)
        r = follow(run, a->host, -a->turns_bytes_s);
    a->turns_bytes_s = 0;
    return r;
}

void disks_forget(struct run_attempt *a)
{
    struct run_read *read;
    while ((read = LIST_FIRST(&a->reads))) {
        LIST_REMOVE(read, of_attempt);
        free(read);
    }
}

/* What it was read for goes on. */
static int go_on(struct run *run, struct run_attempt *a)
{
    if (a->phase != PHASE_COMPUTING)
        return run_attempt_settle(run, a);
    double end_ns = (double)(run->now_ns + slice_ns(a));
    return heap_push(&run->computing, run->computing_where, end_ns, a->id) ? run_out_of_memory(run)
                                                                           : 0;
}

int64_t disks_next_ns(const struct run *run)
{
    const struct run_disks *disks = &run->disks;
    if (disks->n_changed)
        return run->now_ns;
    return disks->ends.n ? (int64_t)disks->ends.items[0].key : FLUID_NEVER;
}

int disks_take(struct run *run)
{
    struct run_disks *disks = &run->disks;
    int r = 0;
    while (!r && disks->ends.n && disks->ends.items[0].key <= (double)run->now_ns) {
        struct disk *disk = &disks->of_host[disks->ends.items[0].id];
        struct run_read *read = container_of(disk_over(disk, run->now_ns), struct run_read, reader);
        struct run_attempt *a = read->attempt;
        r = read_end(run, read);
        r = r || a->n_reads ? r : go_on(run, a);
    }
    return r;
}

int disks_report(struct run *run)
{
    struct run_disks *disks = &run->disks;
    int r = 0;
    for (uint32_t i = 0; !r && i < disks->n_changed; i++) {
        uint32_t host = disks->changed[i];
        const struct disk *disk = &disks->of_host[host];
        double permille = 1000 * disks->asked_bytes_s[host] / disk->bytes_s;
        struct event load = hosts_load(host, LOAD_DISK, (uint32_t)lround(fmax(0, permille)));
        load.host_load.users = disk->n;
        disks->is_changed[host] = false;
        r = run_report(run, &load);
    }
    disks->n_changed = 0;
    return r;
}
