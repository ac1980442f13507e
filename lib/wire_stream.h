/* Messages over a stream (a Unix socket for clients without SEQPACKET). Each Envelope is preceded
 * by its length, 1 to WIRE_MAX_BYTES, as 4 bytes in network order.
 *
 * One connection, either side, in an sd-event loop. Partial reads and writes are reassembled. What
 * the peer does not read waits here, at most WIRE_STREAM_QUEUE bytes; a peer that lets more pile up
 * is disconnected. Any other length, a malformed message and an end within a message end the
 * connection.
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

/* Bytes that were received and not yet taken; zero it first. */
struct wire_stream_input {
    size_t begin, end;
    uint8_t bytes[WIRE_STREAM_PREFIX + WIRE_MAX_BYTES];
};

/* Where the next bytes go, and how many fit: never 0 after wire_stream_take has returned 0. The
 * caller adds the number of bytes it puts there to `end`. */
uint8_t *wire_stream_room(struct wire_stream_input *input, size_t *ret_size);

/* Takes the next message. 1: here it is; 0: it is incomplete; −EMSGSIZE, −EBADMSG: the stream is
 * broken. O(its length). */
int wire_stream_take(struct wire_stream_input *input, duopoly_Envelope *ret_envelope,
                     struct err *err);

struct wire_stream;

struct wire_stream_handler {
    /* The stream owns `envelope`; it may be changed, and is borrowed until the handler returns. */
    void (*on_message)(void *user, duopoly_Envelope *envelope);
    /* The connection ended: close it. `why` is "" if the peer closed it in good order. */
    void (*on_end)(void *user, const char *why);
    void *user;
};

/* Takes over a connected, non-blocking `fd` (also on failure). `handler` is copied. The stream
 * begins held. */
int wire_stream_open(sd_event *loop, int fd, const struct wire_stream_handler *handler,
                     struct wire_stream **ret_stream, struct err *err);

/* Sends or queues. −ENOBUFS: the peer did not read and is being disconnected; −EPIPE: the
 * connection has ended. */
int wire_stream_send(struct wire_stream *stream, const duopoly_Envelope *envelope);

/* While a stream is held, nothing is read and no message is delivered. Releasing it delivers,
 * within this call, what has arrived. */
void wire_stream_hold(struct wire_stream *stream, bool hold);

/* Ends the connection; on_end follows with this `why`, if none is known yet. */
void wire_stream_end(struct wire_stream *stream, const char *why);

/* Do not call it from on_message or while wire_stream_hold runs. on_end is not called. NULL is
 * fine. */
void wire_stream_close(struct wire_stream *stream);
