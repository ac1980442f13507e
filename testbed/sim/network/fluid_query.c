#include "testbed/sim/network/fluid_state.h"

#include <errno.h>

int fluid_downlinks_used(struct fluid *f, double *ret_bytes_s)
{
    if (fluid_solve(f))
        return -ENOMEM;
    f->method->downlinks(f, ret_bytes_s);
    return 0;
}

int fluid_flow_rate(struct fluid *f, uint32_t id, uint32_t host, double *ret_bytes_s)
{
    if (fluid_solve(f))
        return -ENOMEM;
    *ret_bytes_s = f->method->rate_from(f, id, host);
    return 0;
}
