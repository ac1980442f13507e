#include "controller/clients/drain_requests.h"

#include "controller/clients/absent_host.h"
#include "controller/clients/refusal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The hosts of one change. */
struct drains {
    const struct agents *agents;
    const duopoly_DrainHost *drain;
    struct event *events; /* owned */
    size_t n;
};

static bool is_of_rack(const struct agent_view *agent, const char *rack)
{
    return !agent->is_switch && strcmp(agent->rack, rack) == 0;
}

static void event_add(struct drains *drains, uint32_t host)
{
    struct event *event = &drains->events[drains->n++];
    *event = (struct event){.kind = EVENT_HOST_DRAIN};
    event->host_drain.host = host;
    event->host_drain.undo = drains->drain->undo;
}

/* False: the answer says why not. */
static bool host_take(struct drains *drains, duopoly_Envelope *answer)
{
    const char *name = drains->drain->name;
    struct agent_view agent;
    if (agents_named(drains->agents, name, &agent) < 0)
        absent_host_answer(drains->agents, ABSENT_HOST, name, answer);
    else if (agent.is_switch)
        refused_answer(answer, duopoly_Reason_REASON_UNSUPPORTED,
                       "%s is a switch: nothing starts there", name);
    else
        event_add(drains, agent.host);
    return drains->n;
}

static bool rack_take(struct drains *drains, duopoly_Envelope *answer)
{
    const duopoly_DrainHost *drain = drains->drain;
    struct agent_view agent;
    if (*drain->name) {
        refused_answer(answer, duopoly_Reason_REASON_MALFORMED,
                       "a drain is of one host or of one rack, not of both");
        return false;
    }
    for (uint32_t i = 0; agents_at(drains->agents, i, &agent) == 0; i++)
        if (is_of_rack(&agent, drain->rack))
            event_add(drains, agent.host);
    if (!drains->n)
        refused_answer(answer, duopoly_Reason_REASON_UNKNOWN, "there is no rack %s", drain->rack);
    return drains->n;
}

/* WHY before anything is drained: it is one change. */
static bool is_possible(const struct drains *drains, const struct conductor_parts *parts,
                        duopoly_Envelope *answer)
{
    struct decision rejection;
    struct agent_view agent;
    for (size_t i = 0; i < drains->n; i++) {
        const struct event *event = &drains->events[i];
        if (engine_judge(parts->engine, event, &rejection) == 0)
            continue;
        if (!*drains->drain->rack ||
            agents_of_host(parts->agents, event->host_drain.host, &agent) < 0)
            rejection_answer(parts, &rejection, 0, answer);
        else
            refused_answer(answer, duopoly_Reason_REASON_STATE,
                           "%s of rack %s has never been up: try again when it is, or forget it",
                           agent.name, drains->drain->rack);
        return false;
    }
    return true;
}

static void keep(struct conductor *conductor, const struct drains *drains)
{
    const char *value = drains->drain->undo ? NULL : "yes";
    struct agent_view agent;
    for (size_t i = 0; i < drains->n; i++)
        if (agents_of_host(drains->agents, drains->events[i].host_drain.host, &agent) == 0)
            conductor_set(conductor, "drain", agent.name, value);
}

static void drains_set(struct conductor *conductor, struct drains *drains, duopoly_Envelope *answer)
{
    const struct conductor_parts *parts = conductor_parts(conductor);
    const duopoly_DrainHost *drain = drains->drain;
    struct decision rejection;
    if (!is_possible(drains, parts, answer))
        return;
    if (conductor_requests(conductor, drains->events, drains->n, &rejection) < 0) {
        rejection_answer(parts, &rejection, 0, answer);
        return;
    }
    keep(conductor, drains);
    if (*drain->rack)
        accepted_answer(answer, "hosts of rack %s that %s: %zu", drain->rack,
                        drain->undo ? "take tasks again" : "get no new tasks", drains->n);
    else
        accepted_answer(answer,
                        drain->undo ? "host %s takes tasks again" : "host %s gets no new tasks",
                        drain->name);
}

void drain_set_answer(struct conductor *conductor, const duopoly_DrainHost *drain,
                      duopoly_Envelope *answer)
{
    const struct conductor_parts *parts = conductor_parts(conductor);
    struct drains drains = {.agents = parts->agents, .drain = drain};
    drains.events = calloc(agents_count(parts->agents) + 1, sizeof(*drains.events));
    if (!drains.events)
        refused_answer(answer, duopoly_Reason_REASON_LIMIT, "the controller is out of memory");
    else if (*drain->rack ? rack_take(&drains, answer) : host_take(&drains, answer))
        drains_set(conductor, &drains, answer);
    free(drains.events);
}
