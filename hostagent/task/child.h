/* Starting the command: cloned straight into its cgroup, as its user, in its own process group.
 *
 * Sockets keep the cgroup that their process was in when they were made, so a process must never
 * have been anywhere else. Needs Linux 5.7 (CLONE_INTO_CGROUP) and the right to change user. */
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

/* However urgent the agent is, its attempts are not: this process gets the priority of anybody. */
void child_be_ordinary(void);

/* Descriptors are borrowed. The command is ordinary; whoever calls should be so afterwards. A
 * command that cannot be run says so on error_fd and ends with 127. */
int child_start(const struct child_config *config, pid_t *ret_pid, struct err *err);
