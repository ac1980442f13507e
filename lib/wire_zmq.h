/* Messages over ZeroMQ: the controller's ROUTER and an agent's DEALER, as a source of one sd-event
 * loop.
 *
 * This module decides the socket options (messages of at most WIRE_MAX_BYTES, explicit high-water
 * marks, LINGER 0, IMMEDIATE 1, ROUTER_MANDATORY, TOS = control band CS6), how the edge-triggered
 * ZMQ_FD becomes events that are never missed, and what happens when a queue is full. Its users
 * handle sessions (HELLO, sequences, silence; wire.h).
 *
 * Identity: ROUTER identifies a connection by a number that it chooses; peers set no routing id,
 * and one that does is ignored and counted. The guard gives a peer its identity when the peer shows
 * its key (RFC 26, CURVE), and each message carries it; a message without one is dropped and its
 * connection ended. Without a guard there is no identity (NULL): HELLO then names the peer.
 *
 * A DEALER with keys trusts two keys of its controller: it tries one and then the other.
 * wire_zmq_dial.h decides which of a name's addresses it tries, and when.
 *
 * Families: `*` listens on IPv4 and IPv6, an interface on its first IPv4 address or else its first
 * IPv6 address.
 *
 * Queues: ZeroMQ queues ROUTER_QUEUE messages for a peer that does not read; after that sending
 * returns −ENOBUFS, and the user ends the session. A DEALER queues DEALER_PIPE messages in ZeroMQ
 * and more in a queue of its own: reports (WIRE_REPORT) beyond DEALER_REPORTS are dropped, oldest
 * first, and counted. Results (WIRE_RESULT) are never dropped: beyond DEALER_RESULTS sending
 * returns −ENOBUFS. When its connection breaks, a DEALER drops its queue: a session resends
 * nothing; HELLO and INVENTORY report the state.
 *
 * Memory: a ROUTER buffers at most WIRE_RECEIVE messages of a peer and one that is arriving, so at
 * most WIRE_PEER_BYTES; the rest waits at the peer. (More would be no faster: measured with 4, one
 * peer sends 150 000 a second and twenty send 400 000.) A message that does not end takes more
 * until the door has checked the connection. The kernel drops a peer that acknowledges nothing for
 * ROUTER_STUCK_MS (TCP_USER_TIMEOUT).
 *
 * Threads: all calls in the loop's thread; ZeroMQ has one of its own for input and output. Nothing
 * blocks. An endpoint owns its ZeroMQ context. No fork without exec while one is open. Handlers may
 * send and may close peers, but must not close the endpoint that calls them. Known faults of libzmq
 * 4.3.4: its heartbeats are left off (they abort when a queue is full). */
#pragma once

#include "lib/err.h"
#include "lib/keys.h"
#include "lib/reach.h"
#include "lib/wire.h"
#include "lib/wire_zmq_door.h"

#include <systemd/sd-event.h>

#define ROUTER_QUEUE   1024
#define DEALER_PIPE    64
#define DEALER_REPORTS 256
#define DEALER_RESULTS 16384

#define WIRE_USER_ID    80 /* bytes of an identity, with its NUL */
#define WIRE_ZAP_DOMAIN "duopoly"

#define ROUTER_STUCK_MS 30000

enum wire_class { WIRE_REPORT, WIRE_RESULT };

struct wire_zmq;

struct wire_zmq_handler {
    /* A message came. `peer` is the connection (0 on a DEALER); `identity` is what the guard calls
     * the peer, NULL without a guard. Both and `envelope` are borrowed until the handler returns.
     * which_body 0: an unknown kind. */
    void (*on_message)(void *user, uint64_t peer, const char *identity,
                       const duopoly_Envelope *envelope);
    /* A message that is not an Envelope; `err` says why. */
    void (*on_malformed)(void *user, uint64_t peer, const struct err *err);
    /* DEALER only, else NULL: the connection is up (send HELLO), or broke (the queue was
     * dropped). */
    void (*on_up)(void *user);
    void (*on_down)(void *user);
    void *user;
    /* ROUTER with limits; may be NULL. The peer sent more than it may: it is being disconnected. */
    void (*on_flood)(void *user, uint64_t peer);
    /* ROUTER with limits; may be NULL. Connections from this address were ended. */
    void (*on_cut)(void *user, enum wire_zmq_fault why, const char *address);
    /* ROUTER with limits; may be NULL if nothing is cut. A peer that had sent a message is gone, or
     * its identity was cut. */
    void (*on_gone)(void *user, uint64_t peer, bool cut);
    /* DEALER with keys; may be NULL. The controller does not accept our key. */
    void (*on_refused)(void *user);
    /* DEALER; may be NULL. No connection can be made: the sentence names the endpoint, its
     * addresses and what happened at each. Called at first, when it changes, and else rarely
     * (rarely.h). */
    void (*on_unreached)(void *user, const struct err *why);
};

