#include "controller/conductor_log.h"

#include "controller/frameworks/framework_numbers.h"
#include "lib/log.h"
#include "lib/plural.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void on_job_over(void *user, const struct job_fact *fact)
{
    const struct job_ending *ending = &fact->ending;
    const char *name = fact->job.name;
    char own[48] = "";
    (void)user;
    if (ending->job & FRAMEWORK_JOB_BIT)
        snprintf(own, sizeof(own), ", its application's job %" PRIu32,
                 framework_job_of(ending->job));
    if (ending->state == JOB_CANCELLED)
        log_note("job %" PRIu64 " (%s%s): %s", ending->job, name, own, ending->reason);
    else if (ending->state == JOB_FAILED)
        log_note("job %" PRIu64 " (%s%s) failed: %s", ending->job, name, own, ending->reason);
}

static void on_attempt_over(void *user, const struct fact *fact)
{
    struct conductor_log *log = user;
    const struct ending *ending = &fact->ending;
    if (fact->suspect && !log->suspects++)
        memcpy(log->first, fact->words, sizeof(log->first));
    if (!fact->job_known)
        return;
    if (ending->kind == ENDING_REFUSED)
        log_warning(LOG_FAULT_PEER, "%s", ending->words);
    else if (ending->kind == ENDING_FAILED && ending->attempt & FRAMEWORK_ATTEMPT_BIT)
        log_note("%s", ending->words);
}

/* WHY one line for all: a lost host can have many. */
static void on_event(void *user, const struct event *event)
{
    struct conductor_log *log = user;
    (void)event;
    if (log->suspects > 1)
        log_warning(LOG_FAULT_PEER, "%s; other tasks there that are, too: %" PRIu32, log->first,
                    log->suspects - 1);
    else if (log->suspects)
        log_warning(LOG_FAULT_PEER, "%s", log->first);
    log->suspects = 0;
}

/* "app-1/query-7: stage 12.0 (map at x.scala:3)". */
static void stage_say(const struct conductor_log *log, uint64_t number, uint32_t stage, char *text,
                      size_t size)
{
    char words[160];
    struct job_view job = {.name = "a job that is over"};
    engine_job(log->engine, number, &job);
    if (frameworks_stage_words(log->frameworks, number, stage, words, sizeof(words)))
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

/* Only at level debug: there is one for each task. */
static void allow_log(const struct conductor_log *log, const struct decision *d)
{
    const bool given = d->kind == DECISION_ALLOW;
    struct host_view host = {.name = "?"};
    char stage[256];
    if (!log_is_wanted(LOG_LEVEL_DEBUG))
        return;
    stage_say(log, given ? d->allow.job : d->allow_end.job,
              given ? d->allow.stage : d->allow_end.stage, stage, sizeof(stage));
    engine_host(log->engine, given ? d->allow.host : d->allow_end.host, &host);
    if (given)
        log_debug("%s, partition %" PRIu32 " may start on %s", stage, d->allow.task, host.name);
    else
        log_debug("%s: an allow on %s is over: %s", stage, host.name, reason_name(d->reason));
}

static void on_stepped(void *user, const struct step *step)
{
    const struct conductor_log *log = user;
    char stage[256];
    for (size_t i = 0; i < step->decisions->n; i++) {
        const struct decision *d = &step->decisions->at[i];
        if (d->kind == DECISION_ALLOW || d->kind == DECISION_ALLOW_END) {
            allow_log(log, d);
        } else if (d->kind == DECISION_OPEN && d->reason != REASON_TABLE_FULL) {
            stage_say(log, d->open.job, d->open.stage, stage, sizeof(stage));
            open_log(stage, d);
        }
    }
}

const struct listener log_listener = {.attempt_over = on_attempt_over,
                                      .event = on_event,
                                      .stepped = on_stepped,
                                      .job_over = on_job_over};

void conductor_log_recovered(const struct recovered *recovered)
{
    if (recovered->jobs || recovered->n_hosts)
        log_note("from the store: %" PRIu64 " job%s not over, with %" PRIu64
                 " task%s done, %" PRIu64 " job%s over, %zu host%s",
                 recovered->jobs, plural(recovered->jobs), recovered->tasks_done,
                 plural(recovered->tasks_done), recovered->finished, plural(recovered->finished),
                 recovered->n_hosts, plural(recovered->n_hosts));
    if (*recovered->unknown)
        log_warning(LOG_FAULT_CONFIGURATION,
                    "'%s', set before, means nothing to this program, or does not work with the "
                    "other policies: the configuration counts",
                    recovered->unknown);
}
