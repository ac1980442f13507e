#include "controller/notice_listener.h"

#include "controller/frameworks/framework_numbers.h"
#include "controller/mode_words.h"
#include "lib/now.h"
#include "lib/wire.h"

#include <inttypes.h>
#include <stdio.h>

static struct notice *note(const struct notice_listener *l, duopoly_EventKind kind,
                           const char *what)
{
    return notices_add(l->notices, kind, now_ns(CLOCK_REALTIME), what);
}

static void host_put(const struct notice_listener *l, uint32_t host, struct notice *notice)
{
    struct host_view view;
    if (host != ENGINE_NONE && engine_host(l->engine, host, &view) == 0)
        wire_copy(notice->host, sizeof(notice->host), view.name);
}

static void job_put(const struct notice_listener *l, uint64_t job, struct notice *notice)
{
    struct job_view view;
    notice->job = job;
    if (engine_job(l->engine, job, &view) == 0)
        wire_copy(notice->name, sizeof(notice->name), view.name);
}

static void task_put(uint64_t job, uint32_t stage, uint32_t task, uint64_t attempt,
                     struct notice *notice)
{
    notice->job = job;
    notice->stage = stage;
    notice->task = task;
    notice->attempt = attempt;
}

/* ---- ends ---- */

static void on_attempt_over(void *user, const struct fact *fact)
{
    static const char *const words[] = {[ENDING_DONE] = "done",
                                        [ENDING_FAILED] = "failed",
                                        [ENDING_REFUSED] = "refused",
                                        [ENDING_KILLED] = "killed",
                                        [ENDING_LOST] = "lost"};
    const struct notice_listener *l = user;
    const struct ending *ending = &fact->ending;
    struct notice *notice = note(l, duopoly_EventKind_KIND_TASK, words[ending->kind]);
    task_put(ending->job, ending->stage, ending->task, ending->attempt, notice);
    host_put(l, ending->host, notice);
    wire_copy(notice->text, sizeof(notice->text), fact->words);
}

static void on_job_over(void *user, const struct job_fact *fact)
{
    const struct notice_listener *l = user;
    const struct job_ending *ending = &fact->ending;
    struct notice *notice = note(l, duopoly_EventKind_KIND_JOB, job_state_name(ending->state));
    notice->job = ending->job;
    notice->attempt = ending->attempt;
    wire_copy(notice->name, sizeof(notice->name), fact->job.name);
    wire_copy(notice->host, sizeof(notice->host), ending->host);
    wire_copy(notice->text, sizeof(notice->text), ending->reason);
}

/* ---- facts, before the engine takes them: what it has not known yet, or is to forget ---- */

/* Sessions repeat what they told before. */
static void framework_task_note(const struct notice_listener *l, const struct event *event)
{
    const bool done = event->kind == EVENT_FRAMEWORK_DONE;
    struct attempt_view attempt;
    struct task_view task;
    bool known =
        done ? engine_task(l->engine, event->framework_task.job, event->framework_task.stage,
                           event->framework_task.task, &task) == 0 &&
                   task.state == TASK_DONE
             : engine_attempt(l->engine, event->framework_task.attempt, &attempt) == 0;
    if (known)
        return;
    struct notice *notice = note(l, duopoly_EventKind_KIND_TASK, done ? "done" : "start");
    task_put(event->framework_task.job, event->framework_task.stage, event->framework_task.task,
             event->framework_task.attempt, notice);
    host_put(l, event->framework_task.host, notice);
}

static void application_note(const struct notice_listener *l, const struct event *event)
{
    static const char *const words[] = {
        [OWNER_GONE] = "gone", [OWNER_THERE] = "session", [OWNER_AWAY] = "away"};
    const char *name = frameworks_name(l->frameworks, event->framework_owner.application);
    struct notice *notice =
        note(l, duopoly_EventKind_KIND_FRAMEWORK, words[event->framework_owner.tells]);
    wire_copy(notice->name, sizeof(notice->name), name);
}

