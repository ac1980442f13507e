/* duopolyctl history: the jobs that ended, the newest first, and where their time went; the
 * controller filters. */
#pragma once

#include "controller/cli/commands.h"

/* Whether its own options, besides those of every list, are valid. −EINVAL. */
int history_check(const struct request *request, struct err *err);

int run_history(struct client *client, const struct request *request, struct writer *writer,
                struct err *err);
