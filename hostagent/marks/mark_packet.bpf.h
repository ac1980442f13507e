/* One packet as the marking programs see it: parsed from IPv4 or IPv6, with functions that write
 * its DSCP.
 *
 * IP may follow one or two VLAN tags in the frame (IEEE 802.1Q §9; tags that a NIC or the kernel
 * keeps outside of it are not in the packet). Addresses alone identify connections: members have
 * one address each, in whatever VLAN. TCP may follow up to EXTENSIONS IPv6 headers that do not hide
 * it (RFC 8200 §4: hop-by-hop, routing, destination options, a first fragment); a packet with more,
 * or others, has no ports. Addresses are those of the fixed header: with a routing header, the next
 * stop. */
#pragma once

#include "hostagent/marks/mark_abi.h"

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <stdbool.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define ND_FIRST        133 /* ICMPv6 types of neighbour discovery, RFC 4861 */
#define ND_LAST         137
#define FLAG_FIN        0x01
#define FLAG_SYN        0x02
#define FLAG_RST        0x04
#define FLAG_ACK        0x10
#define TAGS            2
#define TAG_BYTES       4
#define EXTENSIONS      6
#define TIMESTAMP_BYTES 12 /* of the option, with the two NOPs before it (RFC 7323 appendix A) */
#define TIMESTAMP_HEAD  0x0101080a
#define ADDRESSES_AT    12 /* in IPv4's header, and some of them in IPv6's */
#define SEALED          32 /* bytes that WireGuard adds: header and tag */
#define AF_INET         2
#define AF_INET6        10

struct mark_packet {
    struct mark_flow_key key; /* source in `local`, destination in `peer`, until turned round */
    __u32 payload;
    __u32 sequence;
    __u32 network;      /* where IP begins */
    __u32 options;      /* offset of TCP's options, if a timestamp fits; else 0 */
    __u8 version;       /* 4, 6; 0: neither */
    __u8 traffic_class; /* DSCP and ECN */
    __u8 protocol;
    __u8 flags;
    bool has_ports; /* TCP, first or only fragment */
    bool neighbour; /* ARP or ND */
    bool bare_ip;   /* the interface's packets have no link header: offsets count from IP */
};

#define NO_HEADER 0xffffffffu /* instead of a length: see bare_ip */
#define HEADERS                                                                                    \
    256 /* bytes of a packet's headers; a decapsulated packet may have them in
                               * fragments */

/* On an interface without link headers the kernel may leave other headers before IP (GRE's). */
static __always_inline long load(struct __sk_buff *skb, const struct mark_packet *packet,
                                 __u32 offset, void *to, __u32 bytes)
{
    return packet->bare_ip ? bpf_skb_load_bytes_relative(skb, offset, to, bytes, BPF_HDR_START_NET)
                           : bpf_skb_load_bytes(skb, offset, to, bytes);
}

/* Loads relative to the IP header do not read fragments. */
static __always_inline void pull_headers(struct __sk_buff *skb)
{
    __u8 both[60]; /* IPv6 and TCP */
    if (bpf_skb_load_bytes_relative(skb, 0, both, sizeof(both), BPF_HDR_START_NET) < 0)
        bpf_skb_pull_data(skb, skb->len < HEADERS ? skb->len : HEADERS);
}

static __always_inline void map_v4(__u8 to[16], const __u8 *from)
{
    __builtin_memset(to, 0, 10);
    to[10] = to[11] = 0xff;
    __builtin_memcpy(to + 12, from, 4);
}

static __always_inline void parse_transport(struct __sk_buff *skb, __u32 offset, __u32 bytes,
                                            struct mark_packet *packet)
{
    if (packet->protocol == IPPROTO_TCP) {
        __u8 tcp[20];
        if (load(skb, packet, offset, tcp, sizeof(tcp)) < 0)
            return;
        __u32 header = (__u32)(tcp[12] >> 4) * 4;
        __builtin_memcpy(&packet->key.local_port, tcp, 2);
        __builtin_memcpy(&packet->key.peer_port, tcp + 2, 2);
        __builtin_memcpy(&packet->sequence, tcp + 4, 4);
        packet->sequence = bpf_ntohl(packet->sequence);
        packet->flags = tcp[13];
        packet->options = header >= sizeof(tcp) + TIMESTAMP_BYTES ? offset + sizeof(tcp) : 0;
        packet->payload = bytes > header ? bytes - header : 0;
        packet->has_ports = true;
    } else if (packet->protocol == IPPROTO_UDP) {
        packet->payload = bytes > 8 ? bytes - 8 : 0;
    } else if (packet->protocol == IPPROTO_ICMPV6) {
        __u8 type = 0;
        if (load(skb, packet, offset, &type, 1) == 0)
            packet->neighbour = type >= ND_FIRST && type <= ND_LAST;
    }
}

