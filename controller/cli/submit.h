/* The command `submit`: the jobs of a workload file, all or none.
 *
 * Each job is handed over and checked, and waits; when all of them could begin they are begun, in
 * their order. What breaks off in between is told job by job: begun, not begun, not answered. */
#pragma once

#include "controller/cli/commands.h"

/* As command.run. */
int run_submit(struct client *client, const struct request *request, struct writer *writer,
               struct err *err);
