/* Orders to agents that concern neither levels nor starts. */
#include "controller/agents/agent.h"

#include "lib/log.h"

#include <errno.h>
#include <inttypes.h>

static struct agent *agent_of_host(const struct agents *agents, uint32_t host)
{
    struct agent *agent = agent_of_index(agents, host);
    return agent && agent_is_open(agent) ? agent : NULL;
}

void agents_stop(struct agents *agents, uint32_t host, uint64_t attempt, const char *why,
                 uint32_t grace_ms, bool requeue)
{
    struct agent *agent = agent_of_host(agents, host);
    if (!agent)
        return;
    duopoly_Stop *stop = &wire_begin(&agents->out, duopoly_Envelope_stop_tag)->body.stop;
    stop->attempt = attempt;
    stop->grace_ms = grace_ms;
    stop->requeue = requeue;
    wire_copy(stop->why, sizeof(stop->why), why);
    agent_send(agent, &agents->out, true);
}

const struct stances *agents_stances(const struct agents *agents)
{
    return &agents->stances;
}

/* Those for which it is another one than they were told. */
static int stances_tell(struct agents *agents)
{
    struct agent *agent, *next;
    int told = 0;
    AGENTS_EACH_SESSION (agents, agent, next) {
        duopoly_Stance wanted =
            stances_of(&agents->stances, agent_who(agent)->name, agent_who(agent)->rack);
        if (wanted == agent->stance_told)
            continue;
        agent->stance_told = wanted;
        agent->trial_until_ns = 0;
        wire_begin(&agents->out, duopoly_Envelope_take_stance_tag)->body.take_stance.stance =
            wanted;
        log_debug("agent %s: is told the stance %s", agent_who(agent)->name, stances_word(wanted));
        told += agent_send(agent, &agents->out, true) == 0;
    }
    return told;
}

int agents_set_stance(struct agents *agents, enum stance_scope scope, const char *name,
                      duopoly_Stance stance)
{
    int r = stances_set(&agents->stances, scope, name, stance);
    return r < 0 ? r : stances_tell(agents);
}

int agents_take_stances(struct agents *agents, const struct stances *stances)
{
    agents->stances = *stances;
    return stances_tell(agents);
}

int agents_may_try_stance(const struct agents *agents, int64_t now_ns, const char *name)
{
    const struct agent *agent = agent_find(agents, name);
    if (!agent)
        return -ENOENT;
    if (!agent_is_open(agent))
        return -ENOTCONN;
    return now_ns < agent->trial_until_ns ? -EBUSY : 0;
}

int agents_try_stance(struct agents *agents, int64_t now_ns, const char *name,
                      duopoly_Stance stance, uint32_t confirm_s)
{
    struct agent *agent = agent_find(agents, name);
    int r = agents_may_try_stance(agents, now_ns, name);
    if (r < 0)
        return r;
    agent->trial_until_ns = now_ns + (int64_t)confirm_s * 1000000000;
    agent->stance_told = duopoly_Stance_STANCE_UNSAID; /* the next stance is sent in any case */
    duopoly_TakeStance *take =
        &wire_begin(&agents->out, duopoly_Envelope_take_stance_tag)->body.take_stance;
    take->stance = stance;
    take->confirm_s = confirm_s;
    log_debug("agent %s: tries the stance %s for %" PRIu32 " s", agent_who(agent)->name,
              stances_word(stance), confirm_s);
    return agent_send(agent, &agents->out, true);
}

void agents_tell_guests(struct agents *agents, uint32_t host, const duopoly_GuestAllows *said)
{
    struct agent *agent = agent_of_index(agents, host);
    if (!agent || !agent_is_open(agent) || !agent_guests_has(&agent->guests, said->name))
        return;
    wire_begin(&agents->out, duopoly_Envelope_guest_allows_tag)->body.guest_allows = *said;
    agent_send(agent, &agents->out, false);
}

int agents_ask(struct agents *agents, const char *name, const duopoly_Ask *ask)
{
    struct agent *agent = agent_find(agents, name);
    if (!agent)
        return -ENOENT;
    if (!agent_is_open(agent))
        return -ENOTCONN;
    if (!(agent_who(agent)->asks >> ask->of & 1))
        return -EOPNOTSUPP;
    wire_begin(&agents->out, duopoly_Envelope_ask_tag)->body.ask = *ask;
    return agent_send(agent, &agents->out, false);
}

void agents_forget(struct agents *agents, uint32_t host, uint64_t job)
{
    struct agent *agent = agent_of_host(agents, host);
    if (!agent)
        return;
    wire_begin(&agents->out, duopoly_Envelope_forget_tag)->body.forget.job = job;
    agent_send(agent, &agents->out, true);
}

void agent_tell_keys(struct agent *agent)
{
    struct agents *agents = agent->agents;
    if (!agents->believed.keys_count)
        return;
    wire_begin(&agents->out, duopoly_Envelope_controller_keys_tag)->body.controller_keys =
        agents->believed;
    agent_send(agent, &agents->out, false);
}

void agents_believe(struct agents *agents, const duopoly_ControllerKeys *keys)
{
    agents->believed = *keys;
    for (uint32_t i = 0; i < agents_count(agents); i++)
        if (agent_is_open(agent_at(agents, i)))
            agent_tell_keys(agent_at(agents, i));
}
