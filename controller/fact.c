#include "controller/fact.h"

#include "controller/frameworks/framework_numbers.h"
#include "lib/plural.h"

#include <inttypes.h>
#include <stdio.h>

void fact_words(const char *peers_words, char *ret_words, size_t size)
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
    snprintf(text, HISTORY_WORDS, "%s on %.63s %s", *words ? words : number, host,
             ends[ending->kind]);
}

/* The end of an attempt that is not done. */
static void ending_say(const struct engine *engine, const struct ending *ending,
                       const char *peers_words, char *text)
{
    struct variant_view way;
    char who[192], words[256];
    const char *host = host_name(engine, ending->host);
    fact_words(peers_words, words, sizeof(words));
    if (ending->attempt & FRAMEWORK_ATTEMPT_BIT) {
        foreign_say(ending, host, words, text);
        return;
    }
    bool known = engine_variant(engine, ending->job, ending->stage, ending->variant, &way) == 0 &&
                 *way.command;
    snprintf(who, sizeof(who), "attempt %" PRIu64 "%s%.63s%s on %.63s", ending->attempt,
             known ? " ('" : "", known ? way.command : "", known ? "')" : "", host);
    if (ending->kind == ENDING_FAILED)
        failure_say(ending, who, words, text);
    else if (ending->kind == ENDING_KILLED)
        snprintf(text, HISTORY_WORDS, "%s was stopped", who);
    else
        snprintf(text, HISTORY_WORDS, "%s was %s%s%s", who,
                 ending->kind == ENDING_LOST ? "lost" : "refused", *words ? ": " : "", words);
}

/* The receiver for each attempt of a lost host. */
struct telling {
    const struct fact_sources *sources;
    const struct event *event;
    void (*tell)(void *user, const struct fact *fact);
    void *user;
};

/* An attempt that was found running began at an unknown time. */
static struct spent spent_of(const struct fact *fact)
{
    const struct attempt_view *attempt = &fact->attempt;
    const uint64_t received_bytes = fact->event->attempt.received_bytes;
    if (attempt->found || attempt->orphan || attempt->foreign || !fact->task_known)
        return (struct spent){0};
    int64_t received_ns = attempt->received_ns ? attempt->received_ns : attempt->started_ns;
    return (struct spent){
        .known = true,
        .wait_ns = attempt->started_ns - fact->task.ready_ns,
        .receive_ns = received_ns - attempt->started_ns,
        .compute_ns = fact->ending.ended_ns - received_ns,
        .bytes = fact->task.bytes,
        .received_bytes =
            received_bytes > attempt->received_bytes ? received_bytes : attempt->received_bytes,
    };
}

/* Of an attempt's end: 1 + what it is. */
static const uint8_t ends[EVENT_KINDS] = {
    [EVENT_ATTEMPT_DONE] = 1 + ENDING_DONE,       [EVENT_ATTEMPT_FAILED] = 1 + ENDING_FAILED,
    [EVENT_ATTEMPT_REFUSED] = 1 + ENDING_REFUSED, [EVENT_ATTEMPT_KILLED] = 1 + ENDING_KILLED,
    [EVENT_ATTEMPT_LOST] = 1 + ENDING_LOST,
};

/* Its framework's name for it comes before its own words. */
static void words_say(const struct fact_sources *sources, struct fact *fact)
{
    const struct attempt_view *attempt = &fact->attempt;
    char own[256];
    bool named = attempt->attempt & FRAMEWORK_ATTEMPT_BIT &&
                 fact->event->kind != EVENT_ATTEMPT_DONE && sources->frameworks &&
                 frameworks_words(sources->frameworks, attempt->job, attempt->stage, attempt->task,
                                  attempt->attempt, own, sizeof(own));
    ending_say(sources->engine, &fact->ending, named ? own : sources->words, fact->words);
}

