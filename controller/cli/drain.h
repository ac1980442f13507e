/* `duopolyctl drain`: one host or a rack, and waiting until nothing runs there. */
#pragma once

#include "controller/cli/commands.h"

/* As command.check and command.run. */
int drain_check(const struct request *request, struct err *err);
int run_drain(struct client *client, const struct request *request, struct writer *writer,
              struct err *err);
