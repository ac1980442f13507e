#include "dataplane/workers_dpdk.h"

#include "dataplane/devices_dpdk.h"
#include "dataplane/queues_red_dpdk.h"
#include "dataplane/worker_dpdk.h"
#include "lib/now.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_ring_elem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define POOL_CACHES 1024  /* frames, of each worker */
#define TRIES       20000 /* to get stats, of 100 µs */

struct workers {
    struct fastpath_settings settings;
    struct fabric fabric;
    struct worker_orders orders;
    struct worker each[FASTPATH_WORKERS];
    uint32_t started;
    struct kept *kept;
    struct egress egress;
    int event;                  /* eventfd: a port was shut */
    pthread_mutex_t asking;     /* one at a time */
    struct workers_stats stats; /* of when they answered last */
};

#define FOR_EACH_WORKER(workers, worker)                                                           \
    for (struct worker *worker = (workers)->each;                                                  \
         worker < (workers)->each + (workers)->fabric.workers_n; worker++)

static uint32_t frames_needed(const struct fastpath_settings *settings)
{
    const uint32_t queues = (uint32_t)settings->queues.leaf_packets * PORT_TRAFFIC;
    return fastpath_ports(settings) * (queues + 2 * DEVICES_RING + 2 * FORWARD_BURST) +
           fabric_frames(settings->cpus_n, fastpath_ports(settings)) +
           settings->cpus_n * POOL_CACHES;
}

static int port_open(struct workers *workers, uint32_t i, struct err *err)
{
    struct forward_port *port = &workers->fabric.ports[i];
    struct egress_port *entry = &workers->egress.ports[i];
    uint64_t device_bps;
    int r =
        devices_open(&workers->settings, i, workers->fabric.pool, &port->device, &device_bps, err);
    if (r < 0)
        return r;
    fastpath_facts(&workers->settings, i, device_bps, &entry->facts);
    r = fastpath_port(&workers->settings, i, &entry->facts, &entry->configured, err);
    entry->now = entry->configured;
    if (r == 0)
        r = queues_create(&entry->now, &queues_red, now_ns(CLOCK_BOOTTIME), &port->queues, err);
    if (r < 0)
        devices_close(port->device);
    else
        workers->fabric.ports_n++;
    return r;
}

static int ports_open(struct workers *workers, struct err *err)
{
    int r = 0;
    for (uint32_t i = 0; i < fastpath_ports(&workers->settings) && r == 0; i++)
        r = port_open(workers, i, err);
    return r == 0 ? fabric_connect(&workers->fabric, err) : r;
}

/* Its share of the places where flows are kept. */
static int worker_open(struct workers *workers, struct worker *worker, struct err *err)
{
    const struct marking_settings marking = fastpath_marking(&workers->settings);
    const uint32_t self = (uint32_t)(worker - workers->each),
                   most = workers->kept->flows_most / workers->fabric.workers_n;
    char name[32];
    snprintf(name, sizeof(name), "flows-%u", self);
    worker->forward.fabric = &workers->fabric;
    worker->forward.self = self;
    worker->orders = &workers->orders;
    worker->kept = workers->kept;
    worker->event = workers->event;
    worker->stats = &workers->stats;
    worker->commands =
        rte_ring_create_elem(name, sizeof(struct workers_flow), WORKERS_FLOWS, SOCKET_ID_ANY,
                             RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
    if (!worker->commands)
        return err_sys(err, rte_errno, "a ring for %d flows", WORKERS_FLOWS);
    int r = flows_create_in(workers->kept->flows + (size_t)self * most, most,
                            now_ns(CLOCK_BOOTTIME), &worker->flows, err);
    if (r == 0)
        marking_init(&worker->forward.marking, &marking, worker->flows);
    return r;
}

static int flows_open(struct workers *workers, struct err *err)
{
    const uint32_t n = workers->fabric.workers_n,
                   most = ((uint32_t)workers->settings.marks.flows + n - 1) / n * n;
    int r = kept_open(workers->settings.socket, most, n, &workers->kept, err);
    FOR_EACH_WORKER(workers, worker)
    if (r == 0)
        r = worker_open(workers, worker, err);
    return r;
}

static int switching_begin(struct workers *workers, struct err *err)
{
    const struct switching_settings settings = fastpath_switching(&workers->settings);
    return workers->settings.role == ROLE_OF_SWITCH
               ? switching_open(&workers->fabric.switching, &settings, err)
               : 0;
}

static int memory_open(struct workers *workers, struct err *err)
{
    int r = devices_pool(&workers->settings, frames_needed(&workers->settings),
                         &workers->fabric.pool, err);
    if (r == 0)
        r = pcapng_open(workers->fabric.most_bytes, &workers->fabric.capture, err);
    if (r == 0)
        r = flows_open(workers, err);
    return r == 0 ? switching_begin(workers, err) : r;
}

static void begin(struct workers *workers, const struct fastpath_settings *settings)
{
    workers->settings = *settings;
    workers->egress.n = fastpath_ports(settings);
    workers->egress.packets_most = (uint32_t)settings->queues.leaf_packets * PORT_TRAFFIC;
    workers->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&workers->asking, NULL);
    workers->fabric.role = settings->role;
    workers->fabric.trusts_marks =
        settings->role == ROLE_OF_SWITCH || settings->marks.by == MARKS_KERNEL;
    workers->fabric.most_bytes = (uint32_t)settings->mtu_bytes + DEVICES_FRAME_MORE;
    workers->fabric.workers_n = settings->cpus_n;
    rte_spinlock_init(&workers->fabric.lock);
}

