/* A time that a person gives: `90s`, `10min`, `2h` ago, or a day or an instant in UTC (2026-01-31,
 * 2026-01-31T12:00:00Z). */
#pragma once

#include "lib/err.h"

#include <stdint.h>

/* *ret_ns: of the wall clock; *ret_ago_ns, which may be NULL: how long ago that is. −EINVAL with a
 * sentence. */
int since_parse(const char *text, uint64_t *ret_ago_ns, uint64_t *ret_ns, struct err *err);
