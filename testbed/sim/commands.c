#include "testbed/sim/commands.h"

#include <stddef.h>

const struct command *const commands[] = {&command_coflows, &command_run, &command_replay, NULL};
