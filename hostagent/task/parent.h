/* The life of one attempt's parent: start the command, serve the agent, write the status.
 *
 * One thread; parent_run returns when the command has ended, everything else in the cgroup is dead
 * and the status is in the record. Bounds: one agent connection at a time, the newest; PARENT_SAID
 * different messages of a command are kept for a later agent; what the present agent does not read,
 * because it hangs, is not sent to it again; standard error is read to the end, and only its last
 * line is kept. Runs in a fork of duopoly-task: no program has to be loaded. */
#pragma once

#include "lib/attempt.h"
#include "lib/commands.h"
#include "lib/err.h"

#include <stdint.h>

#define PARENT_SAID 256

struct parent_config {
    const struct attempt_order *order; /* borrowed */
    const struct command *command;     /* borrowed */
    uint32_t uid, gid;                 /* the command's */
    int agent_fd;                      /* to the agent, taken */
    int cgroup_fd;                     /* directory of the command's cgroup, taken */
    uint64_t before_ns;                /* CLOCK_MONOTONIC before this process was forked */
};

/* A command that cannot be run is not a failure of the parent: its status is 127, and the sentence
 * its last line. Else −errno with a sentence, which was also sent to the agent, unless the command
 * was running already. */
int parent_run(const struct parent_config *config, struct err *err);
