/* duopoly-task: the parent of one attempt.
 *
 *   duopoly-task DIRECTORY UID GID COMMAND [ARGUMENT…]
 *
 * Descriptor 3 is a connected socket to the agent, 4 the cgroup in which the command shall live. It
 * runs the command there as UID and GID, passes on what the command says, keeps the last line of
 * its standard error, stops it when told, and at its end writes its status by rename into DIRECTORY
 * and goes. It needs no agent: one may die, and another connect later (lib/attempt.h). Whatever of
 * the attempt is still there when the command has ended is killed, so a slot is free when it is
 * said to be. */
#include "hostagent/task/parent.h"
#include "lib/program.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int parse_id(const char *text, uint32_t *ret_id)
{
    char *end;
    errno = 0;
    unsigned long id = strtoul(text, &end, 10);
    if (errno || end == text || *end || id == 0 || id > INT_MAX)
        return -EINVAL;
    *ret_id = (uint32_t)id;
    return 0;
}

int main(int argc, char **argv)
{
    struct parent_config config = {.agent_fd = 3, .cgroup_fd = 4};
    struct err err = {0};
    program_begin();
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        puts("duopoly-task " DUOPOLY_VERSION);
        return 0;
    }
    if (argc < 5 || parse_id(argv[2], &config.uid) < 0 || parse_id(argv[3], &config.gid) < 0) {
        fprintf(stderr, "usage: duopoly-task DIRECTORY UID GID COMMAND [ARGUMENT...] (started by "
                        "duopoly-agent; UID and GID are not 0)\n");
        return 2;
    }
    config.directory = argv[1];
    config.argv = argv + 4;
    int r = parent_run(&config, &err);
    if (r < 0)
        fprintf(stderr, "duopoly-task: %s\n", err.text);
    return r < 0;
}
