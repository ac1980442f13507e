#include "controller/frameworks/application.h"
#include "controller/frameworks/framework_numbers.h"

/* WHY an end costs more than a look: the engine takes it out of its orders, 6 µs for a job. */
enum { LOOKS_OF_END = 8 };

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
static bool go_on(struct application *application, int64_t now_ns, int *left)
{
    struct ending *ending = &application->ending;
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

bool application_ends_on(struct application *application, int64_t now_ns, int *left)
{
    if (application->ending.what == ENDS_NOTHING)
        return true;
    if (!go_on(application, now_ns, left))
        return false;
    over(application);
    return true;
}

void application_ends(struct application *application, int64_t now_ns, enum ends what)
{
    application->ending.what = what;
    attempts_begin(application);
    application_turn(application, now_ns);
}

void application_ends_stop(struct application *application)
{
    application->ending.what = ENDS_NOTHING;
    number_set_clear(&application->named);
}
