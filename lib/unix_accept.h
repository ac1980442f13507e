/* Accepts connections at a Unix socket path, in an event loop. */
#pragma once

#include "lib/err.h"

#include <sys/types.h>
#include <systemd/sd-event.h>

struct unix_accept;

/* The callee owns `fd`, which does not block. */
typedef void unix_accept_fn(void *user, int fd);

/* Listens at `path` (unix_listen, a stream; `group` may write to it) and passes each connection to
 * `take`. Without free descriptors in the process or the system it tries again once a second. The
 * caller owns *ret_listener, and keeps `path` as long. */
int unix_accept_open(sd_event *event, const char *path, gid_t group, unix_accept_fn *take,
                     void *user, struct unix_accept **ret_listener, struct err *err);
/* Removes the file. NULL: nothing. */
void unix_accept_close(struct unix_accept *listener);
