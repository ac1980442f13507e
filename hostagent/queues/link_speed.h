/* What the driver of a link says of it: its number, type and MTU (netdevice(7)), and how fast it is (ethtool's
 * ETHTOOL_GLINKSETTINGS; Linux 4.6).
 *
 * `sock` is any socket of the interface's network namespace, a netlink one too: who asks about many makes
 * one. Blocking, for a call or two each. */
#pragma once

#include "lib/err.h"

#include <stdbool.h>
#include <stdint.h>

/* Of an interface by name; 0 where it does not say: a link that is down, most virtual ones (a veth
 * says 10 Gb/s). */
uint64_t link_speed_bps(int sock, const char *port);

/* −ENODEV: there is no such interface in this network namespace. */
int link_index(int sock, const char *port, struct err *err);
int link_type(int sock, const char *port);   /* ARPHRD_…; −errno */
bool link_is_up(int sock, const char *port); /* it carries packets now (IFF_RUNNING) */
int link_mtu(int sock, const char *port, uint32_t *ret_bytes, struct err *err);
