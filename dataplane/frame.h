/* One Ethernet frame as the data plane sees it: parsed to the connection that it belongs to, its
 * DSCP and ECN written (pure).
 *
 * IP may stand behind one or two VLAN tags (IEEE 802.1Q §9), TCP behind FRAME_EXTENSIONS headers of
 * IPv6 that do not hide it (RFC 8200 §4: hop-by-hop, routing, destination options, a first
 * fragment). What has more, or others, has no ports; neither have later fragments. Nothing is
 * verified: a wrong length or checksum is as right or as wrong afterwards. What is read is what
 * hostagent/marks/mark_packet.bpf.h reads, tests/unit/test_conformance.c holds both together.
 *
 * A frame is `there` readable bytes, the first of `length` bytes on the wire (an mbuf may have more
 * segments): what stands beyond counts as cut off. */
#pragma once

#include "dataplane/flows.h"

#include <stdbool.h>
#include <stdint.h>

#define FRAME_EXTENSIONS 6
#define FRAME_FIN        0x01 /* flags of TCP */
#define FRAME_SYN        0x02
#define FRAME_RST        0x04
#define FRAME_ACK        0x10

struct frame_bytes {
    uint8_t *bytes;
    uint32_t there, length; /* there ≤ length */
};

struct frame {
    struct flow_key key; /* source in `local`, destination in `peer`; zero without IP */
    uint64_t hash;       /* for frame_hash */
    uint32_t payload;    /* bytes of TCP or UDP; 0: none, or not known */
    uint32_t network;    /* where IP begins */
    uint32_t options;    /* where TCP's are, if there is room for a timestamp; else 0 */
    uint8_t version;     /* 4, 6; 0: neither */
    uint8_t traffic_class;
    uint8_t protocol;
    uint8_t flags;  /* of TCP */
    bool has_ports; /* TCP, first or only fragment */
    bool neighbour; /* ARP, or neighbour discovery (RFC 4861) */
};

/* Whatever the bytes are. O(extension headers). */
void frame_parse(const struct frame_bytes *bytes, struct frame *ret_frame);

/* Six bits of the traffic class, the checksum of IPv4 incrementally (RFC 1624); ECN stays. Only of
 * a frame with a version; `frame` knows the new one afterwards. */
void frame_write_dscp(const struct frame_bytes *bytes, struct frame *frame, uint8_t dscp);

/* Congestion experienced (RFC 3168 §5), where the frame says that its ends understand it: whether it
 * bears that now. */
bool frame_write_ce(const struct frame_bytes *bytes, struct frame *frame);

/* The sender's time on a segment (RFC 7323), where it is the first option, as Linux sends it. */
bool frame_timestamp(const struct frame_bytes *bytes, const struct frame *frame,
                     uint32_t *ret_tsval);

/* flows_hash of its key, whichever way that is turned: computed once. */
static inline uint64_t frame_hash(struct frame *frame)
{
    if (!frame->hash)
        frame->hash = flows_hash(&frame->key);
    return frame->hash;
}

/* The key as the other end sees it. */
static inline void frame_turn(struct flow_key *key)
{
    const struct flow_key before = *key;
    for (int i = 0; i < 16; i++) {
        key->local[i] = before.peer[i];
        key->peer[i] = before.local[i];
    }
    key->local_port = before.peer_port;
    key->peer_port = before.local_port;
}
