/* `duopolyctl switches` and `switch NAME`: what agents of switches say of them, how far those are to
 * reach, and what a switch without one is to be told (render.h). */
#pragma once

#include "controller/cli/commands.h"

/* Whether nobody is asked for it. */
bool switch_alone(const struct request *request);

int switch_check(const struct request *request, struct err *err);
int run_switches(struct client *client, const struct request *request, struct writer *writer,
                 struct err *err);
int run_switch(struct client *client, const struct request *request, struct writer *writer,
               struct err *err);
