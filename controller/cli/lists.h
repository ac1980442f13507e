/* The tasks of a job, and a job by itself. A list is read page by page with a cursor; if the state
 * changed between pages, the answer says `changed` (rows then show slightly different moments, none
 * twice). For jobs: job_list.h. */
#pragma once

#include "controller/cli/table.h"

/* The tasks of a job: of an active one, first those that run or are ready, then those that wait for
 * other stages, then done ones; of an ended one, how its attempts ended. At most `most` rows; says
 * how many are missing unless the selection, which may be NULL, leaves some out. */
int job_tasks_write(struct client *client, const duopoly_JobRow *job, uint64_t most,
                    const struct selection *selection, struct writer *writer, struct err *err);

/* One job as fields. */
void job_fields_write(const duopoly_JobRow *row, struct writer *writer);
