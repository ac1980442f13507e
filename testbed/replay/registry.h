/* Which map outputs a host holds, for its replay server: a directory (one per host) of symbolic
 * links named JOB-STAGE-TASK-ATTEMPT, each to the output directory that the agent gave the task
 * (schemas/task.md). The agent removes that directory when the job is forgotten; the link then
 * leads nowhere, and the output is not held any more.
 *
 * Works on files, may block on them shortly. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

struct registry_output {
    uint64_t job;
    uint32_t stage, task;
    uint64_t attempt;
};

/* Makes the output directory `path` and registers it. Repeating it is fine. 0 or −errno with a
 * sentence. */
int registry_add(const char *directory, const struct registry_output *output, const char *path,
                 struct err *err);

/* Whether this very attempt's output is held. Removes a link that leads nowhere. */
bool registry_has(const char *directory, const struct registry_output *output);
