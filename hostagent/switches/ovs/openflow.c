#include "hostagent/switches/ovs/openflow.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NORMAL          0xfffffffau
#define ANY             0xffffffffu
#define EXPERIMENTER    0xffff
#define NICIRA          0x2320u
#define VERSION_LAST    6 /* 1.5 */
#define RESUBMIT_TABLE  14
#define REMOVED_REASONS 0xf

/* OXM (§7.2.3): class, field and length of the fields that we write. */
#define OXM(field, bytes) (0x80000000u | (uint32_t)(field) << 9 | (bytes))
#define OXM_ETH_TYPE      OXM(5, 2)
#define OXM_IP_DSCP       OXM(8, 1)
#define OXM_IP_PROTO      OXM(10, 1)
#define OXM_TCP_SRC       OXM(13, 2)
#define OXM_TCP_DST       OXM(14, 2)
#define OXM_ICMP6_TYPE    OXM(29, 1)

enum { INSTRUCTION_GOTO = 1, INSTRUCTION_APPLY = 4 };
enum { ACTION_OUTPUT = 0, ACTION_SET_QUEUE = 21 };

static uint8_t *put8(uint8_t *p, uint8_t value)
{
    *p = value;
    return p + 1;
}

static uint8_t *put16(uint8_t *p, uint16_t value)
{
    value = htobe16(value);
    memcpy(p, &value, sizeof(value));
    return p + sizeof(value);
}

static uint8_t *put32(uint8_t *p, uint32_t value)
{
    value = htobe32(value);
    memcpy(p, &value, sizeof(value));
    return p + sizeof(value);
}

static uint8_t *put64(uint8_t *p, uint64_t value)
{
    value = htobe64(value);
    memcpy(p, &value, sizeof(value));
    return p + sizeof(value);
}

static uint8_t *put_zeros(uint8_t *p, size_t n)
{
    memset(p, 0, n);
    return p + n;
}

static uint8_t *begin(uint8_t *buffer, enum of_type type, uint32_t xid)
{
    uint8_t *p = put8(buffer, OF_VERSION);
    p = put8(p, (uint8_t)type);
    return put32(put16(p, OF_HEADER), xid);
}

static size_t end(uint8_t *buffer, const uint8_t *p)
{
    put16(buffer + 2, (uint16_t)(p - buffer));
    return (size_t)(p - buffer);
}

size_t of_put_header(uint8_t *buffer, enum of_type type, uint32_t xid)
{
    return end(buffer, begin(buffer, type, xid));
}

/* §7.5.1: a bitmap of versions, so that a newer switch steps down. */
size_t of_put_hello(uint8_t *buffer)
{
    uint8_t *p = begin(buffer, OF_HELLO, 0);
    p = put16(put16(p, 1), 8);
    return end(buffer, put32(p, 1u << OF_VERSION));
}

/* Open vSwitch reports nothing on its own socket before a connection has set a length for packets.
 */
size_t of_put_wishes(uint8_t *buffer)
{
    uint8_t *p = begin(buffer, OF_SET_ASYNC, 0);
    p = put_zeros(p, 16);
    p = put32(put32(p, REMOVED_REASONS), REMOVED_REASONS);
    size_t n = end(buffer, p);
    p = begin(buffer + n, OF_SET_CONFIG, 0);
    return n + end(buffer + n, put16(put16(p, 0), 128));
}

static uint8_t *put_oxm(uint8_t *p, uint32_t field, uint32_t value)
{
    p = put32(p, field);
    return (field & 0xff) == 1 ? put8(p, (uint8_t)value) : put16(p, (uint16_t)value);
}

