/* A DEALER's way to its controller: which address is tried, when the next one is, and why none goes.
 *
 * A name may have several addresses of both families: they are tried in turn, and the name is asked
 * for again before each round, since it may have moved. Between tries it waits DIAL_WAIT_USEC, twice as
 * long each time up to DIAL_WAIT_MOST_USEC, and up to as much again by chance, so that the agents of a
 * cluster do not come back as one.
 *
 * ZeroMQ tells that a connection was not made, never why: where it did not time out, a connection of
 * our own is tried (reach.h), which tells. That is done in one round in DIAL_WHY_USEC. What a round
 * met is one sentence, told first, when it changes, and else rarely (rarely.h).
 *
 * For lib/wire_zmq.c only. One thread, nothing blocks. */
#pragma once

#include "lib/err.h"
#include "lib/reach.h"

#include <stdbool.h>
#include <systemd/sd-event.h>

#define DIAL_WAIT_USEC      100000u
#define DIAL_WAIT_MOST_USEC 500000u
#define DIAL_WHY_USEC       10000000u
#define DIAL_CONNECT_MS     5000 /* a connection that is not made by then is given up */

struct wire_zmq_dial;

struct wire_zmq_dial_hooks {
    /* Try this one, as ZeroMQ takes it. 0 or −errno. */
    int (*connect)(void *user, const char *address, bool is_v6);
    /* Nothing can be reached; the sentence names the endpoint. */
    void (*unreached)(void *user, const struct err *why);
    void *user;
};

/* −EINVAL: `endpoint` is no tcp://HOST:PORT. */
int wire_zmq_dial_open(sd_event *loop, const char *endpoint,
                       const struct wire_zmq_dial_hooks *hooks, struct wire_zmq_dial **ret_dial,
                       struct err *err);

/* Now: `connect` is called at once, or when the name's addresses are known. What was under way is
 * forgotten. */
void wire_zmq_dial_begin(struct wire_zmq_dial *dial);

/* What `connect` began has failed. `why` says how where that is known (a handshake), NULL: find out. */
void wire_zmq_dial_failed(struct wire_zmq_dial *dial, const char *why);

/* The same address once more, after waiting; nothing is said. */
void wire_zmq_dial_again(struct wire_zmq_dial *dial);

/* It stands. */
void wire_zmq_dial_stands(struct wire_zmq_dial *dial);

/* The address that is tried, or stands. */
const struct reach_address *wire_zmq_dial_address(const struct wire_zmq_dial *dial);

/* NULL is fine. */
void wire_zmq_dial_close(struct wire_zmq_dial *dial);
