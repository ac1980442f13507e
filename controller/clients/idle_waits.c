/* Answers that wait until nothing runs on a host, or on any host of a rack. */
#include "controller/clients/control_shared.h"
#include "controller/clients/refusal.h"

#include <string.h>

static bool runs_something(const struct engine *engine, uint32_t host)
{
    struct host_view view;
    return engine_host(engine, host, &view) == 0 && view.running > 0;
}

static bool is_asked(const struct idle_wait *wait, const struct agent_view *agent)
{
    if (agent->is_switch)
        return false;
    return *wait->rack ? strcmp(agent->rack, wait->rack) == 0
                       : strcmp(agent->name, wait->host) == 0;
}

/* Whether there are such hosts; notes one on which something runs, or ENGINE_NONE. O(agents). */
static bool busy_find(const struct conductor_parts *parts, struct idle_wait *wait)
{
    struct agent_view agent;
    bool there = false;
    wait->busy = ENGINE_NONE;
    for (uint32_t i = 0; wait->busy == ENGINE_NONE && agents_at(parts->agents, i, &agent) == 0;
         i++) {
        if (!is_asked(wait, &agent))
            continue;
        there = true;
        if (runs_something(parts->engine, agent.host))
            wait->busy = agent.host;
    }
    return there;
}

/* WHY the last one first: with each step this is asked again. */
static bool is_over(const struct conductor_parts *parts, struct idle_wait *wait)
{
    if (runs_something(parts->engine, wait->busy))
        return false;
    busy_find(parts, wait);
    return wait->busy == ENGINE_NONE;
}

static void over_answer(struct control *control, const struct idle_wait *wait)
{
    accepted_answer(&control->answer, "nothing runs on %s%s", *wait->rack ? "hosts of rack " : "",
                    *wait->rack ? wait->rack : wait->host);
}

void idle_wait_begin(struct control *control, struct requester *requester,
                     const duopoly_AwaitIdle *await)
{
    struct idle_wait *wait = &requester->idle;
    *wait = (struct idle_wait){.busy = ENGINE_NONE};
    wire_copy(wait->host, sizeof(wait->host), await->host);
    wire_copy(wait->rack, sizeof(wait->rack), await->rack);
    if (!busy_find(control->parts, wait)) {
        refused_answer(&control->answer, duopoly_Reason_REASON_UNKNOWN, "there is no %s %s",
                       *wait->rack ? "rack" : "host", *wait->rack ? wait->rack : wait->host);
        return;
    }
    if (wait->busy == ENGINE_NONE) {
        over_answer(control, wait);
        return;
    }
    requester->answer = (struct held_answer){
        .held = true, .idles = true, .request = duopoly_Envelope_await_idle_tag};
    control->idlers++;
    control_hold(control, requester->client, HOLD_ANSWER);
}

void idle_wait_end(struct control *control, struct requester *requester)
{
    if (!requester->answer.idles)
        return;
    requester->answer = (struct held_answer){.held = false};
    control->idlers--;
}

void idle_waits_look(struct control *control)
{
    for (struct requester *requester = control->requesters;
         control->idlers && requester < control->requesters + REQUESTERS; requester++) {
        const uint64_t client = requester->client;
        const pb_size_t request = requester->answer.request;
        if (!requester->answer.idles || !is_over(control->parts, &requester->idle))
            continue;
        idle_wait_end(control, requester);
        over_answer(control, &requester->idle);
        control_answer(control, client, 0, request);
        control_release(control, client, HOLD_ANSWER);
    }
}
