/* Starting duopoly-task: cloned straight into the attempt's cgroup, with a descriptor that tells
 * its end.
 *
 * clone3 with CLONE_INTO_CGROUP and CLONE_PIDFD (Linux 5.7), then exec. The new process begins a
 * session of its own and shares nothing with the agent but one socket, so it outlives it. */
#pragma once

#include "lib/err.h"

#include <stdint.h>

struct spawn_config {
    const char *program;   /* path of duopoly-task */
    const char *directory; /* of the attempt */
    uint32_t uid, gid;     /* of the command */
    char *const *argv;     /* of the command, ends with NULL; at most SPAWN_ARGUMENTS */
    const char *input;     /* DUOPOLY_TASK_INPUT */
    const char *output;    /* DUOPOLY_TASK_OUTPUT */
    int parent_cgroup_fd;  /* where duopoly-task lives */
    int task_cgroup_fd;    /* where the command shall live */
};

#define SPAWN_ARGUMENTS 32

struct spawned {
    int pid;
    int pidfd;                    /* readable when duopoly-task has ended; the caller's */
    int socket;                   /* to duopoly-task (lib/attempt.h), non-blocking; the caller's */
    uint64_t before_ns, after_ns; /* CLOCK_MONOTONIC around clone3 */
};

/* Descriptors of `config` are borrowed. */
int spawn_task(const struct spawn_config *config, struct spawned *ret_spawned, struct err *err);
