/* Tasks whose output cannot be fetched, and which run again. Private to controller/engine.
 *
 * That an output is lost is no failure of its task: hosts crash, disks are cleared. But what is lost again
 * and again will be lost again (nobody can fetch from where the task runs: wrong addresses, a filter, a
 * disk that keeps nothing), and each time all that read it is stopped. So a task's outputs may be lost
 * reruns_max times, as its attempts may fail failures_max times: then its job fails, and says so. What
 * goes with a host that is lost does not count: the host is out of the way.
 *
 * With reruns_max = 0 nothing is counted, as in logs of before.
 *
 * One object in several files: job.h. */
#pragma once

#include "controller/engine/base/state.h"

/* The task's output, which is needed, is lost though its host is not. True: once too often; its job has
 * failed and is gone, so the task is, too. */
bool rerun_is_one_too_many(struct engine *engine, struct task *task);
