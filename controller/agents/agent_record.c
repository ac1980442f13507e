/* Makes and frees an agent's record, with all its parts. */
#include "controller/agents/agent.h"

#include <stdlib.h>

static struct agent *agent_make(struct agents *agents, const char *name, enum agent_is is)
{
    struct agent *agent = calloc(1, sizeof(*agent));
    if (!agent)
        return NULL;
    agent->agents = agents;
    agent_identity_begin(agent, name, is);
    agent_levels_begin(agent);
    agent->watch.fire = agents->upward.watch;
    agent->beat.fire = agents->upward.beat;
    return agent;
}

struct agent *agent_add(struct agents *agents, const char *name, bool is_switch)
{
    struct agent *agent = agent_make(agents, name, is_switch ? AGENT_IS_SWITCH : AGENT_IS_HOST);
    if (agent)
        agent_enter(agent);
    return agent;
}

struct agent *agent_add_kept(struct agents *agents, const char *name, uint32_t host)
{
    struct agent *agent = agent_make(agents, name, AGENT_IS_HOST);
    if (agent)
        agent_table_insert(agents, agent, host);
    return agent;
}

struct agent *agent_add_unmarked(struct agents *agents, const char *name, uint32_t host)
{
    struct agent *agent = agent_make(agents, name, AGENT_IS_NONE);
    if (agent)
        agent_table_insert(agents, agent, host);
    return agent;
}

void agent_remove(struct agent *agent)
{
    struct agents *agents = agent->agents;
    agent_table_remove(agent);
    agent_settle_done(agent);
    agent_levels_done(agent);
    agent_attempts_drop(agent);
    timers_disarm(agents->timers, &agent->watch);
    timers_disarm(agents->timers, &agent->beat);
    agent_inventory_drop(agent);
    agent_settle_drop(agent);
    agent_links_done(&agent->links);
    agent_guests_done(&agents->guest_levels, &agent->guests);
    agent_words_done(agent);
    agent_claim_back(agent, agent->claims.bytes);
    loop_account_drop(&agent->time.account);
    free(agent);
}
