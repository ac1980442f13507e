#include "controller/clients/job_requests.h"

#include "controller/clients/refusal.h"
#include "controller/store/job_setting.h"
#include "lib/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

/* One order, and what it is judged and answered with. */
struct ordering {
    struct conductor *conductor;
    const struct conductor_parts *parts;
    const duopoly_OrderJob *order;
    const char *asker;
    struct job_view before;
    duopoly_Envelope *answer;
};

static void priority_say(const struct ordering *o)
{
    const struct engine *engine = o->parts->engine;
    char who[160];
    engine_say_priority_use(engine, who, sizeof(who));
    accepted_answer(o->answer, "job %" PRIu64 " has priority %" PRId64 "%s%s", o->order->job,
                    o->order->priority, *who ? ", by which it is served: " : "",
                    *who ? who : ", which no policy in force looks at");
}

static void hold_say(const struct ordering *o)
{
    accepted_answer(o->answer,
                    "nothing of job %" PRIu64 " starts until it is released; %" PRIu64
                    " of its tasks run%s on",
                    o->order->job, o->before.running, o->before.running == 1 ? "s" : "");
}

static void release_say(const struct ordering *o)
{
    accepted_answer(o->answer, "tasks of job %" PRIu64 " start again", o->order->job);
}

/* WHY not all: a host that is away cannot stop one. */
static void requeue_say(const struct ordering *o)
{
    struct job_view after;
    const uint64_t running = o->before.running;
    if (o->parts->judging || engine_job(o->parts->engine, o->order->job, &after) < 0) {
        accepted_answer(o->answer, "job %" PRIu64 ": its running tasks, %" PRIu64 ", run again",
                        o->order->job, running);
        return;
    }
    const uint64_t stopped = after.evictions - o->before.evictions;
    accepted_answer(o->answer, "job %" PRIu64 ": %" PRIu64 " attempt%s stopped, and %s again%s",
                    o->order->job, stopped, stopped == 1 ? " is" : "s are",
                    stopped == 1 ? "its task runs" : "their tasks run",
                    stopped < running ? "; others run on, since their host is away or a task that "
                                        "runs reads from them"
                                      : "");
}

static void priority_fill(const struct ordering *o, struct event *event)
{
    event->job_update.job = o->order->job;
    event->job_update.estimate_bytes = event->job_update.estimate_ns = -1;
    event->job_update.priority = o->order->priority;
    event->job_update.deadline_ns = INT64_MIN;
}

static void hold_fill(const struct ordering *o, struct event *event)
{
    event->job_hold.job = o->order->job;
    event->job_hold.by = o->asker;
}

static void job_fill(const struct ordering *o, struct event *event)
{
    event->job_release.job = o->order->job;
}

static void priority_keep(const struct ordering *o, struct job_kept *kept)
{
    kept->has_priority = true;
    kept->priority = o->order->priority;
}

static void hold_keep(const struct ordering *o, struct job_kept *kept)
{
    kept->held = true;
    kept->since_s = time(NULL);
    wire_copy(kept->by, sizeof(kept->by), o->asker);
}

static void release_keep(const struct ordering *o, struct job_kept *kept)
{
    (void)o;
    kept->held = false;
    kept->by[0] = '\0';
}

static const struct {
    enum event_kind kind;
    const char *word;
    void (*fill)(const struct ordering *o, struct event *event);
    void (*keep)(const struct ordering *o, struct job_kept *kept); /* NULL: nothing to keep */
    void (*say)(const struct ordering *o);
} orders[] = {
    [duopoly_JobOrder_ORDER_PRIORITY] = {EVENT_JOB_UPDATE, "set", priority_fill, priority_keep,
                                         priority_say},
    [duopoly_JobOrder_ORDER_HOLD] = {EVENT_JOB_HOLD, "hold", hold_fill, hold_keep, hold_say},
    [duopoly_JobOrder_ORDER_RELEASE] = {EVENT_JOB_RELEASE, "release", job_fill, release_keep,
                                        release_say},
    [duopoly_JobOrder_ORDER_REQUEUE] = {EVENT_JOB_REQUEUE, "requeue", job_fill, NULL, requeue_say},
};
#define ORDERS (sizeof(orders) / sizeof(orders[0]))

