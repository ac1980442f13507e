/* Frames for tests of whoever reads them: built from a description, right or wrong as wished. */
#pragma once

#include <linux/if_ether.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FRAME_BYTES  1024
#define SHAPE_EXTRAS 8

struct shape {
    uint16_t type;                /* of Ethernet: ETH_P_IP, ETH_P_IPV6, or what has no payload */
    uint32_t tags;                /* of VLANs */
    uint32_t words;               /* IPv4: of options; counted in the header's length as given */
    int header_words;             /* added to IPv4's header length without bytes for them */
    uint8_t extras[SHAPE_EXTRAS]; /* IPv6: extension headers, each by its number */
    uint32_t extras_n;
    int extra_length;  /* added to the last one's length field */
    uint16_t fragment; /* the field as IPv4 has it, of IPv6 that of its fragment header */
    uint8_t protocol;
    uint8_t traffic_class;
    uint8_t flags; /* TCP */
    bool timestamps;
    uint32_t tsval;
    uint32_t payload;
    int length;       /* added to the length field of IP */
    uint16_t sum;     /* added to the checksum of IPv4 */
    uint8_t from, to; /* 10.0.0.X, fd00::X; from 200 on 192.0.2.X, 2001:db8::X */
    uint16_t from_port, to_port;
};

static inline void shape_put16(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static inline void shape_address4(uint8_t *at, uint8_t host)
{
    memcpy(at, host < 200 ? "\x0a\0\0" : "\xc0\0\x02", 3);
    at[3] = host;
}

static inline void shape_address6(uint8_t *at, uint8_t host)
{
    memcpy(at, host < 200 ? "\xfd\0\0\0" : "\x20\x01\x0d\xb8", 4);
    at[15] = host;
}

/* Of `words` 16-bit words; what is to be put where it stands. */
static inline uint16_t shape_sum(const uint8_t *at, size_t words)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < words; i++)
        sum += (uint32_t)at[2 * i] << 8 | at[2 * i + 1];
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

static inline uint8_t *shape_transport(const struct shape *shape, uint8_t *at)
{
    if (shape->protocol == IPPROTO_TCP) {
        shape_put16(at, shape->from_port);
        shape_put16(at + 2, shape->to_port);
        at[12] = shape->timestamps ? 0x80 : 0x50;
        at[13] = shape->flags;
        if (shape->timestamps) {
            memcpy(at + 20, "\x01\x01\x08\x0a", 4);
            shape_put16(at + 24, shape->tsval >> 16);
            shape_put16(at + 26, shape->tsval & 0xffff);
            at += 12;
        }
        at += 20;
    } else if (shape->protocol == IPPROTO_UDP) {
        shape_put16(at, shape->from_port);
        shape_put16(at + 2, shape->to_port);
        shape_put16(at + 4, 8 + shape->payload);
        at += 8;
    } else if (shape->protocol == IPPROTO_ICMPV6) {
        at[0] = shape->flags; /* its type */
        at += 8;
    }
    return at + shape->payload;
}

static inline uint8_t *shape_v4(const struct shape *shape, uint8_t *ip)
{
    uint8_t *end = shape_transport(shape, ip + 20 + 4 * (size_t)shape->words);
    ip[0] = (uint8_t)(0x40 | ((5 + (int)shape->words + shape->header_words) & 15));
    ip[1] = shape->traffic_class;
    shape_put16(ip + 2, (uint32_t)(end - ip + shape->length));
    shape_put16(ip + 6, shape->fragment);
    ip[8] = 64;
    ip[9] = shape->protocol;
    shape_address4(ip + 12, shape->from);
    shape_address4(ip + 16, shape->to);
    shape_put16(ip + 10, shape_sum(ip, 10 + 2 * (size_t)shape->words) + (uint32_t)shape->sum);
    return end;
}

static inline uint8_t *shape_v6(const struct shape *shape, uint8_t *ip)
{
    uint8_t *at = ip + 40, *next = ip + 6;
    for (uint32_t i = 0; i < shape->extras_n; i++, at += 8) {
        *next = shape->extras[i];
        next = at;
        if (shape->extras[i] == IPPROTO_FRAGMENT)
            shape_put16(at + 2, shape->fragment);
        else if (i + 1 == shape->extras_n)
            at[1] = (uint8_t)shape->extra_length;
    }
    *next = shape->protocol;
    uint8_t *end = shape_transport(shape, at);
    ip[0] = (uint8_t)(0x60 | shape->traffic_class >> 4);
    ip[1] = (uint8_t)(shape->traffic_class << 4 | 0xb);
    shape_put16(ip + 2, 0xeef0);
    shape_put16(ip + 4, (uint32_t)(end - ip - 40 + shape->length));
    ip[7] = 64;
    shape_address6(ip + 8, shape->from);
    shape_address6(ip + 24, shape->to);
    return end;
}

/* Returns the frame's length. */
static inline uint32_t shape_build(const struct shape *shape, uint8_t frame[FRAME_BYTES])
{
    uint8_t *at = frame + 12;
    memset(frame, 0, FRAME_BYTES);
    memset(frame, 2, 12);
    for (uint32_t tag = 0; tag < shape->tags; tag++, at += 4)
        memcpy(at, tag + 1 < shape->tags ? "\x88\xa8\0\x05" : "\x81\0\0\x07", 4);
    shape_put16(at, shape->type);
    at += 2;
    if (shape->type == ETH_P_IP)
        at = shape_v4(shape, at);
    else if (shape->type == ETH_P_IPV6)
        at = shape_v6(shape, at);
    else
        at += 46;
    return (uint32_t)(at - frame);
}
