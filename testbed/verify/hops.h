/* Every payload packet at every port that it passes: joins the sightings of one packet, and
 * compares them with each other and with the ports' counters.
 *
 * A packet comes in at a port behind which a host is (its entry), then goes out of a port of each
 * switch on its way (a hop: after that port's queue), the last of them a host's again. Sightings
 * belong to one packet when flow, TCP sequence number and IP identification are the same (IPv4: a
 * sender gives what it sends again a new number). Unexplained is
 *   strange    a packet that went out of a port and came in nowhere;
 *   changed    one whose mark is not that of its entry;
 *   vanished   one that never left towards a host, beyond what the queues dropped and hold;
 *   miscounted a packet more or less in one of a port's queues than marks that were seen to leave
 *              there ask for (packets without content ask for that of level 0).
 *
 * Pure; bounded by HOPS_MAX sightings, beyond which they are counted as lost. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/err.h"
#include "testbed/verify/judge.h"
#include "testbed/verify/packets.h"

enum { HOPS_MAX = 32 << 20, HOPS_PORTS = 1024, HOPS_ON_WAY = 8, HOPS_LEVELS = 8, HOPS_DSCPS = 64 };

/* Counters of a port's queues, by the most urgent level that each serves. A level that shares a
 * more urgent one's queue has `served` false. */
struct hops_counters {
    bool served[HOPS_LEVELS];
    uint64_t packets[HOPS_LEVELS], drops[HOPS_LEVELS];
    uint64_t waiting; /* in all of them */
};

struct hops_sighting {
    int64_t time_ns;
    uint32_t flow, sequence;
    uint16_t id, port;
    uint8_t dscp, ecn;
    bool out;
};
struct hops_port {
    const char *name; /* borrowed */
    bool edge;        /* a host is behind it */
    struct hops_counters before, after;
    uint64_t left[HOPS_LEVELS]; /* packets for this level's queue */
};
struct hops {
    struct hops_sighting *at;
    size_t n, allocated;
    uint64_t lost;
    struct hops_port ports[HOPS_PORTS];
    unsigned n_ports;
};

struct hops_cell {
    uint64_t packets, ce;
};
struct hops_report {
    uint64_t entered, arrived, dropped, waiting;
    uint64_t strange, changed, vanished, miscounted;
    struct hops_cell cells[HOPS_DSCPS][HOPS_ON_WAY];
    unsigned longest;                        /* the most hops of a packet */
    struct judge_delays delays[HOPS_ON_WAY]; /* from a change until a packet leaves that hop */
    const char *worst;                       /* the port with the largest error; NULL: none */
};

/* −ENOSPC: HOPS_PORTS are there. */
int hops_add_port(struct hops *hops, const char *name, unsigned *ret_port, struct err *err);
/* A frame of `flow` at a port. */
void hops_add(struct hops *hops, unsigned port, bool out, int64_t time_ns, uint32_t flow,
              const struct packet_frame *frame);
/* A frame of any protocol left a port; `bare`: a TCP segment without content, SYN and ACK. */
void hops_count(struct hops *hops, unsigned port, uint8_t dscp, bool bare);

/* Joins them; `seen`: the first packets under a new mark (judge.h). The caller ends *ret_report
 * with hops_report_done() in any case. −ENOMEM. O(n log n). */
int hops_judge(struct hops *hops, const struct verdict *verdict, struct hops_report *ret_report,
               struct err *err);
uint64_t hops_unexplained(const struct hops_report *report);
void hops_print(const struct hops *hops, const struct hops_report *report, FILE *out);
void hops_report_done(struct hops_report *report);
void hops_done(struct hops *hops);
