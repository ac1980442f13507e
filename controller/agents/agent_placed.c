/* Queries about an agent's attempts: agent_attempts.h. */
#include "controller/agents/agent.h"

void agent_attempts_restore(struct agent *agent, bool used)
{
    agent->attempts.used = used;
}

const char *agent_no_room(const struct agent *agent)
{
    return agent->attempts.no_room;
}

void agent_say_room(struct agent *agent, const char *why)
{
    wire_copy(agent->attempts.no_room, sizeof(agent->attempts.no_room), why);
}

bool agent_was_used(const struct agent *agent)
{
    return agent->attempts.used;
}

const struct agent *agent_of_attempt(const struct agents *agents, uint64_t attempt)
{
    const struct placed_attempt *placed;
    HASH_FIND(by_number, agents->attempts.placed, &attempt, sizeof(attempt), placed);
    return placed ? placed->agent : NULL;
}

void agent_attempt_received(struct agent *agent, int64_t now_ns, uint64_t attempt, uint64_t bytes)
{
    struct placed_attempt *placed;
    HASH_FIND(hh, agent->attempts.placed, &attempt, sizeof(attempt), placed);
    if (placed)
        attempt_rate_take(&placed->rate, now_ns, bytes);
}

int64_t agents_attempt_bps(const struct agents *agents, uint64_t attempt, int64_t now_ns)
{
    const struct placed_attempt *placed;
    HASH_FIND(by_number, agents->attempts.placed, &attempt, sizeof(attempt), placed);
    return placed ? attempt_rate_bps(&placed->rate, now_ns) : -1;
}

bool agent_brings_task_of(const struct agent *agent, uint64_t job)
{
    const struct agent_attempts *attempts = &agent->attempts;
    for (uint32_t i = 0; attempts->inventory == INVENTORY_PARKED && i < attempts->n_seen; i++)
        if (attempts->seen[i].job == job &&
            attempts->seen[i].phase <= duopoly_AttemptPhase_PHASE_COMPUTING)
            return true;
    return false;
}
