/* Bytes sent to agents and not answered yet: ZeroMQ queues at most this much, since an agent
 * answers what it has read.
 *
 * Exact sums would need the size of every message on its way. An upper bound needs two sums: what
 * was sent up to a mark, and since. When the agent has answered up to the mark, the first is gone,
 * the second takes its place, and the mark moves on. */
#include "controller/agents/agent.h"

#include "lib/invariant.h"
#include "lib/log.h"

#include <inttypes.h>

static uint64_t bytes_of(const struct agent *agent)
{
    return agent->session.unanswered.before + agent->session.unanswered.since;
}

void agent_unanswered_drop(struct agent *agent)
{
    assert(agent->agents->sessions.unanswered_bytes >= bytes_of(agent));
    agent->agents->sessions.unanswered_bytes -= bytes_of(agent);
    agent->session.unanswered = (struct agent_unanswered){0};
}

void agent_unanswered_settle(struct agent *agent)
{
    struct agent_unanswered *u = &agent->session.unanswered;
    if (agent->session.wire.answered == agent->session.wire.sent) {
        agent_unanswered_drop(agent);
    } else if (agent->session.wire.answered >= u->mark) {
        assert(agent->agents->sessions.unanswered_bytes >= u->before);
        agent->agents->sessions.unanswered_bytes -= u->before;
        *u = (struct agent_unanswered){.mark = agent->session.wire.sent, .before = u->since};
    }
}

static struct agent *slowest_of(const struct agents *agents)
{
    struct agent *slowest = NULL, *agent, *next;
    AGENTS_EACH_SESSION (agents, agent, next)
        if (!slowest || bytes_of(agent) > bytes_of(slowest))
            slowest = agent;
    return slowest;
}

struct agent *agent_unanswered_add(struct agent *agent, size_t bytes)
{
    struct agents *agents = agent->agents;
    agent->session.unanswered.since += bytes;
    agents->sessions.unanswered_bytes += bytes;
    if (agents->sessions.unanswered_bytes <= agents->config.unanswered_bytes)
        return NULL;
    struct agent *slowest = slowest_of(agents);
    log_warning(LOG_FAULT_PEER,
                "%" PRIu64 " bytes are unanswered by agents, more than bounds.unanswered: the "
                "session of %s, which has %" PRIu64 " of them, ends",
                agents->sessions.unanswered_bytes, agent_who(slowest)->name, bytes_of(slowest));
    agents->counters.slow++;
    return slowest;
}
