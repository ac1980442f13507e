/* The rate of a host's disk in configurations: `none`, or bytes a second with a unit (`128 MB`), at
 * least 1. */
#pragma once

#include "lib/err.h"

/* conf_field.parse; the target is an int64_t, 0 for none. −EINVAL with a sentence. */
int disk_rate_parse(const char *text, void *target, struct err *err);
