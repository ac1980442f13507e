#include "controller/engine/facts/outcome.h"

#include "controller/engine/base/tell.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/losing.h"
#include "controller/engine/books/rerun.h"
#include "controller/engine/books/retry.h"
#include "controller/engine/books/stage.h"
#include "controller/engine/watch/allow.h"
#include "controller/engine/watch/failing.h"
#include "controller/engine/watch/loss.h"
#include "controller/engine/watch/source.h"

void attempts_of_host_lost(struct engine *engine, struct host *host)
{
    for (struct attempt *attempt = TAILQ_FIRST(&host->attempts); attempt;
         attempt = TAILQ_FIRST(&host->attempts)) {
        struct task *task = attempt->task;
        uint64_t number = attempt->number;
        bool counts = loss_counts(engine, attempt);
        bool again = counts && retry_repeats(engine, task, host);
        if (counts)
            retry_lost(engine, task, host);
        failing_lost(engine, attempt);
        if (attempt->allowed_until_ns)
            allow_withdraw(engine, attempt, REASON_UNKNOWN_HOST);
        tell_attempt_returned(engine, attempt);
        attempt_end(engine, attempt);
        if (host->lost && task && !task->attempts)
            task_lose_slot(engine, task);
        if (counts && !again)
            loss_with_host(engine, task, number);
    }
    job_outputs_of_host_lost(engine, host);
}

void outcome_accept(struct engine *engine, struct task *task, uint64_t number, struct host *host)
{
    while (task->attempts) {
        struct attempt *other = task->attempts;
        attempt_stop(engine, other, REASON_REPLACED, false);
        attempt_orphan(engine, other);
    }
    task_accept(engine, task, number, host);
}

void attempt_done(struct engine *engine, const struct event *event)
{
    struct attempt *attempt = attempt_known(engine, event);
    if (attempt)
        outcome_done(engine, attempt, event->attempt.received_bytes);
}

void outcome_done(struct engine *engine, struct attempt *attempt, uint64_t received_bytes)
{
    attempt_count_bytes(engine, attempt, received_bytes);
    struct task *task = attempt->task;
    struct host *host = attempt->host;
    uint64_t number = attempt->number;
    bool ours = !attempt->foreign;
    if (attempt->state != ATTEMPT_COMPUTING) {
        attempt_set_state(engine, attempt, ATTEMPT_COMPUTING);
        source_received(engine, attempt);
    }
    attempt_destroy(engine, attempt);
    if (ours)
        failing_forget(engine, host);
    if (task)
        failing_task_done(engine, task, host);
    if (task)
        outcome_accept(engine, task, number, host);
    host_touch(engine, host);
}

/* The attempt ended unasked: its host has not done it, which is no fault of the task. */
static void over(struct engine *engine, const struct event *event)
{
    struct attempt *attempt = attempt_known(engine, event);
    if (!attempt)
        return;
    failing_ended(engine, attempt);
    tell_attempt_returned(engine, attempt);
    attempt_end(engine, attempt);
}

void attempt_killed(struct engine *engine, const struct event *event)
{
    over(engine, event);
}

void attempt_lost(struct engine *engine, const struct event *event)
{
    over(engine, event);
}

/* Counts one failure more, unless that host reported one before; the last one allowed fails the
 * job. */
static void fail(struct engine *engine, const struct event *event)
{
    struct attempt *attempt = attempt_known(engine, event);
    if (!attempt)
        return;
    struct task *task = attempt->task;
    uint64_t number = attempt->number;
    bool counts = task && !task->stage->framework && !attempt->stopping &&
                  !retry_repeats(engine, task, attempt->host);
    failing_failed(engine, attempt);
    attempt_end(engine, attempt);
    if (counts && ++task->failures >= engine->config.failures_max)
        job_fail(engine, task->stage->job, REASON_TOO_MANY_FAILURES, task, number, task->failures);
}

void attempt_failed(struct engine *engine, const struct event *event)
{
    fail(engine, event);
}

/* WHY as a failure: an agent that refuses a start (it lacks the command) would refuse it again at
 * once, for ever. */
void attempt_refused(struct engine *engine, const struct event *event)
{
    struct attempt *attempt = attempt_find(engine, event->attempt.attempt);
    if (attempt && !attempt->allowed_until_ns)
        tell_attempt_returned(engine, attempt);
    fail(engine, event);
}

void job_output_lost(struct engine *engine, const struct event *event)
{
    struct task *task = job_find_task(engine, event->output_lost.job, event->output_lost.stage,
                                      event->output_lost.task);
    bool current =
        task && task_state(task) == TASK_DONE && task->done_attempt == event->output_lost.attempt;
    if (!current || !stage_is_needed(task->stage))
        engine->counters.ignored_facts++;
    else if (!rerun_is_one_too_many(engine, task))
        task_lose_output(engine, task, true);
}
