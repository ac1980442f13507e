#include "lib/wire_zmq_queue.h"

#include "lib/invariant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t *count_of(struct wire_zmq_queue *queue, enum wire_class class)
{
    return class == WIRE_REPORT ? &queue->reports : &queue->results;
}

void wire_zmq_queue_remove(struct wire_zmq_queue *queue, struct wire_zmq_queued *message)
{
    assert(*count_of(queue, message->class) > 0);
    TAILQ_REMOVE(&queue->messages, message, link);
    *count_of(queue, message->class) -= 1;
    free(message);
}

void wire_zmq_queue_clear(struct wire_zmq_queue *queue)
{
    struct wire_zmq_queued *message;
    while ((message = wire_zmq_queue_first(queue)))
        wire_zmq_queue_remove(queue, message);
}

static void oldest_report_drop(struct wire_zmq_queue *queue)
{
    struct wire_zmq_queued *message;
    TAILQ_FOREACH (message, &queue->messages, link)
        if (message->class == WIRE_REPORT) {
            wire_zmq_queue_remove(queue, message);
            return;
        }
}

int wire_zmq_queue_append(struct wire_zmq_queue *queue, enum wire_class class, const uint8_t *bytes,
                          size_t length, uint64_t *dropped)
{
    if (class == WIRE_RESULT && queue->results >= DEALER_RESULTS)
        return -ENOBUFS;
    if (class == WIRE_REPORT && queue->reports >= DEALER_REPORTS) {
        oldest_report_drop(queue);
        *dropped += 1;
    }
    struct wire_zmq_queued *message = malloc(sizeof(*message) + length);
    if (!message)
        return -ENOBUFS;
    message->class = class;
    message->length = length;
    memcpy(message->bytes, bytes, length);
    TAILQ_INSERT_TAIL(&queue->messages, message, link);
    *count_of(queue, class) += 1;
    assert(queue->reports <= DEALER_REPORTS);
    return 0;
}
