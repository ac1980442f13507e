#include "controller/listeners.h"

#include "controller/conductor_log.h"
#include "controller/host_times.h"
#include "controller/notice_listener.h"
#include "controller/orphans.h"
#include "controller/recording/recording.h"
#include "controller/store/ledger.h"

static void recording_stepped(void *user, const struct step *step)
{
    recording_step(user, step->now_ns, step->events, step->n, step->decisions);
}

static void history_over(void *user, const struct fact *fact)
{
    history_attempt_ended(user, &fact->ending, fact->job_lives);
}

static void history_job_over(void *user, const struct job_fact *fact)
{
    history_job_ended(user, &fact->ending);
    if (fact->split.job)
        history_job_split(user, &fact->split);
}

static void clients_job_over(void *user, const struct job_fact *fact)
{
    const struct clients *clients = user;
    clients->job_over(clients->user, fact);
}

static void clients_stepped(void *user, const struct step *step)
{
    const struct clients *clients = user;
    (void)step;
    clients->stepped(clients->user);
}

static const struct listener recording_listener = {.stepped = recording_stepped};
static const struct listener history_listener = {.attempt_over = history_over,
                                                 .job_over = history_job_over};
static const struct listener clients_listener = {.stepped = clients_stepped,
                                                 .job_over = clients_job_over};

static const struct listener *const listeners[LISTENERS] = {
    [LISTENER_RECORDING] = &recording_listener,   [LISTENER_LEDGER] = &ledger_listener,
    [LISTENER_HISTORY] = &history_listener,       [LISTENER_ORPHANS] = &orphans_listener,
    [LISTENER_HOST_TIMES] = &host_times_listener, [LISTENER_LOG] = &log_listener,
    [LISTENER_NOTICES] = &notices_listener,       [LISTENER_CLIENTS] = &clients_listener,
};

#define TELL(moment, what)                                                                         \
    for (size_t i = 0; i < LISTENERS; i++) {                                                       \
        if (audience->users[i] && listeners[i]->moment)                                            \
            listeners[i]->moment(audience->users[i], what);                                        \
    }

static void on_fact(void *user, const struct fact *fact)
{
    const struct audience *audience = user;
    TELL(attempt_over, fact);
}

void audience_event(struct audience *audience, const struct fact_sources *sources,
                    const struct event *event)
{
    facts_of(sources, event, on_fact, audience);
    TELL(event, event);
}

void audience_stepped(const struct audience *audience, const struct step *step)
{
    TELL(stepped, step);
}

void audience_job_over(const struct audience *audience, const struct job_fact *fact)
{
    TELL(job_over, fact);
}
