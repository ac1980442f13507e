/* The life of one attempt's parent: start the command, serve the agent, write the status.
 *
 * One thread; parent_run returns when the command has ended, everything else in the cgroup is dead
 * and the status is on disk. Bounds: one agent connection at a time; PARENT_SAID different things
 * that a command says are kept for a later agent, more are passed on but not kept; standard error
 * is read to the end and only its last line kept. */
#pragma once

#include "lib/err.h"

#include <stdint.h>

#define PARENT_SAID 256

struct parent_config {
    const char *directory; /* of the attempt */
    uint32_t uid, gid;     /* of the command, never 0 */
    char **argv;           /* ends with NULL; argv[0] is looked up in PATH */
    int agent_fd;          /* a connected SOCK_SEQPACKET socket, taken; −1: none */
    int cgroup_fd;         /* directory of the command's cgroup, taken */
};

/* A command that cannot be run is no failure of the parent: its status is 127 and the sentence its
 * last line. */
int parent_run(const struct parent_config *config, struct err *err);