static uint8_t *put_match(uint8_t *p, const struct of_match *match)
{
    uint8_t *head = p;
    p += 4;
    if (match->eth_type)
        p = put_oxm(p, OXM_ETH_TYPE, match->eth_type);
    if (match->has_dscp)
        p = put_oxm(p, OXM_IP_DSCP, match->dscp);
    if (match->proto)
        p = put_oxm(p, OXM_IP_PROTO, match->proto);
    if (match->tcp_src)
        p = put_oxm(p, OXM_TCP_SRC, match->tcp_src);
    if (match->tcp_dst)
        p = put_oxm(p, OXM_TCP_DST, match->tcp_dst);
    if (match->icmp6_type)
        p = put_oxm(p, OXM_ICMP6_TYPE, match->icmp6_type);
    size_t n = (size_t)(p - head);
    put16(put16(head, 1), (uint16_t)n);
    return put_zeros(p, (8 - n % 8) % 8);
}

static uint8_t *put_instructions(uint8_t *p, const struct of_flow *flow)
{
    uint8_t *head = p;
    p = put32(put16(p, INSTRUCTION_APPLY) + 2, 0);
    if (flow->queue != OF_NO_QUEUE)
        p = put32(put16(put16(p, ACTION_SET_QUEUE), 8), (uint32_t)flow->queue);
    if (flow->then == OF_NORMAL)
        p = put_zeros(put32(put16(put16(p, ACTION_OUTPUT), 16), NORMAL), 8);
    put16(head + 2, (uint16_t)(p - head));
    if (flow->then == OF_GOTO)
        p = put_zeros(put8(put16(put16(p, INSTRUCTION_GOTO), 8), flow->next), 3);
    return p;
}

size_t of_put_flow(uint8_t *buffer, uint32_t xid, enum of_command command,
                   const struct of_flow *flow)
{
    static const struct of_match everything;
    bool all = command == OF_DELETE;
    uint8_t *p = begin(buffer, OF_FLOW_MOD, xid);
    p = put64(put64(p, flow->cookie), command == OF_ADD ? 0 : UINT64_MAX);
    p = put8(put8(p, all ? OF_ANY_TABLE : flow->table), (uint8_t)command);
    p = put16(put_zeros(p, 4), flow->priority);
    p = put32(put32(put32(p, ANY), ANY), ANY);
    p = put16(put16(p, flow->flags), 0);
    p = put_match(p, all ? &everything : &flow->match);
    return end(buffer, command == OF_ADD ? put_instructions(p, flow) : p);
}

static uint8_t *begin_part(uint8_t *buffer, uint32_t xid, enum of_multipart kind)
{
    return put_zeros(put16(begin(buffer, OF_MULTIPART, xid), (uint16_t)kind), 6);
}

size_t of_put_ask_flows(uint8_t *buffer, uint32_t xid, uint8_t table)
{
    static const struct of_match everything;
    uint8_t *p = begin_part(buffer, xid, OF_MULTIPART_FLOW);
    p = put_zeros(put8(p, table), 3);
    p = put_zeros(put32(put32(p, ANY), ANY), 4 + 16);
    return end(buffer, put_match(p, &everything));
}

size_t of_put_ask_queues(uint8_t *buffer, uint32_t xid)
{
    return end(buffer, put32(put32(begin_part(buffer, xid, OF_MULTIPART_QUEUE), ANY), ANY));
}

static uint16_t get16(const uint8_t *p)
{
    uint16_t value;
    memcpy(&value, p, sizeof(value));
    return be16toh(value);
}

static uint32_t get32(const uint8_t *p)
{
    uint32_t value;
    memcpy(&value, p, sizeof(value));
    return be32toh(value);
}

static uint64_t get64(const uint8_t *p)
{
    uint64_t value;
    memcpy(&value, p, sizeof(value));
    return be64toh(value);
}

int of_get_header(const uint8_t *bytes, struct of_header *ret_header)
{
    struct of_header header = {
        .version = bytes[0], .type = bytes[1], .length = get16(bytes + 2), .xid = get32(bytes + 4)};
    if (header.length < OF_HEADER || header.version == 0 || header.version > VERSION_LAST)
        return -EBADMSG;
    *ret_header = header;
    return 0;
}

