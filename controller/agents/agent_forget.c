#include "controller/agents/agent.h"

#include "lib/log.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

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

static void host_tell(struct agent *agent)
{
    struct event event = {.kind = EVENT_HOST_FORGET};
    event.host.host = agent->host;
    if (agent->joined)
        agent->agents->hooks.event(agent->agents->hooks.user, &event);
}

static void agent_dismiss(struct agent *agent)
{
    struct agents *agents = agent->agents;
    const uint32_t executors = agent->executors;
    char name[sizeof(agent->name)];
    const struct resting_index index = {agent->host, agent->used ? 0 : agent->newest_job,
                                        agents->hooks.newest_job(agents->hooks.user)};
    bool is_switch = agent->is_switch;
    agents->counters.forgotten++;
    if (!is_switch)
        host_tell(agent);
    strcpy(name, agent->name);
    agent_remove(agent);
    if (is_switch)
        return;
    if (executors)
        agent_unmark(agents, name, index.host, executors);
    else
        agent_index_rest(agents, &index);
    agents->hooks.host_moved(agents->hooks.user, index.host);
}

void agent_watch_forgetting(struct agent *agent, int64_t now_ns)
{
    struct agents *agents = agent->agents;
    if (agent->used)
        return;
    timers_arm(agents->timers, &agent->watch,
               agent->joined ? agent->heard_ns + agents->config.forget_ns : now_ns);
}

void agent_forget_unused(struct agent *agent)
{
    log_note("%s brought nothing and has been silent for %" PRId64 " s: its name is forgotten",
             agent->name, agent->agents->config.forget_ns / 1000000000);
    agent_dismiss(agent);
}

int agents_forget_name(struct agents *agents, const char *name)
{
    struct agent *agent = agent_find(agents, name);
    if (!agent)
        return -ENOENT;
    if (agent->open || agent->unmarked)
        return -EBUSY;
    agent_await_no_more(agent);
    agent_dismiss(agent);
    agents_resync_done(agents);
    return 0;
}
