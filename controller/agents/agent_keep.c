#include "controller/agents/agent.h"

#include <errno.h>
#include <string.h>

static int resting_kept(const struct agents *agents, uint32_t host, struct agent_kept *ret_kept)
{
    const struct resting_index *index = agent_index_resting(agents, host);
    if (!index)
        return -ENOENT;
    *ret_kept = (struct agent_kept){.host = host, .after = index->after, .until = index->until};
    return 0;
}

int agents_kept(const struct agents *agents, uint32_t host, struct agent_kept *ret_kept)
{
    const struct agent *agent = host < agents->n_indexes ? agents->hosts[host] : NULL;
    if (!agent)
        return resting_kept(agents, host, ret_kept);
    if (agent->unmarked)
        return -ENOENT;
    *ret_kept = (struct agent_kept){
        .host = host,
        .boot = agent->joined ? agent->joined_boot : 0,
        .n_units = agent->n_units,
        .uplink_bps = agent->uplink_bps,
        .downlink_bps = agent->downlink_bps,
        .lost = agent->lost,
        .used = agent_was_used(agent),
        .after = agent->newest_job,
    };
    strcpy(ret_kept->name, agent->name);
    strcpy(ret_kept->rack, agent->rack);
    strcpy(ret_kept->labels, agent->labels);
    memcpy(ret_kept->address, agent->address, sizeof(agent->address));
    memcpy(ret_kept->units, agent->units, sizeof(agent->units));
    return 0;
}

static void described(struct agent *agent, const struct agent_kept *kept)
{
    agent->boot = agent->joined_boot = kept->boot;
    agent->joined = kept->boot != 0;
    agent->silent = agent->joined;
    agent->lost = kept->lost;
    agent->newest_job = kept->after;
    agent->n_units = kept->n_units;
    agent->uplink_bps = kept->uplink_bps;
    agent->downlink_bps = kept->downlink_bps;
    strcpy(agent->rack, kept->rack);
    strcpy(agent->labels, kept->labels);
    memcpy(agent->units, kept->units, sizeof(agent->units));
    agent_set_address(agent, kept->address);
}

static int agent_restore(struct agents *agents, int64_t now_ns, const struct agent_kept *kept)
{
    struct agent *agent = agent_add_kept(agents, kept->name, kept->host);
    if (!agent)
        return -ENOMEM;
    described(agent, kept);
    agent_attempts_restore(agent, kept->used);
    agent_hear(agent, now_ns);
    if (agent->lost) {
        agent_watch_forgetting(agent, now_ns);
        return 0;
    }
    agent_await(agent);
    timers_arm(agents->timers, &agent->watch, now_ns + agents->config.host_lost_ns);
    return 0;
}

static int index_restore(struct agents *agents, int64_t now_ns, const struct agent_kept *kept)
{
    const struct resting_index index = {kept->host, kept->after, kept->until};
    if (kept->host < agents->n_indexes || kept->host >= agents->config.hosts_max)
        return -EINVAL;
    /* Between them are those that any new host may get. */
    while (agents->n_indexes < kept->host)
        agents->free[agents->n_free++] = agents->n_indexes++;
    agents->n_indexes++;
    if (*kept->name)
        return agent_restore(agents, now_ns, kept);
    agent_index_rest(agents, &index);
    return 0;
}

int agents_restore(struct agents *agents, int64_t now_ns, const struct agent_kept *kept, size_t n)
{
    int r = 0;
    for (size_t i = 0; i < n && r == 0; i++)
        r = index_restore(agents, now_ns, &kept[i]);
    agents_resync_begin(agents, now_ns);
    return r;
}
