/* What an agent that is not root fences off from itself (lib/confine.h): it writes its state, its
 * maps' and its attempts' cgroup, and what it measures; it starts nothing. As root it mounts and
 * starts duopoly-task, whose commands would be fenced in with it: then nothing is, and that is
 * said. */
#pragma once

#include "hostagent/settings.h"
#include "lib/err.h"

/* When the state and the cgroup are there, and no other thread is. */
int fence_agent_files(const struct agent_settings *settings,
                      const struct settings_resolved *resolved, struct err *err);

/* When all is open. */
int fence_agent_calls(struct err *err);
