/* What duopoly-task reads of the agent's configuration (schemas/duopoly-agent.yaml): tasks.user and
 * tasks.commands. Whatever the agent orders, nothing else is run and nobody else is become. */
#pragma once

#include "lib/commands.h"
#include "lib/err.h"

#include <stdint.h>

struct task_settings {
    uint32_t uid, gid; /* never 0 */
    struct command commands[COMMANDS_MAX];
    uint32_t commands_n;
};

/* The user is looked up in /etc/passwd alone: this program is linked statically. −errno. */
int task_settings_read(const char *path, struct task_settings *ret_settings, struct err *err);
