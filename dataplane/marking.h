/* What a frame's mark and its kind of traffic are: the contract of hostagent/marks/mark_driver.h for
 * frames that no kernel has seen (pure).
 *
 *   mark      leaves the host's end, whose applications are beyond the kernel
 *   follow    comes to that end
 *   classify  leaves an end whose marks are trusted: the kernel's, or another switch's
 *
 * Levels of what this end opens are set for each connection (marking_set): no cgroup and no socket
 * is seen here. What this end accepted follows the mark that arrived last. A connection without
 * either is unmarked, and so is one that is older than its entry, until its levels are set again:
 * there is nobody to ask which end opened it. For the rest frames are marked, bleached, counted and
 * dropped as hostagent/marks/mark.bpf.c does it and says why; tests/unit/test_conformance.c has
 * both do it.
 *
 * Without a lease `mark` writes nothing, by the time that the caller gives. O(1) and the member
 * prefixes. One thread. */
#pragma once

#include "dataplane/flows.h"
#include "dataplane/frame.h"
#include "lib/mark_prefix.h"
#include "lib/port/port.h"

#include <stdbool.h>
#include <stdint.h>

#define MARKING_MEMBERS 64
#define MARKING_DROP    PORT_TRAFFIC /* instead of a kind of traffic */

struct marking_settings {
    struct mark_prefix members[MARKING_MEMBERS];
    uint32_t members_n; /* 0: everybody is one */
    uint8_t dscp_of_level[PORT_LEVELS];
    uint16_t control_port; /* host order; 0: no control traffic here */
};

struct marking_counters { /* bytes with Ethernet headers; packets where it says so */
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

/* Other settings from now on; flows, mode, lease and counters stay. */
void marking_change(struct marking *marking, const struct marking_settings *settings);

void marking_add(struct marking_counters *sum, const struct marking_counters *more);

/* Levels of one connection that our end opened; `hash` is flows_hash of its key, `owner` 0 takes them
 * away. */
void marking_set(struct marking *marking, const struct flow_key *key, uint64_t hash, uint64_t owner,
                 const uint8_t levels[2], uint64_t now_ns);

/* Each writes what it has to into the frame, which is parsed already, and returns its kind of
 * traffic, or, of `follow` alone, MARKING_DROP. `now_ns` > 0 grows, by one clock for all calls. */
int marking_mark(struct marking *marking, const struct frame_bytes *bytes, struct frame *frame,
                 uint64_t now_ns);
int marking_follow(struct marking *marking, const struct frame_bytes *bytes, struct frame *frame,
                   uint64_t now_ns);
int marking_classify(struct marking *marking, const struct frame_bytes *bytes, struct frame *frame);