static void fact_begin(const struct fact_sources *sources, const struct event *event,
                       const struct attempt_view *attempt, enum ending_kind kind,
                       struct fact *ret_fact)
{
    const struct engine *engine = sources->engine;
    struct job_view job;
    ret_fact->event = event;
    ret_fact->attempt = *attempt;
    ret_fact->suspect = false;
    ret_fact->task_known =
        engine_task(engine, attempt->job, attempt->stage, attempt->task, &ret_fact->task) == 0;
    ret_fact->job_known = engine_job(engine, attempt->job, &job) == 0;
    ret_fact->job_lives = ret_fact->job_known && job.state == JOB_ACTIVE;
    ret_fact->ending = (struct ending){.attempt = attempt->attempt,
                                       .job = attempt->job,
                                       .stage = attempt->stage,
                                       .task = attempt->task,
                                       .host = attempt->host,
                                       .variant = attempt->variant,
                                       .kind = kind,
                                       .ended_ns = sources->now_ns,
                                       .words = ret_fact->words};
}

/* As the engine knows it, or as `before` has told. */
static bool attempt_find(const struct fact_sources *sources, uint64_t number,
                         struct attempt_view *ret_attempt)
{
    const struct event *before = sources->before;
    if (engine_attempt(sources->engine, number, ret_attempt) == 0)
        return true;
    if (!before || before->kind != EVENT_ATTEMPT_SEEN || before->attempt_seen.attempt != number)
        return false;
    *ret_attempt = (struct attempt_view){.attempt = number,
                                         .job = before->attempt_seen.job,
                                         .stage = before->attempt_seen.stage,
                                         .task = before->attempt_seen.task,
                                         .host = before->attempt_seen.host,
                                         .variant = before->attempt_seen.variant,
                                         .found = true};
    return true;
}

static void end_tell(const struct telling *to)
{
    const struct event *event = to->event;
    struct attempt_view attempt;
    struct fact fact;
    if (!attempt_find(to->sources, event->attempt.attempt, &attempt))
        return;
    /* Its own report; a result that is not accepted does not count. */
    bool wasted = event->kind == EVENT_ATTEMPT_DONE && attempt.orphan;
    fact_begin(to->sources, event, &attempt,
               wasted ? ENDING_KILLED : (enum ending_kind)(ends[event->kind] - 1), &fact);
    fact.ending.exit_status = event->attempt.exit_status;
    *fact.words = '\0';
    if (fact.ending.kind == ENDING_DONE)
        fact.ending.spent = spent_of(&fact);
    else
        words_say(to->sources, &fact);
    to->tell(to->user, &fact);
}

static void lost_tell(void *context, const struct attempt_view *attempt)
{
    const struct telling *to = context;
    char words[160] = "";
    struct fact fact;
    fact_begin(to->sources, to->event, attempt, ENDING_LOST, &fact);
    fact.suspect = !attempt->foreign && !attempt->orphan && attempt->state != ATTEMPT_QUEUED &&
                   fact.task_known && fact.task.loss_fails;
    if (fact.suspect)
        snprintf(words, sizeof(words),
                 "the task is suspect, since %" PRIu32
                 " host%s lost with it, and this counts as a failure",
                 fact.task.losses + 1, fact.task.losses ? "s were" : " was");
    ending_say(to->sources->engine, &fact.ending, words, fact.words);
    to->tell(to->user, &fact);
}

/* Whether this event ends what runs on a host. */
static bool host_goes(const struct engine *engine, const struct event *event, uint32_t *ret_host)
{
    struct host_view host;
    *ret_host = event->kind == EVENT_HOST_LOST ? event->host.host : event->host_join.host;
    return event->kind == EVENT_HOST_LOST ||
           (event->kind == EVENT_HOST_JOIN && engine_host(engine, *ret_host, &host) == 0 &&
            host.joined && host.generation != event->host_join.generation);
}

