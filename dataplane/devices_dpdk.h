/* DPDK itself and its devices, for workers_dpdk.c alone. */
#pragma once

#include "dataplane/settings.h"

#include <rte_ether.h>
#include <rte_mbuf.h>

#define DEVICES_LCORE      1   /* of the first worker; the others follow */
#define DEVICES_RING       512 /* descriptors of a device, each way */
#define DEVICES_FRAME_MORE (RTE_ETHER_HDR_LEN + 2 * RTE_VLAN_HLEN) /* of a frame, beyond the MTU */

/* Starts DPDK without hugepages and PCI, with its telemetry socket: the calling thread on any
 * processor it may use, and an lcore on each of `cpus`, from DEVICES_LCORE on. Once in a
 * process. */
int devices_begin(const struct fastpath_settings *settings, uint32_t frames, struct err *err);

/* A pool of this many frames, whose segments hold the largest frame whole. */
int devices_pool(const struct fastpath_settings *settings, uint32_t frames,
                 struct rte_mempool **ret_pool, struct err *err);

/* Makes a port's device and starts it: one queue each way, promiscuous. *ret_bps: its speed, 0 if
 * unknown. */
int devices_open(const struct fastpath_settings *settings, uint32_t place, struct rte_mempool *pool,
                 uint16_t *ret_port, uint64_t *ret_bps, struct err *err);
void devices_close(uint16_t port);
