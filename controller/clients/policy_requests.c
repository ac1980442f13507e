#include "controller/clients/policy_requests.h"

#include "controller/clients/refusal.h"

#include <stdio.h>
#include <string.h>

/* The names that answer a question, or, where there is no such question, the questions. */
static void policies_refuse(duopoly_Envelope *answer, const duopoly_SetPolicy *set)
{
    char names[160] = "";
    const char *name;
    for (unsigned i = 0; (name = engine_policy_name(set->question, i)); i++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "", name);
    }
    if (*names)
        refused_answer(answer, duopoly_Reason_REASON_UNSUPPORTED,
                       "%s has no policy '%s'; there are: %s", set->question, set->name, names);
    else
        refused_answer(answer, duopoly_Reason_REASON_UNSUPPORTED,
                       "there is no question '%s'; there are: turn, place, commit, network, mode",
                       set->question);
}

/* What the configuration says to a question; NULL: there is no such question. */
static const char *policy_configured(const struct conductor *conductor, const char *question,
                                     struct engine_config *config)
{
    settings_engine(conductor_parts(conductor)->settings, 1, config);
    return strcmp(question, "turn") == 0      ? config->turn
           : strcmp(question, "place") == 0   ? config->place
           : strcmp(question, "commit") == 0  ? config->commit
           : strcmp(question, "network") == 0 ? config->network
           : strcmp(question, "mode") == 0    ? config->mode
                                              : NULL;
}

void policy_set_answer(struct conductor *conductor, const duopoly_SetPolicy *set,
                       duopoly_Envelope *answer)
{
    struct event event = {.kind = EVENT_POLICY_SET};
    struct decision rejection;
    struct engine_config config;
    const char *configured = policy_configured(conductor, set->question, &config);
    bool back = configured && strcmp(set->name, "configured") == 0;
    event.policy_set.question = set->question;
    event.policy_set.name = back ? configured : set->name;
    if (conductor_request(conductor, &event, &rejection) < 0) {
        policies_refuse(answer, set);
        return;
    }
    store_set(conductor_parts(conductor)->store, "policy", set->question, back ? NULL : set->name);
    if (back)
        accepted_answer(answer, "%s is %s again, as the configuration says", set->question,
                        configured);
    else
        accepted_answer(answer,
                        "%s is %s from now on, after a restart too, until it is told otherwise",
                        set->question, set->name);
}
