/* Moves the times in an engine dump's record from one clock to another: the engine's clock restarts
 * with each boot of the machine; the store's rows use the wall clock. Pure. */
#pragma once

#include "controller/engine/base/record.h"

#include <stddef.h>
#include <stdint.h>

enum { RECORD_TIMES_MAX = RECORD_MAX + 64 };

/* Copies a `job` or `finished` record with `add_ns` added to submitted_ns and finished_ns, both
 * limited to `most_ns`; any other record unchanged; no NUL at the end. Returns the length; −EINVAL:
 * such a time is not a number; −ENOSPC: longer than RECORD_MAX. `ret_line` has RECORD_TIMES_MAX
 * bytes. */
int record_times_shift(const char *line, size_t length, int64_t add_ns, int64_t most_ns,
                       char *ret_line);
