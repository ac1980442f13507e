/* `duopolyctl flows HOST`: the connections of a host, their marks and whose they are. */
#pragma once

#include "controller/cli/commands.h"

/* EXIT_PARTIAL: its agent does not answer; with what it had answered until then. */
int run_flows(struct client *client, const struct request *request, struct writer *writer,
              struct err *err);
