#include "controller/conductor_log.h"

#include "controller/frameworks/framework_numbers.h"
#include "lib/log.h"

#include <inttypes.h>
#include <stdio.h>

void conductor_log_job(const struct job_ending *ending, const char *name)
{
    char own[48] = "";
    if (ending->job & FRAMEWORK_JOB_BIT)
        snprintf(own, sizeof(own), ", its application's job %" PRIu32,
                 framework_job_of(ending->job));
    if (ending->state == JOB_CANCELLED)
        log_note("job %" PRIu64 " (%s%s): %s", ending->job, name, own, ending->reason);
    else if (ending->state == JOB_FAILED)
        log_note("job %" PRIu64 " (%s%s) failed: %s", ending->job, name, own, ending->reason);
}

void conductor_log_attempt(const struct history *history, uint64_t attempt)
{
    const struct ending *ending = history_attempt(history, attempt);
    if (ending && ending->kind == ENDING_REFUSED)
        log_warning(LOG_FAULT_PEER, "%s", ending->words);
    else if (ending && ending->kind == ENDING_FAILED && attempt & FRAMEWORK_ATTEMPT_BIT)
        log_note("%s", ending->words);
}

/* "app-1/query-7: stage 12.0 (map at x.scala:3)". */
static void stage_say(const struct frameworks *frameworks, const struct engine *engine,
                      uint64_t number, uint32_t stage, char *text, size_t size)
{
    char words[160];
    struct job_view job = {.name = "a job that is over"};
    engine_job(engine, number, &job);
    if (frameworks_stage_words(frameworks, number, stage, words, sizeof(words)))
        snprintf(text, size, "%s: %s", job.name, words);
    else
        snprintf(text, size, "%s: its stage at place %" PRIu32, job.name, stage);
}

static void open_log(const char *stage, const struct decision *d)
{
    if (d->reason == REASON_HOLD_EXPIRED)
        log_note("%s is left to its framework: its tasks were held for %.1f s", stage,
                 (double)d->left / 1e9);
    else
        log_note("%s is left to its framework: %" PRId64 " of its allows in a row were not used",
                 stage, d->left);
}

/* Only for those who asked for it: there is one for each task. */
static void allow_log(const struct frameworks *frameworks, const struct engine *engine,
                      const struct decision *d)
{
    const bool given = d->kind == DECISION_ALLOW;
    struct host_view host = {.name = "?"};
    char stage[256];
    if (!log_is_wanted(LOG_LEVEL_DEBUG))
        return;
    stage_say(frameworks, engine, given ? d->allow.job : d->allow_end.job,
              given ? d->allow.stage : d->allow_end.stage, stage, sizeof(stage));
    engine_host(engine, given ? d->allow.host : d->allow_end.host, &host);
    if (given)
        log_debug("%s, partition %" PRIu32 " may start on %s", stage, d->allow.task, host.name);
    else
        log_debug("%s: an allow on %s is over: %s", stage, host.name, reason_name(d->reason));
}

void conductor_log_framework(const struct frameworks *frameworks, const struct engine *engine,
                             const struct decision *decision)
{
    const struct decision *d = decision;
    char stage[256];
    if (d->kind == DECISION_ALLOW || d->kind == DECISION_ALLOW_END)
        allow_log(frameworks, engine, d);
    if (d->kind != DECISION_OPEN || d->reason == REASON_TABLE_FULL)
        return;
    stage_say(frameworks, engine, d->open.job, d->open.stage, stage, sizeof(stage));
    open_log(stage, d);
}

void conductor_log_orphans(uint64_t attempts, uint32_t jobs)
{
    if (jobs)
        log_warning(LOG_FAULT_US,
                    "%" PRIu64 " attempt%s of %" PRIu32 " job%s not known here %s stopped: no "
                    "such job was ever accepted, or it is over",
                    attempts, attempts == 1 ? "" : "s", jobs, jobs == 1 ? " that is" : "s that are",
                    attempts == 1 ? "is" : "are");
}

void conductor_log_recovered(const struct recovered *recovered)
{
    if (recovered->jobs || recovered->n_hosts)
        log_note("from the store: %" PRIu64 " jobs that are not over, %" PRIu64
                 " of their tasks done, %" PRIu64 " jobs that are over, %zu hosts",
                 recovered->jobs, recovered->tasks_done, recovered->finished, recovered->n_hosts);
    if (*recovered->unknown)
        log_warning(LOG_FAULT_CONFIGURATION,
                    "'%s', set before, means nothing to this program: the configuration counts",
                    recovered->unknown);
}
