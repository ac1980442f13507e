/* Messages to agents about an application's tasks on their hosts: levels, when they are allowed,
 * seen to run, and changed. The task's start finds them there (hostagent/guests/guest_allows.h).
 * Tasks that read no shuffle have none: their transfers have the application's level. */
#include "controller/frameworks/application.h"

#include <string.h>

static duopoly_GuestAllows *begin(const struct application *application)
{
    duopoly_GuestAllows *said = &application->frameworks->guests;
    memset(said, 0, sizeof(*said));
    wire_copy(said->name, sizeof(said->name), application->name);
    said->has_user = application->user >= 0;
    said->user = said->has_user ? (uint32_t)application->user : 0;
    return said;
}

static void send(const struct application *application, uint32_t host)
{
    const struct frameworks *frameworks = application->frameworks;
    frameworks->hooks.guests(frameworks->hooks.user, host, &frameworks->guests);
}

static bool reads_shuffle(const struct application *application, const struct attempt_view *attempt)
{
    struct task_view task;
    return engine_task(application->frameworks->engine, attempt->job, attempt->stage, attempt->task,
                       &task) == 0 &&
           task.network_input;
}

void application_guests_allow(const struct application *application, int64_t now_ns,
                              const struct attempt_view *allow)
{
    if (!reads_shuffle(application, allow))
        return;
    duopoly_GuestAllows *said = begin(application);
    said->allows_count = 1;
    application_allow_fill(application, now_ns, allow, &said->allows[0]);
    send(application, allow->host);
}

void application_guests_level(const struct application *application, uint64_t attempt)
{
    struct attempt_view view;
    if (engine_attempt(application->frameworks->engine, attempt, &view) < 0 || view.allow ||
        !reads_shuffle(application, &view))
        return;
    duopoly_GuestAllows *said = begin(application);
    said->levels_count = 1;
    said->levels[0] = application_level_of(attempt, view.coflow_level, view.macroflow_level);
    send(application, view.host);
}
