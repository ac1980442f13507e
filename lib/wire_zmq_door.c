#include "lib/wire_zmq_door.h"

#include "lib/wire_zmq_filter.h"
#include "lib/wire_zmq_flood.h"
#include "lib/wire_zmq_pace.h"
#include "lib/wire_zmq_taken.h"
#include "lib/wire_zmq_unheard.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <uthash.h>
#include <zmq.h>

/* An identity, whose connections are counted. */
struct holder {
    UT_hash_handle hh;
    uint64_t identity;
    uint32_t connections;
};

struct connection {
    struct flood_count count;
    struct taken taken;
    bool open, spoke, flooded;
    bool unheard;             /* counted among its address's that said nothing */
    bool crowded;             /* ended, for its identity has too many */
    struct sockaddr_in6 peer; /* of either family; all zero: not TCP */
    uint64_t heard_usec;
    uint64_t who, identity; /* of the peer that spoke; 0: none */
    uint64_t after;         /* handshakes there had been when it began */
};

struct wire_zmq_door {
    struct wire_zmq_limits limits;
    struct wire_zmq_door_counters counters;
    struct flood_places floods;
    struct pace pace;
    struct in6_addr hasty[FILTER_ADDRESSES]; /* the kernel drops what these send */
    size_t hasty_n;
    struct sockaddr_in6 hasty_ended; /* the last one that had a connection; all zero: told */
    struct holder *holders;
    struct unheard *unheard;
    struct connection *connections; /* by descriptor */
    int n;
    uint64_t handshakes;
    int looked;   /* the next descriptor to look at */
    int listener; /* −1: not known */
    bool paused;
};

/* The peer's address; all zero if there is none. */
static struct sockaddr_in6 peer_of(int fd)
{
    struct sockaddr_in6 peer;
    socklen_t size = sizeof(peer);
    memset(&peer, 0, sizeof(peer));
    if (getpeername(fd, (struct sockaddr *)&peer, &size) < 0 || size > sizeof(peer))
        memset(&peer, 0, sizeof(peer));
    return peer;
}

static bool peer_is_known(const struct sockaddr_in6 *peer)
{
    return peer->sin6_family == AF_INET || peer->sin6_family == AF_INET6;
}

static struct connection *connection_at(const struct wire_zmq_door *door, int fd)
{
    return fd >= 0 && fd < door->n && door->connections[fd].open ? &door->connections[fd] : NULL;
}

/* NULL: it has ended, and the descriptor may be another's. */
static struct connection *connection_of(const struct wire_zmq_door *door,
                                        struct wire_zmq_origin origin)
{
    struct connection *connection = connection_at(door, origin.fd);
    return connection && (!origin.handshake || origin.handshake > connection->after) ? connection
                                                                                     : NULL;
}

static bool room_make(struct wire_zmq_door *door, int fd)
{
    int n = door->n ? door->n : 64;
    while (n <= fd)
        n *= 2;
    if (n == door->n)
        return true;
    struct connection *more = reallocarray(door->connections, (size_t)n, sizeof(*more));
    if (!more)
        return false;
    memset(more + door->n, 0, (size_t)(n - door->n) * sizeof(*more));
    door->connections = more;
    door->n = n;
    return true;
}

/* Sets the filter of the listener. False: that failed. */
static bool listener_set(struct wire_zmq_door *door, bool pause)
{
    return door->listener >= 0 &&
           (pause ? filter_drop_all(door->listener)
                  : filter_drop_silent(door->listener, door->hasty, door->hasty_n)) == 0;
}

static void pause_set(struct wire_zmq_door *door, bool pause)
{
    if (pause == door->paused || !listener_set(door, pause))
        return;
    door->paused = pause;
    door->counters.pauses += pause;
}

static struct holder *holder_of(const struct wire_zmq_door *door, uint64_t identity)
{
    struct holder *holder;
    HASH_FIND(hh, door->holders, &identity, sizeof(identity), holder);
    return holder;
}

