/* `duopolyctl fastpath`: what this machine's data plane in user space counts, from its control socket
 * (dataplane/control_wire.h). */
#pragma once

#include "controller/cli/commands.h"

#define FASTPATH_SOCKET "/run/duopoly-fastpath/fastpath.sock"

/* As client_open, and its sentence is of the data plane. */
int fastpath_open(const char *path, struct client **ret_client, struct err *err);

int fastpath_check(const struct request *request, struct err *err);
/* −EPROTO: who answers is no data plane. */
int run_fastpath(struct client *client, const struct request *request, struct writer *writer,
                 struct err *err);
