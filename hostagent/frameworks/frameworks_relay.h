/* Frameworks' drivers on this host whose language has no SEQPACKET and no ZeroMQ: a Unix stream
 * socket (lib/wire_stream.h) whose connections are relayed to the controller.
 *
 * Each driver has a connection to the controller of its own, so a session too: envelopes go both
 * ways as they are, and the end of either side ends the other. Nothing of them is understood or
 * kept here, but for one field: FrameworkHello.user becomes who the kernel says is connected
 * (SO_PEERCRED). A driver may connect while there is no controller: it is read once there is one.
 *
 * Who may: root, and members of the socket's group, by its mode (0660). With a key it is that of a
 * framework, read anew for each driver: another file in its place serves the next one.
 *
 * Bounds: RELAYS_MAX drivers, RELAYS_OF_USER of one user; further ones are closed. Of a driver
 * whose messages the controller does not take no more than RELAY_WAITING are read, and of any no
 * more than RELAY_PER_SECOND: its others wait in its socket, since the controller would shut out
 * the whole host for who sends too much. One that does not take the controller's is cut
 * (WIRE_STREAM_QUEUE).
 *
 * One thread, in the sd-event loop; nothing blocks. */
#pragma once

#include "lib/err.h"

#include <sys/types.h>
#include <systemd/sd-event.h>

#define RELAYS_MAX     16
#define RELAYS_OF_USER 8
#define RELAY_WAITING  64
/* Less than half of bounds.agent_messages (10000), whose seconds begin at other times than ours. */
#define RELAY_PER_SECOND 4000

struct frameworks_relay_config {
    const char *socket;     /* its path */
    gid_t group;            /* whose members may connect */
    const char *controller; /* tcp://ADDRESS:PORT */
    const char *key_path;   /* "": in plain text */
};

struct frameworks_relay;

/* `config`'s strings are borrowed. −EADDRINUSE: somebody listens there. */
int frameworks_relay_open(const struct frameworks_relay_config *config, sd_event *event,
                          struct frameworks_relay **ret_relay, struct err *err);

/* Ends every connection and removes the socket; NULL is fine. */
void frameworks_relay_close(struct frameworks_relay *relay);
