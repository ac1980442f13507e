/* Lists the TCP sockets of this network namespace whose cgroup is in `wanted` and which can still
 * receive (iter/tcp, Linux ≥ 5.9).
 *
 * The kernel's structures are written down here as far as they are read; where their members are
 * in the running kernel is found out when this is loaded (BPF CO-RE). */
#include "hostagent/marks/receivers_abi.h"

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define FAMILY_IPV6     10
#define TCP_ESTABLISHED 1
#define TCP_FIN_WAIT1   4
#define TCP_FIN_WAIT2   5

struct in6_addr {
    __u8 bytes[16];
};
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct kernfs_node {
    __u64 id;
};
struct cgroup {
    struct kernfs_node *kn;
};
struct sock_cgroup_data {
    struct cgroup *cgroup;
};
struct sock_common {
    __u16 skc_family;
    volatile unsigned char skc_state;
    __u32 skc_daddr, skc_rcv_saddr;
    __u16 skc_dport, skc_num;
    struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
};
struct sock {
    struct sock_common __sk_common;
    struct sock_cgroup_data sk_cgrp_data;
};
struct tcp_options_received {
    __u16 rcv_wscale : 4;
};
struct tcp_sock {
    __u32 rcv_nxt, rcv_wup, rcv_wnd, snd_nxt;
    struct tcp_options_received rx_opt;
};
struct seq_file;
struct bpf_iter_meta {
    struct seq_file *seq;
};
struct bpf_iter__tcp {
    struct bpf_iter_meta *meta;
    struct sock_common *sk_common;
};
#pragma clang attribute pop

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 4096);
    __type(key, __u64); /* cgroup id */
    __type(value, __u8);
} wanted SEC(".maps");

static __always_inline void map_v4(__u8 to[16], __u32 from)
{
    to[10] = to[11] = 0xff;
    __builtin_memcpy(to + 12, &from, 4);
}

static __always_inline void take_addresses(struct receiver *receiver, struct sock_common *common)
{
    if (common->skc_family == FAMILY_IPV6) {
        struct in6_addr local = common->skc_v6_rcv_saddr, peer = common->skc_v6_daddr;
        __builtin_memcpy(receiver->local, &local, 16);
        __builtin_memcpy(receiver->peer, &peer, 16);
    } else {
        map_v4(receiver->local, common->skc_rcv_saddr);
        map_v4(receiver->peer, common->skc_daddr);
    }
    __u16 port = common->skc_num;
    receiver->local_port = __builtin_bswap16(port);
    receiver->peer_port = common->skc_dport;
}

/* What is left of the promised window; a header's field is what the scale leaves of it, rounded
 * up, since a receiver may not take back what it promised (RFC 9293 §3.8.6). */
static __always_inline __u16 window_of(struct tcp_sock *tcp)
{
    __u32 scale = BPF_CORE_READ_BITFIELD_PROBED(&tcp->rx_opt, rcv_wscale) & 15;
    __s32 left = (__s32)(tcp->rcv_wup + tcp->rcv_wnd - tcp->rcv_nxt);
    __u32 field = left > 0 ? ((__u32)left + (1u << scale) - 1) >> scale : 0;
    return field > 0xffff ? 0xffff : (__u16)field;
}

SEC("iter/tcp")
int list(struct bpf_iter__tcp *ctx)
{
    struct sock_common *common = ctx->sk_common;
    struct tcp_sock *tcp = common ? bpf_skc_to_tcp_sock(common) : NULL;
    if (!tcp)
        return 0;
    __u8 state = common->skc_state;
    if (state != TCP_ESTABLISHED && state != TCP_FIN_WAIT1 && state != TCP_FIN_WAIT2)
        return 0;
    __u64 cgroup = ((struct sock *)tcp)->sk_cgrp_data.cgroup->kn->id;
    __u8 *level = bpf_map_lookup_elem(&wanted, &cgroup);
    if (!level)
        return 0;
    struct receiver receiver = {.receive_next = tcp->rcv_nxt,
                                .send_next = tcp->snd_nxt,
                                .window = window_of(tcp),
                                .level = *level};
    take_addresses(&receiver, common);
    bpf_seq_write(ctx->meta->seq, &receiver, sizeof(receiver));
    return 0;
}

char _license[] SEC("license") = "Dual BSD/GPL";
