/* The commands that a host may run for jobs. The list is in the agent's configuration alone
 * (schemas/duopoly-agent.yaml, tasks.commands): duopoly-agent knows the names, duopoly-task alone
 * runs the words, so no order can bring words of its own. */
#pragma once

#include "lib/attempt.h"
#include "lib/conf.h"

#include <stdint.h>

#define COMMANDS_MAX 16

struct command {
    char name[64];
    char words[ATTEMPT_ARGUMENTS][256]; /* words[0] is looked up in PATH */
    uint32_t words_n;
};

/* The fields of one, for a conf_section. */
extern const struct conf_field command_fields[];

/* NULL: there is none of that name. O(n). */
const struct command *command_named(const struct command *commands, uint32_t n, const char *name);
