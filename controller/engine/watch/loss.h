/* Tasks that are lost together with their hosts. Private to controller/engine.
 *
 * That a host is lost is no failure of what ran there: hosts crash. But a task can be what takes
 * its host down, and then goes on to the next one, and the next. So from the losses_max-th host on
 * that was lost while an attempt of a task was there, the task is *suspect*, and each such loss
 * counts as one failure of it: the last that is allowed fails its job, which says so. What only
 * waited on its node does not count, nor what was told to stop. Losses, and what they counted as
 * failures, are forgotten with a restart of the controller.
 *
 * A host that comes and goes is one host (retry.h: hosts_count_once): another loss with it counts
 * for nothing while another could hold the task.
 *
 * With losses_max = 0 nothing is counted, as in logs of before. */
#pragma once

#include "controller/engine/base/state.h"

/* Whether the attempt could have taken its host down; before its end. */
bool loss_counts(const struct engine *engine, const struct attempt *attempt);
/* An attempt of the task, which counted, was lost with its host; after its end. Its job may have
 * failed and be gone then. */
void loss_with_host(struct engine *engine, struct task *task, uint64_t attempt);
