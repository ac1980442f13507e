/* The socket on which guests with a plug-in announce themselves and their tasks: a Unix stream
 * socket (lib/wire_stream.h) on their own host.
 *
 * A connection begins with GuestHello, answered by Accepted or Refused; each GuestTask is answered
 * by GuestMark when the task's level is in the kernel's map, from what this host knows. The kernel
 * reports which process is connected (SO_PEERCRED, and since Linux 6.5 a descriptor of that
 * process). Of a guest's words we trust only its tasks, and its name if its command line has none.
 * The end of a connection ends its tasks; the process stays a guest.
 *
 * Access: root, and members of the socket's group, by its mode (0660). Bounds: GUEST_CONNECTIONS,
 * and GUEST_CONNECTIONS_OF_USER of one user; further ones are closed. A guest that does not read
 * its answers is disconnected, and so is one that sends more than GUEST_MESSAGES a second. One
 * thread, in the sd-event loop; nothing blocks. */
#pragma once

#include "hostagent/guests/guests.h"
#include "lib/err.h"

#define GUEST_CONNECTIONS         256
#define GUEST_CONNECTIONS_OF_USER 128
#define GUEST_MESSAGES            4096

struct guest_socket;

/* `path` is borrowed. −EADDRINUSE: another process listens there. */
int guest_socket_open(const char *path, gid_t group, struct guests *guests, sd_event *event,
                      struct guest_socket **ret_socket, struct err *err);

/* Ends every connection and removes the socket; NULL is fine. Before guests_close. */
void guest_socket_close(struct guest_socket *socket);
