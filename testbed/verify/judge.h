/* Compares captured packets' marks with what they should have been (truth.h).
 *
 * Each payload packet is
 *   right         its DSCP is that of its attempt's level in the mode in force;
 *   late          it was right when its sender sent it (packets.h), and waited in a queue since;
 *   in a window   it is that of a level that was in force less than `change_ns` before: packets
 *                 that are sent before word of a change has reached their sender, or wait in a
 *                 queue and have no time stamp, keep the old mark;
 *   of a begin    its connection has just passed to this task (see below);
 *   wrong         it is neither;
 *   unattributed  no task wrote its connection down, or the recording does not know the attempt;
 *   unlevelled    of a framework's task that has no level of its own, since it reads no shuffle.
 *
 * A connection's packets may come as long after its close as after a change (at least half a
 * second): copies that waited in a starved queue while their segments, sent again under a more
 * urgent mark, completed the transfer.
 *
 * A connection that passes from one task of an executor to the next changes its level: until
 * `begin_ns` after that, the former task's mark, or any mark if that had no level, is accepted.
 * Wrong packets are kept with the origin of their mark, and how long ago it was in force.
 *
 * For every change of mode it also measures, over the connections open then whose mark had to
 * change, how long it took until the first payload packet towards the task came by with the new
 * mark: apart for those that were flowing (≥ JUDGE_FLOWING_PACKETS payload packets in the 100 ms
 * before) and those that were starved. Packets are seen behind their sender's queues: one that got
 * a less urgent level waits there behind others' before it is seen. Those whose next change, or
 * end, came first are counted as `unseen`.
 *
 * Pure. O(packets · log connections). */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "lib/err.h"
#include "testbed/verify/packets.h"
#include "testbed/verify/truth.h"

enum { JUDGE_AGES = 4, JUDGE_EXAMPLES = 64, JUDGE_STRAYS = 10, JUDGE_FLOWING_PACKETS = 20 };

/* How long old marks are accepted: of a former level of the same attempt, and from before a task
 * began. */
struct judge_windows {
    int64_t change_ns, begin_ns;
};
enum judge_whose { JUDGE_NOBODYS, JUDGE_ITS_OWN, JUDGE_OF_BEFORE };

/* Wrong packets of one attempt that had one mark. */
struct judge_example {
    struct packet_key key; /* of the first */
    int64_t first_ns, last_ns;
    uint64_t n, bytes;
    const struct truth_connection *connection; /* of the first; of the truth */
    uint8_t dscp, expected;                    /* expected: of the first */
    enum judge_whose whose;                    /* of the first */
    int64_t longest_ns;                        /* after the mark was last in force; JUDGE_NOBODYS:
                                                * 0 */
};
/* An unattributed packet, and what is known of its ends: the last connection between them opened
 * until then, of any attempt. */
struct judge_stray {
    struct packet_key key;
    struct packet packet;
    const struct truth_connection *last; /* of the truth; NULL: no task ever recorded these ends */
};
struct judge_delays {
    int64_t *at_ns; /* sorted once judged */
    size_t n, allocated;
};
/* The first packet of a flowing connection under a new mark. */
struct judge_seen {
    uint32_t flow;
    int64_t change_ns, time_ns;
};
struct verdict {
    uint64_t checked, right, late, in_window, of_begin, wrong, unattributed, unlevelled, lost;
    uint64_t right_bytes, late_bytes, window_bytes, begin_bytes, wrong_bytes; /* payload */
    uint64_t ages[JUDGE_AGES]; /* of those in a window: the change was less than 20, 100, 500 ms,
                                * change_ns ago */
    struct judge_example examples[JUDGE_EXAMPLES]; /* wrong ones: the first attempts and marks */
    unsigned n_examples;
    uint64_t wrong_others;                   /* packets of further ones */
    struct judge_stray strays[JUDGE_STRAYS]; /* the first unattributed ones */
    unsigned n_strays;
    uint64_t mode_changes;
    struct judge_delays flowing, starved;
    struct judge_delays promoted, demoted; /* the flowing ones again, by direction of the change */
    uint64_t unseen;
    struct judge_seen *seen;
    size_t n_seen, seen_allocated;
};

int judge_add_delay(struct judge_delays *delays, int64_t delay_ns); /* 0 or −ENOMEM */
void judge_sort_delays(struct judge_delays *delays);
/* The value that this share of the sorted ones does not exceed (nearest rank), in ms; 0 of none. */
double judge_delay_ms(const struct judge_delays *delays, unsigned permille);
/* For an even number of sorted ones, the mean of the two in the middle; 0 of none. */
double judge_median_ms(const struct judge_delays *delays);

/* 0 or −ENOMEM. *ret_verdict borrows from `truth` until verdict_done(). The caller ends
 * *ret_verdict with verdict_done() in any case. */
int judge(const struct truth *truth, const struct packets *packets,
          const struct judge_windows *windows, struct verdict *ret_verdict, struct err *err);

/* Whether the run proves the marks right: packets were checked, and none was wrong or
 * unattributed. */
bool verdict_is_good(const struct verdict *verdict);

/* In words, and as one line of JSON. */
void verdict_print(const struct verdict *verdict, const struct judge_windows *windows, FILE *out);
void verdict_print_json(const struct verdict *verdict, FILE *out);

void verdict_done(struct verdict *verdict);
