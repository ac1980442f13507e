#include "controller/store/resumption.h"

#include "controller/store/user_setting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct resumption {
    struct store *store;
    struct recovered *recovered;
    int64_t now_ns;
    struct decisions decisions;
    int error;
    unsigned refused;  /* policies, */
    char unknown[128]; /* the last of them */
    uint32_t gone[ENGINE_USERS_MAX], n_gone;
};

static bool step_one(struct resumption *resumption, struct event *event)
{
    event->request = 1;
    if (resumption->error < 0)
        return false;
    resumption->error = engine_step(resumption->recovered->engine, resumption->now_ns, event, 1,
                                    &resumption->decisions);
    for (size_t i = 0; i < resumption->decisions.n; i++)
        if (resumption->decisions.at[i].kind == DECISION_REJECT)
            return false;
    return resumption->error == 0;
}

static void policy_resume(void *context, const char *question, const char *name)
{
    struct resumption *resumption = context;
    struct event event = {.kind = EVENT_POLICY_SET};
    event.policy_set.question = question;
    event.policy_set.name = name;
    if (step_one(resumption, &event))
        return;
    resumption->refused++;
    snprintf(resumption->unknown, sizeof(resumption->unknown), "policy %s %s", question, name);
}

/* WHY repeatedly: one may need another that comes later. Setting the same one again changes
 * nothing. */
static void policies_resume(struct resumption *resumption)
{
    unsigned before;
    do {
        before = resumption->refused;
        resumption->refused = 0;
        store_settings(resumption->store, "policy", policy_resume, resumption);
    } while (resumption->refused && resumption->refused != before);
    if (resumption->refused)
        memcpy(resumption->recovered->unknown, resumption->unknown, sizeof(resumption->unknown));
}

static void parameter_resume(void *context, const char *word, const char *value)
{
    struct resumption *resumption = context;
    struct event event = {.kind = EVENT_POLICY_PARAMETER};
    event.policy_parameter.word = word;
    event.policy_parameter.value = strtoll(value, NULL, 10);
    if (!step_one(resumption, &event))
        snprintf(resumption->recovered->unknown, sizeof(resumption->recovered->unknown),
                 "policy parameter %s=%s", word, value);
}

static void user_resume(void *context, uint32_t number, const struct user_kept *kept)
{
    struct resumption *resumption = context;
    struct event event = {.kind = EVENT_USER_LEAVE};
    struct user_view user;
    event.user_leave.user = number;
    if (!kept->leaves || !step_one(resumption, &event))
        return;
    const struct engine *engine = resumption->recovered->engine;
    bool gone = engine_user_from(engine, number, &user) < 0 || user.user != number;
    if (gone && resumption->n_gone < ENGINE_USERS_MAX)
        resumption->gone[resumption->n_gone++] = number;
}

/* Those that were leaving do so, and are no more kept when they are gone. */
static void users_resume(struct resumption *resumption)
{
    struct store *store = resumption->store;
    user_settings(store, user_resume, resumption);
    for (uint32_t i = 0; i < resumption->n_gone; i++)
        user_setting_put(store, resumption->gone[i], NULL);
}

int resume(struct store *store, int64_t now_ns, const struct lost_output *lost, size_t n_lost,
           struct recovered *recovered, struct err *err)
{
    struct resumption resumption = {.store = store, .recovered = recovered, .now_ns = now_ns};
    for (size_t i = 0; i < recovered->n_hosts; i++) {
        struct event event = {.kind = EVENT_HOST_LOST};
        event.host.host = recovered->hosts[i].host;
        if (recovered->hosts[i].lost && recovered->hosts[i].boot)
            step_one(&resumption, &event);
    }
    for (size_t i = 0; i < n_lost; i++) {
        struct event event = {.kind = EVENT_OUTPUT_LOST};
        event.output_lost.job = lost[i].job;
        event.output_lost.stage = lost[i].stage;
        event.output_lost.task = lost[i].task;
        event.output_lost.attempt = lost[i].attempt;
        step_one(&resumption, &event);
    }
    users_resume(&resumption);
    store_settings(store, "parameter", parameter_resume, &resumption);
    policies_resume(&resumption);
    decisions_done(&resumption.decisions);
    return resumption.error < 0 ? err_sys(err, -resumption.error, "recovery") : 0;
}
