/* The packets that make a sender in retransmission back-off try again at once (pure).
 *
 * Both go from the receiving end of a connection to the sending one, are whole IP packets (version
 * 4 when the addresses are v4-mapped, else 6) with right checksums, and carry `dscp`:
 *
 * - an acknowledgement of what has arrived, as the connection itself would send it. It brings the
 *   new mark to an end that follows. It has no timestamps: Linux accepts such a segment even if
 *   they were negotiated (RFC 7323 §3.2 lets others drop it).
 * - "network unreachable" (RFC 792 type 3 code 0; ICMPv6, RFC 4443: type 1 code 0) that quotes the
 *   sender's first unacknowledged segment. Each undoes one doubling of its retransmission time, and
 *   if that has then passed, the segment is sent again (RFC 6069; Linux tcp_ld_RTO_revert, for IPv4
 *   since 2.6.32, for IPv6 since 5.10). One that quotes another number, or a connection that is not
 *   in back-off, does nothing. A program that has set IP_RECVERR on its TCP socket gets it as an
 *   error; no other program notices.
 *
 * O(1), no allocation. */
#pragma once

#include "hostagent/marks/receivers_abi.h"

#include <stdint.h>

#define NUDGE_PACKET_BYTES 128

/* Both return the packet's length. dscp: 0…63. */
uint32_t nudge_packet_acknowledge(const struct receiver *receiver, uint8_t dscp,
                                  uint8_t ret_packet[NUDGE_PACKET_BYTES]);
uint32_t nudge_packet_unreachable(const struct receiver *receiver, uint8_t dscp,
                                  uint8_t ret_packet[NUDGE_PACKET_BYTES]);