uint32_t of_hello_versions(const uint8_t *message, size_t length)
{
    for (size_t at = OF_HEADER; at + 8 <= length;) {
        uint16_t type = get16(message + at), n = get16(message + at + 2);
        if (type == 1 && n >= 8 && at + n <= length)
            return get32(message + at + 4);
        if (n < 4)
            break;
        at += (n + 7u) & ~7u;
    }
    return (2u << message[0]) - 2;
}

const char *of_versions_words(uint32_t versions, char words[OF_VERSIONS_WORDS])
{
    size_t used = 0;
    words[0] = 0;
    versions &= (2u << VERSION_LAST) - 2;
    for (unsigned version = 1; version <= VERSION_LAST; version++) {
        bool last = versions >> version == 1;
        if (versions >> version & 1)
            used += (size_t)snprintf(words + used, OF_VERSIONS_WORDS - used, "%s1.%u",
                                     !used  ? ""
                                     : last ? " and "
                                            : ", ",
                                     version - 1);
    }
    return used ? words : "of no version that there is";
}

int of_get_part(const uint8_t *message, size_t length, uint16_t *ret_kind, bool *ret_more)
{
    if (length < OF_PART_BEGIN)
        return -EBADMSG;
    *ret_kind = get16(message + 8);
    *ret_more = get16(message + 10) & 1;
    return 0;
}

/* `p` has the bytes that `field` says. */
static void take_oxm(struct of_match *match, uint32_t field, const uint8_t *p)
{
    if (field == OXM_ETH_TYPE)
        match->eth_type = get16(p);
    else if (field == OXM_IP_DSCP) {
        match->has_dscp = true;
        match->dscp = *p;
    } else if (field == OXM_IP_PROTO)
        match->proto = *p;
    else if (field == OXM_TCP_SRC)
        match->tcp_src = get16(p);
    else if (field == OXM_TCP_DST)
        match->tcp_dst = get16(p);
    else if (field == OXM_ICMP6_TYPE)
        match->icmp6_type = *p;
    else
        match->other = true;
}

/* The bytes of the match with its padding, −EBADMSG. */
static int take_match(const uint8_t *p, size_t n, struct of_match *ret_match)
{
    struct of_match match = {0};
    size_t length = n >= 4 ? get16(p + 2) : 0, padded = (length + 7) & ~(size_t)7;
    if (length < 4 || padded > n || get16(p) != 1)
        return -EBADMSG;
    for (size_t at = 4; at < length;) {
        if (length - at < 4 || length - at - 4 < p[at + 3])
            return -EBADMSG;
        take_oxm(&match, get32(p + at), p + at + 4);
        at += 4u + p[at + 3];
    }
    *ret_match = match;
    return (int)padded;
}

static void note_jump(struct of_flow *flow, uint8_t table)
{
    flow->jumps[table / 8] = (uint8_t)(flow->jumps[table / 8] | 1u << table % 8);
}

/* In order; anything after an unknown action makes the flow not ours. */
static void take_action(struct of_flow *flow, uint16_t type, const uint8_t *p, size_t n)
{
    if (type == EXPERIMENTER && n >= 13 && get32(p + 4) == NICIRA && get16(p + 8) == RESUBMIT_TABLE)
        note_jump(flow, p[12]);
    if (type == ACTION_SET_QUEUE && n == 8 && flow->queue == OF_NO_QUEUE &&
        flow->then == OF_NOTHING && get32(p + 4) <= INT32_MAX)
        flow->queue = (int32_t)get32(p + 4);
    else if (type == ACTION_OUTPUT && n == 16 && get32(p + 4) == NORMAL && flow->then == OF_NOTHING)
        flow->then = OF_NORMAL;
    else
        flow->then = OF_OTHER;
}

static int take_actions(struct of_flow *flow, const uint8_t *p, size_t n)
{
    while (n) {
        size_t length = n >= 8 ? get16(p + 2) : 0;
        if (length < 8 || length > n)
            return -EBADMSG;
        take_action(flow, get16(p), p, length);
        p += length;
        n -= length;
    }
    return 0;
}

