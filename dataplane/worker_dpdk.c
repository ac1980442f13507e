#include "dataplane/worker_dpdk.h"

#include "lib/now.h"

#include <rte_cycles.h>
#include <rte_pause.h>
#include <rte_ring_elem.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>

#define BURST          32    /* of commands */
#define IDLE_POLLS     1000  /* without a frame, and then it sleeps */
#define LEAST_SLEEP_NS 20000 /* less is polled away */
#define LOOKED_AT      16    /* flows, for dead ones, at each EXPIRE_NS */
#define EXPIRE_NS      100000

/* The ports of this worker's. */
#define FOR_EACH_PORT(worker, i)                                                                   \
    for (uint32_t i = (worker)->forward.self; i < (worker)->forward.fabric->ports_n;               \
         i += (worker)->forward.fabric->workers_n)

/* Returns how many flows it was given. */
static uint32_t obey(struct worker *worker, uint64_t now_ns)
{
    struct workers_flow flows[BURST];
    uint64_t hashes[BURST];
    const uint32_t n =
        rte_ring_sc_dequeue_burst_elem(worker->commands, flows, sizeof(flows[0]), BURST, NULL);
    for (uint32_t i = 0; i < n; i++) {
        hashes[i] = flows_hash(&flows[i].key);
        flows_prefetch(worker->flows, hashes[i]);
    }
    for (uint32_t i = 0; i < n; i++)
        flows_prefetch_flow(worker->flows, hashes[i]);
    for (uint32_t i = 0; i < n; i++)
        marking_set(&worker->forward.marking, &flows[i].key, hashes[i], flows[i].owner,
                    flows[i].levels, now_ns);
    worker->forward.marking.mode = atomic_load_explicit(&worker->kept->mode, memory_order_relaxed);
    worker->forward.marking.expiry_ns =
        atomic_load_explicit(&worker->kept->expiry_ns, memory_order_relaxed);
    return n;
}

static void port_copy(const struct fabric *fabric, uint32_t i, struct workers_port *ret_port)
{
    const struct forward_port *port = &fabric->ports[i];
    *ret_port = (struct workers_port){.came_packets = port->came_packets,
                                      .went_packets = port->went_packets,
                                      .came_bytes = port->came_bytes,
                                      .went_bytes = port->went_bytes,
                                      .too_long_packets = port->too_long_packets,
                                      .copied_packets = port->copied_packets,
                                      .switching = fabric->switching.ports[i],
                                      .queues_n = queues_n(port->queues)};
    for (uint32_t q = 0; q < ret_port->queues_n; q++) {
        ret_port->queues[q] = *queues_counters(port->queues, q);
        ret_port->waiting[q] = queues_waiting(port->queues, q);
    }
}

static bool has_macs(const struct worker *worker)
{
    return worker->forward.self == 0 && worker->forward.fabric->role == ROLE_OF_SWITCH;
}

static void macs_copy(struct worker *worker)
{
    struct fabric *fabric = worker->forward.fabric;
    fabric_lock(fabric, 0);
    worker->stats->macs = (struct workers_macs){.alive = macs_alive(fabric->switching.macs),
                                                .moved = fabric->switching.moved,
                                                .full = fabric->switching.full};
    fabric_unlock(fabric);
}

void worker_write_stats(struct worker *worker)
{
    worker->part = (struct worker_part){.marking = worker->forward.marking.counters,
                                        .flows = *flows_counters(worker->flows),
                                        .flows_alive = flows_alive(worker->flows),
                                        .sleeps = worker->sleeps,
                                        .busy_cycles = worker->busy_cycles};
    if (has_macs(worker))
        macs_copy(worker);
    FOR_EACH_PORT(worker, i)
    port_copy(worker->forward.fabric, i, &worker->stats->ports[i]);
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
    struct fabric *fabric = worker->forward.fabric;
    const struct worker_change *change = &worker->orders->change;
    if (!change->wanted)
        return;
    marking_change(&worker->forward.marking, &change->marking);
    if (!has_macs(worker))
        return;
    fabric_lock(fabric, 0);
    switching_change(&fabric->switching, &change->switching);
    fabric_unlock(fabric);
}

static void answer(struct worker *worker)
{
    const uint32_t asked = atomic_load_explicit(&worker->orders->asked, memory_order_acquire);
    if (asked == atomic_load_explicit(&worker->answered, memory_order_relaxed))
        return;
    FOR_EACH_PORT(worker, i)
    exchange_queues(&worker->forward.fabric->ports[i]);
    change_settings(worker);
    worker_write_stats(worker);
    atomic_store_explicit(&worker->answered, asked, memory_order_release);
}

static uint64_t due_in(const struct worker *worker, uint64_t now_ns)
{
    uint64_t least = UINT64_MAX;
    FOR_EACH_PORT(worker, i)
    least = RTE_MIN(least, forward_next_ns(&worker->forward.fabric->ports[i], now_ns));
    return least > now_ns ? least - now_ns : 0;
}

static void rest(struct worker *worker, uint64_t now_ns)
{
    if (worker->idle_polls++ < IDLE_POLLS) {
        rte_pause();
        return;
    }
    const uint64_t due = due_in(worker, now_ns);
    worker->sleep_ns = RTE_MIN(2 * worker->sleep_ns + LEAST_SLEEP_NS, WORKERS_SLEEP_NS);
    const uint64_t sleep_ns = RTE_MIN(worker->sleep_ns, due);
    if (sleep_ns < LEAST_SLEEP_NS)
        return;
    const struct timespec time = {.tv_nsec = (long)sleep_ns};
    nanosleep(&time, NULL);
    worker->sleeps++;
}

/* Evicts flows that were silent for too long, some at a time. */
static void expire(struct worker *worker, uint64_t now_ns)
{
    struct fabric *fabric = worker->forward.fabric;
    if (now_ns < worker->expire_ns)
        return;
    flows_expire(worker->flows, now_ns, LOOKED_AT);
    if (has_macs(worker)) {
        macs_expire(fabric->switching.macs, fabric_lock(fabric, now_ns), LOOKED_AT);
        fabric_unlock(fabric);
    }
    worker->expire_ns = now_ns + EXPIRE_NS;
}

static void tell_shuts(struct worker *worker)
{
    if (!worker->forward.has_shut)
        return;
    worker->forward.has_shut = false;
    eventfd_write(worker->event, 1);
}

/* More than a burst may have joined a port's queues: what other workers passed on. */
static uint32_t give(struct forward *forward, uint32_t port, uint64_t now_ns)
{
    uint32_t n = 0, went = FORWARD_BURST;
    for (int bursts = 0; bursts < FORWARD_BURSTS && went == FORWARD_BURST; bursts++) {
        went = forward_give(forward, port, now_ns);
        n += went;
    }
    return n;
}

static void turn(struct worker *worker)
{
    const uint64_t begin = rte_rdtsc();
    const uint64_t now = now_ns(CLOCK_BOOTTIME);
    struct forward *forward = &worker->forward;
    const uint32_t told = obey(worker, now);
    uint32_t n = forward_receive(forward, now);
    FOR_EACH_PORT(worker, i)
    n += forward_take(forward, i, now);
    FOR_EACH_PORT(worker, i)
    n += give(forward, i, now);
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

int worker_run(void *argument)
{
    struct worker *worker = argument;
    prctl(PR_SET_TIMERSLACK, 1UL);
    while (!atomic_load_explicit(&worker->orders->stop, memory_order_acquire))
        turn(worker);
    return 0;
}
