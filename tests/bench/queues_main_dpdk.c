/* What the data plane's queues alone cost, beside DPDK's own scheduler (rte_sched), which is as
 * strict between its traffic classes: packets of 64 bytes, of all levels in turn, come and go in
 * bursts. rte_sched has one pipe, which is what a port of ours has, and 1024, which hide its cache
 * misses. The medians of rounds that alternate, of the thread's own time; a miss is marked. */
#include "dataplane/queues.h"
#include "lib/now.h"

#include <rte_eal.h>
#include <rte_mbuf.h>
#include <rte_sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BURST       32
#define DEEP        16 /* bursts that wait all the time */
#define PACKETS     2000000u
#define ROUNDS      7
#define PIPES       1024
#define BYTES       64
#define RATE_BPS    UINT64_C(100000000000)
#define BAR         10.0
#define CLASSES     RTE_SCHED_TRAFFIC_CLASSES_PER_PIPE
#define BITS        8
#define QUEUE_ROOMS 512

struct ours {
    struct queues *queues;
    uint32_t next;
};
struct theirs {
    struct rte_sched_port *port;
    uint32_t pipes, next;
};

static void fail(const char *what)
{
    fprintf(stderr, "bench-queues: %s\n", what);
    exit(EXIT_FAILURE);
}

static struct ours ours_open(void)
{
    struct ours ours = {0};
    struct port port;
    struct err err = {0};
    struct port_wish wish = port_wish_preset;
    const struct port_facts facts = {.mtu_bytes = 1500,
                                     .queues_n = PORT_TRAFFIC,
                                     .abilities = {.strict = true, .floors = true, .ecn = true}};
    wish.link_bps = RATE_BPS;
    wish.queue_packets = QUEUE_ROOMS;
    if (port_want(&wish, &facts, &port, &err) < 0 ||
        queues_create(&port, NULL, now_ns(CLOCK_BOOTTIME), &ours.queues, &err) < 0)
        fail(err.text);
    return ours;
}

static void ours_put(void *which, struct rte_mbuf **packets, uint32_t n)
{
    struct ours *ours = which;
    for (uint32_t i = 0; i < n; i++)
        if (queues_put(ours->queues, TRAFFIC_LEVEL0 + (ours->next++ % PORT_LEVELS),
                       (struct queued){packets[i], BYTES}) == QUEUES_FULL)
            fail("a queue of ours is full");
}

static uint32_t ours_get(void *which, struct rte_mbuf **packets)
{
    struct ours *ours = which;
    struct queued items[BURST];
    const uint32_t n = queues_get(ours->queues, now_ns(CLOCK_BOOTTIME), items, BURST);
    for (uint32_t i = 0; i < n; i++)
        packets[i] = items[i].packet;
    return n;
}

static struct theirs theirs_open(const char *name, uint32_t used)
{
    struct theirs theirs = {.pipes = used};
    struct rte_sched_pipe_params pipe = {
        .tb_rate = RATE_BPS / BITS, .tb_size = 1000000, .tc_period = 10, .tc_ov_weight = 1};
    struct rte_sched_subport_profile_params profile = {
        .tb_rate = RATE_BPS / BITS, .tb_size = 1000000, .tc_period = 10};
    struct rte_sched_subport_params subport = {.n_pipes_per_subport_enabled = PIPES,
                                               .pipe_profiles = &pipe,
                                               .n_pipe_profiles = 1,
                                               .n_max_pipe_profiles = 1};
    struct rte_sched_port_params port = {.name = name,
                                         .rate = RATE_BPS / BITS,
                                         .mtu = 1522,
                                         .frame_overhead = RTE_SCHED_FRAME_OVERHEAD_DEFAULT,
                                         .n_subports_per_port = 1,
                                         .subport_profiles = &profile,
                                         .n_subport_profiles = 1,
                                         .n_max_subport_profiles = 1,
                                         .n_pipes_per_subport = PIPES};
    for (int i = 0; i < CLASSES; i++) {
        pipe.tc_rate[i] = profile.tc_rate[i] = RATE_BPS / BITS;
        subport.qsize[i] = QUEUE_ROOMS;
    }
    for (int i = 0; i < RTE_SCHED_BE_QUEUES_PER_PIPE; i++)
        pipe.wrr_weights[i] = 1;
    theirs.port = rte_sched_port_config(&port);
    if (!theirs.port || rte_sched_subport_config(theirs.port, 0, &subport, 0) != 0)
        fail("rte_sched cannot be set up");
    for (uint32_t i = 0; i < PIPES; i++)
        if (rte_sched_pipe_config(theirs.port, 0, i, 0) != 0)
            fail("a pipe of rte_sched cannot be set up");
    return theirs;
}

