/* Fuzz target of the marking programs, compiled for this processor: their helpers are functions on
 * a packet in memory. Whatever a packet is, only the six DSCP bits of an IP header and what depends
 * on them (the checksum of IPv4) may change, and only of members flows are kept.
 *
 * An input is: a byte of what the world is like, the length of a packet that goes out, that packet,
 * and one that comes in. */
#define __BPF_HELPERS__ /* libbpf's declarations of the helpers */

#include "hostagent/marks/mark_abi.h"

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SEC(name)
#define __uint(name, value) int(*name)[value]
#define __type(name, value) typeof(value) *name
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#define barrier_var(var) __asm__ volatile("" : "+r"(var))

enum { PACKET_MAX = 2048, FLOWS = 4 };

static struct {
    uint8_t bytes[PACKET_MAX];
    uint32_t network; /* where the kernel says that its network header begins */
    struct __sk_buff skb;
    struct bpf_sock sock;
    bool lookup_finds;
    uint64_t word, received, expiry, mode, counters[64];
    struct mark_probe probe;
    uint64_t now;
} world;

static void *bpf_map_lookup_elem(void *map, const void *key);
static long bpf_map_update_elem(void *map, const void *key, const void *value, uint64_t flags);
static long bpf_map_delete_elem(void *map, const void *key);

static long bpf_skb_load_bytes(const void *skb, uint32_t offset, void *to, uint32_t length)
{
    uint32_t have = ((const struct __sk_buff *)skb)->len;
    if (offset > have || length > have - offset) {
        memset(to, 0, length);
        return -1;
    }
    memcpy(to, world.bytes + offset, length);
    return 0;
}

static long bpf_skb_load_bytes_relative(const void *skb, uint32_t offset, void *to, uint32_t length,
                                        uint32_t start)
{
    if (start != BPF_HDR_START_NET || offset > UINT32_MAX - world.network)
        abort();
    return bpf_skb_load_bytes(skb, world.network + offset, to, length);
}

static long bpf_skb_pull_data(struct __sk_buff *skb, uint32_t length)
{
    return length <= skb->len ? 0 : -1;
}

static long bpf_skb_store_bytes(struct __sk_buff *skb, uint32_t offset, const void *from,
                                uint32_t length, uint64_t flags)
{
    (void)flags;
    if (offset > skb->len || length > skb->len - offset)
        return -1;
    memcpy(world.bytes + offset, from, length);
    return 0;
}

static uint16_t word_at(uint32_t offset)
{
    uint16_t word;
    memcpy(&word, world.bytes + offset, 2);
    return word;
}

/* RFC 1624, eqn. 3. */
static long bpf_l3_csum_replace(struct __sk_buff *skb, uint32_t offset, uint64_t from, uint64_t to,
                                uint64_t size)
{
    if (size != 2 || offset + 2 > skb->len)
        return -1;
    uint32_t sum = (uint16_t)~word_at(offset) + (uint32_t)(uint16_t)~from + (uint32_t)to;
    sum = (sum & 0xffff) + (sum >> 16);
    uint16_t new = (uint16_t) ~((sum & 0xffff) + (sum >> 16));
    memcpy(world.bytes + offset, &new, 2);
    return 0;
}

static uint64_t bpf_ktime_get_boot_ns(void)
{
    return world.now;
}

static uint64_t bpf_skb_cgroup_id(struct __sk_buff *skb)
{
    (void)skb;
    return 7;
}

static struct bpf_sock *bpf_skc_lookup_tcp(void *skb, struct bpf_sock_tuple *tuple, uint32_t size,
                                           uint64_t namespace, uint64_t flags)
{
    (void)skb, (void)tuple, (void)size, (void)namespace, (void)flags;
    return world.lookup_finds ? &world.sock : NULL;
}

static long bpf_sk_release(void *sock)
{
    (void)sock;
    return 0;
}

static struct bpf_sock *bpf_sk_fullsock(struct bpf_sock *sock)
{
    return sock;
}

