/* Indexes of hosts. An index is reused when no live job can refer to its former host: no job
 * submitted while the name was known, and, if something ever ran there, no job as old or older. */
#include "controller/agents/agent.h"

#include <errno.h>
#include <stdlib.h>

int agents_indexes_begin(struct agents_indexes *indexes, uint32_t hosts_max)
{
    indexes->free = calloc(hosts_max, sizeof(indexes->free[0]));
    indexes->resting = calloc(hosts_max, sizeof(indexes->resting[0]));
    return indexes->free && indexes->resting ? 0 : -ENOMEM;
}

void agents_indexes_done(struct agents_indexes *indexes)
{
    free(indexes->free);
    free(indexes->resting);
}

static struct resting_index *first_resting(const struct agents *agents)
{
    return &agents->indexes.resting[agents->indexes.first_resting % agents->config.hosts_max];
}

/* No live job can refer to the host that had this index before. */
static bool has_rested(const struct agents *agents)
{
    const struct resting_index *index = first_resting(agents);
    return agents->indexes.n_resting &&
           !agents->hooks.jobs_between(agents->hooks.user, index->after, index->until);
}

bool agent_index_left(const struct agents *agents)
{
    return agents->indexes.n_free || has_rested(agents) ||
           agents->indexes.n < agents->config.hosts_max;
}

uint32_t agent_index_take(struct agents *agents)
{
    if (agents->indexes.n_free)
        return agents->indexes.free[--agents->indexes.n_free];
    if (!has_rested(agents))
        return agents->indexes.n++;
    agents->indexes.n_resting--;
    return agents->indexes.resting[agents->indexes.first_resting++ % agents->config.hosts_max].host;
}

void agent_index_rest(struct agents *agents, const struct resting_index *index)
{
    if (index->after == index->until) {
        agents->indexes.free[agents->indexes.n_free++] = index->host;
        return;
    }
    uint32_t at =
        (agents->indexes.first_resting + agents->indexes.n_resting++) % agents->config.hosts_max;
    agents->indexes.resting[at] = *index;
}

const struct resting_index *agent_index_resting(const struct agents *agents, uint32_t host)
{
    for (uint32_t i = 0; i < agents->indexes.n_resting; i++) {
        uint32_t at = (agents->indexes.first_resting + i) % agents->config.hosts_max;
        if (agents->indexes.resting[at].host == host)
            return &agents->indexes.resting[at];
    }
    return NULL;
}

bool agent_index_restore(struct agents *agents, uint32_t host)
{
    if (host < agents->indexes.n || host >= agents->config.hosts_max)
        return false;
    /* The indexes between are free for new hosts. */
    while (agents->indexes.n < host)
        agents->indexes.free[agents->indexes.n_free++] = agents->indexes.n++;
    agents->indexes.n++;
    return true;
}
