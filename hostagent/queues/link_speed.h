/* How fast a link is, as its driver says (ethtool's ETHTOOL_GLINKSETTINGS; Linux 4.6). */
#pragma once

#include <stdint.h>

/* Of an interface by name; 0 where it does not say: a link that is down, most virtual ones (a veth
 * says 10 Gb/s). Blocking, for two calls. */
uint64_t link_speed_bps(const char *port);
