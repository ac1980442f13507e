#include "lib/wire_zmq_door.h"

#include "lib/wire_zmq_flood.h"
#include "lib/wire_zmq_taken.h"
#include "lib/wire_zmq_unheard.h"

#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <uthash.h>
#include <zmq.h>

/* Whose connections are counted. */
struct holder {
    UT_hash_handle hh;
    uint64_t identity;
    uint32_t connections;
};

struct connection {
    struct flood_count count;
    struct taken taken;
    bool open, spoke, flooded;
    bool unheard;             /* it counts as one of its address that said nothing */
    bool crowded;             /* ended, for its identity has too many */
    struct sockaddr_in6 peer; /* of either family; all zero: not TCP */
    uint64_t heard_usec;
    uint64_t who, identity; /* who spoke; 0: nobody */
    uint64_t after;         /* so many handshakes there had been when it began */
};

struct wire_zmq_door {
    struct wire_zmq_limits limits;
    struct wire_zmq_door_counters counters;
    struct flood_places floods;
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

/* Of TCP's packets these begin a connection, and those that say something: a filter of a socket of
 * TCP sees the packet from its header on. */
static const struct sock_filter those_who_speak[] = {
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, offsetof(struct tcphdr, th_flags)),
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, TH_SYN | TH_RST, 6, 0),
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 12), /* the header's length in its upper half */
    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf0),
    BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 2),
    BPF_STMT(BPF_MISC | BPF_TAX, 0),
    BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
    BPF_STMT(BPF_RET | BPF_K, 0),
};
static const struct sock_filter nobody[] = {BPF_STMT(BPF_RET | BPF_K, 0)};

static int filter_set(int listener, const struct sock_filter *filter, size_t n)
{
    const struct sock_fprog program = {.len = (unsigned short)n,
                                       .filter = (struct sock_filter *)(uintptr_t)filter};
    return setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

static int listener_open(int listener)
{
    return filter_set(listener, those_who_speak,
                      sizeof(those_who_speak) / sizeof(those_who_speak[0]));
}

/* A connection begins with its listener's filter, which would drop what only acknowledges, or ends
 * it. Until it is heard of here such packets come again, and whoever has more to say acknowledges
 * with that. */
static void filter_drop(int fd)
{
    const int none = 0;
    setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &none, sizeof(none));
}

static void pause_set(struct wire_zmq_door *door, bool pause)
{
    if (pause == door->paused || door->listener < 0)
        return;
    if ((pause ? filter_set(door->listener, nobody, 1) : listener_open(door->listener)) < 0)
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

/* One connection more of this identity; false: it has `most`. WHY not without memory: who is not counted
 * cannot be bounded. */
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

/* False: too many of its address said nothing yet. */
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

/* Its end is told by ZeroMQ, as that of any other. */
static bool connection_break(const struct wire_zmq_door *door, int fd)
{
    return peer_is_known(&door->connections[fd].peer) && wire_zmq_door_knows(door, fd) &&
           shutdown(fd, SHUT_RDWR) == 0;
}

static void connection_begin(struct wire_zmq_door *door, int fd, uint64_t now_usec)
{
    if (fd < 0)
        return;
    filter_drop(fd);
    if (!room_make(door, fd))
        return;
    connection_end(door, fd); /* one whose end was not told */
    door->counters.connections++;
    door->connections[fd] = (struct connection){
        .open = true, .peer = peer_of(fd), .heard_usec = now_usec, .after = door->handshakes};
    if (flood_places_is_shut(&door->floods, &door->connections[fd].peer, now_usec))
        door->counters.shut_out += connection_break(door, fd);
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
        listener_open(value);
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

/* Some of them, in turn: 10 000 in one go would hold the loop. */
static void endless_break(struct wire_zmq_door *door, uint64_t now_usec,
                          void (*endless)(void *user, const struct sockaddr_in6 *address),
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
        endless(user, &connection->peer);
    }
}

void wire_zmq_door_tick(struct wire_zmq_door *door, uint64_t now_usec,
                        void (*endless)(void *user, const struct sockaddr_in6 *address), void *user)
{
    endless_break(door, now_usec, endless, user);
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
