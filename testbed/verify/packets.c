#include "testbed/verify/packets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    ETHERNET_SIZE = 14,
    TYPE_IPV4 = 0x0800,
    TYPE_IPV6 = 0x86dd,
    PROTOCOL_TCP = 6,
    IPV6_SIZE = 40,
    TCP_SIZE = 20,
    OPTION_END = 0,
    OPTION_PADDING = 1,
    OPTION_STAMPS = 8,
    STAMPS_SIZE = 10
};
#define STAMP_NS INT64_C(1000000)

static uint16_t get16(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

static uint32_t get32(const uint8_t *at)
{
    return (uint32_t)get16(at) << 16 | get16(at + 2);
}

static int compare_keys(const struct packet_flow *a, const struct packet_flow *b)
{
    return memcmp(&a->key, &b->key, sizeof(a->key));
}
RB_GENERATE_INTERNAL(packet_flows, packet_flow, entry, compare_keys, __attribute__((unused)) static)

static void map_ipv4(const uint8_t *bytes, struct in6_addr *ret_address)
{
    static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};
    memcpy(ret_address->s6_addr, prefix, sizeof(prefix));
    memcpy(ret_address->s6_addr + sizeof(prefix), bytes, 4);
}

bool packet_address(const char *text, struct in6_addr *ret_address)
{
    uint8_t bytes[4];
    if (inet_pton(AF_INET, text, bytes) == 1) {
        map_ipv4(bytes, ret_address);
        return true;
    }
    return inet_pton(AF_INET6, text, ret_address) == 1;
}

static void decode_options(const uint8_t *at, size_t size, struct packet_frame *frame)
{
    while (size >= 2 && *at != OPTION_END) {
        size_t length = *at == OPTION_PADDING ? 1 : at[1];
        if (length == 0 || length > size)
            return;
        if (*at == OPTION_STAMPS && length == STAMPS_SIZE) {
            frame->stamped = true;
            frame->stamp = get32(at + 2);
        }
        at += length;
        size -= length;
    }
}

/* `size` bytes of IP payload follow at `tcp`, of which `captured` are there. */
static bool decode_tcp(const uint8_t *tcp, size_t captured, size_t size, struct packet_frame *frame)
{
    if (captured < TCP_SIZE)
        return false;
    size_t header = (size_t)(tcp[12] >> 4) * 4;
    if (header < TCP_SIZE || header > size)
        return false;
    frame->key.from.port = get16(tcp);
    frame->key.to.port = get16(tcp + 2);
    frame->flags = tcp[13];
    frame->sequence = get32(tcp + 4);
    frame->payload_bytes = (uint32_t)(size - header);
    decode_options(tcp + TCP_SIZE, (captured < header ? captured : header) - TCP_SIZE, frame);
    return true;
}

static bool decode_ipv4(const uint8_t *ip, size_t captured, struct packet_frame *frame)
{
    if (captured < 20)
        return false;
    size_t header = (size_t)(ip[0] & 15) * 4, size = get16(ip + 2);
    bool later_fragment = (get16(ip + 6) & 0x1fff) != 0;
    if (header < 20 || header > size || captured < header || later_fragment ||
        ip[9] != PROTOCOL_TCP)
        return false;
    frame->dscp = ip[1] >> 2;
    frame->ecn = ip[1] & 3;
    frame->id = get16(ip + 4);
    map_ipv4(ip + 12, &frame->key.from.address);
    map_ipv4(ip + 16, &frame->key.to.address);
    return decode_tcp(ip + header, captured - header, size - header, frame);
}

static bool decode_ipv6(const uint8_t *ip, size_t captured, struct packet_frame *frame)
{
    if (captured < IPV6_SIZE || ip[6] != PROTOCOL_TCP)
        return false;
    frame->ecn = ip[1] >> 4 & 3;
    frame->dscp = (uint8_t)((ip[0] << 4 | ip[1] >> 4) & 0xff) >> 2;
    memcpy(&frame->key.from.address, ip + 8, 16);
    memcpy(&frame->key.to.address, ip + 24, 16);
    return decode_tcp(ip + IPV6_SIZE, captured - IPV6_SIZE, get16(ip + 4), frame);
}

