/* Lists that a host's or switch's agent tells when it is asked: `flows HOST`, `queues HOST`. */
#pragma once

#include "controller/cli/table.h"

/* Writes what the request, whose first word is the agent's name, selects of all pages, with a
 * `text` of what is missing. EXIT_PARTIAL, with a sentence: the agent does not answer, and what it
 * had answered until then is written; else as list_read. */
int asked_write(struct client *client, const struct list *list, const struct request *request,
                struct writer *writer, struct err *err);
