/* Decides a frame's mark and its kind of traffic: the contract of hostagent/marks/mark_driver.h for
 * frames that bypass the kernel (pure).
 *
 *   mark      from the host, whose applications bypass the kernel
 *   follow    to that host
 *   classify  from a host or switch whose marks are trusted: the kernel's, or another switch's
 *
 * Levels of connections that this end opens are set for each connection (marking_set): there is no
 * cgroup and no socket here. Connections that it accepted follow the last arrived mark. A
 * connection without either is unmarked; so is one that is older than its entry, until its levels
 * are set again, since it is unknown which end opened it. Otherwise frames are marked, bleached,
 * counted and dropped as in hostagent/marks/mark.bpf.c, which gives the reasons;
 * tests/unit/test_conformance.c compares the two.
 *
 * Once the lease has expired, by the caller's clock, `mark` writes nothing. O(1) and the member
 * prefixes. One thread. */
#pragma once

#include "dataplane/flows.h"
#include "dataplane/frame.h"
#include "lib/mark_prefix.h"
#include "lib/port/port.h"

#include <stdint.h>

#define MARKING_MEMBERS 64
#define MARKING_DROP    PORT_TRAFFIC /* instead of a kind of traffic */

struct marking_settings {
    struct mark_prefix members[MARKING_MEMBERS];
    uint32_t members_n; /* 0: every address is a member */
    uint8_t dscp_of_level[PORT_LEVELS];
    uint16_t control_port; /* host order; 0: no control traffic here */
};

struct marking_counters { /* bytes with Ethernet headers, or packets */
    uint64_t marked_bytes[PORT_LEVELS];
    uint64_t unmarked_bytes, control_bytes;
    uint64_t bleached_packets, overtaken_packets;
};

struct marking {
    struct marking_settings settings;
    uint8_t level_of_dscp[PORT_CODE_POINTS]; /* FLOW_UNMARKED where none */
    struct flows *flows;                     /* borrowed */
    uint32_t mode;                           /* 0 or 1: which of a flow's levels counts */
    uint64_t expiry_ns;                      /* of the lease */
    struct marking_counters counters;
};

void marking_init(struct marking *marking, const struct marking_settings *settings,
                  struct flows *flows);

/* Changes the settings; flows, mode, lease and counters stay. */
void marking_change(struct marking *marking, const struct marking_settings *settings);

void marking_add(struct marking_counters *sum, const struct marking_counters *more);

/* Sets the levels of one connection that our end opened; `hash` is flows_hash of its key, `owner` 0
 * removes them. */
void marking_set(struct marking *marking, const struct flow_key *key, uint64_t hash, uint64_t owner,
                 const uint8_t levels[2], uint64_t now_ns);

/* Each writes what is needed into the frame, which is parsed already, and returns its kind of
 * traffic; `follow` may also return MARKING_DROP. `now_ns` > 0 grows, by one clock for all
 * calls. */
int marking_mark(struct marking *marking, const struct frame_bytes *bytes, struct frame *frame,
                 uint64_t now_ns);
int marking_follow(struct marking *marking, const struct frame_bytes *bytes, struct frame *frame,
                   uint64_t now_ns);
int marking_classify(struct marking *marking, const struct frame_bytes *bytes, struct frame *frame);
