/* duopolyctl render: what a switch is to be told that a person or another tool configures
 * (controller/switch/render), from a description of it in a file (schemas/switch.yaml). Nobody is
 * asked: no controller is needed. */
#pragma once

#include "controller/cli/commands.h"

/* Whether the first word is a format. −EINVAL. */
int render_check(const struct request *request, struct err *err);

/* `client` is NULL. */
int run_render(struct client *client, const struct request *request, struct writer *writer,
               struct err *err);
