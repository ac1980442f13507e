/* Makes a DEALER's connection to its controller: chooses the address to try and when, and finds out
 * why none can be reached.
 *
 * A name may have several addresses of both families. They are tried in turn, and the name is
 * resolved again before each round, since it may have moved. Between tries it waits DIAL_WAIT_USEC,
 * twice as long each time up to DIAL_WAIT_MOST_USEC, plus a random time up to as much again, so
 * that a cluster's agents do not all connect at once.
 *
 * ZeroMQ reports that a connection failed, never why. Unless it timed out, we try a connection of
 * our own (reach.h), which says why; this happens in one round per DIAL_WHY_USEC. The outcome of a
 * round is one sentence, reported at first, when it changes, and else rarely (rarely.h).
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
#define DIAL_CONNECT_MS     5000 /* a connection that takes longer is given up */

struct wire_zmq_dial;

struct wire_zmq_dial_hooks {
    /* Try this address, in ZeroMQ's form. 0 or −errno. */
    int (*connect)(void *user, const char *address, bool is_v6);
    /* No address can be reached; the sentence names the endpoint. */
    void (*unreached)(void *user, const struct err *why);
    void *user;
};

/* −EINVAL: `endpoint` is no tcp://HOST:PORT. */
int wire_zmq_dial_open(sd_event *loop, const char *endpoint,
                       const struct wire_zmq_dial_hooks *hooks, struct wire_zmq_dial **ret_dial,
                       struct err *err);

/* Begins now: calls `connect` at once, or when the name is resolved. An attempt under way is
 * dropped. */
void wire_zmq_dial_begin(struct wire_zmq_dial *dial);

/* The attempt that `connect` began has failed. `why` is the reason if known (a handshake), else
 * NULL: find out. */
void wire_zmq_dial_failed(struct wire_zmq_dial *dial, const char *why);

/* Tries the same address again after the wait; nothing is reported. */
void wire_zmq_dial_again(struct wire_zmq_dial *dial);

/* The connection is up. */
void wire_zmq_dial_stands(struct wire_zmq_dial *dial);

/* The address that is tried or connected. */
const struct reach_address *wire_zmq_dial_address(const struct wire_zmq_dial *dial);

/* NULL is fine. */
void wire_zmq_dial_close(struct wire_zmq_dial *dial);
