/* What a listener's filter lets in (classic BPF, which needs no privilege: socket(7),
 * SO_ATTACH_FILTER). It sees TCP's packets from their header on, and IP's before it by SKF_NET_OFF.
 * Errors: −1 with errno of setsockopt(2). */
#pragma once

#include <netinet/in.h>
#include <stddef.h>

#define FILTER_ADDRESSES 16

/* What begins a connection, and what says something; of the `n` ≤ FILTER_ADDRESSES addresses (of
 * IPv4 the mapped ones) only what begins one: they send the rest again, later and later, and the
 * kernel holds nothing of theirs. */
int filter_those_who_speak(int listener, const struct in6_addr *addresses, size_t n);
int filter_nobody(int listener);
/* A connection begins with its listener's filter, which would drop what only acknowledges, or ends
 * it. Until it is heard of here such packets come again, and whoever has more to say acknowledges
 * with that. */
void filter_drop(int connection);
