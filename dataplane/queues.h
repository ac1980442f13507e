/* The queues of one egress port, as lib/port/port.h describes them (pure; bounded; all memory is
 * allocated at creation).
 *
 * A packet is an opaque pointer and its length. It joins the queue of its kind of traffic; if that
 * is full, the caller keeps it. A queue that has reached its threshold asks for an ECN mark on what
 * joins (by queue length, as in Alizadeh et al., SIGCOMM 2010, 3.1); a packet that cannot carry one
 * waits without. A queue with red_packets asks at random instead, by its average length, and drops
 * packets that cannot carry a mark (struct queues_red).
 *
 * Service, at the port's rate if it is shaped: first the queues that have not had their floor, then
 * strictly by priority. A floor is credit that grows with time, up to QUEUES_FLOOR_PACKETS of the
 * MTU; everything that a queue sends uses it, down to as much debt; an empty queue saves none. The
 * rate's credit is at most QUEUES_BURST_NS of time, so that a port that is served late still sends
 * at its rate on average.
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
    uint64_t in_packets, in_bytes; /* what came, with or without room */
    uint64_t out_packets, out_bytes;
    uint64_t dropped_packets, dropped_bytes;
    uint64_t marked_packets; /* packets that the caller marked on request */
};

struct queued {
    void *packet;
    uint32_t bytes; /* with the link layer's header */
};

enum queues_answer {
    QUEUES_TAKEN,
    QUEUES_TAKEN_LONG, /* its packet should be marked: call queues_marked or queues_unmarked */
    QUEUES_FULL,       /* the caller keeps it */
};

/* Random early detection, for a queue with red_packets. It keeps the average queue length. O(1);
 * allocates nothing. */
struct queues_red_state { /* of one queue, the driver's own */
    uint64_t words[4];
};
struct queues_red {
    /* −EINVAL: these thresholds are invalid. */
    int (*begin)(struct queues_red_state *state, const struct port_queue *queue);
    /* Whether to mark the packet that joins `waiting` ≥ 1 others. */
    bool (*asks)(struct queues_red_state *state, uint32_t waiting);
    /* A packet joins an empty queue, which could have sent `packets` meanwhile. */
    void (*rested)(struct queues_red_state *state, uint64_t packets);
};

struct queues;

/* `port` is copied; if it is shaped, it has a rate of at most 10¹² bit/s. `red` (borrowed) NULL:
 * all queues mark by their thresholds. −ENOMEM; −EINVAL: from red. */
int queues_create(const struct port *port, const struct queues_red *red, uint64_t now_ns,
                  struct queues **ret_queues, struct err *err);
/* The same, for queues that will replace `before`, which its owner may use meanwhile: there is room
 * for all that waits in it (`waiting` in each queue now) and for as many more as it accepts.
 * Averages start again. */
int queues_create_after(const struct port *port, const struct queues *before,
                        const uint32_t *waiting, struct queues **ret_queues, struct err *err);
/* Moves what waits in `from`, its counters and its rate's credit to `to`, which was made after it
 * and is unused: each queue to the one that serves its most urgent kind, even beyond that one's
 * length. `from` is empty then. */
void queues_move(struct queues *from, struct queues *to);
/* The caller owns what waits: see queues_take. Takes NULL. */
void queues_destroy(struct queues *queues);

/* `kind` is one of enum port_traffic. */
enum queues_answer queues_put(struct queues *queues, uint32_t kind, struct queued item);
void queues_marked(struct queues *queues, uint32_t kind);
/* The packet that joined last cannot carry a mark. Returns whether it is dropped, and the caller's
 * again. */
bool queues_unmarked(struct queues *queues, uint32_t kind);

/* The packets to send now, at most `most`; returns how many. */
uint32_t queues_get(struct queues *queues, uint64_t now_ns, struct queued *ret_items,
                    uint32_t most);

/* Takes whatever waits, whether it is time or not, most urgent first; counted as dropped. For
 * shutdown. */
uint32_t queues_take(struct queues *queues, struct queued *ret_items, uint32_t most);

/* When queues_get may return packets again, if none joins: 0 now, UINT64_MAX never. */
uint64_t queues_next_ns(const struct queues *queues, uint64_t now_ns);

/* By queue of the port, 0 is served first. */
uint32_t queues_n(const struct queues *queues);
uint32_t queues_waiting(const struct queues *queues, uint32_t queue);
const struct queue_counters *queues_counters(const struct queues *queues, uint32_t queue);