static __always_inline void parse_v4(struct __sk_buff *skb, __u32 offset,
                                     struct mark_packet *packet)
{
    __u8 ip[20];
    if (load(skb, packet, offset, ip, sizeof(ip)) < 0)
        return;
    __u32 header = (__u32)(ip[0] & 15) * 4, total = (__u32)ip[2] << 8 | ip[3];
    packet->version = 4;
    packet->traffic_class = ip[1];
    packet->protocol = ip[9];
    map_v4(packet->key.local, ip + 12);
    map_v4(packet->key.peer, ip + 16);
    if (skb->len > offset && skb->len - offset > 0xffff)
        total = skb->len - offset; /* larger than its field: GRO or TSO */
    bool later_fragment = (ip[6] & 0x1f) | ip[7];
    if (!later_fragment && total > header)
        parse_transport(skb, offset + header, total - header, packet);
}

/* Skips to the header after the extensions; false: this packet has none, or one that we do not
 * parse. */
static __always_inline bool skip_extensions(struct __sk_buff *skb, const struct mark_packet *packet,
                                            __u32 *offset, __u32 *bytes, __u8 *protocol)
{
    for (int i = 0; i < EXTENSIONS; i++) {
        __u8 head[4]; /* next header, length; of a fragment also the offset */
        __u32 length = 8;
        if (*protocol != IPPROTO_HOPOPTS && *protocol != IPPROTO_ROUTING &&
            *protocol != IPPROTO_DSTOPTS && *protocol != IPPROTO_FRAGMENT)
            return true;
        if (load(skb, packet, *offset, head, sizeof(head)) < 0)
            return false;
        if (*protocol != IPPROTO_FRAGMENT)
            length += (__u32)head[1] * 8;
        else if (head[2] | (head[3] & 0xf8))
            return false;
        if (length > *bytes)
            return false;
        *protocol = head[0];
        *offset += length;
        *bytes -= length;
    }
    return true;
}

static __always_inline void parse_v6(struct __sk_buff *skb, __u32 offset,
                                     struct mark_packet *packet)
{
    __u8 ip[40];
    if (load(skb, packet, offset, ip, sizeof(ip)) < 0)
        return;
    __u32 bytes = (__u32)ip[4] << 8 | ip[5];
    packet->version = 6;
    packet->traffic_class = (__u8)(ip[0] << 4 | ip[1] >> 4);
    packet->protocol = ip[6];
    __builtin_memcpy(packet->key.local, ip + 8, 16);
    __builtin_memcpy(packet->key.peer, ip + 24, 16);
    if (bytes == 0 && skb->len > offset + 40)
        bytes = skb->len - offset - 40;
    offset += 40;
    if (skip_extensions(skb, packet, &offset, &bytes, &packet->protocol))
        parse_transport(skb, offset, bytes, packet);
}

static __always_inline bool is_tag(__be16 type)
{
    return type == bpf_htons(ETH_P_8021Q) || type == bpf_htons(ETH_P_8021AD);
}

/* `offset`: bytes of the frame before its network header or its first tag, or NO_HEADER. */
static __always_inline void parse(struct __sk_buff *skb, __u32 offset, struct mark_packet *packet)
{
    __be16 type = (__be16)skb->protocol;
    __builtin_memset(packet, 0, sizeof(*packet));
    if (offset == NO_HEADER) {
        packet->bare_ip = true;
        offset = 0;
        pull_headers(skb);
    }
    for (int tag = 0; tag < TAGS && is_tag(type); tag++, offset += TAG_BYTES)
        if (bpf_skb_load_bytes(skb, offset + 2, &type, sizeof(type)) < 0)
            return;
    packet->network = offset;
    if (type == bpf_htons(ETH_P_IP))
        parse_v4(skb, offset, packet);
    else if (type == bpf_htons(ETH_P_IPV6))
        parse_v6(skb, offset, packet);
    else
        packet->neighbour = type == bpf_htons(ETH_P_ARP);
}

