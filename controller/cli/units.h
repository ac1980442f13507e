/* `duopolyctl units`: the hosts' units: what each has, what is free, and what runs there. */
#pragma once

#include "controller/cli/commands.h"

int run_units(struct client *client, const struct request *request, struct writer *writer,
              struct err *err);
