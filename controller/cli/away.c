#include "controller/cli/away.h"

#include <errno.h>

bool away_is(int r)
{
    return r == -ECONNRESET || r == -EPIPE || r == -ETIMEDOUT || r == -EHOSTUNREACH;
}

bool away_may_end(int r)
{
    return r != -EACCES && r != -EPERM && r != -EREMOTEIO && r != -EINVAL;
}

unsigned away_pause_ms(unsigned ms)
{
    return ms < AWAY_LAST_MS ? 2 * ms : ms;
}