static void rejected(const struct ordering *o, const struct decision *rejection)
{
    const uint64_t job = o->order->job;
    if (rejection->reason == REASON_BAD_STATE && o->before.held_by)
        refused_answer(o->answer, duopoly_Reason_REASON_STATE,
                       "job %" PRIu64 " is held already, by %s", job, o->before.held_by);
    else if (rejection->reason == REASON_BAD_STATE)
        refused_answer(o->answer, duopoly_Reason_REASON_STATE, "job %" PRIu64 " is not %s", job,
                       o->before.state == JOB_ARRIVING ? "submitted completely" : "held");
    else
        rejection_answer(o->parts, rejection, job, o->answer);
}

/* What the engine would take: a job that a framework runs is the framework's to order. */
static bool is_refused(struct ordering *o)
{
    const uint64_t job = o->order->job;
    if (engine_job(o->parts->engine, job, &o->before) < 0 || o->before.state > JOB_ACTIVE) {
        absent_job_answer(o->parts, job, o->answer);
        return true;
    }
    if (!o->before.framework)
        return false;
    refused_answer(o->answer, duopoly_Reason_REASON_UNSUPPORTED,
                   "job %" PRIu64 " (%s) is its framework's, which starts and stops its tasks by "
                   "itself: order it there",
                   job, o->before.name);
    return true;
}

/* WHY before the engine takes it: what cannot be kept is refused. */
static bool is_kept(const struct ordering *o)
{
    struct store *store = o->parts->store;
    struct job_kept kept = {0};
    if (!orders[o->order->order].keep || o->parts->judging)
        return true;
    job_setting_get(store, o->order->job, &kept);
    orders[o->order->order].keep(o, &kept);
    if (job_setting_put(store, o->order->job, &kept) == 0)
        return true;
    refused_answer(o->answer, duopoly_Reason_REASON_LIMIT,
                   "%d settings are kept already: cancel jobs that have a priority of their own",
                   STORE_SETTINGS_MAX);
    return false;
}

static void order_do(struct ordering *o)
{
    struct event event = {.kind = orders[o->order->order].kind};
    struct decision rejection;
    orders[o->order->order].fill(o, &event);
    if (engine_judge(o->parts->engine, &event, &rejection) < 0) {
        rejected(o, &rejection);
        return;
    }
    if (!is_kept(o))
        return;
    if (conductor_request(o->conductor, &event, &rejection) < 0)
        rejected(o, &rejection);
    else
        orders[o->order->order].say(o);
}

void order_job_answer(struct conductor *conductor, const duopoly_OrderJob *order, const char *asker,
                      char *what, size_t size, duopoly_Envelope *answer)
{
    struct ordering o = {.conductor = conductor,
                         .parts = conductor_parts(conductor),
                         .order = order,
                         .asker = asker,
                         .answer = answer};
    /* WHY one number less: to the engine it means no change. */
    bool known = order->order < ORDERS && order->priority != INT64_MIN;
    int n = snprintf(what, size, "job %s %" PRIu64, known ? orders[order->order].word : "?",
                     order->job);
    if (order->order == duopoly_JobOrder_ORDER_PRIORITY && n > 0 && (size_t)n < size)
        snprintf(what + n, size - (size_t)n, " priority=%" PRId64, order->priority);
    if (!known)
        refused_answer(answer, duopoly_Reason_REASON_MALFORMED,
                       "a job can be told: set, hold, release, requeue; a priority is above -2^63");
    else if (!is_refused(&o))
        order_do(&o);
}
