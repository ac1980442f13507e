/* The next try of a task that failed. Private to controller/engine.
 *
 * It goes elsewhere, where there is an elsewhere: the task does not wait in the queues of the
 * policies but here, for room on a host on which it has not failed; the least loaded one gets it,
 * before anything else is placed. As long as a host is up that could hold it, on which it has not
 * failed and nothing else has since something was done there, it waits for such a host: a burst of
 * failures is not passed from one failing host to the next. It waits for hold_max at most; then,
 * and where it has failed on every host that could hold it, the policies place it as any other
 * task.
 *
 * WHY outside the policies: which hosts are not for a task is a fact of that task, and their
 * indexes know hosts and shapes only. The tries are few, so the cost of leaving their order is
 * small.
 *
 * A host has one voice about a task (hosts_count_once): its second failure there, or the second
 * loss with that host, counts for nothing while another host could hold the task, and its next try
 * goes there. So no host alone, which may refuse whatever it is given or come and go, fails a job
 * that others could do; the only one that could hold it fails it as ever.
 *
 * A try looks at RETRY_LOOKS tasks and hosts at most; what stands behind them waits for hold_max at
 * most, too. What a task remembers is bounded by failures_max, losses_max and
 * reruns_max. O(log tasks).
 *
 * One object in several files: job.h. */
#pragma once

#include "controller/engine/books/attempt.h"

enum { RETRY_LOOKS = 64 };

/* A host on which it failed; that it did proves something while the host is in that era. */
struct tried {
    struct host *host;
    uint64_t era;
};

struct retry {
    struct task *task;
    bool anywhere;            /* it has waited long enough */
    struct sorted_node waits; /* engine->retries: (since, job, stage and index) */
    uint32_t n;
    struct tried tried[];
};

/* The task's attempt there failed; before it is queued again. */
void retry_failed(struct engine *engine, struct task *task, struct host *host);
/* The task's attempt, which may have taken it down, is lost with that host; as retry_failed. */
void retry_lost(struct engine *engine, struct task *task, struct host *host);
/* It ended there, and nobody asked for that; as retry_failed. */
void retry_ended(struct engine *engine, struct task *task, struct host *host);
/* Its outputs on that host cannot be read (rerun.h): the next try goes elsewhere; before it is
 * queued. */
void retry_unread(struct engine *engine, struct task *task, struct host *host);
/* A failure or a loss there, before it is told to the above, says nothing that was not said: it
 * counts for nothing. O(failures_max). */
bool retry_repeats(const struct engine *engine, const struct task *task, const struct host *host);
/* It failed there, or was lost, before. O(failures_max). */
bool retry_failed_on(const struct task *task, const struct host *host);
/* True: the task, which is to be queued, waits here. */
bool retry_take(struct engine *engine, struct task *task);
bool retry_waits(const struct task *task);
/* It waits no more: it runs, or its stage closed. */
void retry_leave(struct engine *engine, struct task *task);
void retry_forget(struct engine *engine, struct task *task);
/* None of the job waits any more. O(all that wait), where some of it do. */
void retry_withdraw(struct engine *engine, struct job *job);

/* The next start, as a claim; false: none. */
bool retry_pick(struct engine *engine, struct claim *ret_claim);
int64_t retry_deadline_ns(const struct engine *engine);

/* For load: the task has failed; then on which hosts. */
void retry_restore(struct engine *engine, struct task *task, bool waits, bool anywhere);
void retry_restore_tried(struct engine *engine, struct task *task, struct host *host, bool proves);
