#include "controller/store/record_times.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool begins(const char *line, size_t length, const char *word)
{
    size_t n = strlen(word);
    return length >= n && memcmp(line, word, n) == 0;
}

/* Where the value of the next time begins; NULL: there is none. */
static const char *time_find(const char *at, const char *end)
{
    static const char *const names[] = {" submitted_ns=", " finished_ns="};
    for (; at < end && (at = memchr(at, ' ', (size_t)(end - at))); at++)
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
            if (begins(at, (size_t)(end - at), names[i]))
                return at + strlen(names[i]);
    return NULL;
}

int record_times_shift(const char *line, size_t length, int64_t add_ns, int64_t most_ns,
                       char *ret_line)
{
    const char *end = line + length, *value;
    size_t used = 0;
    if (length > RECORD_MAX)
        return -ENOSPC;
    if (!begins(line, length, "job ") && !begins(line, length, "finished ")) {
        memcpy(ret_line, line, length);
        return (int)length;
    }
    while ((value = time_find(line, end))) {
        char digits[24] = "", *after;
        memcpy(digits, value, (size_t)(end - value) < 23 ? (size_t)(end - value) : 23);
        int64_t time_ns = strtoll(digits, &after, 10) + add_ns;
        if (after == digits)
            return -EINVAL;
        time_ns = time_ns < most_ns ? time_ns : most_ns;
        memcpy(ret_line + used, line, (size_t)(value - line));
        used += (size_t)(value - line);
        used += (size_t)sprintf(ret_line + used, "%" PRId64, time_ns);
        line = value + (after - digits);
    }
    memcpy(ret_line + used, line, (size_t)(end - line));
    return (int)(used + (size_t)(end - line));
}
