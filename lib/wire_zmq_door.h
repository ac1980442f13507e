/* The connections behind a ROUTER, which ZeroMQ itself neither counts nor bounds: how many there
 * are, which of them say nothing, and when no more are taken.
 *
 * ZeroMQ tells of a connection's coming and going by its descriptor (ZMQ_EVENT_ACCEPTED,
 * ZMQ_EVENT_DISCONNECTED), and with each message over which descriptor it came. A connection is
 * ended by shutting its descriptor down: ZeroMQ then sees the peer's end. What is told is late, so
 * a descriptor may be another connection's by now: the peer's address must still be the one that
 * was seen. A message may be read after its connection has ended, too: where keys are asked for, each
 * handshake has a number, messages bring it, and one from before the connection began is not its.
 *
 *  - One that never speaks is not let in at all: a filter on the listener drops what brings no byte,
 *    so the kernel keeps nothing of it but its SYN (or a SYN cookie), and ZeroMQ never hears of it.
 *    Both sides of ZeroMQ's protocol speak at once (RFC 23). Without net.ipv4.tcp_syncookies many
 *    silent ones delay others.
 *  - Handshakes cost the thread that serves all connections. An address that begins more than
 *    wire_zmq_pace.h gives it has what is one too many ended, and is held back by the filter
 *    (wire_zmq_filter.h) until a tick finds that it may begin one: what it sends to begin others comes again
 *    after 0.2 s, 0.4 s … by its own kernel.
 *  - One that has sent no message for `idle_ns` is ended; at the bound those are that have never sent
 *    any for `pressed_ns`, so that silent ones cannot keep others out. One address has seven eighths of what
 *    others leave of those that have not sent any (wire_zmq_unheard.h); one more is ended at once.
 *  - At `most` connections the listener pauses: a filter on its socket drops what arrives for it,
 *    and peers try again by themselves. (Unbinding would end all connections that it has accepted.)
 *    What was accepted before we heard of it is ended at once. Leave descriptors spare for that:
 *    without any, libzmq 4.3.4 asks for the next connection without a pause.
 *  - One that brings more than `per_second` messages in a second is ended, and so is each new one
 *    from its address for FLOOD_SHUT_USEC (wire_zmq_flood.h). The parts of a message count as messages.
 *  - One whose message does not end (wire_zmq_taken.h) is ended like one that brings too many. All are looked
 *    at in turn, DOOR_LOOKS at a tick: until then ZeroMQ has taken what the network brings meanwhile.
 *  - A connection over which an identity spoke is ended when that identity is cut, and when the identity
 *    has as many already as its guard gives it: no key takes all that there are.
 *
 * Memory: 104 bytes for each descriptor number up to the highest that was seen. Not told by ZeroMQ:
 * addresses other than TCP's; such connections are counted and never ended. One thread. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#define DOOR_TICK_USEC 100000u
#define DOOR_LOOKS     512 /* descriptors at a tick: so many microseconds */

struct wire_zmq_limits {
    uint32_t most; /* connections; from 1 */
    uint64_t idle_ns, pressed_ns;
    uint32_t per_second; /* messages of one connection; 0: as many as come */
};

struct wire_zmq_door_counters {
    uint64_t connections; /* at the moment */
    uint64_t idle;        /* ended because they said nothing */
    uint64_t refused;     /* ended because they were too many */
    uint64_t pauses;
    uint64_t cut;      /* ended because of who spoke */
    uint64_t crowded;  /* ended because who spoke had too many */
    uint64_t floods;   /* ended because they sent too much */
    uint64_t endless;  /* ended because their message did not end */
    uint64_t hasty;    /* ended because their address began others just before */
    uint64_t shut_out; /* ended because one from their address had sent too much */
};

struct wire_zmq_door;

/* NULL: out of memory. `limits` is copied. */
struct wire_zmq_door *wire_zmq_door_open(const struct wire_zmq_limits *limits);

/* An event of the socket's monitor, with its value. The peer that is gone with it; 0: none. */
uint64_t wire_zmq_door_event(struct wire_zmq_door *door, int event, int value, uint64_t now_usec);

/* Whether the descriptor is the connection that it was when its last event came: no other's, whose
 * event is still to come, and not closed. One system call. */
bool wire_zmq_door_knows(const struct wire_zmq_door *door, int fd);

enum wire_zmq_verdict {
    DOOR_TAKE,
    DOOR_FLOOD, /* it is the first that is one too many: the connection is ended */
    DOOR_DROP   /* it comes after that one */
};

/* Where a message came from. */
struct wire_zmq_origin {
    int fd;
    uint64_t handshake; /* its number; 0: there was none */
};

/* The number of one more handshake. All events that were told before it must have been given. */
uint64_t wire_zmq_door_handshake(struct wire_zmq_door *door);

/* A message, or a part of one, came. */
enum wire_zmq_verdict wire_zmq_door_judge(struct wire_zmq_door *door, struct wire_zmq_origin origin,
                                          uint64_t now_usec);

/* A message of this peer came; `identity` is a digest of who it is, 0 of nobody, and may have so many
 * connections (0: any number). False: it has them already, and this one is ended. */
bool wire_zmq_door_heard(struct wire_zmq_door *door, struct wire_zmq_origin origin, uint64_t peer,
                         uint64_t identity, uint32_t most, uint64_t now_usec);
/* Whether a message from there is its connection's first. */
bool wire_zmq_door_is_new(const struct wire_zmq_door *door, struct wire_zmq_origin origin);

/* Ends the connections of this identity, and tells each one's peer, whose end wire_zmq_door_event
 * does not tell any more. */
void wire_zmq_door_cut(struct wire_zmq_door *door, uint64_t identity,
                       void (*each)(void *user, uint64_t peer), void *user);

/* Ends the connection of this peer; the one that a message came from. */
void wire_zmq_door_cut_peer(struct wire_zmq_door *door, uint64_t peer);
void wire_zmq_door_break(struct wire_zmq_door *door, struct wire_zmq_origin origin);

/* Whether the connection over which this peer spoke comes from this address (lib/address.h). */
bool wire_zmq_door_comes_from(const struct wire_zmq_door *door, uint64_t peer,
                              const uint8_t address[16]);

/* Every DOOR_TICK_USEC. `endless` is told of each connection whose message does not end; its address is
 * borrowed, and may be an AF_INET one. */
void wire_zmq_door_tick(struct wire_zmq_door *door, uint64_t now_usec,
                        void (*endless)(void *user, const struct sockaddr_in6 *address),
                        void *user);

const struct wire_zmq_door_counters *wire_zmq_door_counters(const struct wire_zmq_door *door);

/* NULL is fine. Closes no descriptor: they are ZeroMQ's. */
void wire_zmq_door_close(struct wire_zmq_door *door);
