/* Tasks whose output cannot be fetched, and which run again. Private to controller/engine.
 *
 * That an output is lost is no failure of its task: hosts crash, disks are cleared. But what is
 * lost again and again will be lost again (nobody can fetch from where the task runs: wrong
 * addresses, a filter, a disk that keeps nothing), and each time all that read it is stopped. So a
 * task's outputs may be lost reruns_max times, as its attempts may fail failures_max times: then
 * its job fails, and says so. What goes with a host that is lost does not count: the host is out of
 * the way.
 *
 * A host counts once here, too (RULE_RERUNS_ONCE): another output of the task that is lost there
 * counts for nothing while another host could hold the task, and the next try goes to one on which
 * none was lost (retry.h). So no host alone, which may end what it is given and serve nothing,
 * fails a job that others could do; the only one that could hold it fails it as ever.
 *
 * What a task remembers of this it remembers until its job is over, and is bounded by reruns_max
 * and RETRY_LOOKS. With reruns_max = 0 nothing is counted, as in logs of before; with probe_ns = 0,
 * which is without retries, each counts.
 *
 * One object in several files: job.h. */
#pragma once

#include "controller/engine/base/state.h"

struct reruns {
    uint32_t counted;
    uint32_t n; /* hosts, each once, on which outputs were lost */
    struct host *hosts[];
};

/* The task's output, which is needed, is lost though its host is not. True: once too often; its job
 * has failed and is gone, so the task is, too. O(reruns_max). */
bool rerun_is_one_too_many(struct engine *engine, struct task *task);

/* For load: so many counted; on such a host. False: it remembers none, no more, or that one already. */
void rerun_restore(struct engine *engine, struct task *task, uint32_t counted);
bool rerun_restore_host(const struct engine *engine, const struct task *task, struct host *host);
