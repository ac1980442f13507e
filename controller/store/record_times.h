/* Moves the times in an engine dump's record from one clock to another: the engine's begins anew
 * with each boot of the machine, the store's rows are on the wall clock. Pure. */
#pragma once

#include "controller/engine/base/record.h"

#include <stddef.h>
#include <stdint.h>

enum { RECORD_TIMES_MAX = RECORD_MAX + 64 };

/* Copies a `job` or `finished` record with `add_ns` added to submitted_ns and finished_ns, neither
 * later than `most_ns` then; any other record as it is; no zero at the end. The length; −EINVAL: such a time is no number;
 * −ENOSPC: longer than RECORD_MAX. `ret_line` has room for RECORD_TIMES_MAX. */
int record_times_shift(const char *line, size_t length, int64_t add_ns, int64_t most_ns,
                       char *ret_line);
