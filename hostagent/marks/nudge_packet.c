#include "hostagent/marks/nudge_packet.h"

#include "lib/address.h"

#include <netinet/in.h>
#include <string.h>

#define HOPS          64
#define V4_BYTES      20
#define V6_BYTES      40
#define TCP_BYTES     20
#define ICMP_BYTES    8
#define QUOTED_BYTES  8 /* of the segment, what RFC 792 asks for: ports and sequence number */
#define ACK_FLAG      0x10
#define UNREACHABLE   3 /* network (code 0) */
#define UNREACHABLE_6 1 /* no route (code 0) */

static uint8_t *put8(uint8_t *at, uint32_t value)
{
    *at = (uint8_t)value;
    return at + 1;
}

static uint8_t *put16(uint8_t *at, uint32_t value)
{
    return put8(put8(at, value >> 8), value);
}

static uint8_t *put32(uint8_t *at, uint32_t value)
{
    return put16(put16(at, value >> 16), value);
}

static uint8_t *put_bytes(uint8_t *at, const void *bytes, uint32_t n)
{
    memcpy(at, bytes, n);
    return at + n;
}

/* RFC 1071, n even. */
static uint32_t sum(const uint8_t *bytes, uint32_t n, uint32_t before)
{
    for (uint32_t i = 0; i < n; i += 2)
        before += (uint32_t)bytes[i] << 8 | bytes[i + 1];
    return before;
}

static void put_checksum(uint8_t *at, uint32_t total)
{
    while (total >> 16)
        total = (total & 0xffff) + (total >> 16);
    put16(at, ~total);
}

/* Addresses, length and protocol, as TCP's and ICMPv6's checksums cover them. */
static uint32_t pseudo_header(const struct receiver *receiver, uint32_t bytes, uint8_t protocol)
{
    uint32_t skip = address_is_v4(receiver->peer) ? ADDRESS_V4_AT : 0;
    uint32_t total = sum(receiver->local + skip, 16 - skip, bytes + protocol);
    return sum(receiver->peer + skip, 16 - skip, total);
}

static uint8_t *put_ip(uint8_t *at, bool v4, const uint8_t from[16], const uint8_t to[16],
                       uint8_t dscp, uint8_t protocol, uint32_t payload)
{
    if (!v4) {
        at = put32(at, 6u << 28 | (uint32_t)dscp << 22);
        at = put8(put8(put16(at, payload), protocol), HOPS);
        return put_bytes(put_bytes(at, from, 16), to, 16);
    }
    uint8_t *header = at;
    at = put16(put8(put8(at, 0x45), (uint32_t)dscp << 2), V4_BYTES + payload);
    at = put16(put8(put8(put32(at, 0), HOPS), protocol), 0);
    at = put_bytes(put_bytes(at, from + ADDRESS_V4_AT, 4), to + ADDRESS_V4_AT, 4);
    put_checksum(header + 10, sum(header, V4_BYTES, 0));
    return at;
}

uint32_t nudge_packet_acknowledge(const struct receiver *receiver, uint8_t dscp,
                                  uint8_t ret_packet[NUDGE_PACKET_BYTES])
{
    uint8_t *tcp = put_ip(ret_packet, address_is_v4(receiver->peer), receiver->local,
                          receiver->peer, dscp, IPPROTO_TCP, TCP_BYTES);
    uint8_t *at = put_bytes(tcp, &receiver->local_port, 2);
    at = put_bytes(at, &receiver->peer_port, 2);
    at = put32(put32(at, receiver->send_next), receiver->receive_next);
    at = put8(put8(at, TCP_BYTES / 4 << 4), ACK_FLAG);
    at = put32(put16(at, receiver->window), 0);
    put_checksum(tcp + 16, sum(tcp, TCP_BYTES, pseudo_header(receiver, TCP_BYTES, IPPROTO_TCP)));
    return (uint32_t)(at - ret_packet);
}

uint32_t nudge_packet_unreachable(const struct receiver *receiver, uint8_t dscp,
                                  uint8_t ret_packet[NUDGE_PACKET_BYTES])
{
    bool v4 = address_is_v4(receiver->peer);
    uint8_t protocol = v4 ? IPPROTO_ICMP : IPPROTO_ICMPV6;
    uint32_t bytes = ICMP_BYTES + (v4 ? V4_BYTES : V6_BYTES) + QUOTED_BYTES;
    uint8_t *icmp = put_ip(ret_packet, v4, receiver->local, receiver->peer, dscp, protocol, bytes);
    uint8_t *at = put8(put8(icmp, v4 ? UNREACHABLE : UNREACHABLE_6), 0);
    at = put32(put16(at, 0), 0);
    at = put_ip(at, v4, receiver->peer, receiver->local, dscp, IPPROTO_TCP, TCP_BYTES);
    at = put_bytes(put_bytes(at, &receiver->peer_port, 2), &receiver->local_port, 2);
    at = put32(at, receiver->receive_next);
    put_checksum(icmp + 2,
                 sum(icmp, bytes, v4 ? 0 : pseudo_header(receiver, bytes, IPPROTO_ICMPV6)));
    return (uint32_t)(at - ret_packet);
}