/* Counts one more connection of this identity; false: it has `most`. WHY it fails without memory:
 * what is not counted cannot be bounded. */
static bool holder_take(struct wire_zmq_door *door, uint64_t identity, uint32_t most)
{
    struct holder *holder = holder_of(door, identity);
    if (holder && most && holder->connections >= most)
        return false;
    if (!holder && (holder = calloc(1, sizeof(*holder)))) {
        holder->identity = identity;
        HASH_ADD(hh, door->holders, identity, sizeof(holder->identity), holder);
    }
    if (holder)
        holder->connections++;
    return holder;
}

static void holder_leave(struct wire_zmq_door *door, uint64_t identity)
{
    struct holder *holder = holder_of(door, identity);
    if (!holder || --holder->connections)
        return;
    HASH_DEL(door->holders, holder);
    free(holder);
}

/* An address that begins connections too fast waits until the next tick at least. */
static void hasty_add(struct wire_zmq_door *door, const struct in6_addr *address)
{
    for (size_t i = 0; i < door->hasty_n; i++)
        if (memcmp(&door->hasty[i], address, sizeof(*address)) == 0)
            return;
    if (door->hasty_n == FILTER_ADDRESSES)
        return;
    door->hasty[door->hasty_n++] = *address;
    if (!door->paused)
        listener_set(door, false);
}

static void hasty_forget(struct wire_zmq_door *door, uint64_t now_usec)
{
    size_t n = 0;
    for (size_t i = 0; i < door->hasty_n; i++)
        if (!pace_has_room(&door->pace, &door->hasty[i], now_usec))
            door->hasty[n++] = door->hasty[i];
    if (n == door->hasty_n)
        return;
    door->hasty_n = n;
    if (!door->paused)
        listener_set(door, false);
}

/* False: its address begins connections too fast. */
static bool pace_keep(struct wire_zmq_door *door, const struct connection *connection,
                      uint64_t now_usec)
{
    const struct in6_addr place = flood_place_of(&connection->peer);
    if (!peer_is_known(&connection->peer))
        return true;
    bool keeps = pace_take(&door->pace, &place, now_usec);
    if (!keeps || !pace_has_room(&door->pace, &place, now_usec))
        hasty_add(door, &place);
    return keeps;
}

/* False: too many connections of its address have said nothing yet. */
static bool unheard_begin(struct wire_zmq_door *door, struct connection *connection)
{
    const struct in6_addr place = flood_place_of(&connection->peer);
    if (!peer_is_known(&connection->peer))
        return true;
    connection->unheard = true;
    return unheard_add(&door->unheard, &place, door->limits.most, door->counters.connections);
}

static void unheard_end(struct wire_zmq_door *door, struct connection *connection)
{
    const struct in6_addr place = flood_place_of(&connection->peer);
    if (connection->unheard)
        unheard_remove(&door->unheard, &place);
    connection->unheard = false;
}

/* The peer that spoke over it; 0: none did. */
static uint64_t connection_end(struct wire_zmq_door *door, int fd)
{
    struct connection *connection = connection_at(door, fd);
    if (!connection)
        return 0;
    connection->open = false;
    unheard_end(door, connection);
    door->counters.connections--;
    if (connection->identity)
        holder_leave(door, connection->identity);
    connection->identity = 0;
    return connection->who;
}

bool wire_zmq_door_knows(const struct wire_zmq_door *door, int fd)
{
    struct sockaddr_in6 peer = peer_of(fd);
    return fd >= 0 && fd < door->n && door->connections[fd].open &&
           memcmp(&peer, &door->connections[fd].peer, sizeof(peer)) == 0;
}

/* ZeroMQ tells its end, as any other's. */
static bool connection_break(const struct wire_zmq_door *door, int fd)
{
    return peer_is_known(&door->connections[fd].peer) && wire_zmq_door_knows(door, fd) &&
           shutdown(fd, SHUT_RDWR) == 0;
}

