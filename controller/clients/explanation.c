#include "controller/clients/explanation.h"

#include "controller/clients/explanation_job.h"
#include "controller/clients/explanation_words.h"
#include "controller/clients/refusal.h"
#include "lib/plural.h"

#include <inttypes.h>
#include <stdio.h>

/* The task by its framework's names. */
static void say_framework(const struct conductor_parts *parts, const duopoly_Explain *subject,
                          duopoly_Explanation *out)
{
    struct task_view task;
    char words[sizeof(((duopoly_TaskRow *)0)->text)];
    if (engine_task(parts->engine, subject->job, subject->stage, subject->task, &task) < 0 ||
        !frameworks_words(parts->frameworks, subject->job, subject->stage, subject->task,
                          subject->attempt ? subject->attempt : task.attempt, words, sizeof(words)))
        return;
    explanation_say(out, " Its framework calls it %s.", words);
    explanation_fact(out, "framework", "%s", words);
}

/* What happened to it before: the attempt in the question, else the newest ended one. */
static void say_before(const struct conductor_parts *parts, const duopoly_Explain *subject,
                       duopoly_Explanation *out)
{
    const struct history *history = parts->history;
    const struct ending *ending =
        subject->attempt ? history_attempt(history, subject->attempt) : NULL;
    struct task_view task;
    if (!ending)
        ending = history_task(history, subject->job, subject->stage, subject->task);
    if (!ending || ending->kind == ENDING_DONE ||
        engine_task(parts->engine, subject->job, subject->stage, subject->task, &task) < 0)
        return;
    explanation_say(out, " Before, %s.", ending->words);
    explanation_fact(out, "failures", "%" PRIu32, task.failures);
    explanation_fact(out, "ended_attempt", "%" PRIu64, ending->attempt);
}

/* Where its time went. */
static void say_spent(const struct spent *spent, duopoly_Explanation *out)
{
    const double waited_s = (double)spent->wait_ns / 1e9, rest_s = (double)spent->compute_ns / 1e9,
                 received_s = (double)spent->receive_ns / 1e9;
    if (!spent->known && !spent->stored)
        return;
    if (spent->known)
        explanation_say(out, " It waited %.3f s, received for %.3f s and computed for %.3f s.",
                        waited_s, received_s, rest_s);
    else
        explanation_say(out, " It waited %.3f s and ran for %.3f s.", waited_s, rest_s);
    explanation_fact(out, "waited_s", "%.3f", waited_s);
    if (spent->known)
        explanation_fact(out, "receiving_s", "%.3f", received_s);
    explanation_fact(out, spent->known ? "computing_s" : "ran_s", "%.3f", rest_s);
}

/* Its attempts that were not done. */
static void say_others(const struct history *history, const struct ending *ending,
                       duopoly_Explanation *out)
{
    uint32_t n;
    const struct ending *last =
        history_others(history, ending->job, ending->stage, ending->task, &n);
    if (!last || last == ending)
        return;
    explanation_say(out, " It had run %" PRIu32 " time%s before that, in vain; the last: %s.", n,
                    plural(n), last->words);
    explanation_fact(out, "ran_in_vain", "%" PRIu32, n);
}

static void say_ending(const struct conductor_parts *parts, const struct ending *ending,
                       duopoly_Explanation *out)
{
    struct host_view host = {.name = "?"};
    const struct job_ending *end = history_job(parts->history, ending->job);
    engine_host(parts->engine, ending->host, &host);
    if (ending->kind == ENDING_DONE) {
        explanation_say(out, "Done by attempt %" PRIu64 " on %s.", ending->attempt, host.name);
        say_spent(&ending->spent, out);
        say_others(parts->history, ending, out);
    } else if (!end || end->attempt != ending->attempt) { /* else the job's reason has it */
        explanation_say(out, "Its last attempt that is known: %s.", ending->words);
    }
    explanation_fact(out, "attempt", "%" PRIu64, ending->attempt);
    explanation_fact(out, "host", "%s", host.name);
    if (ending->kind == ENDING_FAILED || ending->kind == ENDING_KILLED)
        explanation_fact(out, "exit_status", "%" PRId64, ending->exit_status);
    explanation_fact(out, "ended_s_ago", "%.3f",
                     (double)(clock_now_ns(parts->clock) - ending->ended_ns) / 1e9);
}

