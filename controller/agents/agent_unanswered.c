/* What was sent to agents and not answered yet, in bytes: ZeroMQ holds no more of it than this, since
 * an agent answers what it has read.
 *
 * Exact sums would need the size of every message on its way. An upper bound needs two sums: what
 * was sent up to a mark, and since. When the agent has answered up to the mark, the first is gone,
 * the second takes its place, and the mark moves on. */
#include "controller/agents/agent.h"

#include "lib/log.h"

#include <inttypes.h>

static uint64_t bytes_of(const struct agent *agent)
{
    return agent->unanswered.before + agent->unanswered.since;
}

void agent_unanswered_drop(struct agent *agent)
{
    agent->agents->unanswered_bytes -= bytes_of(agent);
    agent->unanswered = (struct agent_unanswered){0};
}

void agent_unanswered_settle(struct agent *agent)
{
    struct agent_unanswered *u = &agent->unanswered;
    if (agent->session.answered == agent->session.sent) {
        agent_unanswered_drop(agent);
    } else if (agent->session.answered >= u->mark) {
        agent->agents->unanswered_bytes -= u->before;
        *u = (struct agent_unanswered){.mark = agent->session.sent, .before = u->since};
    }
}

static struct agent *slowest_of(const struct agents *agents)
{
    struct agent *slowest = NULL, *agent, *next;
    HASH_ITER (by_peer, agents->peers, agent, next)
        if (!slowest || bytes_of(agent) > bytes_of(slowest))
            slowest = agent;
    return slowest;
}

struct agent *agent_unanswered_add(struct agent *agent, size_t bytes)
{
    struct agents *agents = agent->agents;
    agent->unanswered.since += bytes;
    agents->unanswered_bytes += bytes;
    if (agents->unanswered_bytes <= agents->config.unanswered_bytes)
        return NULL;
    struct agent *slowest = slowest_of(agents);
    log_warning(LOG_FAULT_PEER,
                "%" PRIu64 " bytes are unanswered by agents, more than bounds.unanswered: the "
                "session of %s, who has %" PRIu64 " of them, ends",
                agents->unanswered_bytes, slowest->name, bytes_of(slowest));
    agents->counters.slow++;
    return slowest;
}
