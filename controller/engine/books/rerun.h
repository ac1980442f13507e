/* Tasks that run again because their output cannot be fetched. Private to controller/engine.
 *
 * A lost output is no failure of its task: hosts crash, disks are cleared. But an output that is
 * lost again and again will be lost again (no host can read from where the task runs: wrong
 * addresses, a filter, a disk that keeps nothing), and each time its readers are stopped. So a
 * task's outputs may be lost reruns_max times, as its attempts may fail failures_max times; then
 * its job fails with that reason. Outputs lost together with their host do not count: that host is
 * out of use.
 *
 * A host counts once here, too (RULE_RERUNS_ONCE): another output of the task that is lost there
 * does not count while another host could hold the task, and the next try goes to a host on which
 * none was lost (retry.h). So no host alone, which may end tasks at once and serve nothing, fails a
 * job that others could do; the only host that could hold the task still does.
 *
 * A task remembers this until its job is over, within reruns_max and RETRY_LOOKS. With reruns_max =
 * 0 nothing is counted, as in older logs; with probe_ns = 0, which means no retries, each counts.
 *
 * One object in several files: job.h. */
#pragma once

#include "controller/engine/base/state.h"

struct reruns {
    uint32_t counted;
    uint32_t n; /* hosts on which outputs were lost, each once */
    struct host *hosts[];
};

/* The task's output, which is needed, is lost although its host is not. True: once too often; its
 * job has failed, and both are freed. O(reruns_max). */
bool rerun_is_one_too_many(struct engine *engine, struct task *task);

/* For load: the count; one such host. False: the task remembers none, no more, or that host
 * already. */
void rerun_restore(struct engine *engine, struct task *task, uint32_t counted);
bool rerun_restore_host(const struct engine *engine, const struct task *task, struct host *host);
