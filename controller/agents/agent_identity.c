/* Who an agent is: in the tables of names, indexes and addresses, and what the engine was told of it. */
#include "controller/agents/agent.h"

#include <string.h>

/* Where `name` stands, or belongs, in agents->order. */
static uint32_t order_place(const struct agents *agents, const char *name)
{
    uint32_t low = 0, high = agents->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (strverscmp(agents->order[middle]->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint32_t host_place(const struct agents *agents, const char *name)
{
    uint32_t low = 0, high = agents->n_hosts;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (strverscmp(agents->hosts[agents->host_order[middle]]->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void host_order_add(struct agents *agents, const struct agent *agent)
{
    uint32_t place = host_place(agents, agent->name);
    memmove(&agents->host_order[place + 1], &agents->host_order[place],
            (agents->n_hosts - place) * sizeof(agents->host_order[0]));
    agents->host_order[place] = agent->host;
    agents->n_hosts++;
}

static void host_order_remove(struct agents *agents, const struct agent *agent)
{
    uint32_t place = host_place(agents, agent->name);
    memmove(&agents->host_order[place], &agents->host_order[place + 1],
            (--agents->n_hosts - place) * sizeof(agents->host_order[0]));
}

void agent_table_insert(struct agents *agents, struct agent *agent, uint32_t host)
{
    uint32_t place = order_place(agents, agent->name);
    memmove(&agents->order[place + 1], &agents->order[place],
            (agents->n - place) * sizeof(agents->order[0]));
    agents->order[place] = agent;
    agents->n++;
    HASH_ADD(by_name, agents->names, name, strlen(agent->name), agent);
    agent->host = host;
    if (agent->is_switch) {
        agents->n_switches++;
        return;
    }
    agents->hosts[host] = agent;
    if (agent->unmarked)
        agents->n_unmarked++;
    else
        host_order_add(agents, agent);
}

static void address_drop(struct agent *agent)
{
    if (agent->addressed)
        HASH_DELETE(by_address, agent->agents->addresses, agent);
    agent->addressed = false;
}

void agent_table_remove(struct agent *agent)
{
    struct agents *agents = agent->agents;
    address_drop(agent);
    uint32_t place = order_place(agents, agent->name);
    memmove(&agents->order[place], &agents->order[place + 1],
            (--agents->n - place) * sizeof(agents->order[0]));
    HASH_DELETE(by_name, agents->names, agent);
    if (agent->is_switch) {
        agents->n_switches--;
        return;
    }
    if (agent->unmarked)
        agents->n_unmarked--;
    else
        host_order_remove(agents, agent);
    agents->hosts[agent->host] = NULL;
}

struct agent *agent_find(const struct agents *agents, const char *name)
{
    struct agent *agent;
    HASH_FIND(by_name, agents->names, name, strlen(name), agent);
    return agent;
}

struct agent *agent_at_address(const struct agents *agents, const uint8_t *address)
{
    struct agent *agent;
    HASH_FIND(by_address, agents->addresses, address, sizeof(agent->address), agent);
    return agent;
}

void agent_set_address(struct agent *agent, const uint8_t *address)
{
    static const uint8_t none[sizeof(agent->address)];
    struct agents *agents = agent->agents;
    struct agent *other = agent_at_address(agents, address);
    address_drop(agent);
    memcpy(agent->address, address, sizeof(agent->address));
    if (agent->is_switch || memcmp(address, none, sizeof(none)) == 0)
        return;
    if (other && other != agent)
        address_drop(other);
    HASH_ADD(by_address, agents->addresses, address, sizeof(agent->address), agent);
    agent->addressed = true;
}

void agent_marked(struct agent *agent)
{
    struct agents *agents = agent->agents;
    agent->unmarked = false;
    agents->n_unmarked--;
    host_order_add(agents, agent);
    agent->newest_job = agents->hooks.newest_job(agents->hooks.user);
    agents->hooks.host_moved(agents->hooks.user, agent->host);
}

void agent_tell_host(struct agent *agent, enum event_kind kind)
{
    struct event event = {.kind = kind};
    agent->silent = kind != EVENT_HOST_BACK;
    agent->lost |= kind == EVENT_HOST_LOST;
    if (agent->is_switch)
        return;
    event.host.host = agent->host;
    agent->agents->hooks.event(agent->agents->hooks.user, &event);
    if (kind == EVENT_HOST_LOST)
        agent->agents->hooks.host_moved(agent->agents->hooks.user, agent->host);
}

static void join_tell(struct agent *agent, enum event_kind kind)
{
    struct event event = {.kind = kind};
    agent->joined = true;
    agent->joined_boot = agent->boot;
    agent->changed = false;
    if (agent->is_switch)
        return;
    event.host_join.host = agent->host;
    event.host_join.generation = agent->boot;
    event.host_join.name = agent->name;
    event.host_join.rack = agent->rack;
    event.host_join.labels = agent->labels;
    event.host_join.uplink_bps = agent->uplink_bps;
    event.host_join.downlink_bps = agent->downlink_bps;
    event.host_join.units.at = agent->units;
    event.host_join.units.n = agent->n_units * ENGINE_RESOURCES;
    agent->agents->hooks.event(agent->agents->hooks.user, &event);
    agent->agents->hooks.host_moved(agent->agents->hooks.user, agent->host);
}

void agent_tell_join(struct agent *agent)
{
    if (!agent->joined || agent->lost || agent->joined_boot != agent->boot) {
        join_tell(agent, EVENT_HOST_JOIN);
        agent->silent = agent->lost = false;
        return;
    }
    if (agent->changed)
        join_tell(agent, EVENT_HOST_CHANGE);
    if (agent->silent)
        agent_tell_host(agent, EVENT_HOST_BACK);
}