static void framework_job_note(const struct notice_listener *l, const struct event *event)
{
    struct job_view view;
    if (engine_job(l->engine, event->framework_job.job, &view) == 0)
        return;
    struct notice *notice = note(l, duopoly_EventKind_KIND_JOB, "submitted");
    notice->job = event->framework_job.job;
    wire_copy(notice->name, sizeof(notice->name), event->framework_job.name);
}

static void on_event(void *user, const struct event *event)
{
    const struct notice_listener *l = user;
    switch (event->kind) {
    case EVENT_HOST_FORGET:
        host_put(l, event->host.host, note(l, duopoly_EventKind_KIND_HOST, "forgotten"));
        break;
    case EVENT_FRAMEWORK_OWNER:
        application_note(l, event);
        break;
    case EVENT_FRAMEWORK_JOB:
        framework_job_note(l, event);
        break;
    case EVENT_FRAMEWORK_STARTED:
    case EVENT_FRAMEWORK_DONE:
        framework_task_note(l, event);
        break;
    default:
        break;
    }
}

/* ---- what the engine took ---- */

/* Requests alone are. */
static bool is_rejected(const struct step *step, const struct event *event)
{
    for (size_t i = 0; event->request && i < step->decisions->n; i++) {
        const struct decision *d = &step->decisions->at[i];
        if (d->kind == DECISION_REJECT && d->reject.request == event->request)
            return true;
    }
    return false;
}

static void job_note(const struct notice_listener *l, const struct event *event, const char *what)
{
    struct notice *notice = note(l, duopoly_EventKind_KIND_JOB, what);
    /* The first member of each of them is the job. */
    job_put(l, event->job_end.job, notice);
    if (event->kind == EVENT_JOB_HOLD)
        snprintf(notice->text, sizeof(notice->text), "by %.63s", event->job_hold.by);
    else if (event->kind == EVENT_JOB_UPDATE && event->job_update.priority != INT64_MIN)
        snprintf(notice->text, sizeof(notice->text), "priority %" PRId64,
                 event->job_update.priority);
}

/* WHY its agent is asked: to the engine a host that is full is silent, too. */
static void host_note(const struct notice_listener *l, const struct event *event, uint32_t host,
                      const char *what)
{
    struct agent_view agent;
    bool full = event->kind == EVENT_HOST_SILENT && agents_of_host(l->agents, host, &agent) == 0 &&
                agent.state == AGENT_FULL;
    struct notice *notice = note(l, duopoly_EventKind_KIND_HOST, full ? "full" : what);
    host_put(l, host, notice);
    if (full)
        wire_copy(notice->text, sizeof(notice->text), agent.no_room);
}

static void taken_note(const struct notice_listener *l, const struct step *step,
                       const struct event *event)
{
    static const char *const of_jobs[EVENT_KINDS] = {
        [EVENT_JOB_END] = "submitted",    [EVENT_JOB_UPDATE] = "changed",
        [EVENT_JOB_HOLD] = "held",        [EVENT_JOB_RELEASE] = "released",
        [EVENT_JOB_REQUEUE] = "requeued",
    };
    static const char *const of_hosts[EVENT_KINDS] = {
        [EVENT_HOST_SILENT] = "silent", [EVENT_HOST_LOST] = "lost", [EVENT_HOST_BACK] = "back"};
    const char *of_job = of_jobs[event->kind], *of_host = of_hosts[event->kind];
    if (of_job && !is_rejected(step, event))
        job_note(l, event, of_job);
    else if (of_host)
        host_note(l, event, event->host.host, of_host);
    else if (event->kind == EVENT_HOST_JOIN || event->kind == EVENT_HOST_CHANGE)
        host_note(l, event, event->host_join.host,
                  event->kind == EVENT_HOST_JOIN ? "joined" : "changed");
    else if (event->kind == EVENT_HOST_DRAIN && !is_rejected(step, event))
        host_note(l, event, event->host_drain.host,
                  event->host_drain.undo ? "undrained" : "drained");
}

