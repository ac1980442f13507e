/* The part of the agent's configuration (schemas/duopoly-agent.yaml) that duopoly-task reads:
 * tasks.user and tasks.commands. Whatever the agent orders, it runs no other command and becomes no
 * other user. */
#pragma once

#include "lib/commands.h"
#include "lib/err.h"

#include <stdint.h>

struct task_settings {
    uint32_t uid, gid; /* never 0 */
    struct command commands[COMMANDS_MAX];
    uint32_t commands_n;
};

/* Looks the user up in /etc/passwd only: this program is linked statically. −errno. */
int task_settings_read(const char *path, struct task_settings *ret_settings, struct err *err);
