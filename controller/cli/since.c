#include "controller/cli/since.h"

#include "controller/lists/instant.h"
#include "lib/conf.h"
#include "lib/now.h"

#include <errno.h>

int since_parse(const char *text, uint64_t *ret_ago_ns, uint64_t *ret_ns, struct err *err)
{
    const uint64_t now = now_ns(CLOCK_REALTIME);
    int64_t ago_ns;
    if (instant_read(text, ret_ns))
        ago_ns = *ret_ns < now ? (int64_t)(now - *ret_ns) : 0;
    else if (conf_number(CONF_DURATION, text, &ago_ns, NULL) < 0 || ago_ns < 0)
        return err_set(err, EINVAL,
                       "--since is a time ago (90s, 10min, 2h), a day or an instant in UTC "
                       "(2026-01-31, 2026-01-31T12:00:00Z), not '%s'",
                       text);
    else
        *ret_ns = (uint64_t)ago_ns < now ? now - (uint64_t)ago_ns : 0;
    if (ret_ago_ns)
        *ret_ago_ns = (uint64_t)ago_ns;
    return 0;
}
