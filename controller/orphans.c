#include "controller/orphans.h"

#include "lib/log.h"
#include "lib/plural.h"

#include <inttypes.h>

static void attempt_note(struct orphans *orphans, uint64_t attempt)
{
    struct attempt_view view;
    struct job_view job;
    uint32_t i = 0;
    if (engine_attempt(orphans->engine, attempt, &view) < 0 ||
        engine_job(orphans->engine, view.job, &job) == 0)
        return;
    orphans->attempts++;
    while (i < orphans->jobs && orphans->lost[i] != view.job)
        i++;
    if (i == orphans->jobs && i < ORPHANS_JOBS_MAX)
        orphans->lost[orphans->jobs++] = view.job;
}

/* Further attempts of a job that was logged are only counted. */
static void orphans_stepped(void *user, const struct step *step)
{
    struct orphans *orphans = user;
    const uint64_t attempts_before = orphans->attempts;
    const uint32_t jobs_before = orphans->jobs;
    for (size_t i = 0; i < step->decisions->n; i++) {
        const struct decision *decision = &step->decisions->at[i];
        if (decision->kind == DECISION_STOP && decision->reason == REASON_ORPHAN)
            attempt_note(orphans, decision->stop.attempt);
    }
    const uint64_t attempts = orphans->attempts - attempts_before;
    const uint32_t jobs = orphans->jobs - jobs_before;
    if (jobs)
        log_warning(LOG_FAULT_US,
                    "%" PRIu64 " attempt%s of %" PRIu32 " job%s not known here %s stopped: no "
                    "such job was ever accepted, or it is over",
                    attempts, plural(attempts), jobs, jobs == 1 ? " that is" : "s that are",
                    attempts == 1 ? "is" : "are");
}

const struct listener orphans_listener = {.stepped = orphans_stepped};
