#include "controller/agents/agent.h"

#include "lib/log.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static void host_tell(struct agent *agent)
{
    struct event event = {.kind = EVENT_HOST_FORGET};
    event.host.host = agent_who(agent)->host;
    if (agent_who(agent)->joined)
        agent->agents->hooks.event(agent->agents->hooks.user, &event);
}

static void agent_dismiss(struct agent *agent)
{
    struct agents *agents = agent->agents;
    const uint32_t executors = agent->executors;
    char name[sizeof(agent_who(agent)->name)];
    const struct resting_index index = {agent_who(agent)->host,
                                        agent_was_used(agent) ? 0 : agent_who(agent)->newest_job,
                                        agents->hooks.newest_job(agents->hooks.user)};
    bool is_switch = agent_who(agent)->is_switch;
    agents->counters.forgotten++;
    if (!is_switch)
        host_tell(agent);
    strcpy(name, agent_who(agent)->name);
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
    if (agent_was_used(agent))
        return;
    timers_arm(agents->timers, &agent->watch,
               agent_who(agent)->joined ? agent_heard_ns(agent) + agents->config.forget_ns
                                        : now_ns);
}

void agent_forget_unused(struct agent *agent)
{
    log_note("%s brought nothing and has been silent for %" PRId64 " s: its name is forgotten",
             agent_who(agent)->name, agent->agents->config.forget_ns / 1000000000);
    agent_dismiss(agent);
}

int agents_may_forget(const struct agents *agents, const char *name)
{
    const struct agent *agent = agent_find(agents, name);
    if (!agent)
        return -ENOENT;
    return agent_is_open(agent) || agent_who(agent)->unmarked ? -EBUSY : 0;
}

int agents_forget_name(struct agents *agents, const char *name)
{
    struct agent *agent = agent_find(agents, name);
    int r = agents_may_forget(agents, name);
    if (r < 0)
        return r;
    agent_await_no_more(agent);
    agent_dismiss(agent);
    agents_resync_done(agents);
    return 0;
}
