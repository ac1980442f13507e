/* What agents claim to have without having been given it: attempts in their inventories,
 * applications of guests. A claim is counted before it is kept, by its largest size (agent.h), for
 * each agent and in sum (claims_bytes). An agent may claim as much as is left for all others
 * together, so one alone gets half, and later ones still get a share. What is beyond is cut: not
 * kept, counted, logged rarely, and shown in `hosts`; an attempt that is cut is told to stop, since
 * nothing here would know that it runs. */
#include "controller/agents/agent.h"

#include "lib/invariant.h"
#include "lib/log.h"

#include <inttypes.h>

static bool admits(const struct agent *agent, uint64_t bytes)
{
    const struct agents *agents = agent->agents;
    uint64_t most = agents->config.claims_bytes, left = most - agents->claimed_bytes;
    if (!most)
        return true;
    return agents->claimed_bytes < most && bytes <= left && agent->claims.bytes + bytes <= left;
}

void agent_claim_add(struct agent *agent, uint64_t bytes)
{
    agent->claims.bytes += bytes;
    agent->agents->claimed_bytes += bytes;
}

bool agent_claim(struct agent *agent, uint64_t bytes)
{
    bool may = admits(agent, bytes);
    if (may)
        agent_claim_add(agent, bytes);
    return may;
}

void agent_claim_back(struct agent *agent, uint64_t bytes)
{
    assert(agent->claims.bytes >= bytes && agent->agents->claimed_bytes >= bytes);
    agent->claims.bytes -= bytes;
    agent->agents->claimed_bytes -= bytes;
}

void agent_claim_cut(struct agent *agent, uint64_t things, const char *what)
{
    struct agent_claims *claims = &agent->claims;
    claims->cut += things;
    claims->about = what;
    if (rarely_say(&claims->said, agent_who(agent)->name, (uint64_t)agent_heard_ns(agent) / 1000))
        log_of(agent_who(agent)->name, LOG_LEVEL_WARNING, LOG_FAULT_PEER,
               "agent %s claims more than may be kept of it (bounds.claims), and it is cut: %s "
               "(%" PRIu64 " so far)",
               agent_who(agent)->name, what, claims->cut);
}
