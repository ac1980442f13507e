/* `duopolyctl stance`: tells hosts how far to reach, waits until they say that they do, and says how
 * long that took. A host that is not up hears it when it comes back. */
#pragma once

#include "controller/cli/commands.h"

const char *stance_word(duopoly_Stance stance); /* "" of UNSAID */

int stance_check(const struct request *request, struct err *err);
int run_stance(struct client *client, const struct request *request, struct writer *writer,
               struct err *err);
