/* The next try of a failed task. Private to controller/engine.
 *
 * It goes to another host if there is one: the task waits here, not in the policies' queues, for
 * room on a host on which it has not failed; the least loaded such host gets it before anything
 * else is placed. While a host is up that could hold the task, on which neither it nor anything
 * else has failed since its last done attempt, it waits for such a host, so that a burst of
 * failures does not move from one failing host to the next. After hold_max, and when it has failed
 * on every host that could hold it, the policies place it as any other task.
 *
 * WHY outside the policies: which hosts a task must avoid is a fact of that task, and their indexes
 * know only hosts and shapes. Such tries are few, so leaving the policies' order costs little.
 *
 * A host counts once per task (hosts_count_once): the second failure there, or the second loss with
 * it, does not count while another host could hold the task, and the next try goes there. So no
 * host alone, which may refuse every start or come and go, fails a job that others could do; the
 * only host that could hold the task still does.
 *
 * A try looks at no more than RETRY_LOOKS tasks and hosts; tasks behind them wait for at most
 * hold_max. failures_max, losses_max and reruns_max bound what a task remembers. O(log tasks).
 *
 * One object in several files: job.h. */
#pragma once

#include "controller/engine/books/attempt.h"

enum { RETRY_LOOKS = 64 };

/* A host on which it failed; that proves something while the host is in that era. */
struct tried {
    struct host *host;
    uint64_t era;
};

struct retry {
    struct task *task;
    bool anywhere;            /* it waited for hold_max */
    struct sorted_node waits; /* stage->retries: (since, job, stage and index), */
    uint64_t waits_at;        /* since the stage was closed so often */
    uint32_t n;
    struct tried tried[];
};

/* The task's attempt there failed. Call before the task is queued again. */
void retry_failed(struct engine *engine, struct task *task, struct host *host);
/* The task's attempt was lost with that host and may have taken it down; as retry_failed. */
void retry_lost(struct engine *engine, struct task *task, struct host *host);
/* The attempt ended there unasked; as retry_failed. */
void retry_ended(struct engine *engine, struct task *task, struct host *host);
/* Its outputs on that host cannot be read (rerun.h): the next try goes to another host. Call before
 * the task is queued. */
void retry_unread(struct engine *engine, struct task *task, struct host *host);
/* Whether a failure or loss there repeats an earlier one and so does not count; ask before the
 * calls above. O(failures_max). */
bool retry_repeats(const struct engine *engine, const struct task *task, const struct host *host);
/* Whether it failed there, or was lost, before. O(failures_max). */
bool retry_failed_on(const struct task *task, const struct host *host);
/* True: the task, which is about to be queued, waits here. */
bool retry_take(struct engine *engine, struct task *task);
bool retry_waits(const struct task *task);
/* It waits no more: it runs. */
void retry_leave(struct engine *engine, struct task *task);
void retry_forget(struct engine *engine, struct task *task);
/* No task of the stage waits any more: call before it counts as closed once more, or when its job
 * is over. O(log n). */
void retry_leave_all(struct engine *engine, struct stage *stage);

/* The next start, as a claim; false: none. */
bool retry_pick(struct engine *engine, struct claim *ret_claim);
int64_t retry_deadline_ns(const struct engine *engine);

/* For load: the task has failed; the hosts where it did. */
void retry_restore(struct engine *engine, struct task *task, bool waits, bool anywhere);
void retry_restore_tried(struct engine *engine, struct task *task, struct host *host, bool proves);
