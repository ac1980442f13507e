/* The ports of a CONFIG_DB that the settings select, with their facts (pure). SAI's queues can be
 * strict, guarantee a rate and mark; there are eight. */
#pragma once

#include "hostagent/switches/switch.h"
#include "lib/sonic/sonic_rows.h"

/* Sorted by name; the caller frees. `at` names the switch in sentences. A port with an invalid row
 * has no MTU and is in the plan's troubles (`plan` may be NULL). −E2BIG: more than SWITCH_PORTS. */
int sonic_ports_list(const struct switch_settings *settings, const char *at, const json_t *db,
                     struct switch_plan *plan, struct switch_ports **ret_ports, struct err *err);
