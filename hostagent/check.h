/* Checks for `--check` beyond the configuration's syntax: the keys that it names and the programs
 * that its commands run. Changes nothing; blocks for a few small files. */
#pragma once

#include "hostagent/settings.h"
#include "lib/err.h"

/* Returns the first thing that cannot work: −ENOENT or another error, with its key in the
 * configuration. Root checks as the commands' user and as the owner of a key. */
int check_agent(const struct agent_settings *settings, struct err *err);

/* Logs a line for each command that cannot run here. */
void check_say_commands(const struct agent_settings *settings);
