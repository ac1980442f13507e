#include "dataplane/forward_dpdk.h"

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#define BURST FORWARD_BURST

static struct frame_bytes bytes_of(struct rte_mbuf *packet)
{
    return (struct frame_bytes){.bytes = rte_pktmbuf_mtod(packet, uint8_t *),
                                .there = rte_pktmbuf_data_len(packet),
                                .length = rte_pktmbuf_pkt_len(packet)};
}

static int kind_of(struct forward *forward, uint32_t from, const struct frame_bytes *bytes,
                   struct frame *frame, uint64_t now_ns)
{
    if (forward->trusts_marks)
        return marking_classify(&forward->marking, bytes, frame);
    return from == SIDE_HOST ? marking_mark(&forward->marking, bytes, frame, now_ns)
                             : marking_follow(&forward->marking, bytes, frame, now_ns);
}

static void enqueue(struct forward_port *to, uint32_t kind, struct rte_mbuf *packet,
                    struct frame *frame)
{
    const struct frame_bytes bytes = bytes_of(packet);
    switch (queues_put(to->queues, kind, (struct queued){packet, bytes.length})) {
    case QUEUES_FULL:
        rte_pktmbuf_free(packet);
        return;
    case QUEUES_TAKEN_LONG:
        if (frame_write_ce(&bytes, frame))
            queues_marked(to->queues, kind);
        return;
    case QUEUES_TAKEN:
        return;
    }
}

/* To all ports but this one and those that are shut; the last gets the frame itself, the others
 * copies. */
static void flood(struct forward *forward, uint32_t from, uint32_t kind, struct rte_mbuf *packet,
                  struct frame *frame, uint64_t now_ns)
{
    struct forward_port *last = NULL;
    for (uint32_t i = 0; i < forward->ports_n; i++) {
        if (i == from || switching_is_shut(&forward->switching, i, now_ns))
            continue;
        struct rte_mbuf *copy =
            last ? rte_pktmbuf_copy(packet, forward->pool, 0, UINT32_MAX) : NULL;
        if (copy) {
            struct frame frame_of_copy = *frame;
            forward->ports[from].copied_packets++;
            enqueue(last, kind, copy, &frame_of_copy);
        }
        last = &forward->ports[i];
    }
    if (last)
        enqueue(last, kind, packet, frame);
    else
        rte_pktmbuf_free(packet);
}

static void send_on(struct forward *forward, uint32_t from, uint32_t kind, struct rte_mbuf *packet,
                    struct frame *frame, uint64_t now_ns)
{
    if (forward->role == ROLE_OF_HOST) {
        enqueue(&forward->ports[!from], kind, packet, frame);
        return;
    }
    const int target =
        switching_target(&forward->switching, from, rte_pktmbuf_mtod(packet, const uint8_t *),
                         rte_pktmbuf_data_len(packet), now_ns);
    if (target == SWITCHING_DROP)
        rte_pktmbuf_free(packet);
    else if (target == SWITCHING_FLOOD)
        flood(forward, from, kind, packet, frame, now_ns);
    else
        enqueue(&forward->ports[target], kind, packet, frame);
}

uint32_t forward_take(struct forward *forward, uint32_t from, uint64_t now_ns)
{
    struct forward_port *port = &forward->ports[from];
    struct rte_mbuf *packets[BURST];
    struct frame frames[BURST];
    const uint16_t n = rte_eth_rx_burst(port->device, 0, packets, BURST);
    port->came_packets += n;
    for (uint16_t i = 0; i < n; i++) {
        const struct frame_bytes bytes = bytes_of(packets[i]);
        frame_parse(&bytes, &frames[i]);
        if (frames[i].has_ports && !forward->trusts_marks)
            flows_prefetch(forward->marking.flows, flows_hash(&frames[i].key));
    }
    for (uint16_t i = 0; i < n; i++) {
        const struct frame_bytes bytes = bytes_of(packets[i]);
        port->came_bytes += bytes.length;
        pcapng_take(forward->capture, from, port->device, packets[i], false);
        if (bytes.length > forward->most_bytes) {
            port->too_long_packets++;
            rte_pktmbuf_free(packets[i]);
            continue;
        }
        const int kind = kind_of(forward, from, &bytes, &frames[i], now_ns);
        if (kind == MARKING_DROP)
            rte_pktmbuf_free(packets[i]);
        else
            send_on(forward, from, (uint32_t)kind, packets[i], &frames[i], now_ns);
    }
    return n;
}

/* The next ones leave their queues, as they will be sent. */
static void refill(struct forward *forward, uint32_t to, uint64_t now_ns)
{
    struct forward_port *port = &forward->ports[to];
    port->unsent_at = 0;
    port->unsent_n = queues_get(port->queues, now_ns, port->unsent, BURST);
    for (uint32_t i = 0; i < port->unsent_n; i++)
        pcapng_take(forward->capture, to, port->device, port->unsent[i].packet, true);
}

uint32_t forward_give(struct forward *forward, uint32_t to, uint64_t now_ns)
{
    struct forward_port *port = &forward->ports[to];
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

/* What the device did not take has left its queue already: it is lost, but not in the pool. */
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
