/* How long a packet of the most urgent queue takes through a switch whose egress is saturated with
 * the least urgent level, and through the same one when it is idle. The switch is duopoly-fastpath
 * itself, another process on a processor of its own, joined by memif (rings in shared memory); this
 * one sends and receives. Percentiles of probes, one each PROBE_US; misses are marked.
 *
 *     bench-latency FASTPATH FOLDER */
#include <errno.h>
#include <inttypes.h>
#include <rte_byteorder.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PORTS      3 /* from one the flood, from another the probes, and where both go */
#define BURST      32
#define PROBE_US   200
#define PROBES     20000u
#define WARM_UP    1000u
#define READY_S    20
#define BYTES      1000
#define PROBE      100
#define RATE_MBPS  1000
#define DSCP(l)    (4 * (l) + 3)
#define ECT0       2
#define P99_BAR_US 50.0
#define RATIO_BAR  3.0

enum { FROM_FLOOD, FROM_PROBE, TO };

struct probe {
    struct rte_ether_hdr ether;
    struct rte_ipv4_hdr ip;
    uint64_t sent_at;
    uint32_t number;
} __attribute__((packed, aligned(2)));

static pid_t fastpath;

static void fail(const char *what)
{
    fprintf(stderr, "bench-latency: %s\n", what);
    if (fastpath > 0)
        kill(fastpath, SIGKILL);
    exit(EXIT_FAILURE);
}

static void write_config(const char *path, const char *folder)
{
    FILE *file = fopen(path, "w");
    if (!file)
        fail("no configuration can be written");
    fprintf(file, "socket: %s/fastpath.sock\nrole: switch\ncpus: [1]\nqueues: {ecn: no}\nports:\n",
            folder);
    for (int i = 0; i < PORTS; i++)
        fprintf(file,
                "  - {name: p%d, device: \"net_memif%d,role=server,id=%d,socket=%s/m%d,"
                "socket-abstract=no\", rate: %d Mbps}\n",
                i, i, i, folder, i, RATE_MBPS);
    if (fclose(file) != 0)
        fail("no configuration can be written");
}

static void start_fastpath(const char *program, const char *config, const char *folder)
{
    const pid_t parent = getpid();
    fastpath = fork();
    if (fastpath != 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(1);
    setenv("RUNTIME_DIRECTORY", folder, 1);
    execl(program, program, "--config", config, NULL);
    _exit(1);
}

static void wait_for_file(const char *path)
{
    for (int i = 0; access(path, F_OK) < 0; i++) {
        if (i == READY_S * 100 || waitpid(fastpath, NULL, WNOHANG) != 0)
            fail("duopoly-fastpath does not begin");
        usleep(10000);
    }
}

static void start_dpdk(const char *folder)
{
    static char devices[PORTS][256];
    char *arguments[8 + 2 * PORTS] = {"bench-latency", "--no-huge",           "--no-pci",
                                      "--no-shconf",   "--no-telemetry",      "-l0",
                                      "-m256",         "--log-level=critical"};
    for (int i = 0; i < PORTS; i++) {
        snprintf(devices[i], sizeof(devices[i]),
                 "--vdev=net_memif%d,role=client,id=%d,socket=%s/m%d,socket-abstract=no", i, i,
                 folder, i);
        arguments[8 + i] = devices[i];
    }
    if (rte_eal_init(8 + PORTS, arguments) < 0)
        fail("DPDK does not begin");
}

static void start_port(uint16_t port, struct rte_mempool *pool)
{
    static const struct rte_eth_conf conf;
    struct rte_eth_link link = {0};
    if (rte_eth_dev_configure(port, 1, 1, &conf) < 0 ||
        rte_eth_rx_queue_setup(port, 0, 512, 0, NULL, pool) < 0 ||
        rte_eth_tx_queue_setup(port, 0, 512, 0, NULL) < 0 || rte_eth_dev_start(port) < 0)
        fail("a memif port cannot be started");
    for (int i = 0; !link.link_status; i++) {
        if (i == READY_S * 100)
            fail("duopoly-fastpath does not take a memif port");
        usleep(10000);
        rte_eth_link_get_nowait(port, &link);
    }
}

static struct rte_mbuf *packet(struct rte_mempool *pool, uint8_t from, uint8_t level,
                               uint16_t bytes)
{
    struct rte_mbuf *made = rte_pktmbuf_alloc(pool);
    if (!made)
        return NULL;
    struct probe *probe = rte_pktmbuf_mtod(made, struct probe *);
    made->data_len = bytes; /* below a segment's length */
    made->pkt_len = bytes;
    *probe = (struct probe){0};
    probe->ether = (struct rte_ether_hdr){.dst_addr = {{2, 0, 0, 0, 0, TO}},
                                          .src_addr = {{2, 0, 0, 0, 0, from}},
                                          .ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4)};
    probe->ip = (struct rte_ipv4_hdr){
        .version_ihl = 0x45,
        .type_of_service = (uint8_t)(DSCP(level) << 2 | ECT0),
        .total_length = rte_cpu_to_be_16((uint16_t)(bytes - sizeof(probe->ether))),
        .time_to_live = 64,
        .next_proto_id = 17,
        .src_addr = rte_cpu_to_be_32(0x0a000000u + from),
        .dst_addr = rte_cpu_to_be_32(0x0a000000u + TO)};
    return made;
}

