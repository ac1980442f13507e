/* Confines an agent that is not root (lib/confine.h): it writes its state, its maps' and its
 * attempts' cgroup, and what it measures; it starts nothing. An agent that is root mounts and
 * starts duopoly-task, whose commands would be confined with it; so it is not confined, and logs
 * that. */
#pragma once

#include "hostagent/settings.h"
#include "lib/err.h"

/* Call it when the state and the cgroup exist, and before there are other threads. */
int confinement_limit_agent_files(const struct agent_settings *settings,
                                  const struct settings_resolved *resolved, struct err *err);

/* Call it when everything is open. */
int confinement_limit_agent_calls(struct err *err);
