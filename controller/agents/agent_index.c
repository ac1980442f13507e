/* Indexes of hosts. One is given again when no job lives that may mean the host which had it: none that
 * was submitted while the name was known, and none at all that is as old or older if something ran
 * there. */
#include "controller/agents/agent.h"

static struct resting_index *first_resting(const struct agents *agents)
{
    return &agents->resting[agents->first_resting % agents->config.hosts_max];
}

/* No job that is alive can mean the host that had this index before. */
static bool has_rested(const struct agents *agents)
{
    const struct resting_index *index = first_resting(agents);
    return agents->n_resting &&
           !agents->hooks.jobs_between(agents->hooks.user, index->after, index->until);
}

bool agent_index_left(const struct agents *agents)
{
    return agents->n_free || has_rested(agents) || agents->n_indexes < agents->config.hosts_max;
}

uint32_t agent_index_take(struct agents *agents)
{
    if (agents->n_free)
        return agents->free[--agents->n_free];
    if (!has_rested(agents))
        return agents->n_indexes++;
    agents->n_resting--;
    return agents->resting[agents->first_resting++ % agents->config.hosts_max].host;
}

void agent_index_rest(struct agents *agents, const struct resting_index *index)
{
    if (index->after == index->until) {
        agents->free[agents->n_free++] = index->host;
        return;
    }
    uint32_t at = (agents->first_resting + agents->n_resting++) % agents->config.hosts_max;
    agents->resting[at] = *index;
}

const struct resting_index *agent_index_resting(const struct agents *agents, uint32_t host)
{
    for (uint32_t i = 0; i < agents->n_resting; i++) {
        uint32_t at = (agents->first_resting + i) % agents->config.hosts_max;
        if (agents->resting[at].host == host)
            return &agents->resting[at];
    }
    return NULL;
}
