/* Relays frameworks' drivers on this host to the controller, for languages without SEQPACKET and
 * ZeroMQ: a Unix stream socket (lib/wire_stream.h).
 *
 * Each driver has its own connection to the controller, and so its own session: envelopes pass both
 * ways unchanged, and the end of either side ends the other. The relay interprets and keeps
 * nothing, except for one field: it sets FrameworkHello.user to the user that the kernel reports
 * (SO_PEERCRED). A driver may connect while there is no controller: it is read once there is one.
 *
 * Access: root, and members of the socket's group, by its mode (0660). The key, if any, is a
 * framework's, and is read again for each driver: a replaced file serves the next one.
 *
 * Bounds: RELAYS_MAX drivers, RELAYS_OF_USER of one user, who begins RELAY_BURST at once and
 * RELAY_BEGINS a second in the long run; further ones are closed. WHY a bound in time: each costs a
 * handshake, of which the controller takes so many from one host (wire_zmq_pace.h). While the
 * controller does not take a driver's messages, at most RELAY_WAITING of them are read, and always
 * at most RELAY_PER_SECOND: the rest waits in its socket, since for one flood the controller would
 * shut out the whole host. A driver that does not read is disconnected (WIRE_STREAM_QUEUE).
 *
 * One thread, in the sd-event loop; nothing blocks. */
#pragma once

#include "lib/err.h"

#include <sys/types.h>
#include <systemd/sd-event.h>

#define RELAYS_MAX     16
#define RELAYS_OF_USER 8
#define RELAY_BURST    24
#define RELAY_BEGINS   10
#define RELAY_WAITING  64
/* Less than half of bounds.agent_messages (10000), whose seconds begin at other times than ours. */
#define RELAY_PER_SECOND 4000

struct frameworks_relay_config {
    const char *socket;     /* its path */
    gid_t group;            /* its members may connect */
    const char *controller; /* tcp://ADDRESS:PORT */
    const char *key_path;   /* "": in plain text */
};

struct frameworks_relay;

/* `config`'s strings are borrowed. −EADDRINUSE: another process listens there. */
int frameworks_relay_open(const struct frameworks_relay_config *config, sd_event *event,
                          struct frameworks_relay **ret_relay, struct err *err);

/* Ends every connection and removes the socket; NULL is fine. */
void frameworks_relay_close(struct frameworks_relay *relay);
