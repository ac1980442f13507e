/* One ZeroMQ socket as a source of an sd-event loop.
 *
 * ZMQ_FD is edge-triggered, and our own sends consume its events. So before each wait we ask the
 * socket again whether there is something to do; if so, the loop does not wait, and serves the
 * socket in turn with its other sources of normal priority. The owner's `drain` must take
 * everything, or as much as is fair. For lib/wire_zmq* only. */
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

/* `edge` must not move while it is in the loop; set socket and functions first. 0 or −errno. */
int wire_zmq_edge_add(struct wire_zmq_edge *edge, sd_event *loop);

/* Closes the socket too. */
void wire_zmq_edge_remove(struct wire_zmq_edge *edge);

/* Drops the remaining frames of a message. */
void wire_zmq_rest_drop(void *socket);
bool wire_zmq_has_more(void *socket);
