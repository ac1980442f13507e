/* Marks on the wire: the DSCP of every packet of a task, and the class of every packet in the
 * port's queues.
 *
 *   mark      egress of a host's uplink
 *   follow    ingress of a host's uplink
 *   classify  egress of a switch's port: all that touches forwarded packets
 *   count     receive path of the sockets in the agent's cgroup subtree
 *
 * Of the first three there are others for interfaces without link headers (…_ip), and of mark and
 * classify for tunnels that go over a port of ours (inner…): these write the packet's mark, and
 * what they made of it into its priority, which the port takes from there for the packet around it.
 *
 * The end that opened a connection marks by the socket's cgroup, the end that accepted it puts the
 * mark that arrived last on what it sends: never both at one end, so two ends cannot echo each
 * other for ever. Which end we are is decided once for each connection: by its SYN; for one that is
 * older than its entry, by whether a listening socket has its local port. Only the six DSCP bits
 * are ever written.
 *
 * What carries no content goes ahead of what does, or a host that serves at its uplink's rate would
 * be slow to fetch at the same time: a marked SYN bears level 0's mark (and so does the answer to
 * it), and marked segments without content bear their task's mark, which the other end follows, but
 * wait in level 0's queue. That is a few per cent of the bytes of what they acknowledge.
 *
 * Without a lease (an expiry on CLOCK_BOOTTIME in a map) `mark` writes nothing, whether or not an
 * agent lives. */
#include "hostagent/marks/mark_abi.h"
#include "hostagent/marks/mark_packet.bpf.h"

#include <linux/bpf.h>
#include <linux/in.h>
#include <linux/pkt_cls.h>
#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_helpers.h>

#define LOOPBACK_IFINDEX 1

const volatile struct mark_settings settings;
const volatile struct mark_before flows_before;

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 4096);
    __type(key, __u64); /* cgroup id */
    __type(value, __u64);
} tasks SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 4096);
    __type(key, __u64);   /* cgroup id */
    __type(value, __u64); /* payload bytes received */
} received SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 16384);
    __type(key, struct mark_flow_key);
    __type(value, struct mark_flow);
} flows SEC(".maps");

/* The flows of an earlier agent whose map has another bound or layout, while they are moved
 * (mark_load.c puts the map here); else unused. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1);
    __type(key, struct mark_flow_key);
    __type(value, struct mark_flow);
} former SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, MARK_CONTROLS);
    __type(key, __u32);
    __type(value, __u64);
} control SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, MARK_COUNTERS);
    __type(key, __u32);
    __type(value, __u64);
} counters SEC(".maps");

/* Not pinned: each load of the programs has its own. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, MARK_PROBE_MOST);
    __type(key, __u32); /* interface */
    __type(value, struct mark_probe);
} probes SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LPM_TRIE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 256);
    __type(key, struct mark_member_key);
    __type(value, __u8);
} members SEC(".maps");

static __always_inline void add(__u32 counter, __u64 n)
{
    __u64 *value = bpf_map_lookup_elem(&counters, &counter);
    if (value)
        *value += n;
}

static __always_inline void count_probe(const struct __sk_buff *skb, bool sent)
{
    __u32 ifindex = skb->ifindex;
    struct mark_probe *probe = bpf_map_lookup_elem(&probes, &ifindex);
    if (probe)
        __sync_fetch_and_add(sent ? &probe->sent : &probe->arrived, 1);
}

static __always_inline __u64 control_word(__u32 which)
{
    __u64 *value = bpf_map_lookup_elem(&control, &which);
    return value ? *(volatile __u64 *)value : 0;
}

static __always_inline bool is_member(const __u8 address[16])
{
    if (settings.any_member)
        return true;
    struct mark_member_key key = {.prefix_bits = 128};
    __builtin_memcpy(key.address, address, 16);
    return bpf_map_lookup_elem(&members, &key) != NULL;
}

/* CS6 to or from the controllers' port: an application's own CS6 is unmanaged. */
static __always_inline bool is_control(const struct mark_packet *packet)
{
    if (packet->neighbour)
        return true;
    return packet->version && packet->traffic_class >> 2 == settings.control_dscp &&
           packet->has_ports && settings.control_port &&
           (packet->key.local_port == settings.control_port ||
            packet->key.peer_port == settings.control_port);
}

