#include "lib/commands.h"

#include <string.h>

static const struct conf_field word_item = {.type = CONF_STRING, .size = 256};

const struct conf_field command_fields[] = {
    {.name = "name",
     .type = CONF_STRING,
     .offset = offsetof(struct command, name),
     .size = sizeof(((struct command *)0)->name)},
    {.name = "argv",
     .type = CONF_LIST,
     .offset = offsetof(struct command, words),
     .size = sizeof(((struct command *)0)->words[0]),
     .min = 1,
     .max = ATTEMPT_ARGUMENTS,
     .item = &word_item,
     .count_offset = offsetof(struct command, words_n)},
    {.name = NULL},
};

const struct command *command_named(const struct command *commands, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}
