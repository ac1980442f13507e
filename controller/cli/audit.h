/* duopolyctl audit: who changed what, and what was refused, with filters. The controller lists the
 * newest lines of its audit; the filters are applied here. */
#pragma once

#include "controller/cli/commands.h"

/* Whether the filters are valid. −EINVAL. */
int audit_check(const struct request *request, struct err *err);

int run_audit(struct client *client, const struct request *request, struct writer *writer,
              struct err *err);