static bool send_one(uint16_t port, struct rte_mbuf *made)
{
    if (made && rte_eth_tx_burst(port, 0, &made, 1) == 1)
        return true;
    rte_pktmbuf_free(made);
    return false;
}

static void send_flood(struct rte_mempool *pool)
{
    struct rte_mbuf *packets[BURST];
    uint16_t n = 0, went;
    while (n < BURST && (packets[n] = packet(pool, FROM_FLOOD, 7, BYTES)))
        n++;
    went = rte_eth_tx_burst(FROM_FLOOD, 0, packets, n);
    while (went < n)
        rte_pktmbuf_free(packets[went++]);
}

/* Ticks of what came back since the last time are added. */
static uint32_t receive(uint64_t *ticks, uint32_t n)
{
    struct rte_mbuf *packets[BURST];
    const uint16_t came = rte_eth_rx_burst(TO, 0, packets, BURST);
    const uint64_t now = rte_rdtsc();
    for (uint16_t i = 0; i < came; i++) {
        const struct probe *probe = rte_pktmbuf_mtod(packets[i], const struct probe *);
        const bool is_probe = probe->ether.src_addr.addr_bytes[5] == FROM_PROBE;
        if (is_probe && probe->number >= WARM_UP && n < PROBES)
            ticks[n++] = now - probe->sent_at;
        rte_pktmbuf_free(packets[i]);
    }
    return n;
}

static int by_size(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Fills the ticks of PROBES probes, in order of size, and returns how many were sent for them. */
static uint32_t measure(struct rte_mempool *pool, bool saturated, uint64_t *ticks)
{
    const uint64_t every = rte_get_tsc_hz() / 1000000 * PROBE_US;
    uint64_t next = rte_rdtsc();
    uint32_t sent = 0, n = 0;
    while (n < PROBES && sent < 2 * PROBES) {
        if (saturated)
            send_flood(pool);
        if (rte_rdtsc() >= next) {
            struct rte_mbuf *made = packet(pool, FROM_PROBE, 0, PROBE);
            struct probe *probe = made ? rte_pktmbuf_mtod(made, struct probe *) : NULL;
            if (probe)
                *probe = (struct probe){
                    .ether = probe->ether, .ip = probe->ip, .sent_at = rte_rdtsc(), .number = sent};
            sent += send_one(FROM_PROBE, made);
            next += every;
        }
        n = receive(ticks, n);
    }
    if (n < PROBES)
        fail("probes were lost: the most urgent queue is not strict");
    qsort(ticks, n, sizeof(*ticks), by_size);
    return sent;
}

static double percentile(const uint64_t *ticks, uint32_t permille)
{
    return (double)ticks[(uint64_t)PROBES * permille / 1000] * 1e6 / (double)rte_get_tsc_hz();
}

static double show(const char *name, const uint64_t *ticks)
{
    const double p99 = percentile(ticks, 990);
    printf("%-44s %9.1f %9.1f %9.1f\n", name, percentile(ticks, 500), p99, percentile(ticks, 999));
    return p99;
}

/* Each station is heard of once. */
static void introduce(struct rte_mempool *pool)
{
    for (uint16_t port = 0; port < PORTS; port++)
        if (!send_one(port, packet(pool, (uint8_t)port, 0, PROBE)))
            fail("a memif port takes nothing");
    usleep(100000);
}

int main(int argc, char **argv)
{
    static uint64_t ticks[PROBES];
    char config[200], socket[200];
    if (argc != 3)
        fail("give duopoly-fastpath and a folder");
    snprintf(config, sizeof(config), "%s/latency.yaml", argv[2]);
    snprintf(socket, sizeof(socket), "%s/m%d", argv[2], PORTS - 1);
    write_config(config, argv[2]);
    start_fastpath(argv[1], config, argv[2]);
    wait_for_file(socket);
    start_dpdk(argv[2]);
    struct rte_mempool *pool = rte_pktmbuf_pool_create("packets", 8191, 0, 0, 2048, SOCKET_ID_ANY);
    if (!pool)
        fail("no memory for packets");
    for (uint16_t port = 0; port < PORTS; port++)
        start_port(port, pool);
    introduce(pool);
    printf("%-44s %9s %9s %9s\n", "the most urgent queue, µs", "median", "p99", "p99.9");
    measure(pool, false, ticks);
    const double idle = show("idle switch", ticks);
    measure(pool, true, ticks);
    const double busy = show("egress of 1 Gb/s saturated with level 7", ticks);
    printf("%-44s %9s %9.1f   bar %.0f%s\n", "p99 when saturated", "", busy, P99_BAR_US,
           busy <= P99_BAR_US ? "" : "  missed");
    printf("%-44s %9s %9.2f   bar %.0f%s\n", "to that of the idle switch", "", busy / idle,
           RATIO_BAR, busy <= RATIO_BAR * idle ? "" : "  missed");
    kill(fastpath, SIGTERM);
    waitpid(fastpath, NULL, 0);
    return EXIT_SUCCESS;
}
