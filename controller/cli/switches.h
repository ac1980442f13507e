/* `duopolyctl switches` and `switch NAME`: what agents report of switches, their stances, and the
 * configuration for a switch without an agent (render.h). */
#pragma once

#include "controller/cli/commands.h"

/* Whether it needs no controller. */
bool switch_alone(const struct request *request);

int switch_check(const struct request *request, struct err *err);
int run_switches(struct client *client, const struct request *request, struct writer *writer,
                 struct err *err);
int run_switch(struct client *client, const struct request *request, struct writer *writer,
               struct err *err);
