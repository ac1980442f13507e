/* `duopolyctl queues`: the queue driver of each host, and of each port of each switch, why it was
 * chosen, and what it lacks of what is wished; with a host's name what its queues do
 * (asked.h). */
#pragma once

#include "controller/cli/commands.h"
#include "controller/lists/list.h"

/* Put together here, of hosts and of ports of switches. */
extern const struct list list_of_queues;

int run_queues(struct client *client, const struct request *request, struct writer *writer,
               struct err *err);
