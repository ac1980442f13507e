#include "controller/engine/watch/loss.h"

#include "controller/engine/books/job.h"

bool loss_counts(const struct engine *engine, const struct attempt *attempt)
{
    return engine->config.losses_max && attempt->task && !attempt->task->stage->framework &&
           !attempt->foreign && !attempt->stopping && attempt->state != ATTEMPT_QUEUED;
}

void loss_with_host(struct engine *engine, struct task *task, uint64_t attempt)
{
    task->losses += task->losses < UINT32_MAX;
    if (task->losses < engine->config.losses_max)
        return;
    if (++task->failures >= engine->config.failures_max)
        job_fail(engine, task->stage->job, REASON_TOO_MANY_LOSSES, task, attempt, task->losses);
}
