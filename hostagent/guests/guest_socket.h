/* Where guests with a plug-in announce themselves and their tasks: a Unix stream socket
 * (lib/wire_stream.h) on their own host.
 *
 * A connection begins with GuestHello, answered by Accepted or Refused; each GuestTask is answered by
 * GuestMark when the task's level is in the kernel's map, from what is known on this host: nobody else
 * is asked. Who is connected is the kernel's word (SO_PEERCRED, and since Linux 6.5 a descriptor of
 * that very process); of what a guest says only its tasks are believed, and its name where its
 * command line has none. The end of a connection ends its tasks; the guest stays one.
 *
 * Who may: root, and members of the socket's group, by its mode (0660). Bounds: GUEST_CONNECTIONS,
 * GUEST_CONNECTIONS_OF_USER of one user; further ones are closed. One that does not read its answers
 * is cut, and so is one that says more than GUEST_MESSAGES a second. One thread, in the sd-event loop; nothing blocks. */
#pragma once

#include "hostagent/guests/guests.h"
#include "lib/err.h"

#define GUEST_CONNECTIONS         256
#define GUEST_CONNECTIONS_OF_USER 128
#define GUEST_MESSAGES            4096

struct guest_socket;

/* `path` is borrowed. −EADDRINUSE: somebody listens there. */
int guest_socket_open(const char *path, gid_t group, struct guests *guests, sd_event *event,
                      struct guest_socket **ret_socket, struct err *err);

/* Ends every connection and removes the socket; NULL is fine. Before guests_close. */
void guest_socket_close(struct guest_socket *socket);
