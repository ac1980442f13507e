#include "lib/commands.h"

#include "lib/conf_table.h"

#include <string.h>

static const struct conf_field word_item = {.type = CONF_STRING, .size = 256};

const struct conf_field command_fields[] = {
    STRING(command, name, NULL),
    LIST_CALLED(command, words, "argv", words_n, &word_item, 1),
    END,
};

const struct command *command_named(const struct command *commands, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}
