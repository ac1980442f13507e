/* What ZeroMQ has read off a connection and not handed over.
 *
 * A pipe of libzmq 4.3.4 counts whole messages (pipe_t::write), and hands over nothing of one of several
 * parts before its last: one without a last part has all memory that there is. The kernel knows what was
 * read. Since a message was handed over that is what the pipe may hold and one that comes in, as long as
 * messages end. For lib/wire_zmq* only. */
#pragma once

#include "lib/wire.h"

#include <stdbool.h>
#include <stdint.h>

/* Bytes of the connection; twice as much as messages are, for what encryption adds. */
#define TAKEN_MOST (UINT64_C(2) * WIRE_PEER_BYTES)

/* Zero to begin with. */
struct taken {
    uint64_t before; /* bytes read at a look after the last message */
    bool handed;     /* a message was handed over since the last look */
};

/* A look: whether more than TAKEN_MOST bytes were read off the connection since the last message. Two system
 * calls; never for what is no TCP connection. */
bool taken_is_endless(struct taken *taken, int fd);
