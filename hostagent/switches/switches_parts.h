/* What switches.c, switches_judge.c and switches_say.c share; switches.h says what it is for. */
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
    struct troubles differing; /* what the last comparison found changed by somebody */
    char (*yielded)[SWITCH_PORT_NAME];
    uint32_t yielded_n;
};

/* NULL: there is none of this name. They are looked through from `hint` on, which is then behind it. */
const struct switch_port *switches_port_of(const struct switch_ports *ports, const char *name,
                                           uint32_t *hint);

/* As switches_compare, of a plan that puts right what there is. −ENOMEM. */
int switches_judge(struct switches *switches, const struct switch_plan *plan, char *what,
                   size_t size, struct err *err);