static void theirs_put(void *which, struct rte_mbuf **packets, uint32_t n)
{
    struct theirs *theirs = which;
    for (uint32_t i = 0; i < n; i++, theirs->next++)
        rte_sched_port_pkt_write(theirs->port, packets[i], 0,
                                 theirs->next / PORT_LEVELS % theirs->pipes, 0,
                                 theirs->next % PORT_LEVELS, RTE_COLOR_GREEN);
    if (n > 0 && rte_sched_port_enqueue(theirs->port, packets, n) != (int)n)
        fail("a queue of rte_sched is full");
}

static uint32_t theirs_get(void *which, struct rte_mbuf **packets)
{
    struct theirs *theirs = which;
    return (uint32_t)rte_sched_port_dequeue(theirs->port, packets, BURST);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

struct contestant {
    void (*put)(void *which, struct rte_mbuf **packets, uint32_t n);
    uint32_t (*get)(void *which, struct rte_mbuf **packets);
    void *which;
    double rounds[ROUNDS]; /* packets a second */
};

static void fill(const struct contestant *contestant, struct rte_mempool *pool)
{
    struct rte_mbuf *packets[BURST];
    for (int i = 0; i < DEEP; i++) {
        if (rte_pktmbuf_alloc_bulk(pool, packets, BURST) != 0)
            fail("no frames are left");
        for (int k = 0; k < BURST; k++)
            packets[k]->pkt_len = packets[k]->data_len = BYTES;
        contestant->put(contestant->which, packets, BURST);
    }
}

/* What comes out goes in again. */
static double pass(const struct contestant *contestant)
{
    struct rte_mbuf *packets[BURST];
    uint32_t passed = 0;
    const uint64_t begin = now_ns(CLOCK_THREAD_CPUTIME_ID);
    while (passed < PACKETS) {
        const uint32_t n = contestant->get(contestant->which, packets);
        contestant->put(contestant->which, packets, n);
        passed += n;
    }
    return (double)passed * 1e9 / (double)(now_ns(CLOCK_THREAD_CPUTIME_ID) - begin);
}

static int compare(const void *one, const void *other)
{
    const double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static double median(struct contestant *contestant)
{
    qsort(contestant->rounds, ROUNDS, sizeof(double), compare);
    return contestant->rounds[ROUNDS / 2];
}

static void say(const char *name, double mine, double other)
{
    printf("%-32s %11.1f %12.1f %7.1f%s\n", name, other / 1e6, mine / other, BAR,
           mine / other < BAR ? "  missed" : "");
}

int main(void)
{
    static char *arguments[] = {
        "bench-queues",         "--no-huge", "--no-pci", "--no-shconf", "--no-telemetry",
        "--log-level=critical", "-l",        "0",        "-m",          "256"};
    if (rte_eal_init(RTE_DIM(arguments), arguments) < 0)
        fail("DPDK does not start");
    struct rte_mempool *pool =
        rte_pktmbuf_pool_create("frames", 4096, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
    if (!pool)
        fail("no memory for frames");
    struct ours ours = ours_open();
    struct theirs one = theirs_open("one", 1), many = theirs_open("many", PIPES);
    struct contestant all[] = {{.put = ours_put, .get = ours_get, .which = &ours},
                               {.put = theirs_put, .get = theirs_get, .which = &one},
                               {.put = theirs_put, .get = theirs_get, .which = &many}};
    for (size_t i = 0; i < RTE_DIM(all); i++)
        fill(&all[i], pool);
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < RTE_DIM(all); i++)
            all[i].rounds[round] = pass(&all[i]);
    const double mine = median(&all[0]);
    printf("\n%-32s %11s %12s %7s\n%-32s %11.1f\n", "", "Mpps a core", "times it", "bar",
           "queues alone", mine / 1e6);
    say("rte_sched, 1 pipe (as we have)", mine, median(&all[1]));
    say("rte_sched, 1024 pipes", mine, median(&all[2]));
    return EXIT_SUCCESS;
}
