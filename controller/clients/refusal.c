#include "controller/clients/refusal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

void refused_answer(duopoly_Envelope *answer, duopoly_Reason reason, const char *format, ...)
{
    char text[sizeof(answer->body.refused.text)];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    wire_begin(answer, duopoly_Envelope_refused_tag)->body.refused.reason = reason;
    wire_copy(answer->body.refused.text, sizeof(answer->body.refused.text), text);
}

duopoly_Reason reason_on_wire(enum reason reason)
{
    switch (reason) {
    case REASON_UNKNOWN_JOB:
    case REASON_UNKNOWN_STAGE:
    case REASON_UNKNOWN_TASK:
    case REASON_UNKNOWN_HOST:
    case REASON_UNKNOWN_USER:
        return duopoly_Reason_REASON_UNKNOWN;
    case REASON_NAME_TAKEN:
    case REASON_NUMBER_TAKEN:
        return duopoly_Reason_REASON_CONFLICT;
    case REASON_BAD_STATE:
    case REASON_INCOMPLETE:
        return duopoly_Reason_REASON_STATE;
    case REASON_TABLE_FULL:
        return duopoly_Reason_REASON_LIMIT;
    case REASON_UNSUPPORTED:
        return duopoly_Reason_REASON_UNSUPPORTED;
    default:
        return duopoly_Reason_REASON_MALFORMED;
    }
}

static const char *bound_name(uint32_t event)
{
    return event == EVENT_JOB_BEGIN   ? "jobs"
           : event == EVENT_JOB_STAGE ? "stages, tasks, kinds of demand or combinations of variants"
           : event == EVENT_JOB_BYTES ? "a job's matrix of bytes"
           : event == EVENT_USER_SET  ? "users"
                                      : "its tables";
}

void absent_job_answer(const struct conductor_parts *parts, uint64_t job, duopoly_Envelope *answer)
{
    char state[HISTORY_WORDS + 64];
    struct job_view view;
    if (engine_job(parts->engine, job, &view) < 0) {
        refused_answer(answer, duopoly_Reason_REASON_UNKNOWN,
                       "there is no job %" PRIu64 ", or it ended so long ago that nothing is kept",
                       job);
        return;
    }
    fact_say_state(parts->history, &view, state, sizeof(state));
    refused_answer(answer, duopoly_Reason_REASON_STATE, "job %" PRIu64 " (%s) has ended: %s", job,
                   view.name, state);
}

void rejection_answer(const struct conductor_parts *parts, const struct decision *rejection,
                      uint64_t job, duopoly_Envelope *answer)
{
    duopoly_Reason reason = reason_on_wire(rejection->reason);
    switch (rejection->reason) {
    case REASON_UNKNOWN_JOB:
        absent_job_answer(parts, job, answer);
        break;
    case REASON_UNKNOWN_HOST:
        refused_answer(answer, reason, "there is no such host");
        break;
    case REASON_UNKNOWN_USER:
        refused_answer(answer, reason,
                       "user %" PRId64 " is not known, or leaves: `duopolyctl users` lists users, "
                       "`duopolyctl user set NAME number=%" PRId64 "` makes it known",
                       rejection->left, rejection->left);
        break;
    case REASON_NAME_TAKEN:
        refused_answer(answer, reason, "job %" PRId64 " has that name and another content",
                       rejection->left);
        break;
    case REASON_INCOMPLETE:
        refused_answer(answer, reason,
                       "the job is not complete: stage %" PRId64 " lacks tasks or bytes",
                       rejection->left);
        break;
    case REASON_TABLE_FULL:
        refused_answer(answer, reason, "a bound of the controller on %s is reached: %" PRId64,
                       bound_name(rejection->reject.event), rejection->right);
        break;
    case REASON_BAD_VALUE:
        refused_answer(answer, reason, "a value is out of range: %" PRId64, rejection->left);
        break;
    default:
        refused_answer(answer, reason, "%s", reason_name(rejection->reason));
    }
}

void accepted_answer(duopoly_Envelope *answer, const char *format, ...)
{
    duopoly_Accepted *accepted = &wire_begin(answer, duopoly_Envelope_accepted_tag)->body.accepted;
    va_list ap;
    va_start(ap, format);
    vsnprintf(accepted->text, sizeof(accepted->text), format, ap);
    va_end(ap);
}