static __always_inline __u8 level_of(const struct mark_packet *packet)
{
    return settings.level_of_dscp[(packet->traffic_class >> 2) & (MARK_DSCPS - 1)];
}

static __always_inline void set_priority(struct __sk_buff *skb, __u32 priority)
{
    barrier_var(skb); /* or its address is computed once for all, which the verifier refuses */
    skb->priority = priority;
}

static __always_inline void set_class(struct __sk_buff *skb, __u32 class)
{
    if (class && control_word(MARK_CONTROL_CLASSES))
        set_priority(skb, class);
}

/* The end of a packet's processing by us: sets `carried` for a port below, or counts it and sets
 * its queue. */
static __always_inline void settle(struct __sk_buff *skb, bool inner, __u32 carried, __u32 counter,
                                   __u32 class)
{
    if (inner) {
        set_priority(skb, MARK_CARRIED | (skb->priority & 15) << 8 | carried);
    } else {
        add(counter, skb->len);
        set_class(skb, class);
    }
}

/* The state of the socket that the packet's connection has here, 0 if none. With `listener` that of
 * a listening socket on the local port (no peer has port 0). */
static __always_inline __u32 socket_state(struct __sk_buff *skb, const struct mark_packet *packet,
                                          const struct mark_flow_key *key, bool listener)
{
    struct bpf_sock_tuple tuple = {0};
    __u32 size = packet->version == 4 ? sizeof(tuple.ipv4) : sizeof(tuple.ipv6);
    if (packet->version == 4) {
        __builtin_memcpy(&tuple.ipv4.daddr, key->local + 12, 4);
        tuple.ipv4.dport = key->local_port;
        if (!listener) {
            __builtin_memcpy(&tuple.ipv4.saddr, key->peer + 12, 4);
            tuple.ipv4.sport = key->peer_port;
        }
    } else {
        __builtin_memcpy(tuple.ipv6.daddr, key->local, 16);
        tuple.ipv6.dport = key->local_port;
        if (!listener) {
            __builtin_memcpy(tuple.ipv6.saddr, key->peer, 16);
            tuple.ipv6.sport = key->peer_port;
        }
    }
    struct bpf_sock *sk = bpf_skc_lookup_tcp(skb, &tuple, size, BPF_F_CURRENT_NETNS, 0);
    if (!sk)
        return 0;
    __u32 state = sk->state;
    bpf_sk_release(sk);
    return state;
}

static __always_inline __u8 role_by_listener(struct __sk_buff *skb,
                                             const struct mark_packet *packet,
                                             const struct mark_flow_key *key)
{
    return socket_state(skb, packet, key, true) == BPF_TCP_LISTEN ? MARK_ROLE_ACCEPTER
                                                                  : MARK_ROLE_OPENER;
}

static __always_inline struct mark_flow *make_flow(const struct mark_flow_key *key, __u8 role,
                                                   __u64 now, bool known)
{
    struct mark_flow flow = {.seen_ns = now, .role = role, .followed = MARK_UNMARKED};
    if (bpf_map_update_elem(&flows, key, &flow, BPF_ANY) < 0)
        return NULL;
    if (!known)
        add(MARK_COUNT_FLOWS_MADE, 1);
    return bpf_map_lookup_elem(&flows, key);
}

#define FROM_BEFORE(field)                                                                         \
    if (flows_before.field != MARK_NOWHERE)                                                        \
        copy->field = *(volatile typeof(copy->field) *)(bytes + flows_before.field);

/* The flow with this key, NULL if none. While flows are moved, one in the former map is found
 * there: read only, since an earlier agent's programs may still write it. */
static __always_inline struct mark_flow *find_flow(const struct mark_flow_key *key,
                                                   struct mark_flow *copy)
{
    struct mark_flow *flow = bpf_map_lookup_elem(&flows, key);
    if (flow || !flows_before.there)
        return flow;
    __u8 *bytes = bpf_map_lookup_elem(&former, key);
    if (!bytes)
        return NULL;
    MARK_FLOW_FIELDS(FROM_BEFORE)
    return copy;
}

