/* The way in over TCP: a ZeroMQ ROUTER with a gate. Agents' and frameworks' messages go to the conductor, those of
 * clients to whom agents_zmq_attach names, and to their connections is sent.
 *
 * The gate: where the controller has a key of its own (own_key.h), whoever connects shows one that
 * stands in the keyring (keyring.h), and each message goes on with the name and role of its key;
 * one of a key that is over meanwhile is dropped. What a role may say is judged here for agents
 * and frameworks (roles.h), and by clients/control.h for all others. Without a key of its own it listens on
 * loopback only, or where `trust` says so in words; then everybody is an agent, by the name in his
 * HELLO, and nobody a client.
 *
 * A key has a bounded part of the connections that there may be: an agent as many as a session that
 * breaks again and again leaves behind, a client somewhat more than it has places (clients/remote.h).
 *
 * Each connection that is refused is one line of the log. One thread. */
#pragma once

#include "controller/conductor.h"
#include "controller/keyring.h"
#include "lib/wire_zmq.h"

struct agents_zmq;

/* Who serves those that are no agents. */
struct agents_zmq_clients {
    void (*message)(void *user, uint64_t peer, const struct key_holder *who,
                    const duopoly_Envelope *envelope);
    void (*gone)(void *user, uint64_t peer);
    void *user;
};

/* Whether it may listen as the settings say, before anything is opened: −EPERM, with what to do. */
int agents_zmq_check(const struct settings *settings, struct err *err);

/* Listens on settings' address within `limits` (copied). Messages wait in the socket until
 * agents_zmq_attach says to whom they go. */
int agents_zmq_open(sd_event *loop, const struct settings *settings,
                    const struct wire_zmq_limits *limits, struct agents_zmq **ret_door,
                    struct err *err);
/* `clients` is copied. From now on keys that change are kept in the conductor's store, after those
 * that it holds are known. */
void agents_zmq_attach(struct agents_zmq *door, struct conductor *conductor,
                       const struct agents_zmq_clients *clients);

/* As agents_hooks.send, `user` is the struct agents_zmq. */
int agents_zmq_send(void *user, uint64_t peer, const duopoly_Envelope *envelope);
/* As agents_hooks.cut, likewise. */
void agents_zmq_cut(void *user, uint64_t peer);
/* As agents_where.comes_from, likewise. */
bool agents_zmq_comes_from(void *user, uint64_t peer, const uint8_t address[16]);

/* How many connections there may be. */
uint32_t agents_zmq_most(const struct agents_zmq *door);

/* NULL: everybody may enter. Who changes it calls agents_zmq_keys_changed. */
struct keyring *agents_zmq_keyring(const struct agents_zmq *door);
void agents_zmq_keys_changed(struct agents_zmq *door);
/* The controller's next key, in force after so many seconds; with a gate only. */
int agents_zmq_rotate(struct agents_zmq *door, int64_t overlap_s, struct err *err);
/* Whom to believe, as own_key_public; with a gate only. */
void agents_zmq_own_keys(const struct agents_zmq *door, duopoly_ControllerKeys *ret_keys);

/* The address with its real port; and what was counted. Borrowed until close. */
const char *agents_zmq_address(const struct agents_zmq *door);
const struct wire_zmq_counters *agents_zmq_counters(const struct agents_zmq *door);
const struct wire_zmq_door_counters *agents_zmq_connections(const struct agents_zmq *door);
struct agents_zmq_refusals {
    uint64_t unknown_keys; /* or such that are over */
    uint64_t unasked;      /* no key was shown: plain text, or not for this controller */
    uint64_t late;         /* messages of keys that were over when they came */
    uint64_t forbidden;    /* messages that an agent or framework may not send */
};
const struct agents_zmq_refusals *agents_zmq_refusals(const struct agents_zmq *door);

/* NULL is fine. */
void agents_zmq_close(struct agents_zmq *door);
