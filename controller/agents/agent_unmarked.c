/* Hosts without an agent: a framework's executors run there; nothing else is known of them. Such a
 * host has a name, an index and, in the engine, empty units; it is never silent, and nothing of it
 * is kept over a restart, since the framework names it again. It is removed after its last
 * executor, when the engine needs nothing of it. When an agent with its name or its address comes,
 * the two become one. */
#include "controller/agents/agent.h"

#include "lib/log.h"

static void look_later(struct agent *agent, int64_t now_ns)
{
    struct agents *agents = agent->agents;
    timers_arm(agents->timers, &agent->watch, now_ns + agents->config.heartbeat_ns);
}

static void event_tell(struct agent *agent, enum event_kind kind)
{
    struct event event = {.kind = kind};
    event.host.host = agent_who(agent)->host;
    agent->agents->hooks.event(agent->agents->hooks.user, &event);
}

static struct agent *unmarked_add(struct agents *agents, const char *name, const uint8_t *address)
{
    bool possible = wire_name_valid(name) && agents_room_for(agents, AGENT_IS_NONE);
    struct agent *agent =
        possible ? agent_add_unmarked(agents, name, agent_index_take(agents)) : NULL;
    if (!agent)
        return NULL;
    if (address)
        agent_set_address(agent, address);
    agent_tell_join(agent);
    return agent;
}

/* NULL: there is none. */
static struct agent *claimed(const struct agents *agents, const char *name, const uint8_t *address)
{
    struct agent *agent = agent_find(agents, name);
    if (agent && !agent_who(agent)->is_switch)
        return agent;
    return address ? agent_at_address(agents, address) : NULL;
}

uint32_t agents_claim_host(struct agents *agents, const char *name, const uint8_t *address)
{
    struct agent *agent = claimed(agents, name, address);
    if (!agent && !agent_find(agents, name))
        agent = unmarked_add(agents, name, address);
    if (!agent)
        return ENGINE_NONE;
    agent->executors++;
    return agent_who(agent)->host;
}

void agents_release_host(struct agents *agents, int64_t now_ns, uint32_t host)
{
    struct agent *agent = agent_of_index(agents, host);
    if (!agent || !agent->executors || --agent->executors || !agent_who(agent)->unmarked)
        return;
    look_later(agent, now_ns);
}

void agent_unmarked_look(struct agent *agent, int64_t now_ns)
{
    struct agents *agents = agent->agents;
    const struct resting_index free = {.host = agent_who(agent)->host};
    if (agent->executors)
        return;
    if (agents->hooks.host_needed(agents->hooks.user, agent_who(agent)->host)) {
        look_later(agent, now_ns);
        return;
    }
    event_tell(agent, EVENT_HOST_LOST);
    event_tell(agent, EVENT_HOST_FORGET);
    agent_remove(agent);
    agent_index_rest(agents, &free);
}

/* Its agent goes and executors stay. */
void agent_unmark(struct agents *agents, const char *name, uint32_t host, uint32_t executors)
{
    struct agent *agent = agent_add_unmarked(agents, name, host);
    if (!agent) {
        log_error(LOG_FAULT_US, "out of memory: %s is forgotten with its executors", name);
        return;
    }
    agent->executors = executors;
    agent_tell_join(agent);
}

static void absorb(struct agent *agent, struct agent *unmarked, int64_t now_ns)
{
    const struct agents *agents = agent->agents;
    agent->executors += unmarked->executors;
    unmarked->executors = 0;
    agents->hooks.host_is(agents->hooks.user, agent_who(unmarked)->host, agent_who(agent)->host);
    look_later(unmarked, now_ns);
}

void agent_find_executors(struct agent *agent, int64_t now_ns, const uint8_t *address)
{
    struct agents *agents = agent->agents;
    struct agent *there = agent_at_address(agents, address);
    if (agent_who(agent)->unmarked) {
        timers_disarm(agents->timers, &agent->watch);
        agent_marked(agent);
    }
    if (there && there != agent && agent_who(there)->unmarked && !agent_who(agent)->is_switch)
        absorb(agent, there, now_ns);
}
