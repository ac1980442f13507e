/* The agent as a whole: opens its parts in order, runs them in one event loop, and closes them in
 * reverse order.
 *
 * One agent with one `state` directory at a time: a second one is refused (a lock on the directory,
 * which ends with the process). */
#pragma once

#include "hostagent/settings.h"
#include "lib/err.h"

#include <stdbool.h>

/* Files in the state folder: the running agent's lock; a mark that something on the host is
 * changed; a mark that the cgroup is ours. Each is written before it becomes true. */
#define AGENT_LOCK   "%s/lock"
#define AGENT_BEGUN  "%s/begun"
#define AGENT_CGROUP "%s/cgroup"

/* Runs until SIGTERM or SIGINT; `resolved` follows the ports that come and go. On failure nothing
 * is changed, or all changes are undone. */
int agent_run(const struct agent_settings *settings, struct settings_resolved *resolved,
              bool replace, struct err *err);

/* −ENODEV: a device of the configuration is not there, or nobody knows; −EINVAL: a unit promises
 * what its device has not. Blocks for DEVICE_WATCH_FIRST_MS at most. */
int agent_check_devices(const struct agent_settings *settings, struct settings_resolved *resolved,
                        struct err *err);

/* Sets this host's stance (stance.h), for the agent that runs, or else for the next one and for
 * what the last one left. In force when it returns. */
int agent_take_stance(const struct agent_settings *settings, struct settings_resolved *resolved,
                      const char *word, struct err *err);

/* Undoes what a former run with this configuration left: attempts, marks, queues, state. */
int agent_restore(const struct agent_settings *settings, struct settings_resolved *resolved,
                  struct err *err);
