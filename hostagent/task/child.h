/* Starts the command: cloned directly into its cgroup, as its user, in its own process group.
 *
 * A socket keeps the cgroup in which its process made it, so the process must never have been in
 * another one. Needs Linux 5.7 (CLONE_INTO_CGROUP) and the right to change users. */
#pragma once

#include "lib/attempt.h"
#include "lib/commands.h"
#include "lib/err.h"

#include <sys/types.h>

struct child_config {
    const struct attempt_order *order;
    const struct command *command;
    uint32_t uid, gid;
    int cgroup_fd;
    int say_fd;   /* becomes descriptor 3, named in DUOPOLY_TASK_SOCKET */
    int error_fd; /* becomes standard error; input and output are /dev/null */
};

/* Gives this process the default priority, however urgent the agent is. */
void child_be_ordinary(void);

/* Descriptors are borrowed. The command has the default priority; the caller should then take it,
 * too. A command that cannot be run reports that on error_fd and ends with 127. */
int child_start(const struct child_config *config, pid_t *ret_pid, struct err *err);
