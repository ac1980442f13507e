#include "controller/endings.h"

#include "controller/frameworks/framework_numbers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void endings_words(const char *peers_words, char *ret_words, size_t size)
{
    size_t n = 0;
    for (; n + 1 < size && peers_words[n]; n++) {
        unsigned char c = (unsigned char)peers_words[n];
        ret_words[n] = c >= ' ' && c < 127 ? (char)c : '?';
    }
    ret_words[n] = '\0';
}

static const char *host_name(const struct engine *engine, uint32_t host)
{
    struct host_view view;
    return engine_host(engine, host, &view) == 0 && *view.name ? view.name : "an unknown host";
}

static void failure_say(const struct ending *ending, const char *who, const char *words, char *text)
{
    char end[48];
    if (ending->exit_status < 0)
        snprintf(end, sizeof(end), "was killed by signal %" PRId64, -ending->exit_status);
    else
        snprintf(end, sizeof(end), "ended with exit code %" PRId64, ending->exit_status);
    if (*words)
        snprintf(text, HISTORY_WORDS, "%s %s: %s", who, end, words);
    else
        snprintf(text, HISTORY_WORDS, "%s %s and wrote nothing to standard error", who, end);
}

/* A framework says that it ended, and by what name it goes. */
static void foreign_say(const struct ending *ending, const char *host, const char *words,
                        char *text)
{
    static const char *const ends[] = {[ENDING_FAILED] = "failed",
                                       [ENDING_REFUSED] = "was refused",
                                       [ENDING_KILLED] = "was killed",
                                       [ENDING_LOST] = "was lost"};
    char number[32];
    snprintf(number, sizeof(number), "attempt %" PRIu64, ending->attempt);
    if (ending->kind == ENDING_DONE)
        *text = '\0';
    else
        snprintf(text, HISTORY_WORDS, "%s on %.63s %s", *words ? words : number, host,
                 ends[ending->kind]);
}

void endings_say(const struct engine *engine, const struct ending *ending, const char *peers_words,
                 char text[HISTORY_WORDS])
{
    struct stage_view stage;
    char who[192], words[256];
    const char *host = host_name(engine, ending->host);
    endings_words(peers_words, words, sizeof(words));
    if (ending->attempt & FRAMEWORK_ATTEMPT_BIT) {
        foreign_say(ending, host, words, text);
        return;
    }
    bool known = engine_stage(engine, ending->job, ending->stage, &stage) == 0 && *stage.command;
    snprintf(who, sizeof(who), "attempt %" PRIu64 "%s%.63s%s on %.63s", ending->attempt,
             known ? " ('" : "", known ? stage.command : "", known ? "')" : "", host);
    switch (ending->kind) {
    case ENDING_DONE:
        *text = '\0';
        break;
    case ENDING_FAILED:
        failure_say(ending, who, words, text);
        break;
    case ENDING_REFUSED:
        snprintf(text, HISTORY_WORDS, "%s was refused%s%s", who, *words ? ": " : "", words);
        break;
    case ENDING_KILLED:
        snprintf(text, HISTORY_WORDS, "%s was stopped", who);
        break;
    case ENDING_LOST:
        snprintf(text, HISTORY_WORDS, "%s was lost%s%s", who, *words ? ": " : "", words);
    }
}

static void failed_say(const struct history *history, const struct engine *engine,
                       const struct decision *decision, struct job_ending *ending)
{
    const struct ending *last = history_attempt(history, ending->attempt);
    if (decision->reason == REASON_JOB_FAILED) {
        snprintf(ending->reason, sizeof(ending->reason), "its application says so");
        return;
    }
    if (last)
        snprintf(ending->host, sizeof(ending->host), "%s", host_name(engine, last->host));
    if (decision->reason == REASON_TOO_MANY_RERUNS) {
        snprintf(ending->reason, sizeof(ending->reason),
                 "the output of task %" PRIu64 "/%" PRIu32 "/%" PRIu32
                 " was lost, or nobody could fetch it, %" PRId64 " times%s%s",
                 ending->job, ending->stage, ending->task, decision->left, last ? ", last on " : "",
                 ending->host);
        return;
    }
    if (decision->reason == REASON_TOO_MANY_LOSSES) {
        snprintf(ending->reason, sizeof(ending->reason),
                 "task %" PRIu64 "/%" PRIu32 "/%" PRIu32 " was lost with %" PRId64
                 " hosts, last with %s: it is suspect of taking them down",
                 ending->job, ending->stage, ending->task, decision->left,
                 last ? ending->host : "an unknown one");
        return;
    }
    if (decision->reason != REASON_TOO_MANY_FAILURES) {
        snprintf(ending->reason, sizeof(ending->reason), "%s", reason_name(decision->reason));
        return;
    }
    int n = snprintf(ending->reason, sizeof(ending->reason),
                     "task %" PRIu64 "/%" PRIu32 "/%" PRIu32 " failed %" PRId64 " time%s; ",
                     ending->job, ending->stage, ending->task, decision->left,
                     decision->left == 1 ? "" : "s");
    snprintf(ending->reason + n, sizeof(ending->reason) - (size_t)n, "%s",
             last ? last->words : "how its last attempt ended is not kept");
}

void endings_say_state(const struct job_view *job, const struct job_ending *ending, char *text,
                       size_t size)
{
    const char *state = job_state_name(job->state), *reason = ending ? ending->reason : "";
    if (job->state == JOB_CANCELLED && *reason)
        snprintf(text, size, "%s", reason);
    else
        snprintf(text, size, "%s%s%s", state, *reason ? ": " : "", reason);
}

void endings_of_job(const struct history *history, const struct engine *engine,
                    const struct decision *decision, const char *asker,
                    struct job_ending *ret_ending)
{
    bool done = decision->kind == DECISION_JOB_DONE;
    *ret_ending = (struct job_ending){
        .job = done ? decision->job_done.job : decision->job_failed.job,
        .state = done                                   ? JOB_DONE
                 : decision->reason == REASON_CANCELLED ? JOB_CANCELLED
                                                        : JOB_FAILED,
        .attempt = done ? 0 : decision->job_failed.attempt,
        .stage = done ? 0 : decision->job_failed.stage,
        .task = done ? 0 : decision->job_failed.task,
    };
    if (ret_ending->state == JOB_CANCELLED)
        snprintf(ret_ending->reason, sizeof(ret_ending->reason), "cancelled by %s", asker);
    else if (!done)
        failed_say(history, engine, decision, ret_ending);
}

bool endings_is_wanted(const struct history *history, const struct engine *engine, uint32_t epoch,
                       const duopoly_AttemptState *state)
{
    struct attempt_view attempt;
    struct task_view task;
    struct job_view job;
    bool done = state->phase == duopoly_AttemptPhase_PHASE_DONE;
    bool failed = state->phase == duopoly_AttemptPhase_PHASE_FAILED ||
                  state->phase == duopoly_AttemptPhase_PHASE_REFUSED;
    if ((!done && !failed) || engine_attempt(engine, state->attempt, &attempt) == 0 ||
        engine_job(engine, state->job, &job) < 0 || job.state != JOB_ACTIVE ||
        engine_task(engine, state->job, state->stage, state->task, &task) < 0)
        return false;
    bool older = state->attempt >> 32 < epoch;
    return task.state != TASK_DONE &&
           (done || (older && !history_attempt(history, state->attempt)));
}
