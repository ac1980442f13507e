/* The list of jobs. The controller lists it page by page in the order of numbers, which never
 * change: so no job is listed twice or missed. Here it gets the order that people want: active jobs
 * in turn with their places, arriving jobs, ended jobs. Each row is kept as bytes until all are
 * there. */
#pragma once

#include "lib/client.h"
#include "lib/writer.h"

/* Reads all pages and writes one table; `finished`: also jobs that are over. */
int job_list_write(struct client *client, bool finished, struct writer *writer, struct err *err);
