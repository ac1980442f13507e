/* The listening side of the Unix socket (SOCK_SEQPACKET, one Envelope a packet), in one sd-event
 * loop. Clients are duopolyctl and drivers on the same machine; client.h is their side.
 *
 * Access: root, the user that the listener runs as, and members of two groups, as the kernel says
 * (SO_PEERCRED, SO_PEERGROUPS), besides the socket file's mode (0600, 0660 with the first group,
 * 0666 with the second). The owner of the listener decides what each of them may do. Others are
 * refused (Refused) and closed.
 *
 * A client that neither asks nor reads for the time given to wire_unix_listen is closed; a client
 * that watches may be quiet while nothing waits for it. Requests are answered in order. A client
 * with waiting answers is not read until it has taken them, so at most UNIX_QUEUE messages wait for
 * it, except those sent unasked. A client for which so many wait is closed; before sending unasked,
 * ask wire_unix_has_room.
 *
 * At most UNIX_CLIENTS are served at once; further ones are told so and closed. Readers get at most
 * half of the places; readers and members together get all but those reserved for root and the own
 * user; one user gets a quarter (places.h). So nobody can lock out a client with more rights. A
 * malformed message is answered with Refused, and the client is closed. Without a descriptor for
 * the next client, listening pauses until the next second.
 *
 * Threads: all calls in the loop's thread. Nothing blocks. Handlers may send and disconnect.
 * on_close always reports a client's end, from the loop, never from within a call. */
#pragma once

#include "lib/err.h"
#include "lib/wire.h"

#include <stdbool.h>
#include <systemd/sd-event.h>

#define UNIX_CLIENTS 256
#define UNIX_QUEUE   1024

struct wire_unix;

struct wire_unix_handler {
    /* `client` is never reused. `envelope` is borrowed until the handler returns; which_body 0: an
     * unknown kind. */
    void (*on_message)(void *user, uint64_t client, const duopoly_Envelope *envelope);
    /* The client is gone: forget it. */
    void (*on_close)(void *user, uint64_t client);
    void *user;
    /* The client has read all that waited for it; may be NULL. */
    void (*on_room)(void *user, uint64_t client);
    /* A message of the client has come: whether it is read now; may be NULL. False: the client is
     * held, and this is asked again when it is released. */
    bool (*on_ready)(void *user, uint64_t client);
};

struct wire_unix_counters {
    uint64_t received, sent;
    uint64_t malformed;
    uint64_t refused_clients; /* without access, or too many */
    uint64_t slow_clients;    /* closed because they did not read */
    uint64_t idle_clients;    /* closed because they asked nothing */
    uint64_t pauses;          /* times without a descriptor for the next client */
};

/* Listens at `path`, replacing a socket file without a listener; −EADDRINUSE if there is one. A
 * group that does not exist has no members. `idle_ns`: see above. `handler` is copied. */
struct wire_unix_groups {
    const char *members, *readers;
};
int wire_unix_listen(sd_event *loop, const char *path, const struct wire_unix_groups *groups,
                     uint64_t idle_ns, const struct wire_unix_handler *handler,
                     struct wire_unix **ret_server, struct err *err);
/* Another `idle_ns` from now on, for those that are connected too. */
void wire_unix_take_idle(struct wire_unix *server, uint64_t idle_ns);

/* The client's standing, by what the kernel says. −EHOSTUNREACH: no such client. */
enum wire_unix_standing { UNIX_STRANGER, UNIX_READER, UNIX_MEMBER, UNIX_ROOT };
struct wire_unix_peer {
    uint32_t uid;
    int32_t pid;
    enum wire_unix_standing standing; /* when it connected; the own user counts as root */
};
int wire_unix_peer(const struct wire_unix *server, uint64_t client,
                   struct wire_unix_peer *ret_peer);

/* The client watches: from now on it may be quiet. */
void wire_unix_watch(struct wire_unix *server, uint64_t client);

/* Sends or queues; `envelope` is borrowed for the call. −EHOSTUNREACH: no such client; −ENOBUFS: it
 * did not read and is being closed. */
int wire_unix_send(struct wire_unix *server, uint64_t client, const duopoly_Envelope *envelope);

/* Whether nothing waits for the client to read. When this becomes true, on_room is called. */
bool wire_unix_has_room(const struct wire_unix *server, uint64_t client);

/* `hold`: an answer is pending, and nothing more is read from the client until it is released; it
 * may be quiet meanwhile. */
void wire_unix_hold(struct wire_unix *server, uint64_t client, bool hold);

/* Reads the next message of a client that is not held, if it is there, before the loop finds it.
 * WHY: that would be a turn of the loop for each. */
void wire_unix_take(struct wire_unix *server, uint64_t client);

/* Closes a client after sending what is queued; on_close follows. */
void wire_unix_disconnect(struct wire_unix *server, uint64_t client);

const struct wire_unix_counters *wire_unix_counters(const struct wire_unix *server);

/* Closes every client without on_close and removes the socket file; NULL is fine. */
void wire_unix_close(struct wire_unix *server);
