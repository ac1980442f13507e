/* `duopolyctl job set|hold|release|requeue`: orders about a job as a whole. */
#pragma once

#include "controller/cli/commands.h"

/* Whether it is one of these, and no look at a job. */
bool job_order_is(const struct request *request);
/* As command.check and command.run. */
int job_order_check(const struct request *request, struct err *err);
int job_order(struct client *client, const struct request *request, struct writer *writer,
              struct err *err);
