/* One Ethernet frame as the data plane sees it: parses it to its connection, and writes its DSCP
 * and ECN (pure).
 *
 * IP may follow one or two VLAN tags (IEEE 802.1Q §9), TCP up to FRAME_EXTENSIONS IPv6 headers that
 * do not hide it (RFC 8200 §4: hop-by-hop, routing, destination options, a first fragment). A frame
 * with more, or others, has no ports; nor have later fragments. Nothing is verified: a wrong length
 * or checksum stays wrong. hostagent/marks/mark_packet.bpf.h parses the same;
 * tests/unit/test_conformance.c compares the two.
 *
 * A frame has `there` readable bytes, the first of `length` bytes on the wire (an mbuf may have
 * more segments): the rest counts as cut off. */
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
    uint32_t payload;    /* bytes of TCP or UDP; 0: none, or unknown */
    uint32_t network;    /* where IP begins */
    uint32_t options;    /* offset of TCP's options, if a timestamp fits; else 0 */
    uint8_t version;     /* 4, 6; 0: neither */
    uint8_t traffic_class;
    uint8_t protocol;
    uint8_t flags;  /* of TCP */
    bool has_ports; /* TCP, first or only fragment */
    bool neighbour; /* ARP, or neighbour discovery (RFC 4861) */
};

/* Parses any bytes. O(extension headers). */
void frame_parse(const struct frame_bytes *bytes, struct frame *ret_frame);

/* Writes six bits of the traffic class and updates IPv4's checksum (RFC 1624); ECN stays. Only for
 * a frame with a version; `frame` is updated. */
void frame_write_dscp(const struct frame_bytes *bytes, struct frame *frame, uint8_t dscp);

/* Sets congestion experienced (RFC 3168 §5) if the frame is ECN-capable; returns whether it is set
 * now. */
bool frame_write_ce(const struct frame_bytes *bytes, struct frame *frame);

/* The sender's timestamp of a segment (RFC 7323), if it is the first option, where Linux puts
 * it. */
bool frame_timestamp(const struct frame_bytes *bytes, const struct frame *frame,
                     uint32_t *ret_tsval);

/* flows_hash of its key, in either direction: computed once. */
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
