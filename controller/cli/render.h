/* duopolyctl switch NAME render: what a switch is to be told that a person or another tool configures
 * (controller/switch/render). Without --from, what its agent says of it; with it, a description in a
 * file (schemas/switch.yaml), which switches that are alike can share: then nobody is asked, and no
 * controller is needed. */
#pragma once

#include "controller/cli/commands.h"

/* Whether there is the format, and a name that can stand in it. −EINVAL. */
int render_check(const struct request *request, struct err *err);

/* `client` may be NULL with --from. */
int run_render(struct client *client, const struct request *request, struct writer *writer,
               struct err *err);
