/* `duopolyctl links`: the load of the links of agents' ports. */
#pragma once

#include "controller/cli/commands.h"

int links_check(const struct request *request, struct err *err);
int run_links(struct client *client, const struct request *request, struct writer *writer,
              struct err *err);