static void say_job(const struct conductor_parts *parts, const struct job_view *job,
                    duopoly_Explanation *out)
{
    char state[HISTORY_WORDS + 64];
    fact_say_state(parts->history, job, state, sizeof(state));
    explanation_say(out, "%sJob %" PRIu64 " (%s) is %s.", *out->text ? " " : "", job->job,
                    job->name, state);
    explanation_fact(out, "job_state", "%s", job_state_name(job->state));
}

/* `ending` NULL: nothing is kept about the task. */
static void ended_answer(const struct conductor_parts *parts, const struct job_view *job,
                         const struct ending *ending, duopoly_Envelope *answer)
{
    duopoly_Explanation *out =
        &wire_begin(answer, duopoly_Envelope_explanation_tag)->body.explanation;
    if (ending)
        say_ending(parts, ending, out);
    else if (job->state == JOB_DONE)
        explanation_say(out, "Done; where is not kept.");
    else
        explanation_say(out, "No attempt of it had ended before its job did, or it is not kept.");
    say_job(parts, job, out);
}

/* Replaces an attempt's number by its task; false if it is unknown. */
static bool attempt_resolve(const struct conductor_parts *parts, duopoly_Explain *subject)
{
    const struct ending *ending = history_attempt(parts->history, subject->attempt);
    struct attempt_view attempt;
    if (engine_attempt(parts->engine, subject->attempt, &attempt) == 0)
        *subject = (duopoly_Explain){.job = attempt.job,
                                     .stage = attempt.stage,
                                     .task = attempt.task,
                                     .attempt = subject->attempt};
    else if (ending)
        *subject = (duopoly_Explain){.job = ending->job,
                                     .stage = ending->stage,
                                     .task = ending->task,
                                     .attempt = subject->attempt};
    else
        return false;
    return true;
}

static void unknown_answer(const struct conductor_parts *parts, const duopoly_Explain *subject,
                           duopoly_Envelope *answer)
{
    const struct engine *engine = parts->engine;
    struct job_view job;
    struct stage_view stage;
    char why[96];
    if (engine_job(engine, subject->job, &job) < 0) {
        refused_answer(answer, duopoly_Reason_REASON_UNKNOWN,
                       "there is no job %" PRIu64 ", or it ended so long ago that nothing is kept",
                       subject->job);
        return;
    }
    if (subject->stage >= job.stages)
        snprintf(why, sizeof(why), "its job has %" PRIu32 " stage%s, counted from 0", job.stages,
                 plural(job.stages));
    else if (engine_stage(engine, subject->job, subject->stage, &stage) == 0)
        snprintf(why, sizeof(why), "its stage has %" PRIu32 " task%s, counted from 0", stage.tasks,
                 plural(stage.tasks));
    else
        snprintf(why, sizeof(why), "its job had %" PRIu64 " task%s in all", job.tasks,
                 plural(job.tasks));
    refused_answer(answer, duopoly_Reason_REASON_UNKNOWN,
                   "there is no task %" PRIu64 "/%" PRIu32 "/%" PRIu32 ": %s", subject->job,
                   subject->stage, subject->task, why);
}

void explanation_answer(const struct conductor_parts *parts, const duopoly_Explain *explain,
                        duopoly_Envelope *answer)
{
    const struct engine *engine = parts->engine;
    const struct history *history = parts->history;
    struct engine_explanation explanation;
    duopoly_Explain subject = *explain;
    struct job_view job;
    if (subject.attempt && !attempt_resolve(parts, &subject)) {
        if (!explanation_job(parts, subject.attempt, answer))
            refused_answer(answer, duopoly_Reason_REASON_UNKNOWN,
                           "there is no attempt and no job %" PRIu64
                           ", or it ended so long ago that nothing is kept",
                           subject.attempt);
        return;
    }
    if (engine_explain(engine, subject.job, subject.stage, subject.task, &explanation) == 0) {
        duopoly_Explanation *out =
            &wire_begin(answer, duopoly_Envelope_explanation_tag)->body.explanation;
        explanation_take(out, &explanation);
        say_framework(parts, &subject, out);
        say_before(parts, &subject, out);
        return;
    }
    bool ended = engine_job(engine, subject.job, &job) == 0 && job.state > JOB_ACTIVE;
    if (ended && subject.stage < job.stages && subject.task < job.tasks)
        ended_answer(parts, &job,
                     subject.attempt
                         ? history_attempt(history, subject.attempt)
                         : history_task(history, subject.job, subject.stage, subject.task),
                     answer);
    else
        unknown_answer(parts, &subject, answer);
}
