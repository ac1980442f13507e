#include "lib/wire_stream.h"

#include "lib/invariant.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

struct waiting {
    STAILQ_ENTRY(waiting) link;
    size_t length;
    uint8_t bytes[];
};

struct wire_stream {
    struct wire_stream_handler handler;
    int fd;
    sd_event_source *io;
    bool held, over;
    char why[sizeof(((struct err *)0)->text)];
    STAILQ_HEAD(, waiting) queue;
    size_t queued, taken; /* bytes that wait; of the first one, what the peer has */
    struct wire_stream_input input;
    duopoly_Envelope incoming;
    uint8_t outgoing[WIRE_STREAM_PREFIX + WIRE_MAX_BYTES];
};

uint8_t *wire_stream_room(struct wire_stream_input *input, size_t *ret_size)
{
    assert(input->begin <= input->end && input->end <= sizeof(input->bytes));
    memmove(input->bytes, input->bytes + input->begin, input->end - input->begin);
    input->end -= input->begin;
    input->begin = 0;
    *ret_size = sizeof(input->bytes) - input->end;
    return input->bytes + input->end;
}

int wire_stream_take(struct wire_stream_input *input, duopoly_Envelope *ret_envelope,
                     struct err *err)
{
    uint32_t length;
    const uint8_t *bytes = input->bytes + input->begin;
    if (input->end - input->begin < WIRE_STREAM_PREFIX)
        return 0;
    memcpy(&length, bytes, sizeof(length));
    length = be32toh(length);
    if (!length || length > WIRE_MAX_BYTES)
        return err_set(err, EMSGSIZE, "a message is said to have %u bytes; it may have 1 to %d",
                       length, WIRE_MAX_BYTES);
    if (input->end - input->begin - WIRE_STREAM_PREFIX < length)
        return 0;
    int r = wire_decode(bytes + WIRE_STREAM_PREFIX, length, ret_envelope, err);
    input->begin += WIRE_STREAM_PREFIX + length;
    return r < 0 ? r : 1;
}

/* Shutting down makes the loop see the end: nothing is freed under a caller's feet. */
void wire_stream_end(struct wire_stream *stream, const char *why)
{
    if (stream->over)
        return;
    stream->over = true;
    snprintf(stream->why, sizeof(stream->why), "%s", why);
    shutdown(stream->fd, SHUT_RDWR);
}

static void rearm(struct wire_stream *stream)
{
    sd_event_source_set_io_events(stream->io, (stream->held ? 0u : (uint32_t)EPOLLIN) |
                                                  (stream->queued ? (uint32_t)EPOLLOUT : 0u));
}

static void flush(struct wire_stream *stream)
{
    struct waiting *first;
    while (!stream->over && (first = STAILQ_FIRST(&stream->queue))) {
        ssize_t n = send(stream->fd, first->bytes + stream->taken, first->length - stream->taken,
                         MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN && errno != EINTR && errno != EPIPE)
            wire_stream_end(stream, strerror(errno));
        if (n < 0)
            break;
        stream->taken += (size_t)n;
        assert(stream->queued >= (size_t)n && stream->taken <= first->length);
        stream->queued -= (size_t)n;
        if (stream->taken < first->length)
            continue;
        STAILQ_REMOVE_HEAD(&stream->queue, link);
        stream->taken = 0;
        free(first);
    }
    rearm(stream);
}

int wire_stream_send(struct wire_stream *stream, const duopoly_Envelope *envelope)
{
    size_t length;
    if (stream->over)
        return -EPIPE;
    int r =
        wire_encode(envelope, stream->outgoing + WIRE_STREAM_PREFIX, WIRE_MAX_BYTES, &length, NULL);
    if (r < 0)
        return r;
    uint32_t prefix = htobe32((uint32_t)length);
    memcpy(stream->outgoing, &prefix, sizeof(prefix));
    length += WIRE_STREAM_PREFIX;
    struct waiting *message =
        stream->queued + length <= WIRE_STREAM_QUEUE ? malloc(sizeof(*message) + length) : NULL;
    if (!message) {
        wire_stream_end(stream, "it does not take in what is sent to it");
        return -ENOBUFS;
    }
    message->length = length;
    memcpy(message->bytes, stream->outgoing, length);
    STAILQ_INSERT_TAIL(&stream->queue, message, link);
    stream->queued += length;
    flush(stream);
    return 0;
}

static void hand_over(struct wire_stream *stream)
{
    struct err err;
    int r = 0;
    while (!stream->held && !stream->over &&
           (r = wire_stream_take(&stream->input, &stream->incoming, &err)) > 0)
        stream->handler.on_message(stream->handler.user, &stream->incoming);
    if (r < 0)
        wire_stream_end(stream, err.text);
}

void wire_stream_hold(struct wire_stream *stream, bool hold)
{
    stream->held = hold;
    rearm(stream);
    if (!hold)
        hand_over(stream);
}

static void peer_ended(struct wire_stream *stream, int code)
{
    const bool cut = stream->input.end != stream->input.begin;
    wire_stream_end(stream, code && code != ECONNRESET ? strerror(code)
                            : cut                      ? "it ended in the middle of a message"
                                                       : "");
}

static void receive(struct wire_stream *stream)
{
    size_t size;
    uint8_t *room = wire_stream_room(&stream->input, &size);
    ssize_t n = recv(stream->fd, room, size, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        peer_ended(stream, n < 0 ? errno : 0);
        return;
    }
    stream->input.end += (size_t)n;
    hand_over(stream);
}

static int on_io(sd_event_source *source, int fd, uint32_t revents, void *user)
{
    struct wire_stream *stream = user;
    (void)source, (void)fd;
    if (revents & EPOLLOUT)
        flush(stream);
    if (stream->held && (revents & (EPOLLHUP | EPOLLERR)))
        wire_stream_end(stream, "");
    else if (!stream->over && (revents & (EPOLLIN | EPOLLHUP | EPOLLERR)))
        receive(stream);
    if (stream->over)
        stream->handler.on_end(stream->handler.user, stream->why);
    return 0;
}

int wire_stream_open(sd_event *loop, int fd, const struct wire_stream_handler *handler,
                     struct wire_stream **ret_stream, struct err *err)
{
    struct wire_stream *stream = calloc(1, sizeof(*stream));
    if (!stream) {
        close(fd);
        return err_sys(err, ENOMEM, "a connection");
    }
    stream->handler = *handler;
    stream->fd = fd;
    stream->held = true;
    STAILQ_INIT(&stream->queue);
    int r = sd_event_add_io(loop, &stream->io, fd, 0, on_io, stream);
    if (r < 0) {
        wire_stream_close(stream);
        return err_sys(err, -r, "a connection");
    }
    *ret_stream = stream;
    return 0;
}

void wire_stream_close(struct wire_stream *stream)
{
    struct waiting *first;
    if (!stream)
        return;
    while ((first = STAILQ_FIRST(&stream->queue))) {
        STAILQ_REMOVE_HEAD(&stream->queue, link);
        free(first);
    }
    sd_event_source_disable_unref(stream->io);
    close(stream->fd);
    free(stream);
}
