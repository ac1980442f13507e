/* Acknowledges a message when the engine has taken it and, if its content must survive a restart,
 * when the store has it too.
 *
 * Such a message waits for everything handed to the store so far, not only for its own rows: a
 * repetition in a second session may be in the engine already and not yet on the disk. */
#include "controller/agents/agent.h"

#include "lib/invariant.h"
#include "lib/log.h"

#include <stdlib.h>

static void settle_add(struct agent *agent, uint64_t sequence, bool lasting)
{
    if (!agent->session.settling.listed)
        STAILQ_INSERT_TAIL(&agent->agents->sessions.settle, agent, session.settling.link);
    agent->session.settling.listed = true;
    agent->session.settling.sequence = sequence;
    agent->session.settling.lasting = lasting;
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
    struct agent_settling *settling = &agent->session.settling;
    free(settling->ring);
    settling->ring = NULL;
    settling->first = settling->n = settling->size = 0;
}

void agent_settle_done(struct agent *agent)
{
    struct agents_sessions *sessions = &agent->agents->sessions;
    if (agent->session.settling.listed)
        STAILQ_REMOVE(&sessions->settle, agent, agent, session.settling.link);
    if (agent->session.settling.committing)
        STAILQ_REMOVE(&sessions->commit, agent, agent, session.settling.commit_link);
}

static bool ring_grow(struct agent_settling *settling)
{
    uint32_t size = settling->size ? 2 * settling->size : 16;
    struct uncommitted *ring = calloc(size, sizeof(*ring));
    if (!ring)
        return false;
    for (uint32_t i = 0; i < settling->n; i++)
        ring[i] = settling->ring[(settling->first + i) % settling->size];
    free(settling->ring);
    settling->ring = ring;
    settling->size = size;
    settling->first = 0;
    return true;
}

/* At most WIRE_WINDOW wait: the session takes no more without an acknowledgement. */
static void commit_later(struct agent *agent, uint64_t sequence, uint64_t ticket)
{
    struct agent_settling *settling = &agent->session.settling;
    if (settling->n == settling->size && !ring_grow(settling)) {
        log_error(LOG_FAULT_US, "out of memory: the session with agent %s ends",
                  agent_who(agent)->name);
        agent_end(agent, duopoly_Reason_REASON_LIMIT, "the controller is out of memory");
        return;
    }
    assert(settling->n < settling->size && settling->n < WIRE_WINDOW);
    uint32_t at = (settling->first + settling->n++) % settling->size;
    settling->ring[at] = (struct uncommitted){sequence, ticket};
    if (!settling->committing)
        STAILQ_INSERT_TAIL(&agent->agents->sessions.commit, agent, session.settling.commit_link);
    settling->committing = true;
}

static void acknowledge(struct agent *agent)
{
    struct agents *agents = agent->agents;
    if (agent->session.open && wire_session_owes(&agent->session.wire))
        agent_send(agent, wire_begin(&agents->out, duopoly_Envelope_acknowledge_tag), false);
}

void agents_settle(struct agents *agents, uint64_t ticket)
{
    struct agent *agent;
    while ((agent = STAILQ_FIRST(&agents->sessions.settle))) {
        STAILQ_REMOVE_HEAD(&agents->sessions.settle, session.settling.link);
        agent->session.settling.listed = false;
        if (!agent->session.open)
            continue;
        if (agent->session.settling.sequence && agent->session.settling.lasting &&
            ticket > agents->sessions.committed) {
            commit_later(agent, agent->session.settling.sequence, ticket);
            continue;
        }
        wire_session_effected(&agent->session.wire, agent->session.settling.sequence);
        acknowledge(agent);
    }
}

bool agents_wait(const struct agents *agents)
{
    return !STAILQ_EMPTY(&agents->sessions.commit);
}

static void agent_commit(struct agent *agent, uint64_t ticket)
{
    struct agent_settling *settling = &agent->session.settling;
    for (; settling->n; settling->n--) {
        const struct uncommitted *first = &settling->ring[settling->first];
        if (first->ticket > ticket)
            return;
        wire_session_effected(&agent->session.wire, first->sequence);
        settling->first = (settling->first + 1) % settling->size;
    }
}

void agents_committed(struct agents *agents, uint64_t ticket)
{
    STAILQ_HEAD(, agent) waiting = STAILQ_HEAD_INITIALIZER(waiting);
    struct agent *agent;
    assert(ticket >= agents->sessions.committed);
    agents->sessions.committed = ticket;
    STAILQ_CONCAT(&waiting, &agents->sessions.commit);
    while ((agent = STAILQ_FIRST(&waiting))) {
        STAILQ_REMOVE_HEAD(&waiting, session.settling.commit_link);
        agent->session.settling.committing = false;
        agent_commit(agent, ticket);
        if (agent->session.settling.n) {
            STAILQ_INSERT_TAIL(&agents->sessions.commit, agent, session.settling.commit_link);
            agent->session.settling.committing = true;
        }
        acknowledge(agent);
    }
}
