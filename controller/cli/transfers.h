/* `duopolyctl coflows` and `macroflows`: what stages and tasks receive now. */
#pragma once

#include "controller/cli/commands.h"

int run_coflows(struct client *client, const struct request *request, struct writer *writer,
                struct err *err);
int run_macroflows(struct client *client, const struct request *request, struct writer *writer,
                   struct err *err);
