#include "testbed/sim/commands.h"

#include <stddef.h>

const struct command *const commands[] = {
    &command_coflows, &command_run,     &command_compare, &command_sweep,   &command_figures,
    &command_replay,  &command_explain, &command_whatif,  &command_cluster, NULL};