/* Ingress is the last hook to be replaced: from its first packet on only our programs write flows,
 * and it moves them to our map. */
static __always_inline void move_flow(const struct mark_flow_key *key)
{
    struct mark_flow flow = {0};
    if (flows_before.there && find_flow(key, &flow) == &flow)
        bpf_map_update_elem(&flows, key, &flow, BPF_NOEXIST);
}

/* Signed: another CPU may have seen a packet of this flow after we read the clock. */
static __always_inline bool is_recent(const struct mark_flow *flow, __u64 now)
{
    return (__s64)(now - flow->seen_ns) <= (__s64)MARK_SILENT_NS;
}

/* The flow of a packet whose key is as this end sees it; NULL when it has none: the peer is no
 * member, or the connection is on its way out. `syn_role` is what a SYN in this direction makes of
 * us. */
static __always_inline struct mark_flow *flow_of(struct __sk_buff *skb,
                                                 const struct mark_packet *packet,
                                                 const struct mark_flow_key *key, __u8 syn_role,
                                                 __u64 now, struct mark_flow *copy)
{
    struct mark_flow *flow = find_flow(key, copy);
    bool known = flow != NULL;
    bool opens = (packet->flags & (FLAG_SYN | FLAG_ACK)) == FLAG_SYN;
    if (flow && !opens && is_recent(flow, now)) {
        flow->seen_ns = now;
        return flow;
    }
    if (opens && flow && flow->role == syn_role && !flow->fins && is_recent(flow, now))
        return flow; /* its SYN again */
    if (!is_member(key->peer))
        return NULL;
    if (opens)
        return make_flow(key, syn_role, now, known);
    __u32 state = socket_state(skb, packet, key, false);
    if (state != BPF_TCP_ESTABLISHED && state != BPF_TCP_CLOSE_WAIT)
        return NULL;
    return make_flow(key, role_by_listener(skb, packet, key), now, known);
}

/* FIN in both directions, or RST, ends a flow: after our own FIN alone, data that got lost are sent
 * again. */
static __always_inline void end_flow(struct mark_flow *flow, const struct mark_packet *packet,
                                     const struct mark_flow_key *key, __u8 fin)
{
    if (packet->flags & FLAG_FIN)
        flow->fins |= fin;
    if ((packet->flags & FLAG_RST) || flow->fins == (MARK_FIN_SENT | MARK_FIN_RECEIVED)) {
        if (bpf_map_delete_elem(&flows, key) == 0)
            add(MARK_COUNT_FLOWS_ENDED, 1);
    }
}

static __always_inline __u8 level_of_word(__u64 word)
{
    return (__u8)(control_word(MARK_CONTROL_MODE) == 1 ? word >> 8 : word);
}

static __always_inline __u8 level_of_socket(struct __sk_buff *skb)
{
    __u64 id = bpf_skb_cgroup_id(skb);
    __u64 *word = id ? bpf_map_lookup_elem(&tasks, &id) : NULL;
    return word ? level_of_word(*word) : MARK_UNMARKED;
}

/* The level that a packet to a member goes out with. */
static __always_inline __u8 level_out(struct __sk_buff *skb, struct mark_flow *flow,
                                      const struct mark_packet *packet, __u64 now)
{
    if (!flow)
        return packet->has_ports &&
                       role_by_listener(skb, packet, &packet->key) == MARK_ROLE_ACCEPTER
                   ? MARK_UNMARKED
                   : level_of_socket(skb);
    if (packet->payload)
        flow->sent_ns = now;
    if (flow->role == MARK_ROLE_ACCEPTER)
        return flow->followed;
    __u8 level = flow->owner ? level_of_word(flow->word) : level_of_socket(skb);
    if (level != flow->followed) {
        flow->answered = 0;
        flow->followed = level;
    }
    return level;
}

static __always_inline void send_unmarked(struct __sk_buff *skb, const struct mark_packet *packet,
                                          bool inner)
{
    if (packet->version && level_of(packet) != MARK_UNMARKED) {
        write_dscp(skb, packet, 0);
        add(MARK_COUNT_BLEACHED, 1);
    }
    settle(skb, inner, MARK_CARRIED_PLAIN, MARK_COUNT_UNMARKED, settings.class_unmanaged);
}

