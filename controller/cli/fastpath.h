/* `duopolyctl fastpath`: counters of this machine's data plane in user space, from its control
 * socket (dataplane/control_wire.h). */
#pragma once

#include "controller/cli/commands.h"

#define FASTPATH_SOCKET "/run/duopoly-fastpath/fastpath.sock"

/* As client_open, with a sentence about the data plane. */
int fastpath_open(const char *path, struct client **ret_client, struct err *err);

int fastpath_check(const struct request *request, struct err *err);
/* −EPROTO: the peer is not a data plane. */
int run_fastpath(struct client *client, const struct request *request, struct writer *writer,
                 struct err *err);
