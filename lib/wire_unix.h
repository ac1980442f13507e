/* The wire over a Unix socket (SOCK_SEQPACKET, one Envelope a packet): the listening side, in one
 * sd-event loop. Clients are duopolyctl and drivers on the same machine; their side is client.h.
 *
 * Who may: root, the user that the listener runs as, and members of two groups, by the kernel's word
 * (SO_PEERCRED, SO_PEERGROUPS), besides the socket file's mode (0600, 0660 with the first group,
 * 0666 with the second). What each of them may is their owner's affair. Others are told so (Refused)
 * and closed. One that asks nothing and takes nothing for the time given to
 * wire_unix_listen is closed; those that watch may be quiet while nothing waits for them. Requests
 * are answered in order. A client that has answers waiting is not read until it has taken them, so
 * it can never have more than UNIX_QUEUE of them but by what it is sent unasked; one that lets that many
 * pile up is closed: who sends unasked asks for room first. At most UNIX_CLIENTS are served at once, further ones are told so and closed: readers have half of
 * the places, with members they have all but those of root and the own user, and one user of them has
 * a quarter (places.h), so that nobody can lock out who may do more. A
 * malformed message is answered with Refused and the client closed. Without a descriptor for the
 * next client it listens no more until the next second.
 *
 * Threads: all calls in the loop's thread. Nothing blocks. Handlers may send and disconnect; a
 * client's end is always told by on_close, from the loop, never from within a call. */
#pragma once

#include "lib/err.h"
#include "lib/wire.h"

#include <stdbool.h>
#include <systemd/sd-event.h>

#define UNIX_CLIENTS 256
#define UNIX_QUEUE   1024

struct wire_unix;

struct wire_unix_handler {
    /* `client` is never reused. `envelope` is borrowed until the handler returns; which_body 0: a
     * kind unknown to us. */
    void (*on_message)(void *user, uint64_t client, const duopoly_Envelope *envelope);
    /* The client is gone: forget it. */
    void (*on_close)(void *user, uint64_t client);
    void *user;
    /* The client has taken all that waited for it; may be NULL. */
    void (*on_room)(void *user, uint64_t client);
};

struct wire_unix_counters {
    uint64_t received, sent;
    uint64_t malformed;
    uint64_t refused_clients; /* not permitted, or too many */
    uint64_t slow_clients;    /* closed because they did not read */
    uint64_t idle_clients;    /* closed because they asked nothing */
    uint64_t pauses;          /* no descriptor for the next client */
};

/* Listens at `path`, replacing a socket there that nobody listens on; −EADDRINUSE if somebody does.
 * The groups may not exist: then nobody is in them. `idle_ns`: see above. `handler` is copied. */
struct wire_unix_groups {
    const char *members, *readers;
};
int wire_unix_listen(sd_event *loop, const char *path, const struct wire_unix_groups *groups,
                     uint64_t idle_ns, const struct wire_unix_handler *handler,
                     struct wire_unix **ret_server, struct err *err);

/* Who connected, by the kernel's word. −EHOSTUNREACH: no such client. */
enum wire_unix_standing { UNIX_STRANGER, UNIX_READER, UNIX_MEMBER, UNIX_ROOT };
struct wire_unix_peer {
    uint32_t uid;
    int32_t pid;
    enum wire_unix_standing standing; /* when it connected; the own user is as root */
};
int wire_unix_peer(const struct wire_unix *server, uint64_t client,
                   struct wire_unix_peer *ret_peer);

/* This client watches: from now on it may be quiet. */
void wire_unix_watch(struct wire_unix *server, uint64_t client);

/* Sends or queues; `envelope` is borrowed for the call. −EHOSTUNREACH: no such client; −ENOBUFS: it
 * did not read and is being closed. */
int wire_unix_send(struct wire_unix *server, uint64_t client, const duopoly_Envelope *envelope);

/* Whether nothing waits for it to be taken; from no to yes, on_room follows. */
bool wire_unix_has_room(const struct wire_unix *server, uint64_t client);

/* `hold`: its answer is on the way, and nothing more of it is read until it is held no more; it may be
 * quiet meanwhile. */
void wire_unix_hold(struct wire_unix *server, uint64_t client, bool hold);

/* Closes a client once what was sent before is on its way; on_close follows. */
void wire_unix_disconnect(struct wire_unix *server, uint64_t client);

const struct wire_unix_counters *wire_unix_counters(const struct wire_unix *server);

/* Closes every client without on_close and removes the socket file; NULL is fine. */
void wire_unix_close(struct wire_unix *server);
