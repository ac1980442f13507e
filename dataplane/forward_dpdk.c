#include "dataplane/forward_dpdk.h"

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>
#include <rte_ring_elem.h>
#include <stdio.h>

#define BURST      FORWARD_BURST
#define LEAST_RING 512

/* A burst whose frames are all flooded adds one frame for each port of a worker. */
static uint32_t room_needed(uint32_t workers, uint32_t ports)
{
    return BURST * ((ports + workers - 1) / workers);
}

static uint32_t ring_size(uint32_t workers, uint32_t ports)
{
    return RTE_MAX(rte_align32pow2(4 * room_needed(workers, ports)), (uint32_t)LEAST_RING);
}

uint32_t fabric_frames(uint32_t workers, uint32_t ports)
{
    return workers * (workers - 1) * FORWARD_STAGES * ring_size(workers, ports);
}

static int connect_pair(struct fabric *fabric, uint32_t from, uint32_t to, struct err *err)
{
    static const char *const stages[FORWARD_STAGES] = {"mark", "send"};
    const uint32_t size = ring_size(fabric->workers_n, fabric->ports_n);
    for (enum forward_stage stage = 0; stage < FORWARD_STAGES; stage++) {
        char name[32];
        snprintf(name, sizeof(name), "%s-%u-%u", stages[stage], from, to);
        fabric->rings[from][to][stage] =
            rte_ring_create_elem(name, sizeof(struct passed), size, SOCKET_ID_ANY,
                                 RING_F_SP_ENQ | RING_F_SC_DEQ | RING_F_EXACT_SZ);
        if (!fabric->rings[from][to][stage])
            return err_sys(err, rte_errno, "a ring for %u frames between two workers", size);
    }
    return 0;
}

int fabric_connect(struct fabric *fabric, struct err *err)
{
    int r = 0;
    fabric->room = room_needed(fabric->workers_n, fabric->ports_n);
    for (uint32_t from = 0; from < fabric->workers_n; from++)
        for (uint32_t to = 0; to < fabric->workers_n && r == 0; to++)
            if (from != to)
                r = connect_pair(fabric, from, to, err);
    return r;
}

void fabric_disconnect(struct fabric *fabric)
{
    for (uint32_t from = 0; from < FASTPATH_WORKERS; from++)
        for (uint32_t to = 0; to < FASTPATH_WORKERS; to++)
            for (enum forward_stage stage = 0; stage < FORWARD_STAGES; stage++)
                rte_ring_free(fabric->rings[from][to][stage]);
}

static bool has_room(const struct forward *forward, enum forward_stage stage)
{
    const struct fabric *fabric = forward->fabric;
    for (uint32_t to = 0; to < fabric->workers_n; to++)
        if (to != forward->self &&
            rte_ring_free_count(fabric->rings[forward->self][to][stage]) < fabric->room)
            return false;
    return true;
}

/* There is room: has_room was asked. */
static void flush(struct forward *forward, uint32_t to, enum forward_stage stage)
{
    struct forward_passing *passing = &forward->passing[to][stage];
    rte_ring_sp_enqueue_bulk_elem(forward->fabric->rings[forward->self][to][stage], passing->items,
                                  sizeof(struct passed), passing->n, NULL);
    passing->n = 0;
}

static void flush_all(struct forward *forward)
{
    for (uint32_t to = 0; to < forward->fabric->workers_n; to++)
        for (enum forward_stage stage = 0; stage < FORWARD_STAGES; stage++)
            if (forward->passing[to][stage].n)
                flush(forward, to, stage);
}

static void pass(struct forward *forward, uint32_t to, enum forward_stage stage,
                 struct passed passed)
{
    struct forward_passing *passing = &forward->passing[to][stage];
    passing->items[passing->n++] = passed;
    if (passing->n == BURST)
        flush(forward, to, stage);
}

static struct frame_bytes bytes_of(struct rte_mbuf *packet)
{
    return (struct frame_bytes){.bytes = rte_pktmbuf_mtod(packet, uint8_t *),
                                .there = rte_pktmbuf_data_len(packet),
                                .length = rte_pktmbuf_pkt_len(packet)};
}