static void hasty_break(struct wire_zmq_door *door, int fd)
{
    if (!connection_break(door, fd))
        return;
    door->counters.hasty++;
    door->hasty_ended = door->connections[fd].peer;
}

static void connection_begin(struct wire_zmq_door *door, int fd, uint64_t now_usec)
{
    if (fd < 0)
        return;
    filter_detach(fd);
    if (!room_make(door, fd))
        return;
    connection_end(door, fd); /* its end was not told */
    door->counters.connections++;
    door->connections[fd] = (struct connection){
        .open = true, .peer = peer_of(fd), .heard_usec = now_usec, .after = door->handshakes};
    if (flood_places_is_shut(&door->floods, &door->connections[fd].peer, now_usec))
        door->counters.shut_out += connection_break(door, fd);
    else if (!pace_keep(door, &door->connections[fd], now_usec))
        hasty_break(door, fd);
    if (!unheard_begin(door, &door->connections[fd])) {
        door->counters.refused += connection_break(door, fd);
        connection_end(door, fd); /* it takes no place of others' until ZeroMQ tells its end */
        return;
    }
    if (door->counters.connections < door->limits.most)
        return;
    pause_set(door, true);
    if (door->counters.connections > door->limits.most)
        door->counters.refused += connection_break(door, fd);
}

uint64_t wire_zmq_door_event(struct wire_zmq_door *door, int event, int value, uint64_t now_usec)
{
    if (event == ZMQ_EVENT_LISTENING) {
        door->listener = value;
        door->paused = false;
        listener_set(door, false);
    } else if (event == ZMQ_EVENT_ACCEPTED) {
        connection_begin(door, value, now_usec);
    } else if (event == ZMQ_EVENT_DISCONNECTED) {
        return connection_end(door, value);
    }
    return 0;
}

uint64_t wire_zmq_door_handshake(struct wire_zmq_door *door)
{
    return ++door->handshakes;
}

enum wire_zmq_verdict wire_zmq_door_judge(struct wire_zmq_door *door, struct wire_zmq_origin origin,
                                          uint64_t now_usec)
{
    struct connection *connection = connection_of(door, origin);
    if (connection)
        connection->taken.handed = true;
    if (!connection || !door->limits.per_second)
        return DOOR_TAKE;
    if (connection->flooded)
        return DOOR_DROP;
    if (flood_count_add(&connection->count, door->limits.per_second, now_usec))
        return DOOR_TAKE;
    connection->flooded = true;
    flood_places_shut(&door->floods, &connection->peer, now_usec);
    door->counters.floods += connection_break(door, origin.fd);
    return DOOR_FLOOD;
}

bool wire_zmq_door_is_new(const struct wire_zmq_door *door, struct wire_zmq_origin origin)
{
    const struct connection *connection = connection_of(door, origin);
    return connection && !connection->spoke;
}

bool wire_zmq_door_heard(struct wire_zmq_door *door, struct wire_zmq_origin origin, uint64_t peer,
                         uint64_t identity, uint32_t most, uint64_t now_usec)
{
    struct connection *connection = connection_of(door, origin);
    if (!connection)
        return true;
    if (identity && connection->identity != identity) {
        if (connection->crowded || !holder_take(door, identity, most)) {
            door->counters.crowded += !connection->crowded && connection_break(door, origin.fd);
            connection->crowded = true;
            return false;
        }
        if (connection->identity)
            holder_leave(door, connection->identity);
    }
    unheard_end(door, connection);
    connection->heard_usec = now_usec;
    connection->who = peer;
    connection->identity = identity;
    connection->spoke = true;
    return true;
}

static void connection_cut(struct wire_zmq_door *door, int fd)
{
    door->counters.cut += connection_break(door, fd);
}

void wire_zmq_door_break(struct wire_zmq_door *door, struct wire_zmq_origin origin)
{
    if (connection_of(door, origin))
        connection_cut(door, origin.fd);
}

