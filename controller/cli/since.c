#include "controller/cli/since.h"

#include "lib/conf.h"

#include <errno.h>
#include <stdbool.h>
#include <time.h>

#define SECOND INT64_C(1000000000)

/* A day, or a second of one, in UTC. */
static bool instant_parse(const char *text, uint64_t *ret_ns)
{
    static const char *const forms[] = {"%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d"};
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        struct tm parts = {0};
        const char *end = strptime(text, forms[i], &parts);
        if (!end || *end)
            continue;
        struct tm given = parts;
        time_t seconds = timegm(&parts);
        *ret_ns = seconds < 0 ? 0 : (uint64_t)seconds * SECOND;
        return parts.tm_mday == given.tm_mday && parts.tm_sec == given.tm_sec;
    }
    return false;
}

int since_parse(const char *text, uint64_t *ret_ns, struct err *err)
{
    struct timespec now;
    int64_t ago_ns;
    if (instant_parse(text, ret_ns))
        return 0;
    if (conf_number(CONF_DURATION, text, &ago_ns, NULL) < 0 || ago_ns < 0)
        return err_set(err, EINVAL,
                       "--since is a time ago (90s, 10min, 2h), a day or an instant in UTC "
                       "(2026-01-31, 2026-01-31T12:00:00Z), not '%s'",
                       text);
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t now_ns = now.tv_sec * SECOND + now.tv_nsec;
    *ret_ns = ago_ns < now_ns ? (uint64_t)(now_ns - ago_ns) : 0;
    return 0;
}