static int kind_of(struct forward *forward, uint32_t from, const struct frame_bytes *bytes,
                   struct frame *frame, uint64_t now_ns)
{
    if (forward->fabric->trusts_marks)
        return marking_classify(&forward->marking, bytes, frame);
    return from == SIDE_HOST ? marking_mark(&forward->marking, bytes, frame, now_ns)
                             : marking_follow(&forward->marking, bytes, frame, now_ns);
}

/* `frame`: NULL where it is not parsed. */
static bool write_ce(struct rte_mbuf *packet, struct frame *frame)
{
    const struct frame_bytes bytes = bytes_of(packet);
    struct frame parsed;
    if (!frame)
        frame_parse(&bytes, &parsed);
    return frame_write_ce(&bytes, frame ? frame : &parsed);
}

static void join(struct forward_port *to, uint32_t kind, struct rte_mbuf *packet, uint32_t bytes,
                 struct frame *frame)
{
    switch (queues_put(to->queues, kind, (struct queued){packet, bytes})) {
    case QUEUES_FULL:
        rte_pktmbuf_free(packet);
        return;
    case QUEUES_TAKEN_LONG:
        if (write_ce(packet, frame))
            queues_marked(to->queues, kind);
        else if (queues_unmarked(to->queues, kind))
            rte_pktmbuf_free(packet);
        return;
    case QUEUES_TAKEN:
        return;
    }
}

static void enqueue(struct forward *forward, uint32_t to, uint32_t kind, struct rte_mbuf *packet,
                    struct frame *frame)
{
    const uint32_t worker = fabric_worker_of_port(forward->fabric, to),
                   bytes = rte_pktmbuf_pkt_len(packet);
    if (worker == forward->self)
        join(&forward->fabric->ports[to], kind, packet, bytes, frame);
    else
        pass(forward, worker, FORWARD_SEND,
             (struct passed){packet, bytes, (uint16_t)to, (uint16_t)kind});
}

/* To all `open` ports but this one; the last gets the frame itself, the others copies. */
static void flood(struct forward *forward, uint32_t from, uint32_t open, uint32_t kind,
                  struct rte_mbuf *packet, struct frame *frame)
{
    struct fabric *fabric = forward->fabric;
    int last = -1;
    for (uint32_t i = 0; i < fabric->ports_n; i++) {
        if (i == from || !(open & 1u << i))
            continue;
        struct rte_mbuf *copy =
            last >= 0 ? rte_pktmbuf_copy(packet, fabric->pool, 0, UINT32_MAX) : NULL;
        if (copy) {
            struct frame frame_of_copy = *frame;
            fabric->ports[from].copied_packets++;
            enqueue(forward, (uint32_t)last, kind, copy, &frame_of_copy);
        }
        last = (int)i;
    }
    if (last >= 0)
        enqueue(forward, (uint32_t)last, kind, packet, frame);
    else
        rte_pktmbuf_free(packet);
}

struct burst {
    uint32_t from; /* a port */
    uint32_t n;
    struct rte_mbuf *packets[BURST];
    struct frame frames[BURST];
};

static uint32_t parse(struct forward *forward, struct burst *burst, uint32_t i)
{
    const struct frame_bytes bytes = bytes_of(burst->packets[i]);
    struct frame *frame = &burst->frames[i];
    frame_parse(&bytes, frame);
    if (!frame->has_ports || forward->fabric->trusts_marks)
        return forward->self;
    const uint64_t hash = frame_hash(frame);
    const uint32_t worker = fabric_worker_of_flow(forward->fabric, hash);
    if (worker == forward->self)
        flows_prefetch(forward->marking.flows, hash);
    return worker;
}

