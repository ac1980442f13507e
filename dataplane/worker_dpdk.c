#include "dataplane/worker_dpdk.h"

#include "dataplane/devices_dpdk.h"
#include "dataplane/forward_dpdk.h"
#include "dataplane/kept.h"
#include "lib/now.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_pause.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define BURST          32 /* of commands */
#define POOL_CACHES    1024
#define IDLE_POLLS     1000  /* without a frame, and then it sleeps */
#define LEAST_SLEEP_NS 20000 /* less is polled away */
#define LOOKED_AT      16    /* flows, for dead ones, at each EXPIRE_NS */
#define EXPIRE_NS      100000
#define TRIES          20000 /* to get stats, of 100 µs */

struct worker {
    struct fastpath_settings settings;
    unsigned lcore;
    struct rte_ring *commands; /* of struct worker_flow */
    struct kept *kept;         /* mode and lease, which the other thread writes, and the flows */
    struct flows *flows;
    struct forward forward;
    struct egress egress;
    struct worker_change {
        bool wanted; /* by the other thread, while it asks */
        struct marking_settings marking;
        struct switching_settings switching;
    } change;
    int event; /* eventfd: a port was shut */
    uint64_t shuts_told;
    bool running;
    uint32_t idle_polls;
    uint64_t sleep_ns, sleeps, expire_ns, busy_cycles;
    pthread_mutex_t asking; /* one at a time */
    /* Written by the other thread. */
    _Atomic uint32_t asked;
    _Atomic bool stop;
    /* The answer: `stats` are of when it was asked so often. */
    _Atomic uint32_t answered;
    struct worker_stats stats;
};

/* ---- the worker ------------------------------------------------------------------------------ */

/* How many flows it was told. */
static uint32_t obey(struct worker *worker, uint64_t now_ns)
{
    struct worker_flow flows[BURST];
    const uint32_t n =
        rte_ring_sc_dequeue_burst_elem(worker->commands, flows, sizeof(flows[0]), BURST, NULL);
    for (uint32_t i = 0; i < n; i++)
        marking_set(&worker->forward.marking, &flows[i].key, flows[i].owner, flows[i].levels,
                    now_ns);
    worker->forward.marking.mode = atomic_load_explicit(&worker->kept->mode, memory_order_relaxed);
    worker->forward.marking.expiry_ns =
        atomic_load_explicit(&worker->kept->expiry_ns, memory_order_relaxed);
    return n;
}

static void port_copy(const struct worker *worker, uint32_t i, struct worker_port *ret_port)
{
    const struct forward_port *port = &worker->forward.ports[i];
    *ret_port = (struct worker_port){.came_packets = port->came_packets,
                                     .went_packets = port->went_packets,
                                     .came_bytes = port->came_bytes,
                                     .went_bytes = port->went_bytes,
                                     .too_long_packets = port->too_long_packets,
                                     .copied_packets = port->copied_packets,
                                     .switching = worker->forward.switching.ports[i],
                                     .queues_n = queues_n(port->queues)};
    for (uint32_t q = 0; q < ret_port->queues_n; q++) {
        ret_port->queues[q] = *queues_counters(port->queues, q);
        ret_port->waiting[q] = queues_waiting(port->queues, q);
    }
}

static void stats_copy(const struct worker *worker, struct worker_stats *ret_stats)
{
    ret_stats->marking = worker->forward.marking.counters;
    ret_stats->flows = *flows_counters(worker->flows);
    ret_stats->flows_alive = flows_alive(worker->flows);
    ret_stats->sleeps = worker->sleeps;
    ret_stats->busy_cycles = worker->busy_cycles;
    if (worker->forward.switching.macs)
        ret_stats->macs = (struct worker_macs){.alive = macs_alive(worker->forward.switching.macs),
                                               .moved = worker->forward.switching.moved,
                                               .full = worker->forward.switching.full};
    ret_stats->ports_n = worker->forward.ports_n;
    for (uint32_t i = 0; i < worker->forward.ports_n; i++)
        port_copy(worker, i, &ret_stats->ports[i]);
}

static void exchange_queues(struct forward_port *port)
{
    if (!port->next)
        return;
    queues_move(port->queues, port->next);
    port->spent = port->queues;
    port->queues = port->next;
    port->next = NULL;
}

static void change_settings(struct worker *worker)
{
    if (!worker->change.wanted)
        return;
    marking_change(&worker->forward.marking, &worker->change.marking);
    if (worker->forward.role == ROLE_OF_SWITCH)
        switching_change(&worker->forward.switching, &worker->change.switching);
    worker->change.wanted = false;
}