int workers_open(const struct fastpath_settings *settings, struct workers **ret_workers,
                 struct err *err)
{
    struct workers *workers = aligned_alloc(RTE_CACHE_LINE_SIZE, sizeof(*workers));
    if (!workers)
        return err_set(err, ENOMEM, "no memory");
    memset(workers, 0, sizeof(*workers));
    int r = devices_begin(settings, frames_needed(settings), err);
    if (r < 0) {
        free(workers);
        return r;
    }
    begin(workers, settings);
    r = memory_open(workers, err);
    if (r == 0)
        r = ports_open(workers, err);
    if (r < 0)
        workers_close(workers);
    else
        *ret_workers = workers;
    return r;
}

int workers_start(struct workers *workers, struct err *err)
{
    FOR_EACH_WORKER(workers, worker)
    {
        int r = rte_eal_remote_launch(worker_run, worker, DEVICES_LCORE + workers->started);
        if (r < 0)
            return err_sys(err, -r, "starting a worker");
        workers->started++;
    }
    return 0;
}

struct pcapng *workers_pcapng(struct workers *workers)
{
    return workers->fabric.capture;
}

int workers_event(const struct workers *workers)
{
    return workers->event;
}

void workers_set_mode(struct workers *workers, uint32_t mode)
{
    atomic_store_explicit(&workers->kept->mode, mode, memory_order_relaxed);
}

void workers_set_lease(struct workers *workers, uint64_t lease_ns)
{
    atomic_store_explicit(&workers->kept->expiry_ns,
                          lease_ns ? now_ns(CLOCK_BOOTTIME) + lease_ns : 0, memory_order_relaxed);
}

static uint32_t worker_of(const struct workers *workers, const struct workers_flow *flow)
{
    return fabric_worker_of_flow(&workers->fabric, flows_hash(&flow->key));
}

int workers_set_flows(struct workers *workers, const struct workers_flow *flows, uint32_t n)
{
    uint32_t wanted[FASTPATH_WORKERS] = {0};
    for (uint32_t i = 0; i < n; i++)
        wanted[worker_of(workers, &flows[i])]++;
    for (uint32_t i = 0; i < workers->fabric.workers_n; i++)
        if (rte_ring_free_count(workers->each[i].commands) < wanted[i])
            return -ENOBUFS;
    for (uint32_t i = 0; i < n; i++)
        rte_ring_sp_enqueue_bulk_elem(workers->each[worker_of(workers, &flows[i])].commands,
                                      &flows[i], sizeof(*flows), 1, NULL);
    return 0;
}