static void host_burst(struct forward *forward, struct burst *burst, uint64_t now_ns)
{
    for (uint32_t i = 0; i < burst->n; i++)
        if (burst->frames[i].hash)
            flows_prefetch_flow(forward->marking.flows, burst->frames[i].hash);
    for (uint32_t i = 0; i < burst->n; i++) {
        const struct frame_bytes bytes = bytes_of(burst->packets[i]);
        const int kind = kind_of(forward, burst->from, &bytes, &burst->frames[i], now_ns);
        if (kind == MARKING_DROP)
            rte_pktmbuf_free(burst->packets[i]);
        else
            enqueue(forward, !burst->from, (uint32_t)kind, burst->packets[i], &burst->frames[i]);
    }
}

/* Returns which ports are open. */
static uint32_t find_targets(struct forward *forward, struct burst *burst, int targets[BURST],
                             uint64_t now_ns)
{
    struct switching *switching = &forward->fabric->switching;
    const uint64_t now = fabric_lock(forward->fabric, now_ns), shuts = switching->shuts;
    for (uint32_t i = 0; i < burst->n; i++)
        targets[i] = switching_target(switching, burst->from,
                                      rte_pktmbuf_mtod(burst->packets[i], const uint8_t *),
                                      rte_pktmbuf_data_len(burst->packets[i]), now);
    const uint32_t open = switching_open_ports(switching, now);
    forward->has_shut |= switching->shuts != shuts;
    fabric_unlock(forward->fabric);
    return open;
}

static void switch_burst(struct forward *forward, struct burst *burst, uint64_t now_ns)
{
    int targets[BURST];
    const uint32_t open = find_targets(forward, burst, targets, now_ns);
    for (uint32_t i = 0; i < burst->n; i++) {
        struct rte_mbuf *packet = burst->packets[i];
        const struct frame_bytes bytes = bytes_of(packet);
        const uint32_t kind =
            (uint32_t)kind_of(forward, burst->from, &bytes, &burst->frames[i], now_ns);
        if (targets[i] == SWITCHING_DROP)
            rte_pktmbuf_free(packet);
        else if (targets[i] == SWITCHING_FLOOD)
            flood(forward, burst->from, open, kind, packet, &burst->frames[i]);
        else
            enqueue(forward, (uint32_t)targets[i], kind, packet, &burst->frames[i]);
    }
}

/* Whether it may go on. */
static bool admit(struct forward *forward, uint32_t from, struct rte_mbuf *packet)
{
    struct forward_port *port = &forward->fabric->ports[from];
    const uint32_t bytes = rte_pktmbuf_pkt_len(packet);
    port->came_bytes += bytes;
    pcapng_take(forward->fabric->capture, from, port->device, packet, false);
    if (bytes <= forward->fabric->most_bytes)
        return true;
    port->too_long_packets++;
    rte_pktmbuf_free(packet);
    return false;
}

uint32_t forward_take(struct forward *forward, uint32_t from, uint64_t now_ns)
{
    struct forward_port *port = &forward->fabric->ports[from];
    struct rte_mbuf *packets[BURST];
    struct burst burst;
    if (!has_room(forward, FORWARD_MARK) || !has_room(forward, FORWARD_SEND))
        return 0;
    const uint16_t n = rte_eth_rx_burst(port->device, 0, packets, BURST);
    port->came_packets += n;
    burst.from = from;
    burst.n = 0;
    for (uint16_t i = 0; i < n; i++) {
        if (!admit(forward, from, packets[i]))
            continue;
        burst.packets[burst.n] = packets[i];
        const uint32_t worker = parse(forward, &burst, burst.n);
        if (worker == forward->self)
            burst.n++;
        else
            pass(forward, worker, FORWARD_MARK,
                 (struct passed){.packet = packets[i], .port = (uint16_t)from});
    }
    if (forward->fabric->role == ROLE_OF_HOST)
        host_burst(forward, &burst, now_ns);
    else
        switch_burst(forward, &burst, now_ns);
    flush_all(forward);
    return n;
}

