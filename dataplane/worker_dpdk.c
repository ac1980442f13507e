#include "dataplane/worker_dpdk.h"

#include "dataplane/devices_dpdk.h"
#include "lib/now.h"

#include <errno.h>
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
#include <sys/prctl.h>
#include <time.h>

#define BURST          32
#define POOL_CACHES    1024
#define IDLE_POLLS     1000  /* without a frame, and then it sleeps */
#define LEAST_SLEEP_NS 20000 /* less is polled away */
#define LOOKED_AT      16    /* flows, for dead ones, at each EXPIRE_NS */
#define EXPIRE_NS      100000
#define TRIES          20000 /* to get stats, of 100 µs */

struct side {
    uint16_t port;
    struct queues *queues;
    struct queues *next;         /* what the other thread wants instead, while it asks */
    struct queues *spent;        /* what stood there before, for it to free */
    struct queued unsent[BURST]; /* left their queues, and the device did not take them */
    uint32_t unsent_n, unsent_at;
    uint64_t came_packets, went_packets, came_bytes, went_bytes, too_long_packets;
};

struct worker {
    struct fastpath_settings settings;
    unsigned lcore;
    uint32_t most_bytes; /* of a frame */
    struct rte_mempool *pool;
    struct rte_ring *commands; /* of struct worker_flow */
    struct flows *flows;
    struct marking marking;
    struct side sides[SIDES];
    int sides_n; /* that are open */
    struct egress egress;
    bool running;
    uint32_t idle_polls;
    uint64_t sleep_ns, sleeps, expire_ns, busy_cycles;
    pthread_mutex_t asking; /* one at a time */
    /* Written by the other thread. */
    _Atomic uint32_t mode, asked;
    _Atomic uint64_t expiry_ns;
    _Atomic bool stop;
    /* The answer: `stats` are of when it was asked so often. */
    _Atomic uint32_t answered;
    struct worker_stats stats;
};

/* ---- frames ---------------------------------------------------------------------------------- */

static struct frame_bytes bytes_of(struct rte_mbuf *packet)
{
    return (struct frame_bytes){.bytes = rte_pktmbuf_mtod(packet, uint8_t *),
                                .there = rte_pktmbuf_data_len(packet),
                                .length = rte_pktmbuf_pkt_len(packet)};
}

static int kind_of(struct worker *worker, int from, const struct frame_bytes *bytes,
                   struct frame *frame, uint64_t now_ns)
{
    if (worker->settings.marks.by == MARKS_KERNEL)
        return marking_classify(&worker->marking, bytes, frame);
    return from == SIDE_HOST ? marking_mark(&worker->marking, bytes, frame, now_ns)
                             : marking_follow(&worker->marking, bytes, frame, now_ns);
}

static void enqueue(struct side *to, uint32_t kind, struct rte_mbuf *packet,
                    const struct frame_bytes *bytes, struct frame *frame)
{
    switch (queues_put(to->queues, kind, (struct queued){packet, bytes->length})) {
    case QUEUES_FULL:
        rte_pktmbuf_free(packet);
        return;
    case QUEUES_TAKEN_LONG:
        if (frame_write_ce(bytes, frame))
            queues_marked(to->queues, kind);
        return;
    case QUEUES_TAKEN:
        return;
    }
}

static uint32_t take(struct worker *worker, int from, uint64_t now_ns)
{
    struct side *side = &worker->sides[from], *to = &worker->sides[!from];
    struct rte_mbuf *packets[BURST];
    struct frame frames[BURST];
    const uint16_t n = rte_eth_rx_burst(side->port, 0, packets, BURST);
    side->came_packets += n;
    for (uint16_t i = 0; i < n; i++) {
        const struct frame_bytes bytes = bytes_of(packets[i]);
        frame_parse(&bytes, &frames[i]);
        if (frames[i].has_ports)
            flows_prefetch(worker->flows, flows_hash(&frames[i].key));
    }
    for (uint16_t i = 0; i < n; i++) {
        const struct frame_bytes bytes = bytes_of(packets[i]);
        side->came_bytes += bytes.length;
        if (bytes.length > worker->most_bytes) {
            side->too_long_packets++;
            rte_pktmbuf_free(packets[i]);
            continue;
        }
        const int kind = kind_of(worker, from, &bytes, &frames[i], now_ns);
        if (kind == MARKING_DROP)
            rte_pktmbuf_free(packets[i]);
        else
            enqueue(to, (uint32_t)kind, packets[i], &bytes, &frames[i]);
    }
    return n;
}

static uint32_t give(struct side *side, uint64_t now_ns)
{
    struct rte_mbuf *packets[BURST];
    if (side->unsent_at == side->unsent_n) {
        side->unsent_at = 0;
        side->unsent_n = queues_get(side->queues, now_ns, side->unsent, BURST);
    }
    const uint16_t n = (uint16_t)(side->unsent_n - side->unsent_at);
    if (n == 0)
        return 0;
    for (uint16_t i = 0; i < n; i++)
        packets[i] = side->unsent[side->unsent_at + i].packet;
    const uint16_t went = rte_eth_tx_burst(side->port, 0, packets, n);
    for (uint16_t i = 0; i < went; i++)
        side->went_bytes += side->unsent[side->unsent_at++].bytes;
    side->went_packets += went;
    return went;
}

