/* When a message is acknowledged: once the engine has taken it, and, if what it says is to outlive the
 * controller, once the store has too.
 *
 * What is to last waits for everything that was handed to the store so far, not only for its own
 * rows: what a second session repeats may be in the engine already and not yet on the disk. */
#include "controller/agents/agent.h"

#include "lib/log.h"

#include <stdlib.h>

static void settle_add(struct agent *agent, uint64_t sequence, bool lasting)
{
    if (!agent->settling)
        STAILQ_INSERT_TAIL(&agent->agents->settle, agent, settle_link);
    agent->settling = true;
    agent->settle_sequence = sequence;
    agent->settle_lasting = lasting;
}

void agent_settle_later(struct agent *agent, uint64_t sequence)
{
    settle_add(agent, sequence, true);
}

void agent_settle_soon(struct agent *agent, uint64_t sequence)
{
    settle_add(agent, sequence, false);
}

void agent_settle_drop(struct agent *agent)
{
    free(agent->uncommitted);
    agent->uncommitted = NULL;
    agent->first_uncommitted = agent->n_uncommitted = agent->uncommitted_size = 0;
}

static bool ring_grow(struct agent *agent)
{
    uint32_t size = agent->uncommitted_size ? 2 * agent->uncommitted_size : 16;
    struct uncommitted *ring = calloc(size, sizeof(*ring));
    if (!ring)
        return false;
    for (uint32_t i = 0; i < agent->n_uncommitted; i++)
        ring[i] = agent->uncommitted[(agent->first_uncommitted + i) % agent->uncommitted_size];
    free(agent->uncommitted);
    agent->uncommitted = ring;
    agent->uncommitted_size = size;
    agent->first_uncommitted = 0;
    return true;
}

/* At most WIRE_WINDOW wait: the session takes no more without an acknowledgement. */
static void commit_later(struct agent *agent, uint64_t sequence, uint64_t ticket)
{
    struct agents *agents = agent->agents;
    if (agent->n_uncommitted == agent->uncommitted_size && !ring_grow(agent)) {
        log_error(LOG_FAULT_US, "out of memory: the session with agent %s ends", agent->name);
        agent_end(agent, duopoly_Reason_REASON_LIMIT, "the controller is out of memory");
        return;
    }
    uint32_t at = (agent->first_uncommitted + agent->n_uncommitted++) % agent->uncommitted_size;
    agent->uncommitted[at] = (struct uncommitted){sequence, ticket};
    if (!agent->committing)
        STAILQ_INSERT_TAIL(&agents->commit, agent, commit_link);
    agent->committing = true;
}

static void acknowledge(struct agent *agent)
{
    struct agents *agents = agent->agents;
    if (agent->open && wire_session_owes(&agent->session))
        agent_send(agent, wire_begin(&agents->out, duopoly_Envelope_acknowledge_tag), false);
}

void agents_settle(struct agents *agents, uint64_t ticket)
{
    struct agent *agent;
    while ((agent = STAILQ_FIRST(&agents->settle))) {
        STAILQ_REMOVE_HEAD(&agents->settle, settle_link);
        agent->settling = false;
        if (!agent->open)
            continue;
        if (agent->settle_sequence && agent->settle_lasting && ticket > agents->committed) {
            commit_later(agent, agent->settle_sequence, ticket);
            continue;
        }
        wire_session_effected(&agent->session, agent->settle_sequence);
        acknowledge(agent);
    }
}

static void agent_commit(struct agent *agent, uint64_t ticket)
{
    while (agent->n_uncommitted) {
        const struct uncommitted *first = &agent->uncommitted[agent->first_uncommitted];
        if (first->ticket > ticket)
            return;
        wire_session_effected(&agent->session, first->sequence);
        agent->first_uncommitted = (agent->first_uncommitted + 1) % agent->uncommitted_size;
        agent->n_uncommitted--;
    }
}

void agents_committed(struct agents *agents, uint64_t ticket)
{
    STAILQ_HEAD(, agent) waiting = STAILQ_HEAD_INITIALIZER(waiting);
    struct agent *agent;
    agents->committed = ticket;
    STAILQ_CONCAT(&waiting, &agents->commit);
    while ((agent = STAILQ_FIRST(&waiting))) {
        STAILQ_REMOVE_HEAD(&waiting, commit_link);
        agent->committing = false;
        agent_commit(agent, ticket);
        if (agent->n_uncommitted) {
            STAILQ_INSERT_TAIL(&agents->commit, agent, commit_link);
            agent->committing = true;
        }
        acknowledge(agent);
    }
}
