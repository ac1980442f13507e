/* The commands of duopoly-sim. Each reads its own arguments, prints its result to standard output
 * and an error as one sentence to standard error, and returns the program's exit status: 0, 1 for
 * input that cannot be used, 2 for wrong arguments. */
#pragma once

struct command {
    const char *name, *what, *usage;
    int (*run)(int argc, char **argv); /* argv[0] is the command's name */
};

extern const struct command *const commands[]; /* ends with NULL */

extern const struct command command_coflows, command_run, command_compare, command_sweep,
    command_figures, command_replay, command_explain, command_whatif, command_cluster;
