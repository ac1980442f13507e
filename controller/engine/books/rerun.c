#include "controller/engine/books/rerun.h"

#include "controller/engine/books/job.h"

bool rerun_is_one_too_many(struct engine *engine, struct task *task)
{
    if (!engine->config.reruns_max || task->stage->framework ||
        ++task->reruns < engine->config.reruns_max)
        return false;
    job_fail(engine, task->stage->job, REASON_TOO_MANY_RERUNS, task, task->done_attempt,
             task->reruns);
    return true;
}
