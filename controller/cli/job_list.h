/* The list of jobs. The controller gives it page by page in the order of numbers, which no job leaves:
 * so none is there twice or missed, whatever moves meanwhile. Here it gets the order that people want:
 * active jobs in turn with their places, those that arrive, those that are over. Each row is kept as
 * bytes until all are there. */
#pragma once

#include "lib/client.h"
#include "lib/writer.h"

/* Asks for all pages and writes one table; `finished`: jobs that are over too. */
int job_list_write(struct client *client, bool finished, struct writer *writer, struct err *err);