/* What the device did not take has left its queue already: it is lost, but not in the pool. */
static void drop_all(struct side *side)
{
    struct queued items[BURST];
    uint32_t n;
    while (side->unsent_at < side->unsent_n)
        rte_pktmbuf_free(side->unsent[side->unsent_at++].packet);
    while ((n = queues_take(side->queues, items, BURST)) > 0)
        for (uint32_t i = 0; i < n; i++)
            rte_pktmbuf_free(items[i].packet);
}

/* ---- the worker ------------------------------------------------------------------------------ */

static void obey(struct worker *worker, uint64_t now_ns)
{
    struct worker_flow flows[BURST];
    const uint32_t n =
        rte_ring_sc_dequeue_burst_elem(worker->commands, flows, sizeof(flows[0]), BURST, NULL);
    for (uint32_t i = 0; i < n; i++)
        marking_set(&worker->marking, &flows[i].key, flows[i].owner, flows[i].levels, now_ns);
    worker->marking.mode = atomic_load_explicit(&worker->mode, memory_order_relaxed);
    worker->marking.expiry_ns = atomic_load_explicit(&worker->expiry_ns, memory_order_relaxed);
}

static void stats_copy(const struct worker *worker, struct worker_stats *ret_stats)
{
    ret_stats->marking = worker->marking.counters;
    ret_stats->flows = *flows_counters(worker->flows);
    ret_stats->flows_alive = flows_alive(worker->flows);
    ret_stats->sleeps = worker->sleeps;
    ret_stats->busy_cycles = worker->busy_cycles;
    for (int i = 0; i < SIDES; i++) {
        const struct side *side = &worker->sides[i];
        struct worker_side *out = &ret_stats->sides[i];
        out->came_packets = side->came_packets;
        out->went_packets = side->went_packets;
        out->came_bytes = side->came_bytes;
        out->went_bytes = side->went_bytes;
        out->too_long_packets = side->too_long_packets;
        out->queues_n = queues_n(side->queues);
        for (uint32_t q = 0; q < out->queues_n; q++) {
            out->queues[q] = *queues_counters(side->queues, q);
            out->waiting[q] = queues_waiting(side->queues, q);
        }
    }
}

static void exchange_queues(struct side *side)
{
    if (!side->next)
        return;
    queues_move(side->queues, side->next);
    side->spent = side->queues;
    side->queues = side->next;
    side->next = NULL;
}

static void answer(struct worker *worker)
{
    const uint32_t asked = atomic_load_explicit(&worker->asked, memory_order_acquire);
    if (asked == atomic_load_explicit(&worker->answered, memory_order_relaxed))
        return;
    for (int i = 0; i < SIDES; i++)
        exchange_queues(&worker->sides[i]);
    stats_copy(worker, &worker->stats);
    atomic_store_explicit(&worker->answered, asked, memory_order_release);
}

static uint64_t due_in(const struct worker *worker, uint64_t now_ns)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < SIDES; i++) {
        const struct side *side = &worker->sides[i];
        const uint64_t next =
            side->unsent_at < side->unsent_n ? 0 : queues_next_ns(side->queues, now_ns);
        least = next < least ? next : least;
    }
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

static void turn(struct worker *worker)
{
    const uint64_t begin = rte_rdtsc();
    const uint64_t now = now_ns(CLOCK_BOOTTIME);
    uint32_t n = 0;
    obey(worker, now);
    for (int i = 0; i < SIDES; i++)
        n += take(worker, i, now);
    for (int i = 0; i < SIDES; i++)
        n += give(&worker->sides[i], now);
    if (now >= worker->expire_ns) {
        flows_expire(worker->flows, now, LOOKED_AT);
        worker->expire_ns = now + EXPIRE_NS;
    }
    answer(worker);
    if (n == 0) {
        rest(worker, now);
    } else {
        worker->idle_polls = 0;
        worker->sleep_ns = 0;
        worker->busy_cycles += rte_rdtsc() - begin;
    }
}

static int work(void *argument)
{
    struct worker *worker = argument;
    prctl(PR_SET_TIMERSLACK, 1UL);
    while (!atomic_load_explicit(&worker->stop, memory_order_acquire))
        turn(worker);
    for (int i = 0; i < SIDES; i++)
        drop_all(&worker->sides[i]);
    stats_copy(worker, &worker->stats);
    return 0;
}

/* ---- the other thread ------------------------------------------------------------------------ */

