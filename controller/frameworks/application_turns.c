#include "controller/frameworks/application.h"

#include "lib/container_of.h"

#define PORTION_EVERY_NS 1000000

/* What one portion may cost, in looks at a job, a stage, an attempt or an executor. */
enum { PORTION_LOOKS = 512 };

static void portion_arm(struct frameworks *frameworks, int64_t now_ns)
{
    struct turns *turns = &frameworks->turns;
    if (!TAILQ_EMPTY(&turns->line) && !turns->portion.armed)
        timers_arm(frameworks->timers, &turns->portion, now_ns + PORTION_EVERY_NS);
}

static void line_join(struct application *application, int64_t now_ns)
{
    struct frameworks *frameworks = application->frameworks;
    if (application->in_line)
        return;
    TAILQ_INSERT_TAIL(&frameworks->turns.line, application, next_turn);
    application->in_line = true;
    portion_arm(frameworks, now_ns);
}

static void line_leave(struct application *application)
{
    struct frameworks *frameworks = application->frameworks;
    if (!application->in_line)
        return;
    TAILQ_REMOVE(&frameworks->turns.line, application, next_turn);
    application->in_line = false;
    if (TAILQ_EMPTY(&frameworks->turns.line))
        timers_disarm(frameworks->timers, &frameworks->turns.portion);
}

/* What has ended may be the application itself. */
static void work(void *of, int64_t now_ns)
{
    struct application *application = of;
    int *left = &application->frameworks->turns.left;
    if (!application_tell_on(application, now_ns, left) ||
        !application_ends_on(application, now_ns, left))
        line_join(application, now_ns);
}

static void left_renew(struct turns *turns, int64_t now_ns)
{
    if (now_ns - turns->since_ns < PORTION_EVERY_NS)
        return;
    turns->since_ns = now_ns;
    turns->left = PORTION_LOOKS;
}

/* WHY one portion of all together: sixty-four of them would hold the loop for 40 ms. */
static void on_portion(struct timer *timer, int64_t now_ns)
{
    struct frameworks *frameworks = container_of(timer, struct frameworks, turns.portion);
    const struct frameworks_hooks *hooks = &frameworks->hooks;
    struct turns *turns = &frameworks->turns;
    struct application *application;
    left_renew(turns, now_ns);
    while (turns->left > 0 && (application = TAILQ_FIRST(&turns->line))) {
        line_leave(application);
        hooks->work(hooks->user, application_number(application), work, application, now_ns);
    }
    portion_arm(frameworks, now_ns);
}

void application_turns_init(struct frameworks *frameworks)
{
    struct turns *turns = &frameworks->turns;
    TAILQ_INIT(&turns->line);
    turns->portion.fire = on_portion;
    turns->left = PORTION_LOOKS;
}

void application_turn(struct application *application, int64_t now_ns)
{
    struct turns *turns = &application->frameworks->turns;
    line_leave(application);
    left_renew(turns, now_ns);
    if (TAILQ_EMPTY(&turns->line))
        work(application, now_ns);
    else
        line_join(application, now_ns);
}

void application_turns_stop(struct application *application)
{
    line_leave(application);
}
