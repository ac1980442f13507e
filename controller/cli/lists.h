/* The controller's lists as tables: tasks, hosts, counters, keys. A list is read page by page with
 * a cursor; when the state moved on between pages the answer says `changed` (rows are then of
 * slightly different moments, none twice). That of jobs: job_list.h. */
#pragma once

#include "lib/client.h"
#include "lib/writer.h"

struct list;
extern const struct list list_of_tasks, list_of_hosts, list_of_counters, list_of_keys;

/* Asks for all pages and writes one table. `job` 0: of all jobs; `finished`: finished ones too. */
int list_write(struct client *client, const struct list *list, uint64_t job, bool finished,
               struct writer *writer, struct err *err);

/* The tasks of a job: of one that goes on those that run or are ready first, then those that wait for
 * other stages, then those that are done; of one that has ended how its attempts ended. At most
 * `most` rows; says how many are missing. */
int job_tasks_write(struct client *client, const duopoly_JobRow *job, uint64_t most,
                    struct writer *writer, struct err *err);

/* The table of jobs begins; the cells of a row of it; one job as fields. */
void job_table_begin(struct writer *writer);
void job_cells_write(const duopoly_JobRow *row, struct writer *writer);
void job_fields_write(const duopoly_JobRow *row, struct writer *writer);
