/* Tasks that are lost together with their hosts. Private to controller/engine.
 *
 * A lost host is no failure of its tasks: hosts crash. But a task may be what takes its host down,
 * and then does so to the next host, and the next. So from the losses_max-th host on that was lost
 * while an attempt of a task was there, the task is *suspect*, and each such loss counts as a
 * failure of it: the last one allowed fails its job with that reason. Attempts that only waited on
 * their node, or were told to stop, do not count. A restart of the controller forgets losses, and
 * the failures that they counted as.
 *
 * A host that comes and goes is one host (retry.h: hosts_count_once): another loss with it does not
 * count while another host could hold the task.
 *
 * With losses_max = 0 nothing is counted, as in older logs. */
#pragma once

#include "controller/engine/base/state.h"

/* Whether the attempt could have taken its host down. Call before its end. */
bool loss_counts(const struct engine *engine, const struct attempt *attempt);
/* An attempt of the task, which counted, was lost with its host. Call after its end. Its job may
 * fail and be freed. */
void loss_with_host(struct engine *engine, struct task *task, uint64_t attempt);
