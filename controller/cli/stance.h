/* `duopolyctl stance`: sets hosts' stances, waits until they report them, and says how long that
 * took. A host that is not up gets its stance when it comes back. */
#pragma once

#include "controller/cli/commands.h"

int stance_check(const struct request *request, struct err *err);
int run_stance(struct client *client, const struct request *request, struct writer *writer,
               struct err *err);
