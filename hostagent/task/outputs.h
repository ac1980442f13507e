/* Removes outputs that are no longer needed from a folder (lib/attempt.h), as the commands' user:
 * what commands left can be large, and is not ours. It runs in a process of its own, one at a time;
 * later requests wait for it, for a minute at most, since a command of the same user may have
 * stopped that process. For the process that serves an agent. */
#pragma once

#include "hostagent/task/settings.h"

/* Begins now, or when the running one has ended. Logs what cannot be removed. */
void outputs_clear(const char *folder, const struct task_settings *settings);

/* Returns when `fd` can be read; meanwhile begins what was requested. */
void outputs_await(int fd, const struct task_settings *settings);
