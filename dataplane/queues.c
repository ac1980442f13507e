#include "dataplane/queues.h"

#include "lib/invariant.h"

#include <errno.h>
#include <stdlib.h>

#define BITS_PER_BYTE 8
#define NS_PER_S      1000000000u
#define HEADER_BYTES  18 /* of Ethernet, with one tag */

struct queue {
    struct queued *ring; /* room for a power of 2 */
    uint32_t mask, head, waiting;
    uint32_t packets, ecn_packets; /* as in port.h */
    bool has_red;
    enum port_traffic first;
    uint64_t floor_bps;
    int64_t credit, credit_most; /* of the floor; < 0: it had more */
    struct queue_counters counters;
    uint64_t emptied_ns;
    struct queues_red_state red;
};

struct queues {
    struct queue queues[PORT_TRAFFIC];
    uint32_t n;
    uint32_t floors;       /* bit q: queue q has one */
    uint32_t backlog, due; /* it has packets; and has not had its floor */
    uint8_t queue_of[PORT_TRAFFIC];
    uint64_t rate_bps; /* 0: not held */
    int64_t credit, credit_most;
    uint64_t refilled_ns; /* when credit was counted last */
    uint64_t looked_ns;   /* of the last queues_get */
    uint64_t packet_ns;   /* that one of the MTU takes */
    struct queued *memory;
    const struct queues_red *red; /* or NULL */
};

static uint32_t room_for(uint32_t packets)
{
    uint32_t room = 1;
    while (room < packets)
        room *= 2;
    return room;
}

/* Credit is rate · time, without a division that would lose what grows slowly: 10⁻⁹ bits. */
static int64_t credit_of(uint64_t bytes)
{
    return (int64_t)(bytes * BITS_PER_BYTE * NS_PER_S);
}

static int64_t grown(int64_t credit, uint64_t rate_bps, uint64_t ns, int64_t most)
{
    int64_t more;
    if (__builtin_mul_overflow(rate_bps, ns, &more) || more > most - credit)
        return most;
    return credit + more;
}

static void queue_init(struct queue *queue, const struct port_queue *wanted, uint32_t mtu_bytes,
                       uint32_t room, struct queued *ring)
{
    *queue = (struct queue){
        .ring = ring,
        .mask = room - 1,
        .first = wanted->first,
        .packets = wanted->packets,
        .ecn_packets = wanted->ecn_packets,
        .floor_bps = wanted->floor_bps,
        .credit_most = credit_of((uint64_t)QUEUES_FLOOR_PACKETS * (mtu_bytes + HEADER_BYTES)),
    };
}

static int begin_red(struct queues *queues, const struct port *port, struct err *err)
{
    for (uint32_t q = 0; q < queues->n; q++) {
        const struct port_queue *wanted = &port->queues[q];
        if (!queues->red || !wanted->red_packets)
            continue;
        queues->queues[q].has_red = true;
        if (queues->red->begin(&queues->queues[q].red, wanted) < 0)
            return err_set(err, EINVAL, "queue %u cannot mark at random from %u to %u packets", q,
                           wanted->ecn_packets, wanted->red_packets);
    }
    return 0;
}

/* `rooms`: of each queue's ring. */
static int create(const struct port *port, const uint32_t rooms[PORT_TRAFFIC],
                  const struct queues_red *red, uint64_t now_ns, struct queues **ret_queues,
                  struct err *err)
{
    size_t room = 0;
    struct queues *queues = calloc(1, sizeof(*queues));
    for (uint32_t q = 0; q < port->queues_n; q++)
        room += rooms[q];
    if (queues)
        queues->memory = calloc(room, sizeof(struct queued));
    if (!queues || !queues->memory) {
        free(queues);
        return err_set(err, ENOMEM, "no memory for queues of %zu packets", room);
    }
    queues->n = port->queues_n;
    queues->rate_bps = port->held ? port->link_bps : 0;
    queues->credit_most = (int64_t)queues->rate_bps * QUEUES_BURST_NS;
    queues->refilled_ns = queues->looked_ns = now_ns;
    queues->packet_ns = 1 + (uint64_t)credit_of(port->mtu_bytes + HEADER_BYTES) / port->link_bps;
    queues->red = red;
    for (uint32_t kind = 0; kind < PORT_TRAFFIC; kind++)
        queues->queue_of[kind] = port->queue_of[kind];
    struct queued *ring = queues->memory;
    for (uint32_t q = 0; q < queues->n; q++) {
        queue_init(&queues->queues[q], &port->queues[q], port->mtu_bytes, rooms[q], ring);
        ring += rooms[q];
        queues->floors |= (uint32_t)(port->queues[q].floor_bps != 0) << q;
    }
    int r = begin_red(queues, port, err);
    if (r < 0)
        queues_destroy(queues);
    else
        *ret_queues = queues;
    return r;
}

