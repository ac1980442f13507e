/* One ZeroMQ socket as a source of an sd-event loop.
 *
 * ZMQ_FD is edge-triggered and also swallowed by our own sends: whether something is to be done is
 * asked again before each wait, and then the loop comes back without a wait, in turn with its other
 * sources of normal priority. What happens is the owner's `drain`, which must take all that there is
 * or as much as is fair. For lib/wire_zmq* only. */
#pragma once

#include <stdbool.h>
#include <systemd/sd-event.h>

struct wire_zmq_edge {
    void *socket; /* owned from wire_zmq_edge_add on; NULL: none */
    sd_event_source *io;
    sd_event_source *again;
    void (*drain)(void *user);
    bool (*wants_to_send)(const void *user); /* NULL: never */
    void *user;
};

/* `edge` stays where it is while it is in the loop; socket and functions are set. 0 or −errno. */
int wire_zmq_edge_add(struct wire_zmq_edge *edge, sd_event *loop);

/* Closes the socket too. */
void wire_zmq_edge_remove(struct wire_zmq_edge *edge);

/* Drops what is left of a message of several frames. */
void wire_zmq_rest_drop(void *socket);
bool wire_zmq_has_more(void *socket);