static void answer(struct worker *worker)
{
    const uint32_t asked = atomic_load_explicit(&worker->asked, memory_order_acquire);
    if (asked == atomic_load_explicit(&worker->answered, memory_order_relaxed))
        return;
    for (uint32_t i = 0; i < worker->forward.ports_n; i++)
        exchange_queues(&worker->forward.ports[i]);
    change_settings(worker);
    stats_copy(worker, &worker->stats);
    atomic_store_explicit(&worker->answered, asked, memory_order_release);
}

static uint64_t due_in(const struct worker *worker, uint64_t now_ns)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < worker->forward.ports_n; i++)
        least = RTE_MIN(least, forward_next_ns(&worker->forward.ports[i], now_ns));
    return least > now_ns ? least - now_ns : 0;
}

static void rest(struct worker *worker, uint64_t now_ns)
{
    if (worker->idle_polls++ < IDLE_POLLS) {
        rte_pause();
        return;
    }
    const uint64_t due = due_in(worker, now_ns);
    worker->sleep_ns = RTE_MIN(2 * worker->sleep_ns + LEAST_SLEEP_NS, WORKER_SLEEP_NS);
    const uint64_t sleep_ns = RTE_MIN(worker->sleep_ns, due);
    if (sleep_ns < LEAST_SLEEP_NS)
        return;
    const struct timespec time = {.tv_nsec = (long)sleep_ns};
    nanosleep(&time, NULL);
    worker->sleeps++;
}

/* What has been silent for too long, some at a time. */
static void expire(struct worker *worker, uint64_t now_ns)
{
    if (now_ns < worker->expire_ns)
        return;
    flows_expire(worker->flows, now_ns, LOOKED_AT);
    if (worker->forward.switching.macs)
        macs_expire(worker->forward.switching.macs, now_ns, LOOKED_AT);
    worker->expire_ns = now_ns + EXPIRE_NS;
}

static void tell_shuts(struct worker *worker)
{
    if (worker->shuts_told == worker->forward.switching.shuts)
        return;
    worker->shuts_told = worker->forward.switching.shuts;
    eventfd_write(worker->event, 1);
}

static void turn(struct worker *worker)
{
    const uint64_t begin = rte_rdtsc();
    const uint64_t now = now_ns(CLOCK_BOOTTIME);
    struct forward *forward = &worker->forward;
    uint32_t n = 0;
    const uint32_t told = obey(worker, now);
    for (uint32_t i = 0; i < forward->ports_n; i++)
        n += forward_take(forward, i, now);
    for (uint32_t i = 0; i < forward->ports_n; i++)
        n += forward_give(forward, i, now);
    expire(worker, now);
    tell_shuts(worker);
    answer(worker);
    if (n + told == 0) {
        rest(worker, now);
        return;
    }
    worker->idle_polls = 0;
    worker->sleep_ns = 0;
    if (n)
        worker->busy_cycles += rte_rdtsc() - begin;
}

static int work(void *argument)
{
    struct worker *worker = argument;
    prctl(PR_SET_TIMERSLACK, 1UL);
    while (!atomic_load_explicit(&worker->stop, memory_order_acquire))
        turn(worker);
    for (uint32_t i = 0; i < worker->forward.ports_n; i++)
        forward_drop(&worker->forward.ports[i]);
    stats_copy(worker, &worker->stats);
    return 0;
}

/* ---- the other thread ------------------------------------------------------------------------ */

static uint32_t frames_needed(const struct fastpath_settings *settings)
{
    const uint32_t queues = (uint32_t)settings->queues.leaf_packets * PORT_TRAFFIC;
    return fastpath_ports(settings) * (queues + 2 * DEVICES_RING + 2 * FORWARD_BURST) + POOL_CACHES;
}

static int port_open(struct worker *worker, uint32_t i, struct err *err)
{
    struct forward_port *port = &worker->forward.ports[i];
    struct egress_port *entry = &worker->egress.ports[i];
    uint64_t device_bps;
    int r =
        devices_open(&worker->settings, i, worker->forward.pool, &port->device, &device_bps, err);
    if (r < 0)
        return r;
    fastpath_facts(&worker->settings, i, device_bps, &entry->facts);
    r = fastpath_port(&worker->settings, i, &entry->facts, &entry->configured, err);
    entry->now = entry->configured;
    if (r == 0)
        r = queues_create(&entry->now, now_ns(CLOCK_BOOTTIME), &port->queues, err);
    if (r < 0)
        devices_close(port->device);
    else
        worker->forward.ports_n++;
    return r;
}