static struct bpf_tcp_sock *bpf_tcp_sock(struct bpf_sock *sock)
{
    static struct bpf_tcp_sock tcp;
    tcp.rcv_nxt = sock->state;
    return &tcp;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include "hostagent/marks/mark.bpf.c"
#pragma GCC diagnostic pop

static struct {
    bool used;
    struct mark_flow_key key;
    struct mark_flow flow;
} kept[FLOWS];

/* 10.0.0.0/8 and fd00::/16. */
static bool member(const uint8_t address[16])
{
    static const uint8_t mapped[13] = {[10] = 0xff, [11] = 0xff, [12] = 10};
    return memcmp(address, mapped, sizeof(mapped)) == 0 || (address[0] == 0xfd && !address[1]);
}

static int flow_find(const struct mark_flow_key *key)
{
    for (int i = 0; i < FLOWS; i++)
        if (kept[i].used && memcmp(&kept[i].key, key, sizeof(*key)) == 0)
            return i;
    return -1;
}

static void *bpf_map_lookup_elem(void *map, const void *key)
{
    static uint8_t one = 1;
    if (map == &members)
        return member(((const struct mark_member_key *)key)->address) ? &one : NULL;
    if (map == &tasks)
        return &world.word;
    if (map == &received)
        return &world.received;
    if (map == &control)
        return *(const uint32_t *)key == MARK_CONTROL_MODE ? &world.mode : &world.expiry;
    if (map == &counters)
        return &world.counters[*(const uint32_t *)key];
    if (map == &probes)
        return &world.probe;
    int i = flow_find(key);
    return i < 0 ? NULL : &kept[i].flow;
}

/* Only of members; the last place is the one that gives way. */
static long bpf_map_update_elem(void *map, const void *key, const void *value, uint64_t flags)
{
    const struct mark_flow_key *flow = key;
    (void)flags;
    if (map != &flows || !member(flow->peer) || flow->zero)
        abort();
    int i = flow_find(flow);
    for (int free = 0; i < 0; free++)
        if (free == FLOWS - 1 || !kept[free].used)
            i = free;
    kept[i].used = true;
    kept[i].key = *flow;
    memcpy(&kept[i].flow, value, sizeof(kept[i].flow));
    return 0;
}

static long bpf_map_delete_elem(void *map, const void *key)
{
    int i = map == &flows ? flow_find(key) : -1;
    if (i >= 0)
        kept[i].used = false;
    return i < 0 ? -1 : 0;
}

static uint32_t ip_sum(const uint8_t *ip)
{
    uint32_t sum = 0;
    for (int i = 0; i < 20; i += 2)
        sum += (uint32_t)ip[i] << 8 | ip[i + 1];
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

/* Where IP begins behind at most two tags, which begin at `at`; *type is the first tag's, or
 * IP's. */
static size_t network_of(const uint8_t *frame, size_t length, size_t at, uint16_t *type)
{
    for (int tags = 0; tags < 2 && (*type == ETH_P_8021Q || *type == ETH_P_8021AD); tags++) {
        if (at + 4 > length)
            return at;
        *type = (uint16_t)(frame[at + 2] << 8 | frame[at + 3]);
        at += 4;
    }
    return at;
}

/* What the program may have changed: 8 bits of TOS or traffic class but its two of ECN, and a
 * checksum, which is as right or as wrong as before. */
static void changes_check(const uint8_t *before, size_t length)
{
    uint8_t allowed[PACKET_MAX];
    uint16_t type = (uint16_t)bpf_ntohs((uint16_t)world.skb.protocol);
    const size_t at = network_of(before, length, world.network, &type);
    uint8_t *ip = allowed + at;
    const uint8_t *now = world.bytes + at;
    memcpy(allowed, before, length);
    if (type == ETH_P_IP && length >= at + 20) {
        ip[1] = (uint8_t)((ip[1] & 3) | (now[1] & 0xfc));
        memcpy(ip + 10, now + 10, 2);
        if (ip_sum(before + at) % 0xffff != ip_sum(now) % 0xffff)
            abort();
    } else if (type == ETH_P_IPV6 && length >= at + 40) {
        ip[0] = (uint8_t)(0x60 | (now[0] & 0xf));
        ip[1] = (uint8_t)((ip[1] & 0x3f) | (now[1] & 0xc0));
        if (now[0] == before[at])
            ip[0] = before[at];
    }
    if (memcmp(allowed, world.bytes, length) != 0)
        abort();
}

static void run_at(int (*program)(struct __sk_buff *skb), const uint8_t *packet, size_t length,
                   uint16_t protocol, uint32_t network)
{
    static uint8_t before[PACKET_MAX];
    length = length < PACKET_MAX ? length : PACKET_MAX;
    memset(world.bytes, 0, PACKET_MAX);
    memcpy(world.bytes, packet, length);
    memcpy(before, packet, length);
    world.network = network;
    world.skb.len = (uint32_t)length;
    world.skb.protocol = protocol;
    world.skb.sk = &world.sock;
    world.now += 1000000;
    program(&world.skb);
    changes_check(before, length);
}

static void run(int (*program)(struct __sk_buff *skb), const uint8_t *frame, size_t length)
{
    uint16_t protocol = 0;
    if (length >= ETH_HLEN)
        memcpy(&protocol, frame + 12, sizeof(protocol));
    run_at(program, frame, length, protocol, ETH_HLEN);
}

/* Without its link header, as on an interface that has none. */
static void run_ip(int (*program)(struct __sk_buff *skb), const uint8_t *frame, size_t length)
{
    uint16_t protocol;
    if (length < ETH_HLEN)
        return;
    memcpy(&protocol, frame + 12, sizeof(protocol));
    run_at(program, frame + ETH_HLEN, length - ETH_HLEN, protocol, 0);
}

/* The program's settings are constants, which a loader fills; a compiler may have them in a page
 * that nobody may write. */
static struct mark_settings *settings_open(void)
{
    static bool open;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)&settings & ~(page - 1);
    if (!open && mprotect((void *)from, (uintptr_t)(&settings + 1) - from, PROT_READ | PROT_WRITE))
        abort();
    open = true;
    return (struct mark_settings *)(uintptr_t)&settings;
}

static void settings_fill(void)
{
    struct mark_settings *s = settings_open();
    memset(s->level_of_dscp, MARK_UNMARKED, sizeof(s->level_of_dscp));
    for (uint8_t level = 0; level < MARK_LEVELS; level++) {
        s->dscp_of_level[level] = (uint8_t)(4 * level + 3);
        s->level_of_dscp[4 * level + 3] = level;
        s->class_of_level[level] = level + 1u;
    }
    s->control_dscp = 48;
    s->control_port = bpf_htons(7600);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    size_t first = data[1] < size - 2 ? data[1] : size - 2;
    settings_fill();
    memset(&world, 0, sizeof(world));
    memset(kept, 0, sizeof(kept));
    world.lookup_finds = data[0] & 1;
    world.sock.protocol = IPPROTO_TCP;
    world.sock.family = data[0] & 1 ? AF_INET : AF_INET6;
    world.sock.src_ip4 = world.sock.dst_ip4 = bpf_htonl(0x0a000001);
    world.sock.state = data[0] & 2 ? BPF_TCP_LISTEN : BPF_TCP_ESTABLISHED;
    world.expiry = data[0] & 4 ? 0 : UINT64_MAX;
    world.mode = data[0] >> 3 & 1;
    world.word = mark_word(data[0] >> 4 & 7, MARK_UNMARKED);
    world.skb.priority = data[0] & 0x80 ? MARK_NUDGE : 0;
    run(mark, data + 2, first);
    run(follow, data + 2 + first, size - 2 - first);
    run(mark, data + 2, first);
    run(classify, data + 2 + first, size - 2 - first);
    run(count, data + 2, first);
    run_ip(mark_ip, data + 2, first);
    run_ip(follow_ip, data + 2 + first, size - 2 - first);
    run_ip(classify_ip, data + 2 + first, size - 2 - first);
    /* Into a tunnel, and then what is around it out of the port. */
    run(inner, data + 2, first);
    run(mark, data + 2 + first, size - 2 - first);
    run_ip(inner_ip, data + 2, first);
    run_ip(mark_ip, data + 2 + first, size - 2 - first);
    run(inner_classify, data + 2, first);
    run(classify, data + 2 + first, size - 2 - first);
    run_ip(inner_classify_ip, data + 2, first);
    run_ip(classify_ip, data + 2 + first, size - 2 - first);
    return 0;
}