/* ---- decisions ---- */

static void stop_note(const struct notice_listener *l, const struct decision *d)
{
    struct attempt_view attempt;
    struct notice *notice = note(l, duopoly_EventKind_KIND_TASK, "stop");
    notice->attempt = d->stop.attempt;
    if (engine_attempt(l->engine, d->stop.attempt, &attempt) == 0)
        task_put(attempt.job, attempt.stage, attempt.task, attempt.attempt, notice);
    host_put(l, d->stop.host, notice);
    notice->reason = d->reason;
}

static void start_note(const struct notice_listener *l, const struct decision *d)
{
    const bool allow = d->kind == DECISION_ALLOW;
    struct notice *notice = note(l, duopoly_EventKind_KIND_TASK, allow ? "allow" : "start");
    if (allow)
        task_put(d->allow.job, d->allow.stage, d->allow.task, d->allow.allow, notice);
    else
        task_put(d->start.job, d->start.stage, d->start.task, d->start.attempt, notice);
    host_put(l, allow ? d->allow.host : d->start.host, notice);
    notice->reason = d->reason;
}

/* Of a used one its start tells. */
static void allow_end_note(const struct notice_listener *l, const struct decision *d)
{
    if (d->reason == REASON_USED)
        return;
    struct notice *notice = note(l, duopoly_EventKind_KIND_TASK, "allow-end");
    task_put(d->allow_end.job, d->allow_end.stage, NOTICE_NONE, d->allow_end.allow, notice);
    host_put(l, d->allow_end.host, notice);
    notice->reason = d->reason;
}

static void hold_note(const struct notice_listener *l, const struct decision *d)
{
    struct notice *notice =
        note(l, duopoly_EventKind_KIND_HOLD, d->kind == DECISION_HOLD ? "hold" : "unhold");
    notice->job = d->hold.job;
    notice->stage = d->hold.stage;
    host_put(l, d->hold.host, notice);
    notice->reason = d->reason;
}

static void mode_note(const struct notice_listener *l, const struct decision *d)
{
    struct notice *notice = note(l, duopoly_EventKind_KIND_MODE, mode_word(d->mode.mode));
    mode_why_say(engine_policy(l->engine, "mode"), d->left, d->right, notice->text,
                 sizeof(notice->text));
}

static void open_note(const struct notice_listener *l, const struct decision *d)
{
    struct notice *notice = note(l, duopoly_EventKind_KIND_FRAMEWORK, "opened");
    job_put(l, d->open.job, notice);
    notice->stage = d->open.stage;
    notice->reason = d->reason;
}

static void decision_note(const struct notice_listener *l, const struct decision *d)
{
    switch (d->kind) {
    case DECISION_START:
    case DECISION_ALLOW:
        start_note(l, d);
        break;
    case DECISION_STOP:
        stop_note(l, d);
        break;
    case DECISION_ALLOW_END:
        allow_end_note(l, d);
        break;
    case DECISION_HOLD:
    case DECISION_UNHOLD:
        hold_note(l, d);
        break;
    case DECISION_MODE:
        mode_note(l, d);
        break;
    case DECISION_OPEN:
        open_note(l, d);
        break;
    default:
        break;
    }
}

static void on_stepped(void *user, const struct step *step)
{
    const struct notice_listener *l = user;
    for (size_t i = 0; i < step->n; i++)
        taken_note(l, step, &step->events[i]);
    for (size_t i = 0; i < step->decisions->n; i++)
        decision_note(l, &step->decisions->at[i]);
}

const struct listener notices_listener = {.attempt_over = on_attempt_over,
                                          .event = on_event,
                                          .stepped = on_stepped,
                                          .job_over = on_job_over};