/* A received packet's key as this end sees it. */
static __always_inline void turn_round(struct mark_flow_key *key)
{
    __u8 address[16];
    __u16 port = key->local_port;
    __builtin_memcpy(address, key->local, 16);
    __builtin_memcpy(key->local, key->peer, 16);
    __builtin_memcpy(key->peer, address, 16);
    key->local_port = key->peer_port;
    key->peer_port = port;
}

static __always_inline void write_v4(struct __sk_buff *skb, __u32 offset, __u8 traffic_class)
{
    __u16 old, new;
    __u8 bytes[2];
    if (bpf_skb_load_bytes(skb, offset, bytes, 2) < 0)
        return;
    __builtin_memcpy(&old, bytes, 2);
    bytes[1] = traffic_class;
    __builtin_memcpy(&new, bytes, 2);
    bpf_l3_csum_replace(skb, offset + 10, old, new, 2);
    bpf_skb_store_bytes(skb, offset, bytes, 2, 0);
}

static __always_inline void write_v6(struct __sk_buff *skb, __u32 offset, __u8 traffic_class)
{
    __u8 bytes[2];
    if (bpf_skb_load_bytes(skb, offset, bytes, 2) < 0)
        return;
    bytes[0] = (__u8)(0x60 | traffic_class >> 4);
    bytes[1] = (__u8)((traffic_class & 15) << 4 | (bytes[1] & 15));
    bpf_skb_store_bytes(skb, offset, bytes, 2, 0);
}

/* Whether a multipoint GRE has already written the outer header in front of the packet. */
static __always_inline bool is_in_front(struct __sk_buff *skb)
{
    __u64 here = 0, there = 1;
    return bpf_skb_load_bytes(skb, ADDRESSES_AT, &here, sizeof(here)) == 0 &&
           bpf_skb_load_bytes_relative(skb, ADDRESSES_AT, &there, sizeof(there),
                                       BPF_HDR_START_NET) == 0 &&
           here == there;
}

static __always_inline void write_dscp(struct __sk_buff *skb, const struct mark_packet *packet,
                                       __u8 dscp)
{
    __u8 traffic_class = (__u8)(dscp << 2 | (packet->traffic_class & 3));
    if (traffic_class == packet->traffic_class || (packet->bare_ip && !is_in_front(skb)))
        return;
    if (packet->version == 4)
        write_v4(skb, packet->network, traffic_class);
    else
        write_v6(skb, packet->network, traffic_class);
}

/* The key of a TCP socket's connection; false: it has none. */
static __always_inline bool key_of_socket(struct bpf_sock *sk, struct mark_flow_key *key)
{
    struct bpf_sock *full = bpf_sk_fullsock(sk);
    if (full ? full->protocol != IPPROTO_TCP : sk->state != BPF_TCP_NEW_SYN_RECV)
        return false;
    if (sk->family == AF_INET) {
        __u32 local = sk->src_ip4, peer = sk->dst_ip4;
        map_v4(key->local, (const __u8 *)&local);
        map_v4(key->peer, (const __u8 *)&peer);
    } else {
        __u32 local[4] = {sk->src_ip6[0], sk->src_ip6[1], sk->src_ip6[2], sk->src_ip6[3]};
        __u32 peer[4] = {sk->dst_ip6[0], sk->dst_ip6[1], sk->dst_ip6[2], sk->dst_ip6[3]};
        __builtin_memcpy(key->local, local, 16);
        __builtin_memcpy(key->peer, peer, 16);
    }
    key->local_port = bpf_htons((__u16)sk->src_port);
    key->peer_port = sk->dst_port;
    return true;
}

/* WireGuard: whether the packet is no longer than a TCP segment without payload can be, which has
 * 52 or 72 bytes with a timestamp, padded to 16. */
static __always_inline bool is_short(const struct mark_packet *packet, bool v6)
{
    return packet->protocol == IPPROTO_UDP && packet->payload <= SEALED + (v6 ? 80 : 64);
}

/* The sender's timestamp of a segment (RFC 7323), if it is the first option, where Linux puts
 * it. */
static __always_inline bool timestamp_of(struct __sk_buff *skb, const struct mark_packet *packet,
                                         __u32 *ret_tsval)
{
    __be32 option[TIMESTAMP_BYTES / 4];
    if (!packet->options || load(skb, packet, packet->options, option, sizeof(option)) < 0 ||
        option[0] != bpf_htonl(TIMESTAMP_HEAD))
        return false;
    *ret_tsval = bpf_ntohl(option[1]);
    return true;
}
