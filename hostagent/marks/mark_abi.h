/* What the marking programs (mark.bpf.c) and the agent (mark_bpf.c) share: the layout of maps and
 * settings.
 *
 * The maps are pinned and outlive the agent. A new agent whose maps have another bound or layout
 * copies the old ones' content field by field, by name (flow_layout.h): a field whose meaning
 * changes needs a new name. Addresses are 128 bits, IPv4 as v4-mapped (RFC 4291 §2.5.5.2); ports
 * are in network order; times are CLOCK_BOOTTIME in nanoseconds. */
#pragma once

#include <linux/types.h>

#define MARK_PIN       "%s/%s-1" /* bpf file system, name of a map or program */
#define MARK_LEVELS    8
#define MARK_UNMARKED  0xff /* as a level: leave the packet unmarked */
#define MARK_DSCPS     64
#define MARK_SILENT_NS 60000000000ull /* a flow's entry expires after this silence */
#define MARK_NUDGE                                                                                 \
    0x0d00ff00u /* skb->priority of nudges (nudge.h): not one of our
                                       * classes */

/* skb->priority of probes (probe.h). The programs count them where they leave, and count whatever
 * arrives besides TCP, which includes the answers. Counted by interface, in a map whose entries the
 * agent makes. */
#define MARK_PROBE      0x0d00ff01u
#define MARK_PROBE_MOST 4096
struct mark_probe {
    __u64 sent, arrived; /* packets */
};

/* skb->priority of a packet that a tunnel device of ours sends on. It tells the port below how to
 * mark the outer packet, whatever the tunnel does to the packet itself. Bits 8 to 11 keep its
 * former priority. */
#define MARK_CARRIED         0x0dfe0000u
#define MARK_CARRIED_MASK    0xffff0000u
#define MARK_CARRIED_LEVEL   0x00 /* plus the level */
#define MARK_CARRIED_BARE    0x08 /* plus the level: waits in level 0's queue */
#define MARK_CARRIED_CONTROL 0x10
#define MARK_CARRIED_PLAIN   0x20 /* unmarked; its code point is not changed */

/* Both levels of a task or flow in one 64-bit word, so that both change at once: byte 0 the level
 * in mode 0 (Coflow), byte 1 in mode 1 (Macroflow), each 0…7 or MARK_UNMARKED. */
static inline __u64 mark_word(__u8 coflow, __u8 macroflow)
{
    return (__u64)coflow | (__u64)macroflow << 8;
}

enum mark_control {
    MARK_CONTROL_MODE,
    MARK_CONTROL_EXPIRY,
    MARK_CONTROL_CLASSES, /* 1: packets get their queue's class; 0: they keep theirs */
    MARK_CONTROLS
};

enum mark_role {
    MARK_ROLE_NONE,
    MARK_ROLE_OPENER,   /* this end opened the connection and marks by cgroup */
    MARK_ROLE_ACCEPTER, /* this end accepted it and follows what arrives */
};

struct mark_flow_key { /* a TCP connection, as this end sees it */
    __u8 local[16], peer[16];
    __u16 local_port, peer_port;
    __u32 zero;
};

#define MARK_FIN_SENT     1
#define MARK_FIN_RECEIVED 2

struct mark_flow {
    __u64 seen_ns;              /* any packet */
    __u64 sent_ns, received_ns; /* payload */
    __u64 word;                 /* opener: levels of this flow; valid if `owner` ≠ 0 */
    __u64 owner;                /* the task that set `word` last; 0: the cgroup's levels count */
    __u8 role;
    __u8 followed;        /* accepter: the level of the last arrived packet; opener: of the last
                           * sent one */
    __u8 fins;            /* MARK_FIN_… */
    __u8 answered;        /* opener: content with that level has come, … */
    __u32 answered_tsval; /* … the first with this timestamp (RFC 7323) */
};

#define MARK_FLOW_FIELDS(each)                                                                     \
    each(seen_ns) each(sent_ns) each(received_ns) each(word) each(owner) each(role) each(followed) \
        each(fins) each(answered) each(answered_tsval)

/* Offsets of a flow's fields in the former map's values, in bytes; MARK_NOWHERE: it lacks the
 * field. Constant for one load of the programs. */
#define MARK_NOWHERE 0xffff
struct mark_before {
    __u8 there; /* false: there is no former map */
#define MARK_FIELD(field) __u16 field;
    MARK_FLOW_FIELDS(MARK_FIELD)
#undef MARK_FIELD
};

/* Per CPU, since the maps were made. */
enum mark_counter {
    MARK_COUNT_LEVEL0 = 0, /* bytes with the mark of each level, Ethernet headers included */
    MARK_COUNT_UNMARKED = MARK_LEVELS,
    MARK_COUNT_CONTROL,
    MARK_COUNT_BLEACHED, /* packets */
    MARK_COUNT_FLOWS_MADE,
    MARK_COUNT_FLOWS_ENDED,
    MARK_COUNT_AGENT_MADE, /* flows that the agent made, and ended: only the agent writes these
                            * two */
    MARK_COUNT_AGENT_ENDED,
    MARK_COUNT_OVERTAKEN, /* packets dropped on arrival */
    MARK_COUNTERS
};

struct mark_member_key {
    __u32 prefix_bits; /* of the 128 */
    __u8 address[16];
};

struct mark_settings { /* constant for one load of the programs */
    __u8 dscp_of_level[MARK_LEVELS];
    __u8 level_of_dscp[MARK_DSCPS]; /* MARK_UNMARKED where none */
    __u8 control_dscp;
    __u8 any_member;                   /* no prefixes are configured: every address is a member */
    __u16 control_port;                /* network order: the controllers' listening port; 0: none */
    __u32 class_of_level[MARK_LEVELS]; /* values of skb->priority; all 0: no queues of ours */
    __u32 class_control, class_unmanaged;
};