/* A TCP segment that carries no content and does not end anything: those stay behind content. */
static __always_inline bool is_bare(const struct mark_packet *packet)
{
    return packet->has_ports && packet->payload == 0 && !(packet->flags & (FLAG_FIN | FLAG_RST));
}

static __always_inline void settle_level(struct __sk_buff *skb, bool inner, __u8 level, bool bare)
{
    barrier_var(level); /* or the verifier does not see the bound below */
    level &= MARK_LEVELS - 1;
    settle(skb, inner, level | (bare ? MARK_CARRIED_BARE : MARK_CARRIED_LEVEL),
           MARK_COUNT_LEVEL0 + level, settings.class_of_level[bare ? 0 : level]);
}

static __always_inline void send_marked(struct __sk_buff *skb, const struct mark_packet *packet,
                                        __u8 level, bool bare, bool inner)
{
    barrier_var(level);
    level &= MARK_LEVELS - 1;
    write_dscp(skb, packet, settings.dscp_of_level[level]);
    settle_level(skb, inner, level, bare);
}

static __always_inline void send_managed(struct __sk_buff *skb, const struct mark_packet *packet,
                                         __u8 level, bool bare, bool inner)
{
    if (level < MARK_LEVELS)
        send_marked(skb, packet, packet->flags & FLAG_SYN ? 0 : level, bare, inner);
    else
        send_unmarked(skb, packet, inner);
}

/* Our own agent has marked it (nudge.h): it is sent only to members, and only under a lease. */
static __always_inline void send_nudge(struct __sk_buff *skb, const struct mark_packet *packet,
                                       bool inner)
{
    __u8 level = level_of(packet);
    bool valid = bpf_ktime_get_boot_ns() < control_word(MARK_CONTROL_EXPIRY);
    set_priority(skb, 0);
    valid = valid && is_member(packet->key.peer);
    send_managed(skb, packet, valid ? level : MARK_UNMARKED, is_bare(packet), inner);
}

/* The outer packet of one of our tunnels: it gets the same mark, unless its destination may not get
 * one. */
static __always_inline void send_carried(struct __sk_buff *skb, const struct mark_packet *packet,
                                         bool inner)
{
    __u32 carried = skb->priority & 0xff;
    __u8 level = carried & (MARK_LEVELS - 1);
    set_priority(skb, (skb->priority >> 8) & 15);
    if (carried == MARK_CARRIED_CONTROL)
        settle(skb, inner, MARK_CARRIED_CONTROL, MARK_COUNT_CONTROL, settings.class_control);
    else if (carried == MARK_CARRIED_PLAIN)
        settle(skb, inner, MARK_CARRIED_PLAIN, MARK_COUNT_UNMARKED, settings.class_unmanaged);
    else if (is_member(packet->key.peer))
        send_marked(skb, packet, level, carried & MARK_CARRIED_BARE, inner);
    else
        send_unmarked(skb, packet, inner);
}

static __always_inline bool is_probe(struct __sk_buff *skb)
{
    if (skb->priority != MARK_PROBE)
        return false;
    count_probe(skb, true);
    set_priority(skb, 0);
    return true;
}

static __always_inline bool is_carried(const struct __sk_buff *skb)
{
    return (skb->priority & MARK_CARRIED_MASK) == MARK_CARRIED;
}

/* The outer packet of a tunnel that drops priorities (WireGuard) but keeps the socket: it gets the
 * level of the connection inside, which the tunnel's own program has just marked. MARK_UNMARKED
 * also if there is none. */
static __always_inline __u8 level_inside(struct __sk_buff *skb, const struct mark_packet *packet,
                                         bool *bare)
{
    struct mark_flow_key key = {0};
    struct bpf_sock *sk = skb->sk;
    if (packet->protocol == IPPROTO_TCP || !sk || !key_of_socket(sk, &key))
        return MARK_UNMARKED;
    const struct mark_flow *flow = bpf_map_lookup_elem(&flows, &key);
    if (!flow || flow->followed == MARK_UNMARKED)
        return MARK_UNMARKED;
    *bare = sk->state == BPF_TCP_ESTABLISHED && is_short(packet, sk->family == AF_INET6);
    return sk->state == BPF_TCP_SYN_SENT || sk->state == BPF_TCP_NEW_SYN_RECV ? 0 : flow->followed;
}