bool packet_decode(const uint8_t *frame, size_t captured, struct packet_frame *ret_frame)
{
    struct packet_frame found;
    memset(&found, 0, sizeof(found)); /* keys are compared with memcmp */
    if (captured < ETHERNET_SIZE)
        return false;
    uint16_t type = get16(frame + 12);
    const uint8_t *ip = frame + ETHERNET_SIZE;
    captured -= ETHERNET_SIZE;
    bool good = type == TYPE_IPV4   ? decode_ipv4(ip, captured, &found)
                : type == TYPE_IPV6 ? decode_ipv6(ip, captured, &found)
                                    : false;
    if (good)
        *ret_frame = found;
    return good;
}

void packets_init(struct packets *packets)
{
    *packets = (struct packets){0};
    RB_INIT(&packets->by_key);
}

/* Room for one more entry of `size` bytes in a table that doubles up to `max` entries. */
static int make_room(void **table, size_t n, size_t *allocated, size_t max, size_t size)
{
    if (n < *allocated)
        return 0;
    if (n >= max)
        return -ENOSPC;
    size_t more = *allocated ? *allocated * 2 : 4096;
    void *grown = reallocarray(*table, more, size);
    if (!grown)
        return -ENOMEM;
    *table = grown;
    *allocated = more;
    return 0;
}

static struct packet_flow *find_flow(struct packets *packets, const struct packet_key *key)
{
    struct packet_flow wanted;
    memcpy(&wanted.key, key, sizeof(*key));
    struct packet_flow *flow = RB_FIND(packet_flows, &packets->by_key, &wanted);
    size_t allocated = packets->flows_allocated;
    if (flow)
        return flow;
    if (make_room((void **)&packets->flows, packets->n_flows, &allocated, PACKETS_FLOWS_MAX,
                  sizeof(*packets->flows)) < 0)
        return NULL;
    packets->flows_allocated = (uint32_t)allocated;
    flow = calloc(1, sizeof(*flow));
    if (!flow)
        return NULL;
    memcpy(&flow->key, key, sizeof(*key));
    flow->index = packets->n_flows;
    packets->flows[packets->n_flows++] = flow;
    RB_INSERT(packet_flows, &packets->by_key, flow);
    return flow;
}

int packets_flow(struct packets *packets, const struct packet_key *key, uint32_t *ret_flow)
{
    const struct packet_flow *flow = find_flow(packets, key);
    if (!flow)
        return packets->n_flows < PACKETS_FLOWS_MAX ? -ENOMEM : -ENOSPC;
    *ret_flow = flow->index;
    return 0;
}

/* Stamps wrap after 49 days: what counts is how far one is from the flow's first. */
static int64_t since_stamp(const struct packet_flow *flow, int64_t time_ns, uint32_t stamp)
{
    return time_ns - (int32_t)(stamp - flow->first_stamp) * STAMP_NS;
}

static void note_stamp(struct packet_flow *flow, int64_t time_ns, uint32_t stamp)
{
    if (!flow->stamped) {
        flow->stamped = true;
        flow->first_stamp = stamp;
        flow->fastest_ns = time_ns;
    }
    const int64_t since_ns = since_stamp(flow, time_ns, stamp);
    if (since_ns < flow->fastest_ns)
        flow->fastest_ns = since_ns;
}

int64_t packet_waited(const struct packets *packets, const struct packet *packet)
{
    const struct packet_flow *flow = packets->flows[packet->flow];
    return packet->stamped ? since_stamp(flow, packet->time_ns, packet->stamp) - flow->fastest_ns
                           : 0;
}

void packets_add(struct packets *packets, int64_t time_ns, const struct packet_frame *frame)
{
    struct packet_flow *flow = frame->payload_bytes ? find_flow(packets, &frame->key) : NULL;
    if (frame->payload_bytes == 0)
        return;
    if (!flow || make_room((void **)&packets->at, packets->n, &packets->allocated, PACKETS_MAX,
                           sizeof(*packets->at)) < 0) {
        packets->lost++;
        return;
    }
    uint16_t payload =
        (uint16_t)(frame->payload_bytes < UINT16_MAX ? frame->payload_bytes : UINT16_MAX);
    if (frame->stamped)
        note_stamp(flow, time_ns, frame->stamp);
    packets->at[packets->n++] = (struct packet){
        .time_ns = time_ns,
        .flow = flow->index,
        .stamp = frame->stamp,
        .payload_bytes = payload,
        .dscp = frame->dscp,
        .flags = frame->flags,
        .stamped = frame->stamped,
    };
}

void packets_done(struct packets *packets)
{
    if (!packets)
        return;
    for (uint32_t i = 0; i < packets->n_flows; i++)
        free(packets->flows[i]);
    free(packets->flows);
    free(packets->at);
    packets_init(packets);
}
