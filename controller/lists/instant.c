#include "controller/lists/instant.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define SECOND UINT64_C(1000000000)

/* ".25": at most nine digits. Returns what follows them. */
static const char *fraction_read(const char *text, uint64_t *ret_ns)
{
    uint64_t unit = SECOND / 10;
    *ret_ns = 0;
    if (*text != '.')
        return text;
    for (text++; *text >= '0' && *text <= '9' && unit; text++, unit /= 10)
        *ret_ns += (uint64_t)(*text - '0') * unit;
    return text;
}

bool instant_read(const char *text, uint64_t *ret_ns)
{
    struct tm parts = {0};
    uint64_t ns = 0;
    const char *end = strptime(text, "%Y-%m-%d", &parts);
    if (end && *end == 'T') {
        end = strptime(end, "T%H:%M:%S", &parts);
        end = end ? fraction_read(end, &ns) : NULL;
        end = end && *end == 'Z' ? end + 1 : NULL;
    }
    if (!end || *end)
        return false;
    const struct tm given = parts;
    const time_t seconds = timegm(&parts);
    *ret_ns = seconds < 0                                ? 0
              : (uint64_t)seconds >= UINT64_MAX / SECOND ? UINT64_MAX
                                                         : (uint64_t)seconds * SECOND + ns;
    return parts.tm_mday == given.tm_mday && parts.tm_sec == given.tm_sec;
}

const char *instant_words(uint64_t ns, char words[INSTANT_WORDS])
{
    const time_t seconds = (time_t)(ns / SECOND);
    struct tm utc;
    size_t used = strftime(words, INSTANT_WORDS, "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &utc));
    snprintf(words + used, INSTANT_WORDS - used, ".%09uZ", (unsigned)(ns % SECOND));
    return words;
}
