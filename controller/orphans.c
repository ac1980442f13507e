#include "controller/orphans.h"

void orphans_note(struct orphans *orphans, const struct engine *engine, uint64_t attempt)
{
    struct attempt_view view;
    struct job_view job;
    uint32_t i = 0;
    if (engine_attempt(engine, attempt, &view) < 0 || engine_job(engine, view.job, &job) == 0)
        return;
    orphans->attempts++;
    while (i < orphans->jobs && orphans->lost[i] != view.job)
        i++;
    if (i == orphans->jobs && i < ORPHANS_JOBS_MAX)
        orphans->lost[orphans->jobs++] = view.job;
}
