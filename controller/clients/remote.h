/* Clients over TCP: what wire_unix.h is for those on this machine, on top of the gate that the
 * agents use (agents_zmq.h), which says whose key each message came with.
 *
 * A client is one connection, from its first message until that is gone; its numbers have
 * REMOTE_BIT, so they are never those of a client on the Unix socket. At most REMOTE_CLIENTS are
 * served at once, or half of the connections that there may be, shared by their roles and keys (places.h);
 * further ones are told so, and who has no place and only says that it is there loses its connection. While a client is held its messages wait, in order, up
 * to REMOTE_WAITING of them: one that sends more loses its connection, and the log says so. What ZeroMQ has no
 * room for waits here, and is tried again every REMOTE_AGAIN_USEC; its client's messages wait meanwhile, so what
 * waits is an answer or two and what it was sent unasked: who sends that asks for room first. One thread. */
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
    /* Sends to a connection; −ENOBUFS: it has no room now; else < 0: it is gone. */
    int (*send)(void *user, uint64_t peer, const duopoly_Envelope *envelope);
    /* Breaks the connections of who holds that key. */
    void (*cut)(void *user, uint64_t peer);
    void *send_user;
    /* As wire_unix_handler's. */
    void (*on_message)(void *user, uint64_t client, const duopoly_Envelope *envelope);
    void (*on_close)(void *user, uint64_t client);
    void (*on_room)(void *user, uint64_t client);
    void *user;
};

/* `connections`: of all peers, at most. */
int remote_create(sd_event *loop, const struct remote_hooks *hooks, uint32_t connections,
                  struct remote **ret_remote);
/* NULL is fine. Nobody's on_close is called. */
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
