/* `duopolyctl queues`: what makes the queues of each host, and of each port of each switch, and what they
 * have not got as wished. */
#pragma once

#include "controller/cli/commands.h"

int run_queues(struct client *client, const struct request *request, struct writer *writer,
               struct err *err);
