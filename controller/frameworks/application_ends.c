#include "controller/frameworks/application.h"
#include "controller/frameworks/framework_numbers.h"

#include "lib/container_of.h"

#define PORTION_EVERY_NS 1000000

/* What one portion may cost, in looks at a job, an attempt or an executor. WHY an end costs more:
 * the engine has to take it out of its orders, 6 µs for a job. */
enum { PORTION_LOOKS = 512, LOOKS_OF_END = 8 };

static void emit(const struct application *application, const struct event *event)
{
    const struct frameworks *frameworks = application->frameworks;
    frameworks->hooks.event(frameworks->hooks.user, event);
}

/* It stays; all does if too much was named. */
static bool is_named(const struct application *application, uint64_t number)
{
    return application->ending.what == ENDS_UNNAMED &&
           (application->full || number_set_has(&application->named, number));
}

static bool attempt_is_over(const struct application *application,
                            const struct attempt_view *attempt)
{
    return application->ending.what == ENDS_CLAIMS ? attempt->found && !attempt->in_own_room
                                                   : !is_named(application, attempt->attempt);
}

/* These return whether all of them are done; *left: the looks that remain. */
static bool attempts_go_on(struct application *application, int *left)
{
    struct ending *ending = &application->ending;
    const struct engine *engine = application->frameworks->engine;
    for (; *left > 0; --*left) {
        struct attempt_view attempt;
        struct event event = {.kind = EVENT_ATTEMPT_LOST};
        if (engine_attempt_after(engine, ending->after, &attempt) < 0 ||
            !framework_owns_attempt(application->bits, attempt.attempt))
            return true;
        ending->after = event.attempt.attempt = attempt.attempt;
        if (!attempt_is_over(application, &attempt))
            continue;
        emit(application, &event);
        *left -= LOOKS_OF_END;
    }
    return false;
}

static bool jobs_go_on(struct application *application, int *left)
{
    struct ending *ending = &application->ending;
    const struct engine *engine = application->frameworks->engine;
    for (; *left > 0; --*left) {
        struct job_view job;
        struct event event = {.kind = EVENT_FRAMEWORK_END};
        if (engine_job_after(engine, ending->after, &job) < 0 ||
            !framework_owns_job(application->bits, job.job))
            return true;
        ending->after = event.framework_end.job = job.job;
        event.framework_end.outcome = JOB_CANCELLED;
        if (is_named(application, job.job))
            continue;
        stage_names_forget(&application->names, job.job);
        emit(application, &event);
        *left -= LOOKS_OF_END;
    }
    return false;
}

static bool jobs_are_over(const struct application *application)
{
    return application->ending.what == ENDS_UNNAMED || application->ending.what == ENDS_ALL;
}

static void attempts_begin(struct application *application)
{
    application->ending.of = ENDING_ATTEMPTS;
    application->ending.after = framework_attempt_number(application->bits, 0) - 1;
}

static void jobs_begin(struct application *application)
{
    application->ending.of = ENDING_JOBS;
    application->ending.after = framework_job_number(application->bits, 0) - 1;
}

/* Whether everything is done. WHY attempts first: those of a job that ended are no longer found. */
static bool go_on(struct application *application, int64_t now_ns)
{
    struct ending *ending = &application->ending;
    int *left = &application->frameworks->ends.left;
    if (ending->of == ENDING_ATTEMPTS) {
        if (!attempts_go_on(application, left))
            return false;
        if (ending->what == ENDS_CLAIMS)
            return true;
        jobs_begin(application);
    }
    if (ending->of == ENDING_JOBS) {
        if (jobs_are_over(application) && !jobs_go_on(application, left))
            return false;
        ending->of = ENDING_EXECUTORS;
        executors_end_begin(&application->executors, ending->what == ENDS_UNNAMED);
    }
    return executors_end_go_on(application, now_ns, left);
}

static void over(struct application *application)
{
    const enum ends what = application->ending.what;
    application->ending.what = ENDS_NOTHING;
    number_set_clear(&application->named);
    if (what == ENDS_UNNAMED)
        executors_replayed(application);
    if (what == ENDS_ALL)
        application_gone(application);
}

static void portion_arm(struct frameworks *frameworks, int64_t now_ns)
{
    struct ends_line *ends = &frameworks->ends;
    if (!TAILQ_EMPTY(&ends->line) && !ends->portion.armed)
        timers_arm(frameworks->timers, &ends->portion, now_ns + PORTION_EVERY_NS);
}

static void line_join(struct application *application, int64_t now_ns)
{
    struct frameworks *frameworks = application->frameworks;
    TAILQ_INSERT_TAIL(&frameworks->ends.line, application, ending.next);
    application->ending.waits = true;
    portion_arm(frameworks, now_ns);
}

static void line_leave(struct application *application)
{
    struct frameworks *frameworks = application->frameworks;
    if (!application->ending.waits)
        return;
    TAILQ_REMOVE(&frameworks->ends.line, application, ending.next);
    application->ending.waits = false;
    if (TAILQ_EMPTY(&frameworks->ends.line))
        timers_disarm(frameworks->timers, &frameworks->ends.portion);
}

static void work(void *of, int64_t now_ns)
{
    struct application *application = of;
    if (go_on(application, now_ns))
        over(application);
    else
        line_join(application, now_ns);
}

static void left_renew(struct ends_line *ends, int64_t now_ns)
{
    if (now_ns - ends->since_ns < PORTION_EVERY_NS)
        return;
    ends->since_ns = now_ns;
    ends->left = PORTION_LOOKS;
}

/* WHY one portion of all together: sixty-four of them would hold the loop for 40 ms. */
static void on_portion(struct timer *timer, int64_t now_ns)
{
    struct frameworks *frameworks = container_of(timer, struct frameworks, ends.portion);
    const struct frameworks_hooks *hooks = &frameworks->hooks;
    struct ends_line *ends = &frameworks->ends;
    struct application *application;
    left_renew(ends, now_ns);
    while (ends->left > 0 && (application = TAILQ_FIRST(&ends->line))) {
        line_leave(application);
        hooks->work(hooks->user, application_number(application), work, application, now_ns);
    }
    portion_arm(frameworks, now_ns);
}

void application_ends_init(struct frameworks *frameworks)
{
    struct ends_line *ends = &frameworks->ends;
    TAILQ_INIT(&ends->line);
    ends->portion.fire = on_portion;
    ends->left = PORTION_LOOKS;
}

void application_ends(struct application *application, int64_t now_ns, enum ends what)
{
    struct ends_line *ends = &application->frameworks->ends;
    line_leave(application);
    application->ending.what = what;
    attempts_begin(application);
    left_renew(ends, now_ns);
    if (TAILQ_EMPTY(&ends->line))
        work(application, now_ns);
    else
        line_join(application, now_ns);
}

void application_ends_stop(struct application *application)
{
    line_leave(application);
    application->ending.what = ENDS_NOTHING;
    number_set_clear(&application->named);
}
