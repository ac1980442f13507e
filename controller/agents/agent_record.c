/* An agent's record begins and goes, with all its parts. */
#include "controller/agents/agent.h"

#include <stdlib.h>

static struct agent *agent_make(struct agents *agents, const char *name)
{
    struct agent *agent = calloc(1, sizeof(*agent));
    if (!agent)
        return NULL;
    agent->agents = agents;
    wire_copy(agent->name, sizeof(agent->name), name);
    agent->host = ENGINE_NONE;
    agent_levels_begin(agent);
    agent->watch.fire = agents->upward.watch;
    agent->beat.fire = agents->upward.beat;
    return agent;
}

struct agent *agent_add(struct agents *agents, const char *name, bool is_switch)
{
    struct agent *agent = agent_make(agents, name);
    if (!agent)
        return NULL;
    agent->is_switch = is_switch;
    agent->newest_job = agents->hooks.newest_job(agents->hooks.user);
    agent_table_insert(agents, agent, is_switch ? ENGINE_NONE : agent_index_take(agents));
    if (!is_switch)
        agents->hooks.host_moved(agents->hooks.user, agent->host);
    return agent;
}

struct agent *agent_add_kept(struct agents *agents, const char *name, uint32_t host)
{
    struct agent *agent = agent_make(agents, name);
    if (agent)
        agent_table_insert(agents, agent, host);
    return agent;
}

struct agent *agent_add_unmarked(struct agents *agents, const char *name, uint32_t host)
{
    struct agent *agent = agent_make(agents, name);
    if (!agent)
        return NULL;
    agent->unmarked = true;
    agent->n_units = 1;
    agent_table_insert(agents, agent, host);
    return agent;
}

void agent_free(struct agent *agent)
{
    struct agents *agents = agent->agents;
    agent_attempts_drop(agent);
    timers_disarm(agents->timers, &agent->watch);
    timers_disarm(agents->timers, &agent->beat);
    agent_inventory_drop(agent);
    agent_settle_drop(agent);
    agent_links_done(&agent->links);
    agent_guests_done(&agents->guest_levels, &agent->guests);
    agent_words_done(agent);
    agent_claim_back(agent, agent->claims.bytes);
    free(agent);
}

void agent_remove(struct agent *agent)
{
    agent_table_remove(agent);
    agent_settle_done(agent);
    agent_levels_done(agent);
    agent_free(agent);
}
