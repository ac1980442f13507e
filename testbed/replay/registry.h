/* Which map outputs a host holds, for its replay server: the folder of outputs that the agent keeps
 * (schemas/task.md). A task makes its own output there; the agent removes it when the job is
 * forgotten or the task did not succeed.
 *
 * Uses files; may block on them shortly. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct registry_output {
    uint64_t job;
    uint32_t stage, task;
    uint64_t attempt;
};

/* Whether this very attempt's output is held in `directory`. */
bool registry_has(const char *directory, const struct registry_output *output);
