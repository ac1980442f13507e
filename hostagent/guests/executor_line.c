#include "hostagent/guests/executor_line.h"

#include "lib/number.h"
#include "lib/wire.h"

#include <errno.h>
#include <string.h>

/* The word after `word`, which ends before `end`; NULL: there is none. */
static const char *word_after(const char *word, const char *end)
{
    const char *stop = memchr(word, 0, (size_t)(end - word));
    return stop && stop + 1 < end ? stop + 1 : NULL;
}

static int name_take(const char *word, char *field, size_t size)
{
    if (!wire_name_valid(word) || strlen(word) >= size)
        return -EINVAL;
    wire_copy(field, size, word);
    return 0;
}

int executor_line_parse(const char *line, size_t n, struct executor_line *ret_line)
{
    const char *application = NULL, *executor = NULL, *cores = NULL, *end = line + n;
    struct executor_line found = {0};
    uint64_t number;
    if (!n || line[n - 1])
        return -ENOENT; /* longer than what was read of it, or none */
    for (const char *word = line, *next; (next = word_after(word, end)); word = next) {
        if (strcmp(word, "--app-id") == 0)
            application = next;
        else if (strcmp(word, "--executor-id") == 0)
            executor = next;
        else if (strcmp(word, "--cores") == 0)
            cores = next;
    }
    if (!application || !executor || !cores)
        return -ENOENT;
    if (name_take(application, found.application, sizeof(found.application)) < 0 ||
        name_take(executor, found.executor, sizeof(found.executor)) < 0 ||
        number_read(cores, 1, EXECUTOR_CORES, &number) < 0)
        return -EINVAL;
    found.cores = (uint32_t)number;
    *ret_line = found;
    return 0;
}
