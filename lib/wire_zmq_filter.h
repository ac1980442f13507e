/* Filters packets on a listener's socket (classic BPF, which needs no privilege: socket(7),
 * SO_ATTACH_FILTER). A filter sees TCP packets from their header on, and the IP header before it by
 * SKF_NET_OFF. Errors: −1 with errno of setsockopt(2). */
#pragma once

#include <netinet/in.h>
#include <stddef.h>

#define FILTER_ADDRESSES 16

/* Passes packets that begin a connection (SYN, RST) and packets with data. From the `n` ≤
 * FILTER_ADDRESSES addresses (of IPv4 the mapped ones) it drops data, too: they send it again, less
 * and less often, and the kernel keeps only their SYN meanwhile. */
int filter_drop_silent(int listener, const struct in6_addr *addresses, size_t n);
int filter_drop_all(int listener);
/* An accepted connection inherits its listener's filter, which would drop pure acknowledgements and
 * FINs. Until this detaches it such packets are sent again, and data acknowledges as well. */
void filter_detach(int connection);
