/* What switches.c, switches_judge.c and switches_say.c share; switches.h has the contract. */
#pragma once

#include "hostagent/switches/switches.h"
#include "hostagent/switches/troubles.h"

struct switches {
    const struct switch_driver *driver;
    struct switch_state *sw;
    const struct switch_settings *settings;
    struct port_wish wish;
    struct switch_ports *known;     /* the ports when our settings were made; NULL: they were not */
    struct troubles troubles, told; /* as last found; as last logged */
    struct troubles failed;         /* ports whose change failed: a plan would change them again */
    struct troubles differing;      /* changed by somebody, as the last comparison found */
    char (*yielded)[SWITCH_PORT_NAME];
    uint32_t yielded_n;
};

/* NULL: no port has this name. The search begins at `hint`, which is then behind the port. */
const struct switch_port *switches_port_of(const struct switch_ports *ports, const char *name,
                                           uint32_t *hint);

/* As switches_compare, for a plan that repairs what is there. −ENOMEM. */
int switches_judge(struct switches *switches, const struct switch_plan *plan, char *what,
                   size_t size, struct err *err);
