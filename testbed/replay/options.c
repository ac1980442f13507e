#include "testbed/replay/options.h"

#include "lib/number.h"

uint16_t option_port(struct argp_state *state, const char *value)
{
    uint64_t port = 0;
    if (number_read(value, 1, UINT16_MAX, &port) < 0)
        argp_failure(state, 2, 0, "the port is \"%s\", must be 1…65535", value);
    return (uint16_t)port;
}
