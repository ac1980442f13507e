/* What waits for a DEALER's pipe: messages in order, of which reports may be lost and results may
 * not. Bounds are wire_zmq.h's. For lib/wire_zmq.c only. */
#pragma once

#include "lib/wire_zmq.h"

#include <stdbool.h>
#include <sys/queue.h>

struct wire_zmq_queued {
    TAILQ_ENTRY(wire_zmq_queued) link;
    enum wire_class class;
    size_t length;
    uint8_t bytes[];
};

struct wire_zmq_queue {
    TAILQ_HEAD(, wire_zmq_queued) messages;
    size_t reports, results;
};

static inline void wire_zmq_queue_init(struct wire_zmq_queue *queue)
{
    TAILQ_INIT(&queue->messages);
}

/* Copies the message to the end. −ENOBUFS: too many results wait, or no memory. *dropped grows for
 * each report that made room. */
int wire_zmq_queue_append(struct wire_zmq_queue *queue, enum wire_class class, const uint8_t *bytes,
                          size_t length, uint64_t *dropped);

/* The first; NULL: none waits. Owned by the queue. */
static inline struct wire_zmq_queued *wire_zmq_queue_first(const struct wire_zmq_queue *queue)
{
    return TAILQ_FIRST(&queue->messages);
}

void wire_zmq_queue_remove(struct wire_zmq_queue *queue, struct wire_zmq_queued *message);
void wire_zmq_queue_clear(struct wire_zmq_queue *queue);
