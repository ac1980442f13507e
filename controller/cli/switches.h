/* `duopolyctl switches` and `switch NAME`: what agents of switches say of them, and how far those are to
 * reach. */
#pragma once

#include "controller/cli/commands.h"

int switch_check(const struct request *request, struct err *err);
int run_switches(struct client *client, const struct request *request, struct writer *writer,
                 struct err *err);
int run_switch(struct client *client, const struct request *request, struct writer *writer,
               struct err *err);
