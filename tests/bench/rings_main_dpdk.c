/* The data plane's worker on two ports of net_ring, which nobody but their own process reaches:
 * frames go round between them, found among many flows on each way, and marked on that from the
 * host. Prints packets a second of the worker's processor time, and how many of them were marked.
 *
 *     bench-rings CONFIG FLOWS FRAMES SECONDS */
#include "dataplane/settings.h"
#include "dataplane/workers_dpdk.h"
#include "lib/now.h"

#include <rte_byteorder.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES     60
#define WARM_UP_S 1
#define LEASE_NS  UINT64_C(600000000000)
#define PEER      0x0a630000u /* of every flow; their own addresses follow */

struct __attribute__((packed, aligned(2))) segment {
    struct rte_ether_hdr ether;
    struct rte_ipv4_hdr ip;
    struct rte_tcp_hdr tcp;
    uint8_t content[BYTES - 54];
};

static void fail(const char *what)
{
    fprintf(stderr, "bench-rings: %s\n", what);
    exit(EXIT_FAILURE);
}

static void write_segment(struct segment *segment, uint32_t flow)
{
    *segment =
        (struct segment){.ether = {.ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4)},
                         .ip = {.version_ihl = 0x45,
                                .total_length = rte_cpu_to_be_16(BYTES - sizeof(segment->ether)),
                                .time_to_live = 64,
                                .next_proto_id = 6,
                                .src_addr = rte_cpu_to_be_32(PEER + 1 + flow),
                                .dst_addr = rte_cpu_to_be_32(PEER)},
                         .tcp = {.src_port = rte_cpu_to_be_16(5000),
                                 .dst_port = rte_cpu_to_be_16(80),
                                 .data_off = 0x50,
                                 .tcp_flags = RTE_TCP_ACK_FLAG}};
}

/* Before anybody reads there: what is sent to a ring comes from it. */
static void fill(uint32_t flows, uint32_t frames)
{
    struct rte_mempool *pool = rte_mempool_lookup("frames");
    for (uint32_t i = 0; i < frames; i++) {
        struct rte_mbuf *frame = rte_pktmbuf_alloc(pool);
        if (!frame)
            fail("no frames are left");
        frame->pkt_len = frame->data_len = BYTES;
        write_segment(rte_pktmbuf_mtod(frame, struct segment *),
                      (uint32_t)((uint64_t)i * flows / frames));
        if (rte_eth_tx_burst((uint16_t)(i % 2), 0, &frame, 1) != 1)
            fail("a ring is full");
    }
}

static struct workers_flow flow_of(uint32_t local, uint16_t local_port, uint32_t peer,
                                   uint16_t peer_port, uint8_t level)
{
    struct workers_flow flow = {.owner = 1,
                                .levels = {level, level},
                                .key = {.local_port = rte_cpu_to_be_16(local_port),
                                        .peer_port = rte_cpu_to_be_16(peer_port)}};
    const rte_be32_t ends[] = {rte_cpu_to_be_32(local), rte_cpu_to_be_32(peer)};
    memset(flow.key.local + 10, 0xff, 2);
    memset(flow.key.peer + 10, 0xff, 2);
    memcpy(flow.key.local + 12, &ends[0], sizeof(ends[0]));
    memcpy(flow.key.peer + 12, &ends[1], sizeof(ends[1]));
    return flow;
}

/* A frame's connection is one of the host's end, and comes back as one of the network's: both are
 * set. */
static void set_flows(struct workers *workers, uint32_t flows)
{
    for (uint32_t i = 0; i < flows; i++) {
        const struct workers_flow both[] = {flow_of(PEER + 1 + i, 5000, PEER, 80, i % PORT_LEVELS),
                                            flow_of(PEER, 80, PEER + 1 + i, 5000, i % PORT_LEVELS)};
        while (workers_set_flows(workers, both, RTE_DIM(both)) < 0)
            usleep(100);
    }
}

static uint64_t came(const struct workers_stats *stats)
{
    return stats->ports[SIDE_HOST].came_packets + stats->ports[SIDE_NETWORK].came_packets;
}

static uint64_t marked(const struct workers_stats *stats)
{
    uint64_t bytes = 0;
    for (int level = 0; level < PORT_LEVELS; level++)
        bytes += stats->marking.marked_bytes[level];
    return bytes / BYTES;
}

/* The worker's time is nearly all of the process's: this thread sleeps. */
static void measure(struct workers *workers, unsigned seconds)
{
    struct workers_stats before, after;
    sleep(WARM_UP_S);
    const int r = workers_stats(workers, &before);
    const uint64_t began = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    sleep(seconds);
    if (r < 0 || workers_stats(workers, &after) < 0)
        fail("the worker does not answer");
    const uint64_t used = now_ns(CLOCK_PROCESS_CPUTIME_ID) - began,
                   n = came(&after) - came(&before);
    printf("%.0f %.3f\n", (double)n * 1e9 / (double)used,
           (double)(marked(&after) - marked(&before)) / (double)n);
}

int main(int argc, char **argv)
{
    static struct fastpath_settings settings;
    struct workers *workers;
    struct err err = {0};
    if (argc != 5)
        fail("give CONFIG, FLOWS, FRAMES and SECONDS");
    const uint32_t flows = (uint32_t)atoi(argv[2]);
    if (fastpath_settings_read(argv[1], &settings, &err) < 0 ||
        workers_open(&settings, &workers, &err) < 0)
        fail(err.text);
    workers_set_lease(workers, LEASE_NS);
    fill(flows, (uint32_t)atoi(argv[3]));
    if (workers_start(workers, &err) < 0)
        fail(err.text);
    set_flows(workers, flows);
    measure(workers, (unsigned)atoi(argv[4]));
    workers_stop(workers);
    workers_close(workers); /* frames are still in the rings */
    return EXIT_SUCCESS;
}
