/* The command `submit`: the jobs of a workload file, all or none.
 *
 * Each job is submitted and checked, and waits; when all are accepted, they begin in order. An
 * interruption is reported job by job: begun, not begun, not answered. */
#pragma once

#include "controller/cli/commands.h"

/* As command.run. */
int run_submit(struct client *client, const struct request *request, struct writer *writer,
               struct err *err);
