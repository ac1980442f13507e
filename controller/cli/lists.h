/* The controller's lists as tables: tasks, hosts, counters, keys. A list is read page by page with
 * a cursor; if the state changed between pages, the answer says `changed` (rows then show slightly
 * different moments, none twice). For jobs: job_list.h. */
#pragma once

#include "controller/cli/table.h"

extern const struct list list_of_jobs, list_of_tasks, list_of_hosts, list_of_counters, list_of_keys;

/* Reads all pages and writes one table. `job` 0: of all jobs; `finished`: also finished ones. */
int list_write(struct client *client, const struct list *list, uint64_t job, bool finished,
               struct writer *writer, struct err *err);

/* The tasks of a job: of an active one, first those that run or are ready, then those that wait for
 * other stages, then done ones; of an ended one, how its attempts ended. At most `most` rows; says
 * how many are missing. */
int job_tasks_write(struct client *client, const duopoly_JobRow *job, uint64_t most,
                    struct writer *writer, struct err *err);

/* One job as fields. */
void job_fields_write(const duopoly_JobRow *row, struct writer *writer);
