/* The agent as a whole: its parts opened in order, run in one event loop, and put away in reverse.
 *
 * One agent with one `state` directory at a time: a second one is refused (a lock on the directory,
 * which goes with the process). */
#pragma once

#include "hostagent/settings.h"
#include "lib/err.h"

#include <stdbool.h>

/* Files in the state folder: who runs; that something of the host is changed; that the cgroup is
 * ours. Each is there before it is true. */
#define AGENT_LOCK   "%s/lock"
#define AGENT_BEGUN  "%s/begun"
#define AGENT_CGROUP "%s/cgroup"

/* Runs until SIGTERM or SIGINT; `resolved` follows the ports that come and go. On failure nothing is changed, or all that was is taken back. */
int agent_run(const struct agent_settings *settings, struct settings_resolved *resolved,
              bool replace, struct err *err);

/* Says on this host how far the agent reaches (stance.h): to the one that runs, else to what the
 * last one left, and to the next. In force when it returns. */
int agent_take_stance(const struct agent_settings *settings, struct settings_resolved *resolved,
                      const char *word, struct err *err);

/* Ends what a former run with this configuration left: attempts, marks, queues, state. */
int agent_restore(const struct agent_settings *settings, struct settings_resolved *resolved,
                  struct err *err);
