/* What a link's driver reports: number, type and MTU (netdevice(7)), and speed (ethtool's
 * ETHTOOL_GLINKSETTINGS; Linux 4.6).
 *
 * `sock` is any socket of the interface's network namespace, also a netlink one; with many
 * interfaces, make one for all. Blocking, for one or two system calls each. */
#pragma once

#include "lib/err.h"

#include <stdbool.h>
#include <stdint.h>

/* Speed of an interface by name; 0 if it is not reported: the link is down, or virtual (but a veth
 * reports 10 Gb/s). */
uint64_t link_speed_bps(int sock, const char *port);

/* −ENODEV: there is no such interface in this network namespace. */
int link_index(int sock, const char *port, struct err *err);
int link_type(int sock, const char *port);   /* ARPHRD_…; −errno */
bool link_is_up(int sock, const char *port); /* it carries packets now (IFF_RUNNING) */
int link_mtu(int sock, const char *port, uint32_t *ret_bytes, struct err *err);
