/* The wire over ZeroMQ: the controller's ROUTER and an agent's DEALER, as a source of one sd-event
 * loop.
 *
 * What is decided here: socket options (messages of at most WIRE_MAX_BYTES, explicit high-water
 * marks, LINGER 0, IMMEDIATE 1, ROUTER_MANDATORY, TOS = control band CS6), how the edge-triggered
 * ZMQ_FD becomes events that are never missed, and what happens when a queue is full. Sessions
 * (HELLO, sequences, silence) are their owners' affair (wire.h).
 *
 * Identity: ROUTER names a connection by a number that it makes itself; peers set no routing id,
 * and one that does is ignored and counted. Who a peer *is* is the guard's word, given when its
 * key was shown (RFC 26, CURVE), and comes with each message; a message without it is dropped and
 * its connection cut. Without a guard there is no identity (NULL): its HELLO says who it is.
 *
 * A DEALER with keys believes a controller that holds one of two: it tries one and then the other.
 * Which of a name's addresses it tries, and when again: wire_zmq_dial.h.
 *
 * Families: `*` listens on IPv4 and IPv6, an interface on its first IPv4 address or else its first
 * IPv6 address.
 *
 * Queues: a ROUTER's peer that does not read has ROUTER_QUEUE messages in ZeroMQ, then sending
 * answers −ENOBUFS and its owner ends the session. A DEALER has DEALER_PIPE in ZeroMQ and behind
 * that a queue of its own: reports (WIRE_REPORT) beyond DEALER_REPORTS are dropped, oldest first,
 * and counted; results (WIRE_RESULT) never: beyond DEALER_RESULTS sending answers −ENOBUFS. When
 * the connection breaks a DEALER forgets its queue: a session resends nothing, HELLO and INVENTORY
 * say what is.
 *
 * Memory: what a ROUTER has of a peer's messages before it hands them over is WIRE_RECEIVE of them
 * and one that is coming in, so WIRE_PEER_BYTES at most; the rest waits at the peer. (More would be
 * no faster: measured with 4, one peer brings 150 000 a second and twenty bring 400 000.) Of a message
 * that does not end it has more until the door has looked. A peer that takes nothing for ROUTER_STUCK_MS is left by the kernel (TCP_USER_TIMEOUT).
 *
 * Threads: all calls in the loop's thread; ZeroMQ has one of its own for input and output. Nothing
 * blocks. An endpoint owns its ZeroMQ context. No fork without exec while one is open. Handlers may
 * send and may close peers, but must not close the endpoint that calls them. Traps known of
 * libzmq 4.3.4: its heartbeats are left off (they abort when a queue is full). */
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
    /* A message came. `peer` is the connection (0 on a DEALER); `identity` is the transport's word
     * for who it is, NULL where it has none. Both and `envelope` are borrowed until the handler
     * returns. which_body 0: a kind unknown to us. */
    void (*on_message)(void *user, uint64_t peer, const char *identity,
                       const duopoly_Envelope *envelope);
    /* A message that is no Envelope; `err` says why. */
    void (*on_malformed)(void *user, uint64_t peer, const struct err *err);
    /* DEALER only, else NULL: the connection stands (say HELLO), or broke (what was queued is
     * forgotten). */
    void (*on_up)(void *user);
    void (*on_down)(void *user);
    void *user;
    /* ROUTER with limits; may be NULL. The peer sent more than it may: it is being cut off. */
    void (*on_flood)(void *user, uint64_t peer);
    /* ROUTER with limits; may be NULL. A connection from there is ended: its message did not end. */
    void (*on_endless)(void *user, const char *address);
    /* ROUTER with limits; may be NULL where nothing is cut. A peer that had said something is gone,
     * or its identity was cut. */
    void (*on_gone)(void *user, uint64_t peer, bool cut);
    /* DEALER with keys; may be NULL. The controller does not take our key. */
    void (*on_refused)(void *user);
    /* DEALER; may be NULL. No connection can be made: the sentence names the endpoint, its addresses
     * and what each answered. Called first, when it changes, and else rarely (rarely.h). */
    void (*on_unreached)(void *user, const struct err *why);
};

