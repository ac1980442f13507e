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
    const struct agent *agent = agent_of_index(agents, host);
    if (!agent)
        return resting_kept(agents, host, ret_kept);
    if (agent_who(agent)->unmarked)
        return -ENOENT;
    const struct agent_identity *who = agent_who(agent);
    *ret_kept = (struct agent_kept){
        .host = host,
        .boot = who->joined ? who->joined_boot : 0,
        .n_units = who->n_units,
        .uplink_bps = who->uplink_bps,
        .downlink_bps = who->downlink_bps,
        .lost = who->lost,
        .used = agent_was_used(agent),
        .after = who->newest_job,
    };
    strcpy(ret_kept->name, who->name);
    strcpy(ret_kept->rack, who->rack);
    strcpy(ret_kept->labels, who->labels);
    memcpy(ret_kept->address, who->address, sizeof(who->address));
    memcpy(ret_kept->units, who->units, sizeof(who->units));
    return 0;
}

static int agent_restore(struct agents *agents, int64_t now_ns, const struct agent_kept *kept)
{
    struct agent *agent = agent_add_kept(agents, kept->name, kept->host);
    if (!agent)
        return -ENOMEM;
    agent_identity_restore(agent, kept);
    agent_attempts_restore(agent, kept->used);
    agent_hear(agent, now_ns);
    if (agent_who(agent)->lost) {
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
    if (!agent_index_restore(agents, kept->host))
        return -EINVAL;
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
