/* The wire over a stream (a Unix socket of those who have no SEQPACKET): before each Envelope its
 * length, 1 to WIRE_MAX_BYTES, as 4 bytes, the highest first.
 *
 * One connection, either side, in an sd-event loop. Partial reads and writes are put together. What
 * the peer does not take waits here, WIRE_STREAM_QUEUE bytes at most: a peer that lets more pile up
 * is cut. Any other length, a malformed message and an end within a message end the connection.
 *
 * Threads: all calls in the loop's thread. Nothing blocks. The end is always told by on_end, from
 * the loop, never from within a call. */
#pragma once

#include "lib/err.h"
#include "lib/wire.h"

#include <stdbool.h>
#include <systemd/sd-event.h>

#define WIRE_STREAM_PREFIX 4
#define WIRE_STREAM_QUEUE  (1024 * 1024)

/* What came in and was not taken; zeroed at first. */
struct wire_stream_input {
    size_t begin, end;
    uint8_t bytes[WIRE_STREAM_PREFIX + WIRE_MAX_BYTES];
};

/* Where the next bytes go, and how many have room: never 0 once wire_stream_take has answered 0. Who
 * puts some there adds their number to `end`. */
uint8_t *wire_stream_room(struct wire_stream_input *input, size_t *ret_size);

/* Takes the next message. 1: here it is; 0: it is not whole; −EMSGSIZE, −EBADMSG: there will be none
 * any more. O(its length). */
int wire_stream_take(struct wire_stream_input *input, duopoly_Envelope *ret_envelope,
                     struct err *err);

struct wire_stream;

struct wire_stream_handler {
    /* `envelope` is the stream's; it may be changed, and is borrowed until the handler returns. */
    void (*on_message)(void *user, duopoly_Envelope *envelope);
    /* It is over: close it. `why` is "" where the peer ended it in good order. */
    void (*on_end)(void *user, const char *why);
    void *user;
};

/* Takes over a connected `fd` that does not block (also on failure). `handler` is copied. It begins
 * held. */
int wire_stream_open(sd_event *loop, int fd, const struct wire_stream_handler *handler,
                     struct wire_stream **ret_stream, struct err *err);

/* Sends or queues. −ENOBUFS: the peer did not read and is being cut; −EPIPE: it is over. */
int wire_stream_send(struct wire_stream *stream, const duopoly_Envelope *envelope);

/* While it is held nothing is read and no message handed over. Let go, it hands over from within
 * this call what had come. */
void wire_stream_hold(struct wire_stream *stream, bool hold);

/* Ends the connection; on_end follows with this `why`, if none is known yet. */
void wire_stream_end(struct wire_stream *stream, const char *why);

/* Not from within on_message, nor under a wire_stream_hold; without on_end. NULL is fine. */
void wire_stream_close(struct wire_stream *stream);
