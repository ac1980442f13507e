/* Messages that wait for a DEALER's pipe, in order. Reports may be dropped, results may not.
 * wire_zmq.h gives the bounds. For lib/wire_zmq.c only. */
#pragma once

#include "lib/wire_zmq.h"

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

/* Appends a copy of the message. −ENOBUFS: too many results wait, or no memory. *dropped counts the
 * reports that were dropped to make space. */
int wire_zmq_queue_append(struct wire_zmq_queue *queue, enum wire_class class, const uint8_t *bytes,
                          size_t length, uint64_t *dropped);

/* The first message, owned by the queue; NULL if none waits. */
static inline struct wire_zmq_queued *wire_zmq_queue_first(const struct wire_zmq_queue *queue)
{
    return TAILQ_FIRST(&queue->messages);
}

void wire_zmq_queue_remove(struct wire_zmq_queue *queue, struct wire_zmq_queued *message);
void wire_zmq_queue_clear(struct wire_zmq_queue *queue);