int queues_create(const struct port *port, const struct queues_red *red, uint64_t now_ns,
                  struct queues **ret_queues, struct err *err)
{
    uint32_t rooms[PORT_TRAFFIC];
    for (uint32_t q = 0; q < port->queues_n; q++)
        rooms[q] = room_for(port->queues[q].packets);
    return create(port, rooms, red, now_ns, ret_queues, err);
}

int queues_create_after(const struct port *port, const struct queues *before,
                        const uint32_t *waiting, struct queues **ret_queues, struct err *err)
{
    uint32_t rooms[PORT_TRAFFIC], come[PORT_TRAFFIC] = {0};
    for (uint32_t q = 0; q < before->n; q++) {
        const uint32_t takes = before->queues[q].packets;
        come[port->queue_of[before->queues[q].first]] += takes > waiting[q] ? takes : waiting[q];
    }
    for (uint32_t q = 0; q < port->queues_n; q++)
        rooms[q] = room_for(come[q] > port->queues[q].packets ? come[q] : port->queues[q].packets);
    return create(port, rooms, before->red, 0, ret_queues, err);
}

void queues_destroy(struct queues *queues)
{
    if (queues)
        free(queues->memory);
    free(queues);
}

static void push(struct queues *queues, uint32_t q, struct queued item)
{
    struct queue *queue = &queues->queues[q];
    queue->ring[(queue->head + queue->waiting++) & queue->mask] = item;
    queues->backlog |= 1u << q;
}

static bool asks_for_mark(const struct queues *queues, struct queue *queue)
{
    if (!queue->has_red)
        return queue->ecn_packets && queue->waiting >= queue->ecn_packets;
    if (queue->waiting)
        return queues->red->asks(&queue->red, queue->waiting);
    queues->red->rested(&queue->red, (queues->looked_ns - queue->emptied_ns) / queues->packet_ns);
    return false;
}

enum queues_answer queues_put(struct queues *queues, uint32_t kind, struct queued item)
{
    const uint32_t q = queues->queue_of[kind];
    struct queue *queue = &queues->queues[q];
    queue->counters.in_packets++;
    queue->counters.in_bytes += item.bytes;
    if (queue->waiting >= queue->packets) {
        queue->counters.dropped_packets++;
        queue->counters.dropped_bytes += item.bytes;
        return QUEUES_FULL;
    }
    const bool is_long = asks_for_mark(queues, queue);
    push(queues, q, item);
    return is_long ? QUEUES_TAKEN_LONG : QUEUES_TAKEN;
}

void queues_marked(struct queues *queues, uint32_t kind)
{
    queues->queues[queues->queue_of[kind]].counters.marked_packets++;
}

/* It was asked for a mark, which means that others wait before it. */
bool queues_unmarked(struct queues *queues, uint32_t kind)
{
    struct queue *queue = &queues->queues[queues->queue_of[kind]];
    if (!queue->has_red)
        return false;
    queue->counters.dropped_packets++;
    queue->counters.dropped_bytes +=
        queue->ring[(queue->head + --queue->waiting) & queue->mask].bytes;
    return true;
}

static void took(struct queues *queues, uint32_t q, uint32_t packets)
{
    struct queue *queue = &queues->queues[q];
    checked(queue->waiting >= packets);
    queue->head += packets;
    queue->waiting -= packets;
    if (queue->waiting)
        return;
    queue->emptied_ns = queues->looked_ns;
    queues->backlog &= ~(1u << q);
    queues->due &= ~(1u << q);
}

static struct queued pop(struct queues *queues, uint32_t q)
{
    struct queue *queue = &queues->queues[q];
    const struct queued item = queue->ring[queue->head & queue->mask];
    took(queues, q, 1);
    return item;
}

static void add_counters(struct queue_counters *to, const struct queue_counters *from)
{
    to->in_packets += from->in_packets;
    to->in_bytes += from->in_bytes;
    to->out_packets += from->out_packets;
    to->out_bytes += from->out_bytes;
    to->dropped_packets += from->dropped_packets;
    to->dropped_bytes += from->dropped_bytes;
    to->marked_packets += from->marked_packets;
}

void queues_move(struct queues *from, struct queues *to)
{
    to->refilled_ns = from->refilled_ns;
    to->looked_ns = from->looked_ns;
    to->credit = from->credit < to->credit_most ? from->credit : to->credit_most;
    for (uint32_t q = 0; q < from->n; q++) {
        const uint32_t target = to->queue_of[from->queues[q].first];
        add_counters(&to->queues[target].counters, &from->queues[q].counters);
        while (from->queues[q].waiting)
            push(to, target, pop(from, q));
    }
}

