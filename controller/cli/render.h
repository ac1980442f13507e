/* duopolyctl switch NAME render: what a switch is to be told that a person or another tool configures
 * (controller/switch/render), from a description in a file (schemas/switch.yaml), which switches that
 * are alike can share. Nobody is asked: no controller is needed. */
#pragma once

#include "controller/cli/commands.h"

/* Whether there is a file, the format, and a name that can stand in it. −EINVAL. */
int render_check(const struct request *request, struct err *err);

int run_render(const struct request *request, struct writer *writer, struct err *err);
