#include "dataplane/frame.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <netinet/in.h>
#include <string.h>

#define TAGS            2
#define TAG_BYTES       4
#define V4_BYTES        20
#define V6_BYTES        40
#define TCP_BYTES       20
#define UDP_BYTES       8
#define TIMESTAMP_BYTES 12 /* of the option, with the two NOPs before it (RFC 7323 appendix A) */
#define ND_FIRST        133
#define ND_LAST         137
#define ECN_CE          3

static const uint8_t timestamp_head[4] = {1, 1, 8, 10};

/* NULL: they are cut off. */
static const uint8_t *at(const struct frame_bytes *bytes, uint32_t offset, uint32_t n)
{
    return offset <= bytes->there && n <= bytes->there - offset ? bytes->bytes + offset : NULL;
}

static uint16_t word(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static void parse_tcp(const struct frame_bytes *bytes, uint32_t offset, uint32_t length,
                      struct frame *frame)
{
    const uint8_t *tcp = at(bytes, offset, TCP_BYTES);
    if (!tcp)
        return;
    const uint32_t header = (uint32_t)(tcp[12] >> 4) * 4;
    memcpy(&frame->key.local_port, tcp, 2);
    memcpy(&frame->key.peer_port, tcp + 2, 2);
    frame->flags = tcp[13];
    frame->options = header >= TCP_BYTES + TIMESTAMP_BYTES ? offset + TCP_BYTES : 0;
    frame->payload = length > header ? length - header : 0;
    frame->has_ports = true;
}

static void parse_transport(const struct frame_bytes *bytes, uint32_t offset, uint32_t length,
                            struct frame *frame)
{
    if (frame->protocol == IPPROTO_TCP) {
        parse_tcp(bytes, offset, length, frame);
    } else if (frame->protocol == IPPROTO_UDP) {
        frame->payload = length > UDP_BYTES ? length - UDP_BYTES : 0;
    } else if (frame->protocol == IPPROTO_ICMPV6) {
        const uint8_t *type = at(bytes, offset, 1);
        frame->neighbour = type && *type >= ND_FIRST && *type <= ND_LAST;
    }
}

/* As two words, which the hash reads without waiting for smaller stores. */
static void map_v4(uint8_t to[16], const uint8_t *from)
{
    union {
        uint32_t halves[2];
        uint64_t whole;
    } low = {{htonl(0x0000ffff)}};
    memcpy(&low.halves[1], from, sizeof(low.halves[1]));
    const uint64_t words[2] = {0, low.whole};
    memcpy(to, words, sizeof(words));
}

static void parse_v4(const struct frame_bytes *bytes, uint32_t offset, struct frame *frame)
{
    const uint8_t *ip = at(bytes, offset, V4_BYTES);
    if (!ip)
        return;
    const uint32_t header = (uint32_t)(ip[0] & 15) * 4;
    uint32_t total = word(ip + 2);
    frame->version = 4;
    frame->traffic_class = ip[1];
    frame->protocol = ip[9];
    map_v4(frame->key.local, ip + 12);
    map_v4(frame->key.peer, ip + 16);
    if (bytes->length - offset > UINT16_MAX)
        total = bytes->length - offset; /* larger than its field: not segmented yet */
    const bool later_fragment = (ip[6] & 0x1f) | ip[7];
    if (!later_fragment && total > header)
        parse_transport(bytes, offset + header, total - header, frame);
}

/* Goes on to the header behind the extensions; false: there is none in this frame, or none that is
 * looked at. */
static bool skip_extensions(const struct frame_bytes *bytes, uint32_t *offset, uint32_t *left,
                            uint8_t *protocol)
{
    for (int i = 0; i < FRAME_EXTENSIONS; i++) {
        const bool fragment = *protocol == IPPROTO_FRAGMENT;
        if (!fragment && *protocol != IPPROTO_HOPOPTS && *protocol != IPPROTO_ROUTING &&
            *protocol != IPPROTO_DSTOPTS)
            return true;
        const uint8_t *head =
            at(bytes, *offset, 4); /* next header, length; or a fragment's place */
        if (!head || (fragment && (head[2] | (head[3] & 0xf8))))
            return false;
        const uint32_t length = 8 + (fragment ? 0 : (uint32_t)head[1] * 8);
        if (length > *left)
            return false;
        *protocol = head[0];
        *offset += length;
        *left -= length;
    }
    return true;
}

static void parse_v6(const struct frame_bytes *bytes, uint32_t offset, struct frame *frame)
{
    const uint8_t *ip = at(bytes, offset, V6_BYTES);
    if (!ip)
        return;
    uint32_t left = word(ip + 4);
    frame->version = 6;
    frame->traffic_class = (uint8_t)(ip[0] << 4 | ip[1] >> 4);
    frame->protocol = ip[6];
    memcpy(frame->key.local, ip + 8, 16);
    memcpy(frame->key.peer, ip + 24, 16);
    offset += V6_BYTES;
    if (left == 0 && bytes->length > offset)
        left = bytes->length - offset;
    if (skip_extensions(bytes, &offset, &left, &frame->protocol))
        parse_transport(bytes, offset, left, frame);
}

void frame_parse(const struct frame_bytes *bytes, struct frame *ret_frame)
{
    uint32_t offset = ETH_HLEN;
    const uint8_t *type = at(bytes, offset - 2, 2);
    *ret_frame = (struct frame){.network = offset};
    for (int tag = 0; tag < TAGS && type; tag++) {
        if (word(type) != ETH_P_8021Q && word(type) != ETH_P_8021AD)
            break;
        offset += TAG_BYTES;
        type = at(bytes, offset - 2, 2);
    }
    if (!type)
        return;
    ret_frame->network = offset;
    if (word(type) == ETH_P_IP)
        parse_v4(bytes, offset, ret_frame);
    else if (word(type) == ETH_P_IPV6)
        parse_v6(bytes, offset, ret_frame);
    else
        ret_frame->neighbour = word(type) == ETH_P_ARP;
}

/* RFC 1624, eqn. 3. */
static void write_v4(uint8_t *ip, uint8_t traffic_class)
{
    const uint8_t wanted[2] = {ip[0], traffic_class};
    uint16_t old, new, sum;
    memcpy(&old, ip, 2);
    memcpy(&new, wanted, 2);
    memcpy(ip, &new, 2);
    memcpy(&sum, ip + 10, 2);
    uint32_t more = (uint32_t)(uint16_t)~sum + (uint16_t)~old + new;
    more = (more & 0xffff) + (more >> 16);
    more += more >> 16;
    sum = (uint16_t)~more;
    memcpy(ip + 10, &sum, 2);
}

static void write_v6(uint8_t *ip, uint8_t traffic_class)
{
    ip[0] = (uint8_t)(0x60 | traffic_class >> 4);
    ip[1] = (uint8_t)((traffic_class & 15) << 4 | (ip[1] & 15));
}

static void write_class(const struct frame_bytes *bytes, struct frame *frame, uint8_t traffic_class)
{
    if (traffic_class == frame->traffic_class)
        return;
    uint8_t *ip = bytes->bytes + frame->network;
    frame->traffic_class = traffic_class;
    if (frame->version == 4)
        write_v4(ip, traffic_class);
    else
        write_v6(ip, traffic_class);
}

void frame_write_dscp(const struct frame_bytes *bytes, struct frame *frame, uint8_t dscp)
{
    write_class(bytes, frame, (uint8_t)(dscp << 2 | (frame->traffic_class & 3)));
}

bool frame_write_ce(const struct frame_bytes *bytes, struct frame *frame)
{
    if (!frame->version || !(frame->traffic_class & 3))
        return false;
    write_class(bytes, frame, frame->traffic_class | ECN_CE);
    return true;
}

bool frame_timestamp(const struct frame_bytes *bytes, const struct frame *frame,
                     uint32_t *ret_tsval)
{
    const uint8_t *option = frame->options ? at(bytes, frame->options, TIMESTAMP_BYTES) : NULL;
    if (!option || memcmp(option, timestamp_head, sizeof(timestamp_head)) != 0)
        return false;
    memcpy(ret_tsval, option + 4, 4);
    *ret_tsval = ntohl(*ret_tsval);
    return true;
}
