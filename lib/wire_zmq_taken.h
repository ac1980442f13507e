/* What ZeroMQ has read from a connection and not yet handed over.
 *
 * A pipe of libzmq 4.3.4 counts whole messages (pipe_t::write) and hands over no part of a message
 * before its last part has come. A message without a last part would take all memory. The kernel
 * knows how many bytes were read: as long as messages end, what was read since the last handed-over
 * message is at most what the pipe may hold and one message more. For lib/wire_zmq* only. */
#pragma once

#include "lib/wire.h"

#include <stdbool.h>
#include <stdint.h>

/* Bytes of a connection; twice the size of a message, for what encryption adds. */
#define TAKEN_MOST (UINT64_C(2) * WIRE_PEER_BYTES)

/* Zero to begin with. */
struct taken {
    uint64_t before; /* bytes read at a look after the last message */
    bool handed;     /* a message was handed over since the last look */
};

/* Checks whether more than TAKEN_MOST bytes were read from the connection since the last message.
 * Two system calls; always false for a connection that is not TCP. */
bool taken_is_endless(struct taken *taken, int fd);
