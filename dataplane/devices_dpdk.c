#include "dataplane/devices_dpdk.h"

#include <errno.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#define SEGMENT_MORE  256  /* of the pool, beside what a segment holds */
#define PAGE_BYTES    4096 /* without hugepages a frame lies in pages of its own */
#define OWN_MEGABYTES 64   /* of DPDK, the rings, and what is captured */

static uint32_t segment_bytes(const struct fastpath_settings *settings)
{
    const uint32_t most = (uint32_t)settings->mtu_bytes + DEVICES_FRAME_MORE;
    return RTE_PKTMBUF_HEADROOM + RTE_ALIGN_CEIL(RTE_MAX(most, 2048u), 64);
}

/* The numbers of lcores are ours, the processors those that we may use: "0@(0,1),1@0,2@1". */
static int lcores_text(const struct fastpath_settings *settings, char *text, size_t size,
                       struct err *err)
{
    cpu_set_t may;
    size_t at = (size_t)snprintf(text, size, "0@(");
    if (sched_getaffinity(0, sizeof(may), &may) < 0)
        return err_sys(err, errno, "asking for our processors");
    for (size_t i = 0, n = 0; i < CPU_SETSIZE && at < size; i++)
        if (CPU_ISSET(i, &may))
            at += (size_t)snprintf(text + at, size - at, "%s%zu", n++ ? "," : "", i);
    if (at < size)
        at += (size_t)snprintf(text + at, size - at, ")");
    for (uint32_t i = 0; i < settings->cpus_n && at < size; i++) {
        if (!CPU_ISSET((size_t)settings->cpus[i], &may))
            return err_set(err, EINVAL, "cpus: processor %lld is none that this process may run on",
                           (long long)settings->cpus[i]);
        at += (size_t)snprintf(text + at, size - at, ",%u@%lld", DEVICES_LCORE + i,
                               (long long)settings->cpus[i]);
    }
    return at < size ? 0 : err_set(err, E2BIG, "too many processors to name them to DPDK");
}

int devices_begin(const struct fastpath_settings *settings, uint32_t frames, struct err *err)
{
    static char lcores[8 * CPU_SETSIZE], megabytes[16];
    static char *arguments[] = {
        "duopoly-fastpath", "--no-huge", "--no-pci", "--no-shconf", "--log-level=critical",
        "--lcores",         lcores,      "-m",       megabytes};
    const uint64_t bytes =
        (uint64_t)frames * RTE_ALIGN_CEIL(segment_bytes(settings) + SEGMENT_MORE, PAGE_BYTES);
    int r = lcores_text(settings, lcores, sizeof(lcores), err);
    if (r < 0)
        return r;
    snprintf(megabytes, sizeof(megabytes), "%llu",
             (unsigned long long)(bytes >> 20) + OWN_MEGABYTES);
    rte_log_set_global_level(RTE_LOG_CRIT);
    if (rte_eal_init(RTE_DIM(arguments), arguments) < 0)
        return err_sys(err, rte_errno, "starting DPDK with %s MB of memory for %u frames",
                       megabytes, frames);
    return 0;
}

int devices_pool(const struct fastpath_settings *settings, uint32_t frames,
                 struct rte_mempool **ret_pool, struct err *err)
{
    *ret_pool = rte_pktmbuf_pool_create("frames", frames, 256, 0, (uint16_t)segment_bytes(settings),
                                        SOCKET_ID_ANY);
    return *ret_pool ? 0
                     : err_sys(err, rte_errno, "memory for %u frames of %u bytes", frames,
                               segment_bytes(settings));
}

static int fail(int r, uint32_t place, const struct fastpath_settings *settings, const char *what,
                struct err *err)
{
    return err_sys(err, r < 0 ? -r : EIO, "%s: device \"%s\" %s",
                   fastpath_side(settings, place)->name, fastpath_side(settings, place)->device,
                   what);
}

/* WHY an MTU that is too large for the device is not refused here: several devices cannot set
 * it. */
static int start(uint16_t port, struct rte_mempool *pool, uint16_t mtu)
{
    const struct rte_eth_conf conf = {.rxmode = {.mtu = mtu}};
    const unsigned socket = (unsigned)SOCKET_ID_ANY;
    uint16_t in = DEVICES_RING, out = DEVICES_RING;
    int r = rte_eth_dev_configure(port, 1, 1, &conf);
    if (r == 0)
        r = rte_eth_dev_adjust_nb_rx_tx_desc(port, &in, &out);
    if (r == 0)
        r = rte_eth_rx_queue_setup(port, 0, in, socket, NULL, pool);
    if (r == 0)
        r = rte_eth_tx_queue_setup(port, 0, out, socket, NULL);
    if (r == 0)
        r = rte_eth_dev_start(port);
    return r;
}

static uint64_t speed_of(uint16_t port)
{
    struct rte_eth_link link;
    if (rte_eth_link_get_nowait(port, &link) < 0 || link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN)
        return 0;
    return (uint64_t)link.link_speed * 1000000;
}

int devices_open(const struct fastpath_settings *settings, uint32_t place, struct rte_mempool *pool,
                 uint16_t *ret_port, uint64_t *ret_bps, struct err *err)
{
    char name[64];
    const char *device = fastpath_side(settings, place)->device;
    const size_t length = strcspn(device, ",");
    uint16_t port;
    snprintf(name, sizeof(name), "%.*s", (int)length, device);
    int r = rte_eal_hotplug_add("vdev", name, device[length] ? device + length + 1 : "");
    if (r < 0)
        return fail(r, place, settings, "cannot be opened", err);
    r = rte_eth_dev_get_port_by_name(name, &port);
    if (r < 0)
        return fail(r, place, settings, "is no port", err);
    r = start(port, pool, (uint16_t)settings->mtu_bytes);
    if (r < 0) {
        rte_eth_dev_close(port);
        return fail(r, place, settings, "cannot be started", err);
    }
    rte_eth_promiscuous_enable(port); /* where there is such a thing */
    *ret_port = port;
    *ret_bps = speed_of(port);
    return 0;
}

void devices_close(uint16_t port)
{
    rte_eth_dev_stop(port);
    rte_eth_dev_close(port);
}
