/* The queues of one egress port, as lib/port/port.h says that they should be (pure; bounded, and all
 * of their memory taken when they are made).
 *
 * A packet is a pointer that nobody looks through here, and its length. It joins the queue of its
 * kind of traffic unless that is full: then it is the caller's again. A queue that is as long as its
 * threshold asks for a mark on what joins (ECN by queue length, as in Alizadeh et al., SIGCOMM 2010,
 * 3.1); where the packet cannot bear one it waits as without. A queue with red_packets asks at random
 * instead, by its average length, and drops what cannot bear a mark (struct queues_red).
 *
 * Served is, at the port's rate where it is held, first who has not had its floor, then who comes
 * first: strictly by priority. A floor is credit that grows by time, up to QUEUES_FLOOR_PACKETS of
 * the MTU, and all that a queue sends uses it up, down to as much debt; an empty queue saves none.
 * The rate's credit is at most QUEUES_BURST_NS of time, so that a port that is looked at too late
 * sends on average as fast.
 *
 * in = out + dropped + waiting, for each queue. O(1) a packet. Times are of the caller's clock. One
 * thread. */
#pragma once

#include "lib/err.h"
#include "lib/port/port.h"

#include <stdbool.h>
#include <stdint.h>

#define QUEUES_BURST_NS      1000000u
#define QUEUES_FLOOR_PACKETS 2

struct queue_counters {
    uint64_t in_packets, in_bytes; /* what came, whether or not it found room */
    uint64_t out_packets, out_bytes;
    uint64_t dropped_packets, dropped_bytes;
    uint64_t marked_packets; /* that the caller could mark when it was asked to */
};

struct queued {
    void *packet;
    uint32_t bytes; /* with the link layer's header */
};

enum queues_answer {
    QUEUES_TAKEN,
    QUEUES_TAKEN_LONG, /* its packet should say congestion: queues_marked, or else queues_unmarked */
    QUEUES_FULL,       /* the caller's again */
};

/* Random early detection of congestion, for a queue with red_packets. It keeps the average of what
 * waits. O(1), and allocates nothing. */
struct queues_red_state { /* of one queue, the driver's own */
    uint64_t words[4];
};
struct queues_red {
    /* −EINVAL: these thresholds are none. */
    int (*begin)(struct queues_red_state *state, const struct port_queue *queue);
    /* Whether the packet that joins `waiting` ≥ 1 others is to say congestion. */
    bool (*asks)(struct queues_red_state *state, uint32_t waiting);
    /* A packet joins an empty queue, that could have sent so many in the meantime. */
    void (*rested)(struct queues_red_state *state, uint64_t packets);
};

struct queues;

/* `port` is copied; where it is held it has a rate, of at most 10¹² bit/s. `red` (borrowed) NULL: all
 * queues mark by their thresholds. −ENOMEM; −EINVAL: red's. */
int queues_create(const struct port *port, const struct queues_red *red, uint64_t now_ns,
                  struct queues **ret_queues, struct err *err);
/* The same for what is to take the place of `before`, whose owner may go on using it meanwhile: there
 * is room for all that waits in it, `waiting` in each queue now, and for as much more as it takes.
 * Averages begin anew. */
int queues_create_after(const struct port *port, const struct queues *before,
                        const uint32_t *waiting, struct queues **ret_queues, struct err *err);
/* What waits in `from`, its counters and its rate's credit go to `to`, that was made after it and is
 * fresh: all of a queue to the one that serves the most urgent of its kinds, where they may be more
 * than that one takes. `from` is empty then. */
void queues_move(struct queues *from, struct queues *to);
/* What waits is the caller's: see queues_take. Takes NULL. */
void queues_destroy(struct queues *queues);

/* `kind` is one of enum port_traffic. */
enum queues_answer queues_put(struct queues *queues, uint32_t kind, struct queued item);
void queues_marked(struct queues *queues, uint32_t kind);
/* What joined last cannot bear a mark. Whether it is the caller's again: dropped. */
bool queues_unmarked(struct queues *queues, uint32_t kind);

/* What is to be sent now, at most `most`; returns how many. */
uint32_t queues_get(struct queues *queues, uint64_t now_ns, struct queued *ret_items,
                    uint32_t most);

/* Whatever waits, whether or not it is its time, most urgent first: for who ends, and counted as
 * dropped. */
uint32_t queues_take(struct queues *queues, struct queued *ret_items, uint32_t most);

/* When queues_get may give something again, if nothing joins: 0 now, UINT64_MAX never. */
uint64_t queues_next_ns(const struct queues *queues, uint64_t now_ns);

/* By queue of the port, 0 is served first. */
uint32_t queues_n(const struct queues *queues);
uint32_t queues_waiting(const struct queues *queues, uint32_t queue);
const struct queue_counters *queues_counters(const struct queues *queues, uint32_t queue);
