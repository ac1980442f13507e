/* The parts `devices` and `units` of the agent's configuration. For settings.c only. */
#pragma once

#include "hostagent/settings.h"
#include "lib/conf.h"

/* Items of the two lists, and what is asked of each beside those before it. */
extern const struct conf_field settings_device_item, settings_unit_item;
int settings_device_beside(const void *items, uint32_t i, struct err *err);
int settings_unit_beside(const void *items, uint32_t i, struct err *err);
/* In all settings: the unit's devices are in the list, and have what it promises of them. */
int settings_unit_among(const void *structure, uint32_t i, struct err *err);
