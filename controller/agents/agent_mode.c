/* The mode on its way to the hosts, and how long it takes until all have it. */
#include "controller/agents/agent.h"

static void await_no_more(struct agent *agent)
{
    if (!agent->mode_awaited)
        return;
    agent->mode_awaited = 0;
    agent->agents->mode.awaited--;
}

static void await(struct agent *agent)
{
    agent->agents->mode.awaited += !agent->mode_awaited;
    agent->mode_awaited = agent_sent(agent);
}

void agents_mode(struct agents *agents, int64_t now_ns, uint32_t mode, uint64_t sequence)
{
    struct agent *agent, *next;
    agents->mode.mode = mode;
    agents->mode.sequence = sequence;
    agents->mode.at_ns = now_ns;
    AGENTS_EACH_SESSION (agents, agent, next) {
        wire_begin(&agents->out, duopoly_Envelope_mode_tag)->body.mode =
            (duopoly_Mode){.mode = mode, .mode_sequence = sequence};
        if (agent_send(agent, &agents->out, true) == 0)
            await(agent);
    }
}

void agent_mode_answered(struct agent *agent, int64_t now_ns)
{
    struct agents *agents = agent->agents;
    if (!agent->mode_awaited || !agent_answered(agent, agent->mode_awaited))
        return;
    await_no_more(agent);
    if (!agents->mode.awaited)
        histogram_add(&agents->times.mode_changes, now_ns - agents->mode.at_ns);
}

/* WHY it counts as nothing when the last awaited one goes: that measures its session. */
void agent_mode_end(struct agent *agent)
{
    await_no_more(agent);
}
