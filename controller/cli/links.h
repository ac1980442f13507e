/* `duopolyctl links`: the load of the links of agents' ports. */
#pragma once

#include "controller/cli/commands.h"

/* Of `links`, `units`: the host, if one is named. */
int host_name_check(const struct request *request, struct err *err);

int run_links(struct client *client, const struct request *request, struct writer *writer,
              struct err *err);
