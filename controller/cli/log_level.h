/* `duopolyctl log level`: shows or sets what the controller logs. */
#pragma once

#include "controller/cli/commands.h"

/* As command.check and command.run. */
int log_check(const struct request *request, struct err *err);
int run_log(struct client *client, const struct request *request, struct writer *writer,
            struct err *err);