void wire_zmq_door_cut_peer(struct wire_zmq_door *door, uint64_t peer)
{
    for (int fd = 0; fd < door->n; fd++)
        if (door->connections[fd].open && door->connections[fd].who == peer)
            connection_cut(door, fd);
}

void wire_zmq_door_cut(struct wire_zmq_door *door, uint64_t identity,
                       void (*each)(void *user, uint64_t peer), void *user)
{
    for (int fd = 0; fd < door->n; fd++) {
        struct connection *connection = &door->connections[fd];
        uint64_t peer = connection->who;
        if (!connection->open || connection->identity != identity)
            continue;
        holder_leave(door, identity);
        connection->who = connection->identity = 0;
        connection_cut(door, fd);
        each(user, peer);
    }
}

static bool peer_is_at(const struct sockaddr_in6 *peer, const uint8_t address[16])
{
    const struct in6_addr place = flood_place_of(peer);
    return peer_is_known(peer) && memcmp(&place, address, sizeof(place)) == 0;
}

bool wire_zmq_door_comes_from(const struct wire_zmq_door *door, uint64_t peer,
                              const uint8_t address[16])
{
    for (int fd = 0; fd < door->n; fd++)
        if (door->connections[fd].open && door->connections[fd].who == peer)
            return peer_is_at(&door->connections[fd].peer, address);
    return false;
}

/* Checks some of them, in turn: 10 000 at once would delay the loop. */
static void endless_break(struct wire_zmq_door *door, uint64_t now_usec,
                          void (*cut)(void *user, enum wire_zmq_fault why,
                                      const struct sockaddr_in6 *address),
                          void *user)
{
    for (int i = 0; i < DOOR_LOOKS && i < door->n; i++) {
        int fd = door->looked = (door->looked + 1) % door->n;
        struct connection *connection = &door->connections[fd];
        if (!connection->open || connection->flooded || !taken_is_endless(&connection->taken, fd) ||
            !connection_break(door, fd))
            continue;
        connection->flooded = true;
        flood_places_shut(&door->floods, &connection->peer, now_usec);
        door->counters.endless++;
        cut(user, WIRE_ZMQ_ENDLESS, &connection->peer);
    }
}

void wire_zmq_door_tick(struct wire_zmq_door *door, uint64_t now_usec,
                        void (*cut)(void *user, enum wire_zmq_fault why,
                                    const struct sockaddr_in6 *address),
                        void *user)
{
    endless_break(door, now_usec, cut, user);
    if (peer_is_known(&door->hasty_ended))
        cut(user, WIRE_ZMQ_HASTY, &door->hasty_ended);
    memset(&door->hasty_ended, 0, sizeof(door->hasty_ended));
    hasty_forget(door, now_usec);
    for (int fd = 0; fd < door->n; fd++) {
        struct connection *connection = &door->connections[fd];
        uint64_t allowed_ns =
            door->paused && !connection->spoke ? door->limits.pressed_ns : door->limits.idle_ns;
        if (!connection->open || now_usec - connection->heard_usec <= allowed_ns / 1000)
            continue;
        connection->heard_usec = now_usec;
        door->counters.idle += connection_break(door, fd);
    }
    pause_set(door, door->counters.connections >= door->limits.most);
}

struct wire_zmq_door *wire_zmq_door_open(const struct wire_zmq_limits *limits)
{
    struct wire_zmq_door *door = calloc(1, sizeof(*door));
    if (door) {
        door->limits = *limits;
        door->listener = -1;
    }
    return door;
}

const struct wire_zmq_door_counters *wire_zmq_door_counters(const struct wire_zmq_door *door)
{
    return &door->counters;
}

void wire_zmq_door_close(struct wire_zmq_door *door)
{
    if (!door)
        return;
    struct holder *holder, *next;
    HASH_ITER (hh, door->holders, holder, next) {
        HASH_DEL(door->holders, holder);
        free(holder);
    }
    unheard_done(&door->unheard);
    free(door->connections);
    free(door);
}
