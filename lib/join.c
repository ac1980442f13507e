#include "lib/join.h"

#include <stdio.h>
#include <string.h>

void join_word(char *list, size_t size, const char *between, const char *word)
{
    size_t used = strlen(list);
    snprintf(list + used, size - used, "%s%s", used ? between : "", word);
}
