/* What `--check` looks at besides what the configuration's words say: the keys that it names and the
 * programs that its commands run. Changes nothing; blocking, for a few small files. */
#pragma once

#include "hostagent/settings.h"
#include "lib/err.h"

/* The first thing that cannot work: −ENOENT and others, with its key in the configuration. Root asks
 * as the commands' user, and as who owns a key. */
int check_agent(const struct agent_settings *settings, struct err *err);

/* Every command that cannot be run here, as a line of the log. */
void check_say_commands(const struct agent_settings *settings);
