/* Clients over TCP: what wire_unix.h does for clients on this machine, behind the gate that agents
 * use too (agents_zmq.h), which gives the key of each message.
 *
 * A client is one connection, from its first message until that is gone; its numbers have
 * REMOTE_BIT, so they are never those of a client on the Unix socket. At most REMOTE_CLIENTS are
 * served at once, or half of the allowed connections, shared by roles and keys (places.h); further
 * ones are told so, and a client without a place that sends only signs of life loses its
 * connection. While a client is held, its messages wait in order, at most REMOTE_WAITING: one that
 * sends more loses its connection, and the log says so. What ZeroMQ does not take waits here and is
 * tried again every REMOTE_AGAIN_USEC; the client's messages wait meanwhile, so at most an answer
 * or two wait, and what it was sent unasked: ask remote_has_room before that. One thread. */
#pragma once

#include "controller/keyring.h"
#include "lib/places.h"
#include "lib/wire.h"

#include <stdbool.h>
#include <systemd/sd-event.h>

#define REMOTE_CLIENTS PLACES_MOST
#define REMOTE_WAITING 64
#define REMOTE_BIT     (UINT64_C(1) << 62)

#define REMOTE_AGAIN_USEC 10000

struct remote;

struct remote_hooks {
    /* Sends to a connection; −ENOBUFS: not now; else < 0: it is gone. */
    int (*send)(void *user, uint64_t peer, const duopoly_Envelope *envelope);
    /* Breaks this connection and the others with its key. */
    void (*cut)(void *user, uint64_t peer);
    void *send_user;
    /* As in wire_unix_handler. */
    void (*on_message)(void *user, uint64_t client, const duopoly_Envelope *envelope);
    void (*on_close)(void *user, uint64_t client);
    void (*on_room)(void *user, uint64_t client);
    bool (*on_ready)(void *user, uint64_t client);
    void *user;
};

/* `connections`: the maximum for all peers. */
int remote_create(sd_event *loop, const struct remote_hooks *hooks, uint32_t connections,
                  struct remote **ret_remote);
/* NULL is fine. on_close is not called. */
void remote_destroy(struct remote *remote);

/* From the gate: a message of a client; a connection is gone. */
void remote_message(struct remote *remote, uint64_t peer, const struct key_holder *who,
                    const duopoly_Envelope *envelope);
void remote_gone(struct remote *remote, uint64_t peer);

/* As wire_unix_send, wire_unix_has_room and wire_unix_hold. */
int remote_send(struct remote *remote, uint64_t client, const duopoly_Envelope *envelope);
bool remote_has_room(const struct remote *remote, uint64_t client);
void remote_hold(struct remote *remote, uint64_t client, bool hold);

/* NULL: there is no such client. */
const struct key_holder *remote_who(const struct remote *remote, uint64_t client);
