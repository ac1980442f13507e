/* `duopolyctl queues`: the queue driver of each host, and of each port of each switch, why it was
 * chosen, and what it lacks of what is wished; with a host's name what its queues do
 * (port_queues.h). */
#pragma once

#include "controller/cli/commands.h"

int run_queues(struct client *client, const struct request *request, struct writer *writer,
               struct err *err);
