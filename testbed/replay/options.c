#include "testbed/replay/options.h"

#include <stdlib.h>

uint16_t option_port(struct argp_state *state, const char *value)
{
    char *end;
    unsigned long port = strtoul(value, &end, 10);
    if (*end || port < 1 || port > UINT16_MAX)
        argp_failure(state, 2, 0, "the port is \"%s\", must be 1…65535", value);
    return (uint16_t)port;
}
