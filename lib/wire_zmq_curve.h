/* CURVE on ZeroMQ's sockets (RFC 26 of the ZeroMQ project): shows and requires keys, and answers
 * ZeroMQ's authentication requests (RFC 27) in the daemon's own loop.
 *
 * libzmq asks at inproc://zeromq.zap.01 of the listener's context, once for each handshake, when
 * the client has proved that it holds the secret half of its key. The handler must exist before the
 * listener does: libzmq 4.3.4 lets in all that it cannot ask about, unless the domain is enforced
 * (wire_zmq_curve_serve enforces it too, and checks that). For lib/wire_zmq.c; its first half also
 * for lib/client_zmq.c. */
#pragma once

#include "lib/wire_zmq.h"

struct wire_zmq_zap;

/* `guard` is borrowed until close. `number` gives each accepted handshake a number, which its
 * messages carry (wire_zmq_handshake_of). */
int wire_zmq_zap_open(sd_event *loop, void *context, const struct wire_zmq_guard *guard,
                      uint64_t (*number)(void *user), void *user, struct wire_zmq_zap **ret_zap);

/* The number of the handshake of the message's connection; 0: the guard was not asked. */
uint64_t wire_zmq_handshake_of(void *message);

/* NULL is fine; call it before the context ends. */
void wire_zmq_zap_close(struct wire_zmq_zap *zap);

/* Before the socket is bound: clients must show a key. −1: libzmq cannot; errno says why. */
int wire_zmq_curve_serve(void *socket, const struct key_pair *own);

/* Before the socket connects: it shows our key, and accepts only the holder of the secret half of
 * `controller`. */
int wire_zmq_curve_show(void *socket, const struct key_pair *own, const char *controller);

/* Events of a socket's monitor: a handshake failed before the guard was asked about a key; or
 * failed at all. */
#define WIRE_ZMQ_UNASKED                                                                           \
    (ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL)
#define WIRE_ZMQ_REFUSALS (WIRE_ZMQ_UNASKED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)

/* What such an event of a listener, with its value, means. */
const char *wire_zmq_refusal_words(int event, int32_t value);
