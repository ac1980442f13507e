/* duopoly-sim: schedulers under virtual time. */
#include "lib/program.h"
#include "testbed/sim/commands.h"

#include <stdio.h>
#include <string.h>

static void usage(FILE *to)
{
    fprintf(to, "usage: duopoly-sim COMMAND [OPTIONS]\n");
    for (const struct command *const *c = commands; *c; c++)
        fprintf(to, "\n  duopoly-sim %s\n      %s\n", (*c)->usage, (*c)->what);
}

int main(int argc, char **argv)
{
    program_begin();
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0)) {
        usage(stdout);
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "--version") == 0) {
        puts("duopoly-sim " DUOPOLY_VERSION);
        return 0;
    }
    for (const struct command *const *c = commands; argc > 1 && *c; c++)
        if (strcmp(argv[1], (*c)->name) == 0)
            return (*c)->run(argc - 1, argv + 1);
    if (argc > 1)
        fprintf(stderr, "duopoly-sim: there is no command '%s'; duopoly-sim --help lists them\n",
                argv[1]);
    else
        fprintf(stderr, "duopoly-sim: give a command; duopoly-sim --help lists them\n");
    return 2;
}