static uint32_t frames_needed(const struct fastpath_settings *settings)
{
    /* Twice: what waits in queues that were longer stays, and others may fill up beside it. */
    const uint32_t queues = (uint32_t)settings->queues.leaf_packets * PORT_TRAFFIC;
    return SIDES * (2 * queues + 2 * DEVICES_RING + 2 * BURST) + POOL_CACHES;
}

static int side_open(struct worker *worker, int i, struct err *err)
{
    struct side *side = &worker->sides[i];
    struct egress_port *entry = &worker->egress.ports[i];
    uint64_t device_bps;
    int r = devices_open(&worker->settings, i, worker->pool, &side->port, &device_bps, err);
    if (r < 0)
        return r;
    fastpath_facts(&worker->settings, i, device_bps, &entry->facts);
    r = fastpath_port(&worker->settings, i, &entry->facts, &entry->configured, err);
    entry->now = entry->configured;
    if (r == 0)
        r = queues_create(&entry->now, now_ns(CLOCK_BOOTTIME), &side->queues, err);
    if (r < 0)
        devices_close(side->port);
    else
        worker->sides_n++;
    return r;
}

static int memory_open(struct worker *worker, struct err *err)
{
    const struct marking_settings marking = fastpath_marking(&worker->settings);
    int r = devices_pool(&worker->settings, frames_needed(&worker->settings), &worker->pool, err);
    if (r < 0)
        return r;
    worker->commands =
        rte_ring_create_elem("flows", sizeof(struct worker_flow), WORKER_FLOWS, SOCKET_ID_ANY,
                             RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
    if (!worker->commands)
        return err_sys(err, rte_errno, "a ring for %d flows", WORKER_FLOWS);
    r = flows_create((uint32_t)worker->settings.marks.flows, &worker->flows, err);
    if (r == 0)
        marking_init(&worker->marking, &marking, worker->flows);
    return r;
}

int worker_open(const struct fastpath_settings *settings, struct worker **ret_worker,
                struct err *err)
{
    struct worker *worker = calloc(1, sizeof(*worker));
    if (!worker)
        return err_set(err, ENOMEM, "no memory");
    worker->settings = *settings;
    worker->egress.n = SIDES;
    worker->egress.packets_most = (uint32_t)settings->queues.leaf_packets * PORT_TRAFFIC;
    pthread_mutex_init(&worker->asking, NULL);
    worker->most_bytes = (uint32_t)settings->mtu_bytes + DEVICES_FRAME_MORE;
    int r = devices_begin(settings, frames_needed(settings), &worker->lcore, err);
    if (r < 0) {
        free(worker);
        return r;
    }
    r = memory_open(worker, err);
    for (int i = 0; i < SIDES && r == 0; i++)
        r = side_open(worker, i, err);
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
    atomic_store_explicit(&worker->mode, mode, memory_order_relaxed);
}

void worker_set_lease(struct worker *worker, uint64_t lease_ns)
{
    atomic_store_explicit(&worker->expiry_ns, lease_ns ? now_ns(CLOCK_BOOTTIME) + lease_ns : 0,
                          memory_order_relaxed);
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
    for (int i = 0; i < SIDES; i++) {
        queues_destroy(worker->sides[i].spent);
        worker->sides[i].spent = NULL;
    }
}

static int next_create(struct worker *worker, const struct egress *egress,
                       struct queues *next[SIDES], struct err *err)
{
    for (int i = 0; i < SIDES; i++) {
        if (!egress_differs(egress, &worker->egress, (uint32_t)i))
            continue;
        int r = queues_create_after(&egress->ports[i].now, worker->sides[i].queues,
                                    worker->stats.sides[i].waiting, &next[i], err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Asked first, so that what waits is known, and an exchange that was not waited for is over. */
static int ports_exchange(struct worker *worker, const struct egress *egress, struct err *err)
{
    struct queues *next[SIDES] = {0};
    int r = stats_renew(worker);
    if (r < 0)
        return err_set(err, ETIMEDOUT, "the worker does not answer");
    queues_clear(worker);
    r = next_create(worker, egress, next, err);
    if (r < 0) {
        for (int i = 0; i < SIDES; i++)
            queues_destroy(next[i]);
        return r;
    }
    for (int i = 0; i < SIDES; i++)
        worker->sides[i].next = next[i];
    worker->egress = *egress;
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
    pthread_mutex_lock(&worker->asking);
    const int r = ports_exchange(worker, egress, err);
    pthread_mutex_unlock(&worker->asking);
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
    for (int i = 0; i < worker->sides_n; i++) {
        devices_close(worker->sides[i].port);
        queues_destroy(worker->sides[i].queues);
        queues_destroy(worker->sides[i].next);
        queues_destroy(worker->sides[i].spent);
    }
    flows_destroy(worker->flows);
    rte_ring_free(worker->commands);
    if (worker->pool)
        lost = rte_mempool_in_use_count(worker->pool);
    rte_mempool_free(worker->pool);
    rte_eal_cleanup();
    pthread_mutex_destroy(&worker->asking);
    free(worker);
    return lost;
}