static int switching_begin(struct worker *worker, struct err *err)
{
    const struct switching_settings settings = fastpath_switching(&worker->settings);
    return switching_open(&worker->forward.switching, &settings, err);
}

static int flows_open(struct worker *worker, struct err *err)
{
    const uint32_t most = (uint32_t)worker->settings.marks.flows;
    int r = kept_open(worker->settings.socket, most, &worker->kept, err);
    return r == 0 ? flows_create_in(worker->kept->flows, most, now_ns(CLOCK_BOOTTIME),
                                    &worker->flows, err)
                  : r;
}

static int memory_open(struct worker *worker, struct err *err)
{
    const struct marking_settings marking = fastpath_marking(&worker->settings);
    int r = devices_pool(&worker->settings, frames_needed(&worker->settings), &worker->forward.pool,
                         err);
    if (r < 0)
        return r;
    worker->commands =
        rte_ring_create_elem("flows", sizeof(struct worker_flow), WORKER_FLOWS, SOCKET_ID_ANY,
                             RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
    if (!worker->commands)
        return err_sys(err, rte_errno, "a ring for %d flows", WORKER_FLOWS);
    r = pcapng_open(worker->forward.most_bytes, &worker->forward.capture, err);
    if (r == 0)
        r = flows_open(worker, err);
    if (r == 0)
        marking_init(&worker->forward.marking, &marking, worker->flows);
    return r == 0 && worker->settings.role == ROLE_OF_SWITCH ? switching_begin(worker, err) : r;
}

int worker_open(const struct fastpath_settings *settings, struct worker **ret_worker,
                struct err *err)
{
    struct worker *worker = calloc(1, sizeof(*worker));
    if (!worker)
        return err_set(err, ENOMEM, "no memory");
    worker->settings = *settings;
    worker->egress.n = fastpath_ports(settings);
    worker->egress.packets_most = (uint32_t)settings->queues.leaf_packets * PORT_TRAFFIC;
    pthread_mutex_init(&worker->asking, NULL);
    worker->forward.role = settings->role;
    worker->forward.trusts_marks =
        settings->role == ROLE_OF_SWITCH || settings->marks.by == MARKS_KERNEL;
    worker->forward.most_bytes = (uint32_t)settings->mtu_bytes + DEVICES_FRAME_MORE;
    worker->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int r = devices_begin(settings, frames_needed(settings), &worker->lcore, err);
    if (r < 0) {
        close(worker->event);
        free(worker);
        return r;
    }
    r = memory_open(worker, err);
    for (uint32_t i = 0; i < fastpath_ports(settings) && r == 0; i++)
        r = port_open(worker, i, err);
    if (r < 0)
        worker_close(worker);
    else
        *ret_worker = worker;
    return r;
}

int worker_start(struct worker *worker, struct err *err)
{
    int r = rte_eal_remote_launch(work, worker, worker->lcore);
    if (r < 0)
        return err_sys(err, -r, "starting the worker");
    worker->running = true;
    return 0;
}

struct pcapng *worker_pcapng(struct worker *worker)
{
    return worker->forward.capture;
}

int worker_event(const struct worker *worker)
{
    return worker->event;
}

void worker_stop(struct worker *worker)
{
    if (!worker->running)
        return;
    atomic_store_explicit(&worker->stop, true, memory_order_release);
    rte_eal_wait_lcore(worker->lcore);
    worker->running = false;
}

void worker_set_mode(struct worker *worker, uint32_t mode)
{
    atomic_store_explicit(&worker->kept->mode, mode, memory_order_relaxed);
}

void worker_set_lease(struct worker *worker, uint64_t lease_ns)
{
    atomic_store_explicit(&worker->kept->expiry_ns,
                          lease_ns ? now_ns(CLOCK_BOOTTIME) + lease_ns : 0, memory_order_relaxed);
}

int worker_set_flows(struct worker *worker, const struct worker_flow *flows, uint32_t n)
{
    return rte_ring_sp_enqueue_bulk_elem(worker->commands, flows, sizeof(*flows), n, NULL) == n
               ? 0
               : -ENOBUFS;
}

/* Has the worker write its stats once more. */
static int stats_renew(struct worker *worker)
{
    const struct timespec pause = {.tv_nsec = 100000};
    const uint32_t asked = atomic_fetch_add_explicit(&worker->asked, 1, memory_order_release) + 1;
    for (int tries = 0; atomic_load_explicit(&worker->answered, memory_order_acquire) != asked;
         tries++) {
        if (tries == TRIES)
            return -ETIMEDOUT;
        nanosleep(&pause, NULL);
    }
    return 0;
}

/* What an exchange has left. */
static void queues_clear(struct worker *worker)
{
    for (uint32_t i = 0; i < worker->forward.ports_n; i++) {
        queues_destroy(worker->forward.ports[i].spent);
        worker->forward.ports[i].spent = NULL;
    }
}

static int next_create(struct worker *worker, const struct egress *egress,
                       struct queues *next[FASTPATH_PORTS], struct err *err)
{
    for (uint32_t i = 0; i < worker->forward.ports_n; i++) {
        if (!egress_differs(egress, &worker->egress, i))
            continue;
        int r = queues_create_after(&egress->ports[i].now, worker->forward.ports[i].queues,
                                    worker->stats.ports[i].waiting, &next[i], err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* All but facts, which others read meanwhile and which stay. */
static void egress_take(struct egress *egress, const struct egress *next)
{
    for (uint32_t i = 0; i < egress->n; i++) {
        egress->ports[i].configured = next->ports[i].configured;
        egress->ports[i].now = next->ports[i].now;
        memcpy(egress->ports[i].owner, next->ports[i].owner, sizeof(egress->ports[i].owner));
    }
}

/* Asked first, so that what waits is known, and an exchange that was not waited for is over. */
static int exchange(struct worker *worker, const struct egress *egress,
                    const struct worker_change *change, struct err *err)
{
    struct queues *next[FASTPATH_PORTS] = {0};
    int r = stats_renew(worker);
    if (r < 0)
        return err_set(err, ETIMEDOUT, "the worker does not answer");
    queues_clear(worker);
    r = next_create(worker, egress, next, err);
    if (r < 0) {
        for (uint32_t i = 0; i < worker->forward.ports_n; i++)
            queues_destroy(next[i]);
        return r;
    }
    for (uint32_t i = 0; i < worker->forward.ports_n; i++)
        worker->forward.ports[i].next = next[i];
    egress_take(&worker->egress, egress);
    worker->change = *change;
    if (stats_renew(worker) < 0)
        return err_set(err, ETIMEDOUT, "the worker does not answer");
    queues_clear(worker);
    return 0;
}

const struct egress *worker_egress(const struct worker *worker)
{
    return &worker->egress;
}

int worker_set_egress(struct worker *worker, const struct egress *egress, struct err *err)
{
    static const struct worker_change none;
    pthread_mutex_lock(&worker->asking);
    const int r = exchange(worker, egress, &none, err);
    pthread_mutex_unlock(&worker->asking);
    return r;
}

/* Of ports that somebody has set, what it would be without. */
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

int worker_reload(struct worker *worker, const struct fastpath_settings *settings, struct err *err)
{
    const struct worker_change change = {.wanted = true,
                                         .marking = fastpath_marking(settings),
                                         .switching = fastpath_switching(settings)};
    struct egress egress = worker->egress;
    int r = fastpath_may_change(&worker->settings, settings, err);
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
    pthread_mutex_lock(&worker->asking);
    r = exchange(worker, &egress, &change, err);
    pthread_mutex_unlock(&worker->asking);
    if (r == 0)
        worker->settings = *settings;
    return r;
}

int worker_stats(struct worker *worker, struct worker_stats *ret_stats)
{
    pthread_mutex_lock(&worker->asking);
    const int r = worker->running ? stats_renew(worker) : 0;
    if (r == 0)
        *ret_stats = worker->stats;
    pthread_mutex_unlock(&worker->asking);
    return r;
}

uint32_t worker_close(struct worker *worker)
{
    uint32_t lost = 0;
    if (!worker)
        return 0;
    worker_stop(worker);
    for (uint32_t i = 0; i < worker->forward.ports_n; i++) {
        devices_close(worker->forward.ports[i].device);
        queues_destroy(worker->forward.ports[i].queues);
        queues_destroy(worker->forward.ports[i].next);
        queues_destroy(worker->forward.ports[i].spent);
    }
    pcapng_close(worker->forward.capture);
    switching_close(&worker->forward.switching);
    flows_destroy(worker->flows);
    kept_close(worker->kept);
    close(worker->event);
    rte_ring_free(worker->commands);
    if (worker->forward.pool)
        lost = rte_mempool_in_use_count(worker->forward.pool);
    rte_mempool_free(worker->forward.pool);
    rte_eal_cleanup();
    pthread_mutex_destroy(&worker->asking);
    free(worker);
    return lost;
}