static int take_instruction(struct of_flow *flow, const uint8_t *p, size_t n)
{
    uint16_t type = get16(p);
    if (type == INSTRUCTION_APPLY)
        return take_actions(flow, p + 8, n - 8);
    if (type == INSTRUCTION_GOTO) {
        note_jump(flow, p[4]);
        flow->next = p[4];
        flow->then = flow->then == OF_NOTHING ? OF_GOTO : OF_OTHER;
        return 0;
    }
    flow->then = OF_OTHER;
    return 0;
}

static int take_instructions(struct of_flow *flow, const uint8_t *p, size_t n)
{
    while (n) {
        size_t length = n >= 8 ? get16(p + 2) : 0;
        if (length < 8 || length > n || take_instruction(flow, p, length) < 0)
            return -EBADMSG;
        p += length;
        n -= length;
    }
    return 0;
}

int of_next_flow(const uint8_t *message, size_t length, size_t *offset, struct of_flow *ret_flow)
{
    const uint8_t *p = message + *offset;
    size_t left = length - *offset;
    if (left == 0)
        return 0;
    size_t n = left >= 48 ? get16(p) : 0;
    if (n < 48 || n > left)
        return -EBADMSG;
    struct of_flow flow = {.table = p[2],
                           .priority = get16(p + 12),
                           .flags = get16(p + 18),
                           .cookie = get64(p + 24),
                           .queue = OF_NO_QUEUE};
    int match = take_match(p + 48, n - 48, &flow.match);
    if (match < 0 || take_instructions(&flow, p + 48 + match, n - 48 - (size_t)match) < 0)
        return -EBADMSG;
    *offset += n;
    *ret_flow = flow;
    return 1;
}

int of_next_queue(const uint8_t *message, size_t length, size_t *offset,
                  struct of_queue_stats *ret_stats)
{
    const uint8_t *p = message + *offset;
    if (length == *offset)
        return 0;
    if (length - *offset < 40)
        return -EBADMSG;
    *offset += 40;
    *ret_stats = (struct of_queue_stats){
        .port = get32(p), .queue = get32(p + 4), .bytes = get64(p + 8), .packets = get64(p + 16)};
    return 1;
}

int of_get_error(const uint8_t *message, size_t length, uint16_t *ret_type, uint16_t *ret_code)
{
    if (length < OF_HEADER + 4)
        return -EBADMSG;
    *ret_type = get16(message + 8);
    *ret_code = get16(message + 10);
    return 0;
}

bool of_same_match(const struct of_match *a, const struct of_match *b)
{
    return a->eth_type == b->eth_type && a->has_dscp == b->has_dscp && a->dscp == b->dscp &&
           a->proto == b->proto && a->tcp_src == b->tcp_src && a->tcp_dst == b->tcp_dst &&
           a->icmp6_type == b->icmp6_type && !a->other && !b->other;
}

bool of_matches_all(const struct of_match *match)
{
    static const struct of_match everything;
    return of_same_match(match, &everything);
}

void of_say_match(const struct of_match *match, char *text, size_t size)
{
    const char *family = match->eth_type == 0x0806   ? "arp"
                         : match->eth_type == 0x86dd ? "ipv6"
                         : match->eth_type == 0x0800 ? "ip"
                                                     : "all";
    int n = snprintf(text, size, "%s", family);
    if (match->has_dscp && n >= 0 && (size_t)n < size)
        n += snprintf(text + n, size - (size_t)n, " dscp %u", match->dscp);
    if (match->tcp_src && n >= 0 && (size_t)n < size)
        n += snprintf(text + n, size - (size_t)n, " from port %u", match->tcp_src);
    if (match->tcp_dst && n >= 0 && (size_t)n < size)
        n += snprintf(text + n, size - (size_t)n, " to port %u", match->tcp_dst);
    if (match->icmp6_type && n >= 0 && (size_t)n < size)
        snprintf(text + n, size - (size_t)n, " icmp type %u", match->icmp6_type);
}
