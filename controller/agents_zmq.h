/* The controller's TCP listener: a ZeroMQ ROUTER with a gate. It passes messages of agents and
 * frameworks to the conductor, those of clients to the handler given to agents_zmq_attach, and
 * sends to their connections.
 *
 * The gate: if the controller has a key of its own (own_key.h), every peer must show a key of the
 * keyring (keyring.h), and each of its messages carries the name and role of that key; a message of
 * a key that has ended meanwhile is dropped. This module checks what agents and frameworks may send
 * (roles.h); clients/control.h checks all other roles. Without a key of its own the controller
 * listens on loopback only, or where `trust` allows it explicitly; then every peer is an agent, by
 * the name in its HELLO, and none is a client.
 *
 * Each key may have a bounded number of connections: an agent as many as a session that keeps
 * breaking leaves behind, a client somewhat more than its places (clients/remote.h).
 *
 * Each connection that is refused is one line of the log. One thread. */
#pragma once

#include "controller/conductor.h"
#include "controller/keyring.h"
#include "lib/wire_zmq.h"

struct agents_zmq;

/* Handles the messages of clients. */
struct agents_zmq_clients {
    void (*message)(void *user, uint64_t peer, const struct key_holder *who,
                    const duopoly_Envelope *envelope);
    void (*gone)(void *user, uint64_t peer);
    void *user;
};

/* Whether the settings allow it to listen, before anything is opened: −EPERM, with what to do. */
int agents_zmq_check(const struct settings *settings, struct err *err);

/* Listens on settings' address within `limits` (copied). Messages wait in the socket until
 * agents_zmq_attach. */
int agents_zmq_open(sd_event *loop, const struct settings *settings,
                    const struct wire_zmq_limits *limits, struct agents_zmq **ret_door,
                    struct err *err);
/* `clients` is copied. From now on changes of keys are stored in the conductor's store, after its
 * keys are loaded. */
void agents_zmq_attach(struct agents_zmq *door, struct conductor *conductor,
                       const struct agents_zmq_clients *clients);

/* As agents_hooks.send, `user` is the struct agents_zmq. */
int agents_zmq_send(void *user, uint64_t peer, const duopoly_Envelope *envelope);
/* As agents_hooks.cut, likewise. */
void agents_zmq_cut(void *user, uint64_t peer);
/* As agents_where.comes_from, likewise. */
bool agents_zmq_comes_from(void *user, uint64_t peer, const uint8_t address[16]);

/* How many connections it allows. */
uint32_t agents_zmq_most(const struct agents_zmq *door);

/* NULL: everybody may connect. After a change, call agents_zmq_keys_changed. */
struct keyring *agents_zmq_keyring(const struct agents_zmq *door);
void agents_zmq_keys_changed(struct agents_zmq *door);
/* Makes the controller's next key, in force after `overlap_s`; with a gate only. */
int agents_zmq_rotate(struct agents_zmq *door, int64_t overlap_s, struct err *err);
/* The keys to trust, as own_key_public; with a gate only. */
void agents_zmq_own_keys(const struct agents_zmq *door, duopoly_ControllerKeys *ret_keys);

/* The address with its real port; and what was counted. Borrowed until close. */
const char *agents_zmq_address(const struct agents_zmq *door);
const struct wire_zmq_counters *agents_zmq_counters(const struct agents_zmq *door);
const struct wire_zmq_door_counters *agents_zmq_connections(const struct agents_zmq *door);
struct agents_zmq_refusals {
    uint64_t unknown_keys; /* unknown keys, or such that have ended */
    uint64_t unasked;      /* no key was shown: plain text, or meant for another controller */
    uint64_t late;         /* messages of keys that had ended when they came */
    uint64_t forbidden;    /* messages that an agent or framework may not send */
};
const struct agents_zmq_refusals *agents_zmq_refusals(const struct agents_zmq *door);

/* NULL is fine. */
void agents_zmq_close(struct agents_zmq *door);
