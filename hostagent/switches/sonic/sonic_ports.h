/* The ports of a CONFIG_DB that the settings select, with what it says of them (pure). SAI's queues are
 * strict where they are told so, guarantee and mark; there are eight. */
#pragma once

#include "hostagent/switches/switch.h"
#include "lib/sonic/sonic_rows.h"

/* In order of their names; the caller frees. `at` names the switch in sentences. One of which CONFIG_DB says
 * what is no SONiC's has no MTU, and is in the plan's troubles (`plan` may be NULL). −E2BIG: more than
 * SWITCH_PORTS. */
int sonic_ports_list(const struct switch_settings *settings, const char *at, const json_t *db,
                     struct switch_plan *plan, struct switch_ports **ret_ports, struct err *err);
