/* Captured packets: the relevant part of a frame, and the flows that they belong to.
 *
 * A flow is one direction of a TCP connection (128-bit addresses, IPv4 as v4-mapped). Only packets
 * with TCP payload are kept, 24 bytes each, in the order of capture. Pure; bounded: beyond
 * PACKETS_MAX packets or PACKETS_FLOWS_MAX flows more are counted as lost, not kept.
 *
 * When a packet was sent is known from its time stamp (TSval, RFC 7323), which Linux counts in
 * milliseconds and sets when TCP hands the packet out, just before it is marked: packet_waited()
 * says how much longer it took from there to the capture than the flow's fastest. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <bsd/sys/tree.h>
#include <netinet/in.h>

enum { PACKETS_MAX = 32 << 20, PACKETS_FLOWS_MAX = 4 << 20 };

struct packet_end {
    struct in6_addr address;
    uint16_t port;
};
struct packet_key {
    struct packet_end from, to;
};

/* What packet_decode finds in a frame. */
struct packet_frame {
    struct packet_key key;
    uint8_t dscp, ecn;
    uint8_t flags; /* TCP's, as in its header */
    uint16_t id;   /* IPv4's identification; 0 in IPv6 */
    uint32_t sequence;
    uint32_t payload_bytes;
    bool stamped;   /* it has a TSval */
    uint32_t stamp; /* ms of the sender's clock, from any start; wraps */
};

struct packet {
    int64_t time_ns;
    uint32_t flow;
    uint32_t stamp; /* TSval */
    uint16_t payload_bytes;
    uint8_t dscp, flags;
    bool stamped;
};

struct packet_flow {
    RB_ENTRY(packet_flow) entry;
    struct packet_key key;
    uint32_t index; /* in order of first sight */
    bool stamped;
    uint32_t first_stamp;
    int64_t fastest_ns; /* least capture time minus timestamp, which is counted from first_stamp */
};
RB_HEAD(packet_flows, packet_flow);

struct packets {
    struct packet *at;
    size_t n, allocated;
    struct packet_flows by_key;
    struct packet_flow **flows; /* by index */
    uint32_t n_flows, flows_allocated;
    uint64_t lost; /* no room or no memory */
};

/* Reads an Ethernet frame of which `captured` bytes are there: IPv4 or IPv6 without extension
 * headers, TCP. false: it is something else, or cut too short. Later fragments are something
 * else. */
bool packet_decode(const uint8_t *frame, size_t captured, struct packet_frame *ret_frame);

/* IPv4 (as text) or IPv6 as 128 bits. false: no address. */
bool packet_address(const char *text, struct in6_addr *ret_address);

void packets_init(struct packets *packets);
/* The number of a frame's flow, added if it is new. −ENOMEM, −ENOSPC. O(log flows). */
int packets_flow(struct packets *packets, const struct packet_key *key, uint32_t *ret_flow);
/* Keeps one frame seen at time_ns. O(log flows). */
void packets_add(struct packets *packets, int64_t time_ns, const struct packet_frame *frame);
/* How long a kept packet had waited when it was captured, to about a millisecond; never too long,
 * but maybe too short, since the flow's fastest packet may have waited, too. 0 without a
 * timestamp. */
int64_t packet_waited(const struct packets *packets, const struct packet *packet);
/* NULL and zeroed ones are fine. */
void packets_done(struct packets *packets);