static __always_inline void mark_own(struct __sk_buff *skb, const struct mark_packet *packet,
                                     bool inner)
{
    __u64 now = bpf_ktime_get_boot_ns();
    bool forwarded = skb->ingress_ifindex != 0, bare = false;
    if (!packet->version || forwarded || now >= control_word(MARK_CONTROL_EXPIRY)) {
        settle(skb, inner, MARK_CARRIED_PLAIN, MARK_COUNT_UNMARKED, settings.class_unmanaged);
        return;
    }
    struct mark_flow *flow = NULL, copy = {0};
    __u8 level = MARK_UNMARKED;
    if (packet->has_ports)
        flow = flow_of(skb, packet, &packet->key, MARK_ROLE_OPENER, now, &copy);
    else
        level = level_inside(skb, packet, &bare);
    if (!flow && !is_member(packet->key.peer))
        level = MARK_UNMARKED;
    else if (level == MARK_UNMARKED)
        level = level_out(skb, flow, packet, now);
    if (flow)
        end_flow(flow, packet, &packet->key, MARK_FIN_SENT);
    send_managed(skb, packet, level, bare || is_bare(packet), inner);
}

static __always_inline int mark_from(struct __sk_buff *skb, __u32 offset, bool inner)
{
    struct mark_packet packet;
    parse(skb, offset, &packet);
    if (skb->priority == MARK_NUDGE)
        send_nudge(skb, &packet, inner);
    else if (is_carried(skb))
        send_carried(skb, &packet, inner);
    else if (is_probe(skb))
        settle(skb, inner, MARK_CARRIED_PLAIN, MARK_COUNT_UNMARKED, settings.class_unmanaged);
    else if (is_control(&packet))
        settle(skb, inner, MARK_CARRIED_CONTROL, MARK_COUNT_CONTROL, settings.class_control);
    else
        mark_own(skb, &packet, inner);
    return TC_ACT_UNSPEC;
}

/* After a promotion, what is sent under the new mark overtakes what still waits under the old.
 *
 * Its sender takes all that waits for lost and sends it again. When the first of it arrives after
 * all, the sender hears by its timestamp that nothing was lost (RFC 3522), undoes its recovery, and
 * never takes the rest for lost again, neither by time nor by selective acknowledgements (Linux
 * 6.18). But this end does not take the rest either: its timestamps are older than that of the
 * segment sent again (RFC 7323 §5). Nothing moves until a retransmission time-out, which after a
 * long starvation is a second.
 *
 * So such content is dropped here: less urgent than what this end asks for, and older than the
 * first that came as urgent as that. By the mark alone it could not be told: a request that was
 * overtaken itself brings the sender back to the old mark for a while. The drops are counted. */
static __always_inline bool is_overtaken(struct __sk_buff *skb, const struct mark_packet *packet,
                                         struct mark_flow *flow)
{
    __u8 level = level_of(packet);
    __u32 tsval;
    if (level == flow->followed && !flow->answered && timestamp_of(skb, packet, &tsval)) {
        flow->answered_tsval = tsval;
        flow->answered = 1;
    }
    return level != MARK_UNMARKED && level > flow->followed && flow->answered &&
           timestamp_of(skb, packet, &tsval) && (__s32)(tsval - flow->answered_tsval) < 0;
}

