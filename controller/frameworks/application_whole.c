#include "controller/frameworks/application.h"
#include "controller/frameworks/framework_numbers.h"

#include <string.h>

static void allow_tell(void *user, const struct attempt_view *attempt)
{
    struct application *application = user;
    if (attempt->allow)
        application_allow_add(application, application->heard_ns, attempt);
}

static void stage_tell(struct application *application, uint64_t job,
                       const struct stage_view *stage)
{
    if (stage->left)
        application_open(application, job, stage->stage);
    if (stage->bound)
        application_bind(application, job, stage->stage);
    engine_stage_attempts(application->frameworks->engine, job, stage->stage, allow_tell,
                          application);
}

/* WHY all of these ask what is told: a message that cannot be sent ends the session. */
static bool stages_tell(struct application *application, uint64_t job, int *left)
{
    struct telling *telling = &application->telling;
    struct stage_view stage;
    while (telling->of == TELLS_JOBS &&
           engine_stage_from(application->frameworks->engine, job, telling->stage, &stage) == 0) {
        if (--*left < 0)
            return false;
        telling->stage = stage.stage + 1;
        stage_tell(application, job, &stage);
    }
    return true;
}

static void levels_begin(struct application *application)
{
    application->telling.of = TELLS_LEVELS;
    application->telling.after = framework_attempt_number(application->bits, 0) - 1;
}

/* These return whether all of them are told. WHY by the application's own jobs and numbers: a
 * session may begin at any time, and what others have is to hold nobody. */
static bool jobs_tell(struct application *application, int *left)
{
    struct telling *telling = &application->telling;
    struct job_view job;
    while (telling->of == TELLS_JOBS) {
        if (engine_job_after(application->frameworks->engine, telling->after, &job) < 0 ||
            !framework_owns_job(application->bits, job.job)) {
            levels_begin(application);
            return true;
        }
        if (--*left < 0)
            return false;
        if (job.job != telling->job)
            telling->stage = 0;
        telling->job = job.job;
        if (!stages_tell(application, job.job, left))
            return false;
        telling->after = job.job;
    }
    return true;
}

static bool levels_tell(struct application *application, int *left)
{
    struct telling *telling = &application->telling;
    struct attempt_view attempt;
    while (telling->of == TELLS_LEVELS &&
           engine_attempt_after(application->frameworks->engine, telling->after, &attempt) == 0 &&
           framework_owns_attempt(application->bits, attempt.attempt)) {
        if (--*left < 0)
            return false;
        telling->after = attempt.attempt;
        application_level(application, attempt.attempt, attempt.coflow_level,
                          attempt.macroflow_level);
    }
    return true;
}

bool application_tell_on(struct application *application, int64_t now_ns, int *left)
{
    struct telling *telling = &application->telling;
    if (!jobs_tell(application, left) || !levels_tell(application, left))
        return false;
    if (telling->of == TELLS_NOTHING)
        return true;
    telling->of = TELLS_NOTHING;
    application_order(application);
    application_snapshot_send(application, now_ns, true);
    return true;
}

void application_tell_whole(struct application *application, int64_t now_ns)
{
    memset(&application->next, 0, sizeof(application->next));
    application->next.whole = true;
    application->telling =
        (struct telling){.of = TELLS_JOBS, .after = framework_job_number(application->bits, 0) - 1};
    application_turn(application, now_ns);
}

bool application_tells_later(const struct application *application, uint64_t job, uint32_t stage)
{
    const struct telling *telling = &application->telling;
    return telling->of == TELLS_JOBS && job > telling->after &&
           (job != telling->job || stage >= telling->stage);
}

bool application_tells_levels_later(const struct application *application, uint64_t attempt)
{
    const struct telling *telling = &application->telling;
    return telling->of == TELLS_JOBS || (telling->of == TELLS_LEVELS && attempt > telling->after);
}
