/* Clears a folder of outputs of what nobody wants any more (lib/attempt.h), as the commands' user:
 * what commands left can be much, and is not ours. In a process of its own, one at a time; what is
 * asked for meanwhile is done after it; after a minute in its place, since a command, whose user's
 * process it is, may have stopped it. For the one process that obeys an agent. */
#pragma once

#include "hostagent/task/settings.h"

/* Begins now, or when the one that runs has ended. It is logged when something resists. */
void outputs_clear(const char *folder, const struct task_settings *settings);

/* Returns when `fd` can be read; begins meanwhile what was asked for. */
void outputs_await(int fd, const struct task_settings *settings);
