/* What switches.c and switches_say.c share; switches.h says what it is for. */
#pragma once

#include "hostagent/switches/switches.h"
#include "hostagent/switches/troubles.h"

struct switches {
    const struct switch_driver *driver;
    struct switch_state *sw;
    const struct switch_settings *settings;
    struct port_wish wish;
    struct switch_ports *known;     /* what they were when theirs was made; NULL: it was not */
    struct troubles troubles, told; /* as they were found last; those that were logged */
    struct troubles failed; /* of ports whose change failed: a plan would change them once more */
};
