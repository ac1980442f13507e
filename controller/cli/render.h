/* duopolyctl switch NAME render: writes a configuration for a switch that a person or another tool
 * configures (controller/switch/render). Without --from, from the report of its agent; with it,
 * from a description in a file (schemas/switch.yaml), which equal switches can share: then no
 * controller is needed. */
#pragma once

#include "controller/cli/commands.h"

/* Whether the format exists and the name can be written in it. −EINVAL. */
int render_check(const struct request *request, struct err *err);

/* `client` may be NULL with --from. */
int run_render(struct client *client, const struct request *request, struct writer *writer,
               struct err *err);