static void flows_add(struct flows_counters *sum, const struct flows_counters *more)
{
    sum->made += more->made;
    sum->ended += more->ended;
    sum->kept += more->kept;
    sum->evictions += more->evictions;
}

static void part_add(struct workers_stats *sum, const struct worker_part *part)
{
    marking_add(&sum->marking, &part->marking);
    flows_add(&sum->flows, &part->flows);
    sum->flows_alive += part->flows_alive;
    sum->sleeps += part->sleeps;
    sum->busy_cycles += part->busy_cycles;
}

/* The ports are there already. */
static void stats_sum(struct workers *workers)
{
    struct workers_stats *stats = &workers->stats;
    stats->marking = (struct marking_counters){0};
    stats->flows = (struct flows_counters){0};
    stats->flows_alive = 0;
    stats->sleeps = stats->busy_cycles = 0;
    stats->ports_n = workers->fabric.ports_n;
    FOR_EACH_WORKER(workers, worker)
    part_add(stats, &worker->part);
}

static bool have_answered(struct workers *workers, uint32_t asked)
{
    FOR_EACH_WORKER(workers, worker)
    if (atomic_load_explicit(&worker->answered, memory_order_acquire) != asked)
        return false;
    return true;
}

/* Has all of them write their stats once more. */
static int stats_renew(struct workers *workers)
{
    const struct timespec pause = {.tv_nsec = 100000};
    const uint32_t asked =
        atomic_fetch_add_explicit(&workers->orders.asked, 1, memory_order_release) + 1;
    for (int tries = 0; !have_answered(workers, asked); tries++) {
        if (tries == TRIES)
            return -ETIMEDOUT;
        nanosleep(&pause, NULL);
    }
    stats_sum(workers);
    return 0;
}

/* Frees what an exchange left. */
static void queues_clear(struct workers *workers)
{
    for (uint32_t i = 0; i < workers->fabric.ports_n; i++) {
        queues_destroy(workers->fabric.ports[i].spent);
        workers->fabric.ports[i].spent = NULL;
    }
}