static __always_inline int follow_from(struct __sk_buff *skb, __u32 offset)
{
    struct mark_packet packet;
    parse(skb, offset, &packet);
    if (!packet.has_ports) {
        count_probe(skb, false);
        return TC_ACT_UNSPEC;
    }
    turn_round(&packet.key);
    move_flow(&packet.key);
    __u64 now = bpf_ktime_get_boot_ns();
    struct mark_flow copy = {0};
    struct mark_flow *flow = flow_of(skb, &packet, &packet.key, MARK_ROLE_ACCEPTER, now, &copy);
    if (!flow)
        return TC_ACT_UNSPEC;
    if (packet.payload)
        flow->received_ns = now;
    if (flow->role == MARK_ROLE_ACCEPTER)
        flow->followed = level_of(&packet);
    else if (packet.payload && is_overtaken(skb, &packet, flow)) {
        add(MARK_COUNT_OVERTAKEN, 1);
        return TC_ACT_SHOT;
    }
    end_flow(flow, &packet, &packet.key, MARK_FIN_RECEIVED);
    return TC_ACT_UNSPEC;
}

static __always_inline int classify_from(struct __sk_buff *skb, __u32 offset, bool inner)
{
    struct mark_packet packet;
    parse(skb, offset, &packet);
    if (is_carried(skb)) {
        send_carried(skb, &packet, inner);
        return TC_ACT_UNSPEC;
    }
    if (is_control(&packet)) {
        settle(skb, inner, MARK_CARRIED_CONTROL, MARK_COUNT_CONTROL, settings.class_control);
        return TC_ACT_UNSPEC;
    }
    is_probe(skb);
    __u8 level = packet.version ? level_of(&packet) : MARK_UNMARKED;
    bool leaves = level < MARK_LEVELS && !is_member(packet.key.peer);
    if (level < MARK_LEVELS && !leaves && is_member(packet.key.local)) {
        settle_level(skb, inner, level, is_bare(&packet));
        return TC_ACT_UNSPEC;
    }
    if (leaves) {
        write_dscp(skb, &packet, 0);
        add(MARK_COUNT_BLEACHED, 1);
    }
    settle(skb, inner, MARK_CARRIED_PLAIN, MARK_COUNT_UNMARKED, settings.class_unmanaged);
    return TC_ACT_UNSPEC;
}

#define PROGRAM(name, body)                                                                        \
    SEC("tc") int name(struct __sk_buff *skb)                                                      \
    {                                                                                              \
        return body;                                                                               \
    }
PROGRAM(mark, mark_from(skb, ETH_HLEN, false))
PROGRAM(mark_ip, mark_from(skb, NO_HEADER, false))
PROGRAM(inner, mark_from(skb, ETH_HLEN, true))
PROGRAM(inner_ip, mark_from(skb, NO_HEADER, true))
PROGRAM(follow, follow_from(skb, ETH_HLEN))
PROGRAM(follow_ip, follow_from(skb, NO_HEADER))
PROGRAM(classify, classify_from(skb, ETH_HLEN, false))
PROGRAM(classify_ip, classify_from(skb, NO_HEADER, false))
PROGRAM(inner_classify, classify_from(skb, ETH_HLEN, true))
PROGRAM(inner_classify_ip, classify_from(skb, NO_HEADER, true))

/* Payload that the socket has not received yet: a retransmitted segment is counted once. */
static __always_inline __u32 new_bytes(struct __sk_buff *skb, const struct mark_packet *packet)
{
    struct bpf_sock *sk = skb->sk;
    if (packet->protocol != IPPROTO_TCP || !sk)
        return packet->payload;
    sk = bpf_sk_fullsock(sk);
    if (!sk)
        return packet->payload;
    struct bpf_tcp_sock *tcp = bpf_tcp_sock(sk);
    if (!tcp)
        return packet->payload;
    __s32 before = (__s32)(tcp->rcv_nxt - packet->sequence);
    if (before <= 0)
        return packet->payload;
    return (__u32)before < packet->payload ? packet->payload - (__u32)before : 0;
}

SEC("cgroup_skb/ingress")
int count(struct __sk_buff *skb)
{
    if (skb->ifindex == LOOPBACK_IFINDEX)
        return 1;
    __u64 id = bpf_skb_cgroup_id(skb);
    __u64 *bytes = id ? bpf_map_lookup_elem(&received, &id) : NULL;
    if (bytes) {
        struct mark_packet packet;
        parse(skb, 0, &packet);
        __sync_fetch_and_add(bytes, new_bytes(skb, &packet));
    }
    return 1;
}

char _license[] SEC("license") = "Dual BSD/GPL";