/* An empty queue saves no credit, but still owes what it took. */
static void refill_floor(struct queue *queue, uint64_t ns)
{
    queue->credit =
        grown(queue->credit, queue->floor_bps, ns, queue->waiting ? queue->credit_most : 0);
}

static void refill(struct queues *queues, uint64_t now_ns)
{
    const uint64_t ns = now_ns - queues->refilled_ns;
    queues->refilled_ns = now_ns;
    queues->credit = grown(queues->credit, queues->rate_bps, ns, queues->credit_most);
    queues->due = 0;
    for (uint32_t floors = queues->floors; floors; floors &= floors - 1) {
        const uint32_t q = (uint32_t)__builtin_ctz(floors);
        refill_floor(&queues->queues[q], ns);
        if (queues->queues[q].waiting && queues->queues[q].credit > 0)
            queues->due |= 1u << q;
    }
}

/* Charges the floor, whatever the reason for which the queue was served; its debt is bounded by
 * what it can save. */
static void charge_floor(struct queues *queues, uint32_t q, int64_t credit)
{
    struct queue *queue = &queues->queues[q];
    queue->credit -= credit;
    if (queue->credit < -queue->credit_most)
        queue->credit = -queue->credit_most;
    if (queue->credit <= 0)
        queues->due &= ~(1u << q);
}

/* The credit that the queue may use now, and at most one packet beyond. */
static int64_t most_credit(const struct queues *queues, uint32_t q)
{
    int64_t most = INT64_MAX;
    if (queues->rate_bps)
        most = queues->credit;
    if (queues->due && queues->queues[q].credit < most)
        most = queues->queues[q].credit;
    return most;
}

/* Takes as many of the next queue's packets as may go before another queue's; returns how many. */
static uint32_t serve(struct queues *queues, struct queued *ret_items, uint32_t most)
{
    const uint32_t q = (uint32_t)__builtin_ctz(queues->due ? queues->due : queues->backlog);
    struct queue *queue = &queues->queues[q];
    const int64_t credit_most = most_credit(queues, q);
    const struct queued *ring = queue->ring;
    const uint32_t head = queue->head, mask = queue->mask,
                   n_most = most < queue->waiting ? most : queue->waiting;
    uint64_t bytes = 0;
    uint32_t n = 0;
    do {
        ret_items[n] = ring[(head + n) & mask];
        bytes += ret_items[n++].bytes;
    } while (n < n_most && credit_of(bytes) < credit_most);
    took(queues, q, n);
    queue->counters.out_packets += n;
    queue->counters.out_bytes += bytes;
    if (queues->rate_bps)
        queues->credit -= credit_of(bytes);
    if (queues->floors >> q & 1)
        charge_floor(queues, q, credit_of(bytes));
    return n;
}

uint32_t queues_get(struct queues *queues, uint64_t now_ns, struct queued *ret_items, uint32_t most)
{
    uint32_t n = 0;
    queues->looked_ns = now_ns;
    if (!queues->backlog)
        return 0;
    refill(queues, now_ns);
    while (n < most && queues->backlog && (queues->credit > 0 || !queues->rate_bps))
        n += serve(queues, ret_items + n, most - n);
    return n;
}

uint32_t queues_take(struct queues *queues, struct queued *ret_items, uint32_t most)
{
    uint32_t n = 0;
    while (n < most && queues->backlog) {
        const uint32_t q = (uint32_t)__builtin_ctz(queues->backlog);
        ret_items[n] = pop(queues, q);
        queues->queues[q].counters.dropped_packets++;
        queues->queues[q].counters.dropped_bytes += ret_items[n++].bytes;
    }
    return n;
}

uint64_t queues_next_ns(const struct queues *queues, uint64_t now_ns)
{
    if (!queues->backlog)
        return UINT64_MAX;
    if (queues->credit > 0 || !queues->rate_bps)
        return 0;
    const uint64_t at = queues->refilled_ns + (uint64_t)-queues->credit / queues->rate_bps + 1;
    return at <= now_ns ? 0 : at;
}

uint32_t queues_n(const struct queues *queues)
{
    return queues->n;
}

uint32_t queues_waiting(const struct queues *queues, uint32_t queue)
{
    return queues->queues[queue].waiting;
}

const struct queue_counters *queues_counters(const struct queues *queues, uint32_t queue)
{
    return &queues->queues[queue].counters;
}
