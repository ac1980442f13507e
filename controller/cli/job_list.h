/* The list of jobs. The controller lists it page by page in the order of numbers, which never
 * change: so no job is listed twice or missed. Here it gets the order that people want: active jobs
 * in turn with their places, arriving jobs, ended jobs. Each row is kept as bytes until all are
 * there. */
#pragma once

#include "controller/cli/commands.h"

/* Reads all pages and writes what the request selects as one table. */
int job_list_write(struct client *client, const struct request *request, struct writer *writer,
                   struct err *err);