static int next_create(struct workers *workers, const struct egress *egress,
                       struct queues *next[FASTPATH_PORTS], struct err *err)
{
    for (uint32_t i = 0; i < workers->fabric.ports_n; i++) {
        if (!egress_differs(egress, &workers->egress, i))
            continue;
        int r = queues_create_after(&egress->ports[i].now, workers->fabric.ports[i].queues,
                                    workers->stats.ports[i].waiting, &next[i], err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Copies all but the facts, which others read meanwhile and which do not change. */
static void egress_take(struct egress *egress, const struct egress *next)
{
    for (uint32_t i = 0; i < egress->n; i++) {
        egress->ports[i].configured = next->ports[i].configured;
        egress->ports[i].now = next->ports[i].now;
        memcpy(egress->ports[i].owner, next->ports[i].owner, sizeof(egress->ports[i].owner));
    }
}

/* Asks for stats first, so that the waiting frames are known, and an exchange that was not waited
 * for is over. */
static int exchange(struct workers *workers, const struct egress *egress,
                    const struct worker_change *change, struct err *err)
{
    struct queues *next[FASTPATH_PORTS] = {0};
    int r = stats_renew(workers);
    if (r < 0)
        return err_set(err, ETIMEDOUT, "a worker does not answer");
    queues_clear(workers);
    r = next_create(workers, egress, next, err);
    if (r < 0) {
        for (uint32_t i = 0; i < workers->fabric.ports_n; i++)
            queues_destroy(next[i]);
        return r;
    }
    for (uint32_t i = 0; i < workers->fabric.ports_n; i++)
        workers->fabric.ports[i].next = next[i];
    egress_take(&workers->egress, egress);
    workers->orders.change = *change;
    if (stats_renew(workers) < 0)
        return err_set(err, ETIMEDOUT, "a worker does not answer");
    workers->orders.change.wanted = false;
    queues_clear(workers);
    return 0;
}

const struct egress *workers_egress(const struct workers *workers)
{
    return &workers->egress;
}

int workers_set_egress(struct workers *workers, const struct egress *egress, struct err *err)
{
    static const struct worker_change none;
    pthread_mutex_lock(&workers->asking);
    const int r = exchange(workers, egress, &none, err);
    pthread_mutex_unlock(&workers->asking);
    return r;
}

/* For ports that an agent has set, the configured state is computed too. */
static int egress_configure(const struct fastpath_settings *settings, struct egress *egress,
                            struct err *err)
{
    int r = 0;
    for (uint32_t i = 0; i < egress->n && r == 0; i++) {
        struct egress_port *port = &egress->ports[i];
        r = fastpath_port(settings, i, &port->facts, &port->configured, err);
        if (!port->owner[0])
            port->now = port->configured;
    }
    return r;
}

int workers_reload(struct workers *workers, const struct fastpath_settings *settings,
                   struct err *err)
{
    const struct worker_change change = {.wanted = true,
                                         .marking = fastpath_marking(settings),
                                         .switching = fastpath_switching(settings)};
    struct egress egress = workers->egress;
    int r = fastpath_may_change(&workers->settings, settings, err);
    const uint32_t most = egress.packets_most / PORT_TRAFFIC;
    if (r == 0 && settings->queues.leaf_packets > most)
        r = err_set(err, EINVAL,
                    "queues.leaf_packets: there is memory for %" PRIu32 ", and for more by a "
                    "restart alone",
                    most);
    if (r == 0)
        r = egress_configure(settings, &egress, err);
    if (r < 0)
        return r;
    pthread_mutex_lock(&workers->asking);
    r = exchange(workers, &egress, &change, err);
    pthread_mutex_unlock(&workers->asking);
    if (r == 0)
        workers->settings = *settings;
    return r;
}

int workers_stats(struct workers *workers, struct workers_stats *ret_stats)
{
    pthread_mutex_lock(&workers->asking);
    const int r = workers->started ? stats_renew(workers) : 0;
    if (r == 0)
        *ret_stats = workers->stats;
    pthread_mutex_unlock(&workers->asking);
    return r;
}

/* Frames that they had passed to each other join the queues, and are dropped with the rest. */
static void drop_all(struct workers *workers)
{
    const uint64_t now = now_ns(CLOCK_BOOTTIME);
    uint32_t n;
    do {
        n = 0;
        FOR_EACH_WORKER(workers, worker)
        n += forward_receive(&worker->forward, now);
    } while (n);
    for (uint32_t i = 0; i < workers->fabric.ports_n; i++)
        forward_drop(&workers->fabric.ports[i]);
}

void workers_stop(struct workers *workers)
{
    if (!workers->started)
        return;
    atomic_store_explicit(&workers->orders.stop, true, memory_order_release);
    for (; workers->started > 0; workers->started--)
        rte_eal_wait_lcore(DEVICES_LCORE + workers->started - 1);
    drop_all(workers);
    FOR_EACH_WORKER(workers, worker)
    worker_write_stats(worker);
    stats_sum(workers);
}

static void worker_close(struct worker *worker)
{
    flows_destroy(worker->flows);
    rte_ring_free(worker->commands);
}

uint32_t workers_close(struct workers *workers)
{
    uint32_t lost = 0;
    if (!workers)
        return 0;
    workers_stop(workers);
    for (uint32_t i = 0; i < workers->fabric.ports_n; i++) {
        devices_close(workers->fabric.ports[i].device);
        queues_destroy(workers->fabric.ports[i].queues);
        queues_destroy(workers->fabric.ports[i].next);
        queues_destroy(workers->fabric.ports[i].spent);
    }
    FOR_EACH_WORKER(workers, worker)
    worker_close(worker);
    fabric_disconnect(&workers->fabric);
    pcapng_close(workers->fabric.capture);
    switching_close(&workers->fabric.switching);
    kept_close(workers->kept);
    close(workers->event);
    if (workers->fabric.pool)
        lost = rte_mempool_in_use_count(workers->fabric.pool);
    rte_mempool_free(workers->fabric.pool);
    rte_eal_cleanup();
    pthread_mutex_destroy(&workers->asking);
    free(workers);
    return lost;
}