/* Frames of our connections, from ports of others'. */
static uint32_t receive_to_mark(struct forward *forward, uint32_t from, uint64_t now_ns)
{
    struct passed passed[BURST];
    const uint32_t n =
        rte_ring_sc_dequeue_burst_elem(forward->fabric->rings[from][forward->self][FORWARD_MARK],
                                       passed, sizeof(passed[0]), BURST, NULL);
    for (uint32_t i = 0; i < n; i++)
        rte_prefetch0(passed[i].packet);
    for (uint32_t i = 0; i < n; i++)
        rte_prefetch0(rte_pktmbuf_mtod(passed[i].packet, void *));
    for (uint32_t i = 0; i < n;) {
        struct burst burst;
        burst.from = passed[i].port;
        for (burst.n = 0; i < n && passed[i].port == burst.from; i++) {
            burst.packets[burst.n] = passed[i].packet;
            parse(forward, &burst, burst.n++);
        }
        host_burst(forward, &burst, now_ns);
    }
    flush_all(forward);
    return n;
}

/* Frames for our ports. */
static uint32_t receive_to_send(struct forward *forward, uint32_t from)
{
    struct passed passed[BURST];
    const uint32_t n =
        rte_ring_sc_dequeue_burst_elem(forward->fabric->rings[from][forward->self][FORWARD_SEND],
                                       passed, sizeof(passed[0]), BURST, NULL);
    for (uint32_t i = 0; i < n; i++) {
        rte_prefetch0(passed[i].packet); /* for the device, soon */
        join(&forward->fabric->ports[passed[i].port], passed[i].kind, passed[i].packet,
             passed[i].bytes, NULL);
    }
    return n;
}

uint32_t forward_receive(struct forward *forward, uint64_t now_ns)
{
    uint32_t received = 0;
    for (uint32_t from = 0; from < forward->fabric->workers_n; from++) {
        if (from == forward->self)
            continue;
        for (int bursts = 0; bursts < FORWARD_BURSTS; bursts++)
            received += receive_to_send(forward, from);
        if (has_room(forward, FORWARD_SEND))
            received += receive_to_mark(forward, from, now_ns);
    }
    return received;
}

/* The next ones leave their queues, as they will be sent. */
static void refill(struct forward *forward, uint32_t to, uint64_t now_ns)
{
    struct forward_port *port = &forward->fabric->ports[to];
    port->unsent_at = 0;
    port->unsent_n = queues_get(port->queues, now_ns, port->unsent, BURST);
    for (uint32_t i = 0; i < port->unsent_n; i++)
        pcapng_take(forward->fabric->capture, to, port->device, port->unsent[i].packet, true);
}

uint32_t forward_give(struct forward *forward, uint32_t to, uint64_t now_ns)
{
    struct forward_port *port = &forward->fabric->ports[to];
    struct rte_mbuf *packets[BURST];
    if (port->unsent_at == port->unsent_n)
        refill(forward, to, now_ns);
    const uint16_t n = (uint16_t)(port->unsent_n - port->unsent_at);
    if (n == 0)
        return 0;
    for (uint16_t i = 0; i < n; i++)
        packets[i] = port->unsent[port->unsent_at + i].packet;
    const uint16_t went = rte_eth_tx_burst(port->device, 0, packets, n);
    for (uint16_t i = 0; i < went; i++)
        port->went_bytes += port->unsent[port->unsent_at++].bytes;
    port->went_packets += went;
    return went;
}

/* Frames that the device did not take have left their queue already: they are lost, but freed. */
void forward_drop(struct forward_port *port)
{
    struct queued items[BURST];
    uint32_t n;
    while (port->unsent_at < port->unsent_n)
        rte_pktmbuf_free(port->unsent[port->unsent_at++].packet);
    while ((n = queues_take(port->queues, items, BURST)) > 0)
        for (uint32_t i = 0; i < n; i++)
            rte_pktmbuf_free(items[i].packet);
}

uint64_t forward_next_ns(const struct forward_port *port, uint64_t now_ns)
{
    return port->unsent_at < port->unsent_n ? 0 : queues_next_ns(port->queues, now_ns);
}