/* ROUTER: who may enter. */
struct wire_zmq_guard {
    const struct key_pair *own; /* borrowed; looked at again by wire_zmq_listen_anew */
    /* Somebody proved to hold the secret half of `public` (Z85): sets what he is called, or "" to
     * keep him out. `address` is his, without a port. */
    void (*admit)(void *user, const char *public, const char *address,
                  char ret_identity[WIRE_USER_ID]);
    /* Somebody could not even be asked, and was kept out; `address` may be "". */
    void (*refused)(void *user, const char *address, const char *why);
    void *user;
    /* How many connections who is called that may have, asked at the first message of each; 0, or NULL:
     * any number. */
    uint32_t (*most)(void *user, const char *identity);
};

struct wire_zmq_counters {
    uint64_t received, sent;  /* messages */
    uint64_t malformed;       /* not an Envelope, or from a peer with a routing id of its own */
    uint64_t nameless;        /* without an identity, where there is a guard */
    uint64_t dropped_reports; /* DEALER */
    uint64_t unreachable;     /* sends refused because the peer is gone or does not read */
};

/* Listens as ROUTER on `address` ("tcp://10.77.0.1:7600"; port * takes a free one). `limits` (see
 * wire_zmq_door.h; NULL: none), `guard` (NULL: anybody may enter; else `limits` are given too) and
 * `handler` are copied. */
int wire_zmq_listen(sd_event *loop, const char *address, const struct wire_zmq_limits *limits,
                    const struct wire_zmq_guard *guard, const struct wire_zmq_handler *handler,
                    struct wire_zmq **ret_endpoint, struct err *err);

/* ROUTER with a guard: listens with the pair that guard->own has now. Every connection breaks; the
 * peers come back by themselves. Waits for ZeroMQ's thread, at most a second. On failure nothing
 * listens any more. */
int wire_zmq_listen_anew(struct wire_zmq *endpoint, struct err *err);

/* ROUTER with a guard: breaks the connections over which this identity has said something; on_gone
 * is called before this returns. What it sent before may still be handed over; the guard decides
 * whether it enters again. O(connections). */
void wire_zmq_cut(struct wire_zmq *endpoint, const char *identity);

/* ROUTER with limits: breaks the connection of this peer. on_gone follows. O(connections). */
void wire_zmq_cut_peer(struct wire_zmq *endpoint, uint64_t peer);

/* ROUTER with limits: whether the connection of this peer comes from this address (lib/address.h).
 * O(connections). */
bool wire_zmq_comes_from(const struct wire_zmq *endpoint, uint64_t peer, const uint8_t address[16]);

/* Connects as DEALER, with `keys` (copied; NULL: in plain text), and keeps trying until closed. Never
 * fails because nobody listens or the name is unknown; −EINVAL: `address` is no tcp://HOST:PORT. */
int wire_zmq_connect(sd_event *loop, const char *address, const struct key_file *keys,
                     const struct wire_zmq_handler *handler, struct wire_zmq **ret_endpoint,
                     struct err *err);

/* DEALER: from the next connection on (copied). */
void wire_zmq_set_keys(struct wire_zmq *endpoint, const struct key_file *keys);

/* DEALER: breaks the connection (the peer was silent, or refused us) and builds a new one; on_down
 * does not follow, on_up does. What was queued is forgotten. Must not be called from within on_up
 * or on_down. */
void wire_zmq_reconnect(struct wire_zmq *endpoint);

/* Sends; `envelope` is borrowed for the call, `class` is looked at by a DEALER only. −ENOBUFS: see
 * above; −EHOSTUNREACH: ROUTER has no such peer; −ENOTCONN: DEALER without a connection (nothing is
 * queued: there is no session). */
int wire_zmq_send(struct wire_zmq *endpoint, uint64_t peer, enum wire_class class,
                  const duopoly_Envelope *envelope);

/* DEALER: messages that wait because neither the controller nor ZeroMQ has room for them. */
size_t wire_zmq_waiting(const struct wire_zmq *endpoint);

/* The address that is listened on or connected to, with the real port. Borrowed until close. */
const char *wire_zmq_address(const struct wire_zmq *endpoint);

/* DEALER: the address that its connection goes to, of those that the name has. Borrowed until it breaks. */
const struct reach_address *wire_zmq_reached(const struct wire_zmq *endpoint);

const struct wire_zmq_counters *wire_zmq_counters(const struct wire_zmq *endpoint);

/* ROUTER with limits: its connections. */
const struct wire_zmq_door_counters *wire_zmq_connections(const struct wire_zmq *endpoint);

/* Ends the endpoint at once; NULL is fine. */
void wire_zmq_close(struct wire_zmq *endpoint);
