/* The agents' way in: a ZeroMQ ROUTER whose messages go to the conductor, and whose connections it
 * sends to. Nothing is decided here. */
#pragma once

#include "controller/conductor.h"
#include "lib/wire_zmq.h"

struct agents_zmq;

/* Listens on `address` within `limits` (copied). Messages are told to the conductor that
 * agents_zmq_attach names; before that they wait in the socket. */
int agents_zmq_open(sd_event *loop, const char *address, const struct wire_zmq_limits *limits,
                    struct agents_zmq **ret_door, struct err *err);
void agents_zmq_attach(struct agents_zmq *door, struct conductor *conductor);

/* As agents_hooks.send, `user` is the struct agents_zmq. */
int agents_zmq_send(void *user, uint64_t peer, const duopoly_Envelope *envelope);

/* The address with its real port; and what was counted. Borrowed until close. */
const char *agents_zmq_address(const struct agents_zmq *door);
const struct wire_zmq_counters *agents_zmq_counters(const struct agents_zmq *door);
const struct wire_zmq_door_counters *agents_zmq_connections(const struct agents_zmq *door);

/* NULL is fine. */
void agents_zmq_close(struct agents_zmq *door);