void facts_of(const struct fact_sources *sources, const struct event *event,
              void (*tell)(void *user, const struct fact *fact), void *user)
{
    struct telling to = {sources, event, tell, user};
    uint32_t host;
    if (ends[event->kind])
        end_tell(&to);
    else if (host_goes(sources->engine, event, &host))
        engine_host_attempts(sources->engine, host, lost_tell, &to);
}

static void failed_say(const struct history *history, const struct engine *engine,
                       const struct decision *decision, struct job_ending *ending)
{
    const struct ending *last = history_attempt(history, ending->attempt);
    const int64_t times = decision->left;
    const size_t size = sizeof(ending->reason);
    char task[64], *text = ending->reason;
    snprintf(task, sizeof(task), "task %" PRIu64 "/%" PRIu32 "/%" PRIu32, ending->job,
             ending->stage, ending->task);
    if (last && decision->reason != REASON_JOB_FAILED)
        snprintf(ending->host, sizeof(ending->host), "%s", host_name(engine, last->host));
    switch (decision->reason) {
    case REASON_JOB_FAILED:
        snprintf(text, size, "its application says so");
        break;
    case REASON_TOO_MANY_RERUNS:
        snprintf(text, size,
                 "the output of %s was lost, or no host could fetch it, %" PRId64 " time%s%s%s",
                 task, times, plural((uint64_t)times), last ? ", last on " : "", ending->host);
        break;
    case REASON_TOO_MANY_LOSSES:
        snprintf(text, size,
                 "%s was lost with %" PRId64
                 " host%s, last with %s: it is suspect of taking them down",
                 task, times, plural((uint64_t)times), last ? ending->host : "an unknown one");
        break;
    case REASON_TOO_MANY_FAILURES:
        snprintf(text, size, "%s failed %" PRId64 " time%s; %s", task, times,
                 plural((uint64_t)times),
                 last ? last->words : "how its last attempt ended is not kept");
        break;
    default:
        snprintf(text, size, "%s", reason_name(decision->reason));
    }
}

void job_fact_of(const struct history *history, const struct engine *engine,
                 const struct decision *decision, const char *asker, struct job_fact *ret_fact)
{
    const bool done = decision->kind == DECISION_JOB_DONE;
    struct job_ending *ending = &ret_fact->ending;
    *ret_fact = (struct job_fact){.job.name = ""};
    if (done) {
        ret_fact->submitted_ns = decision->job_done.submitted_ns;
        ret_fact->finished_ns = decision->job_done.finished_ns;
        ret_fact->slot_wait_ns = decision->job_done.slot_wait_ns;
        ending->job = decision->job_done.job;
        ending->state = JOB_DONE;
    } else {
        ret_fact->submitted_ns = decision->job_failed.submitted_ns;
        ret_fact->finished_ns = decision->job_failed.finished_ns;
        ending->job = decision->job_failed.job;
        ending->attempt = decision->job_failed.attempt;
        ending->stage = decision->job_failed.stage;
        ending->task = decision->job_failed.task;
        ending->state = decision->reason == REASON_CANCELLED ? JOB_CANCELLED : JOB_FAILED;
    }
    if (ending->state == JOB_CANCELLED)
        snprintf(ending->reason, sizeof(ending->reason), "cancelled by %s", asker);
    else if (!done)
        failed_say(history, engine, decision, ending);
    engine_job(engine, ending->job, &ret_fact->job);
    if (engine_split(engine, ending->job, ret_fact->finished_ns, NULL, &ret_fact->split) < 0)
        ret_fact->split.job = 0;
}

void fact_say_state(const struct history *history, const struct job_view *job, char *text,
                    size_t size)
{
    const struct job_ending *ending = history_job(history, job->job);
    const char *state = job_state_name(job->state), *reason = ending ? ending->reason : "";
    if (job->state == JOB_CANCELLED && *reason)
        snprintf(text, size, "%s", reason);
    else
        snprintf(text, size, "%s%s%s", state, *reason ? ": " : "", reason);
}
