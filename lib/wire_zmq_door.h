/* Counts and bounds the connections of a ROUTER, which ZeroMQ does not do: how many there are,
 * which are silent, and when no more are accepted.
 *
 * ZeroMQ reports a connection's begin and end with its descriptor (ZMQ_EVENT_ACCEPTED,
 * ZMQ_EVENT_DISCONNECTED), and each message with the descriptor it came over. We end a connection
 * by shutting its descriptor down: to ZeroMQ the peer then has hung up. Reports come late, so a
 * descriptor may belong to another connection by then: the peer's address must still be the one
 * that was seen. A message may also be read after its connection has ended: with keys, each
 * handshake has a number that its messages carry, and a message with an older number than the
 * connection's is not from it.
 *
 *  - A connection that sends nothing is never accepted: a filter on the listener drops packets
 *    without data, so the kernel keeps only its SYN (or a SYN cookie), and ZeroMQ never sees it.
 *    Both sides of ZeroMQ's protocol send at once (RFC 23). Without net.ipv4.tcp_syncookies many
 *    silent connections delay others.
 *  - Handshakes take time of the thread that serves all connections. If an address begins more
 *    connections than wire_zmq_pace.h gives it, the excess ones are ended, and the filter
 *    (wire_zmq_filter.h) holds the address back until a tick finds that it may begin one: its
 *    kernel retries the dropped packets after 0.2 s, 0.4 s ….
 *  - One that has sent no message for `idle_ns` is ended. At the bound, one that has never sent any
 *    is ended after `pressed_ns`, so that silent ones cannot keep others out. One address may have
 *    seven eighths of what others leave for connections without a message (wire_zmq_unheard.h); one
 *    more is ended at once.
 *  - At `most` connections the listener pauses: a filter on its socket drops what arrives, and
 *    peers try again by themselves. (Unbinding would end all accepted connections.) Connections
 *    accepted before we knew of them are ended at once. Keep spare descriptors for that: without
 *    any, libzmq 4.3.4 busy-loops on the next connection.
 *  - One that sends more than `per_second` messages in a second is ended, and so is each new one
 *    from its address for FLOOD_SHUT_USEC (wire_zmq_flood.h). The parts of a message count as
 *    messages.
 *  - One whose message does not end (wire_zmq_taken.h) is ended like one that sends too many. All
 *    are checked in turn, DOOR_LOOKS at a tick; until then ZeroMQ buffers what arrives.
 *  - A connection of an identity is ended when that identity is cut, and when the identity has as
 *    many already as its guard allows: no key can take all connections.
 *
 * Memory: 25 kB, and 104 bytes for each descriptor number up to the highest seen. ZeroMQ reports no
 * addresses other than TCP's: such connections are counted and never ended. One thread. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#define DOOR_TICK_USEC 100000u
#define DOOR_LOOKS     512 /* descriptors at a tick: as many microseconds */

struct wire_zmq_limits {
    uint32_t most; /* connections; ≥ 1 */
    uint64_t idle_ns, pressed_ns;
    uint32_t per_second; /* messages of one connection; 0: unlimited */
};

struct wire_zmq_door_counters {
    uint64_t connections; /* now */
    uint64_t idle;        /* ended because they said nothing */
    uint64_t refused;     /* ended because they were too many */
    uint64_t pauses;
    uint64_t cut;      /* ended because their identity was cut */
    uint64_t crowded;  /* ended because their identity had too many */
    uint64_t floods;   /* ended because they sent too much */
    uint64_t endless;  /* ended because their message did not end */
    uint64_t hasty;    /* ended because their address began others just before */
    uint64_t shut_out; /* ended because another from their address had sent too much */
};

struct wire_zmq_door;

/* NULL: out of memory. `limits` is copied. */
struct wire_zmq_door *wire_zmq_door_open(const struct wire_zmq_limits *limits);

/* Handles an event of the socket's monitor, with its value. Returns the peer that is gone with it;
 * 0: none. */
uint64_t wire_zmq_door_event(struct wire_zmq_door *door, int event, int value, uint64_t now_usec);

/* Whether the descriptor still belongs to the connection of its last event: it is not closed, and
 * not another connection whose event is still to come. One system call. */
bool wire_zmq_door_knows(const struct wire_zmq_door *door, int fd);

enum wire_zmq_verdict {
    DOOR_TAKE,
    DOOR_FLOOD, /* the first message that is too many: the connection is ended */
    DOOR_DROP   /* it comes after that one */
};

/* Where a message came from. */
struct wire_zmq_origin {
    int fd;
    uint64_t handshake; /* its number; 0: there was none */
};

/* The number of one more handshake. All earlier events must have been handled. */
uint64_t wire_zmq_door_handshake(struct wire_zmq_door *door);

/* Judges a message, or a part of one, that came. */
enum wire_zmq_verdict wire_zmq_door_judge(struct wire_zmq_door *door, struct wire_zmq_origin origin,
                                          uint64_t now_usec);

/* A message of this peer came. `identity` is a digest of its identity (0: none), which may have
 * `most` connections (0: any number). False: it has them already, and this one is ended. */
bool wire_zmq_door_heard(struct wire_zmq_door *door, struct wire_zmq_origin origin, uint64_t peer,
                         uint64_t identity, uint32_t most, uint64_t now_usec);
/* Whether a message from there is the connection's first. */
bool wire_zmq_door_is_new(const struct wire_zmq_door *door, struct wire_zmq_origin origin);

/* Ends the connections of this identity and calls `each` with each one's peer; wire_zmq_door_event
 * does not report their ends any more. */
void wire_zmq_door_cut(struct wire_zmq_door *door, uint64_t identity,
                       void (*each)(void *user, uint64_t peer), void *user);

/* Ends the connection of this peer, or the one that a message came from. */
void wire_zmq_door_cut_peer(struct wire_zmq_door *door, uint64_t peer);
void wire_zmq_door_break(struct wire_zmq_door *door, struct wire_zmq_origin origin);

/* Whether the connection of this peer comes from this address (lib/address.h). */
bool wire_zmq_door_comes_from(const struct wire_zmq_door *door, uint64_t peer,
                              const uint8_t address[16]);

/* Why connections from an address were ended. */
enum wire_zmq_fault {
    WIRE_ZMQ_ENDLESS, /* its message did not end */
    WIRE_ZMQ_HASTY    /* the address begins connections too fast */
};

/* Call it every DOOR_TICK_USEC. It calls `cut` for each connection whose message does not end, and
 * for the last address of which one was ended as hasty since the last tick; the address is
 * borrowed, and may be AF_INET. */
void wire_zmq_door_tick(struct wire_zmq_door *door, uint64_t now_usec,
                        void (*cut)(void *user, enum wire_zmq_fault why,
                                    const struct sockaddr_in6 *address),
                        void *user);

const struct wire_zmq_door_counters *wire_zmq_door_counters(const struct wire_zmq_door *door);

/* NULL is fine. Closes no descriptor: they are ZeroMQ's. */
void wire_zmq_door_close(struct wire_zmq_door *door);