/* ROUTER: decides which peers may connect. */
struct wire_zmq_guard {
    const struct key_pair *own; /* borrowed; read again by wire_zmq_listen_anew */
    /* A peer at `address` (without a port) proved that it holds the secret half of `public` (Z85):
     * sets its name, or "" to keep it out. */
    void (*admit)(void *user, const char *public, const char *address,
                  char ret_identity[WIRE_USER_ID]);
    /* A peer was kept out before the guard could be asked; `address` may be "". */
    void (*refused)(void *user, const char *address, const char *why);
    void *user;
    /* How many connections this identity may have, asked at the first message of each; 0, or NULL:
     * any number. */
    uint32_t (*most)(void *user, const char *identity);
};

struct wire_zmq_counters {
    uint64_t received, sent;  /* messages */
    uint64_t malformed;       /* not an Envelope, or from a peer that set its own routing id */
    uint64_t nameless;        /* without an identity, where there is a guard */
    uint64_t dropped_reports; /* DEALER */
    uint64_t unreachable;     /* sends refused because the peer is gone or does not read */
};

/* Listens as ROUTER on `address` ("tcp://10.77.0.1:7600"; port * takes a free one). `limits` (see
 * wire_zmq_door.h; NULL: none), `guard` (NULL: all may connect; with a guard `limits` are
 * required) and `handler` are copied. */
int wire_zmq_listen(sd_event *loop, const char *address, const struct wire_zmq_limits *limits,
                    const struct wire_zmq_guard *guard, const struct wire_zmq_handler *handler,
                    struct wire_zmq **ret_endpoint, struct err *err);

/* ROUTER with a guard: listens with the pair that guard->own has now. Every connection breaks; the
 * peers connect again. Waits for ZeroMQ's thread, at most a second. On failure nothing listens any
 * more. */
int wire_zmq_listen_anew(struct wire_zmq *endpoint, struct err *err);

/* ROUTER with a guard: breaks the connections over which this identity has sent something; on_gone
 * is called before this returns. What it sent before may still be delivered; the guard decides
 * whether it may connect again. O(connections). */
void wire_zmq_cut(struct wire_zmq *endpoint, const char *identity);

/* ROUTER with limits: breaks the connection of this peer. on_gone follows. O(connections). */
void wire_zmq_cut_peer(struct wire_zmq *endpoint, uint64_t peer);

/* ROUTER with limits: whether the connection of this peer comes from this address (lib/address.h).
 * O(connections). */
bool wire_zmq_comes_from(const struct wire_zmq *endpoint, uint64_t peer, const uint8_t address[16]);

/* Connects as DEALER, with `keys` (copied; NULL: in plain text), and keeps trying until closed. It
 * does not fail if nobody listens or the name is unknown. −EINVAL: `address` is not
 * tcp://HOST:PORT. */
int wire_zmq_connect(sd_event *loop, const char *address, const struct key_file *keys,
                     const struct wire_zmq_handler *handler, struct wire_zmq **ret_endpoint,
                     struct err *err);

/* DEALER: uses these keys from the next connection on (copied). */
void wire_zmq_set_keys(struct wire_zmq *endpoint, const struct key_file *keys);

/* DEALER: breaks the connection (the peer was silent, or refused us) and makes a new one. on_down
 * is not called, on_up is. The queue is dropped. Do not call it from on_up or on_down. */
void wire_zmq_reconnect(struct wire_zmq *endpoint);

/* Sends; `envelope` is borrowed for the call, only a DEALER uses `class`. −ENOBUFS: see above;
 * −EHOSTUNREACH: ROUTER has no such peer; −ENOTCONN: DEALER without a connection (nothing is
 * queued, since there is no session). */
int wire_zmq_send(struct wire_zmq *endpoint, uint64_t peer, enum wire_class class,
                  const duopoly_Envelope *envelope);

/* DEALER: number of messages that wait because neither the controller nor ZeroMQ takes them. */
size_t wire_zmq_waiting(const struct wire_zmq *endpoint);

/* The address that it listens on or connects to, with the real port. Borrowed until close. */
const char *wire_zmq_address(const struct wire_zmq *endpoint);

/* DEALER: the address of its connection, of those that the name has. Borrowed until it breaks. */
const struct reach_address *wire_zmq_reached(const struct wire_zmq *endpoint);

const struct wire_zmq_counters *wire_zmq_counters(const struct wire_zmq *endpoint);

/* ROUTER with limits: its connections. */
const struct wire_zmq_door_counters *wire_zmq_connections(const struct wire_zmq *endpoint);

/* Ends the endpoint at once; NULL is fine. */
void wire_zmq_close(struct wire_zmq *endpoint);
