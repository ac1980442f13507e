/* Sends in a session and ends it: only agent_end does so, whatever the reason. The other parts are
 * told by agents->upward.over. */
#include "controller/agents/agent.h"

#include "lib/invariant.h"
#include "lib/log.h"

#include <errno.h>
#include <inttypes.h>

void agents_sessions_begin(struct agents_sessions *sessions)
{
    STAILQ_INIT(&sessions->settle);
    STAILQ_INIT(&sessions->commit);
}

void agents_sessions_done(struct agents_sessions *sessions)
{
    HASH_CLEAR(session.by_peer, sessions->peers);
}

struct agent *agent_of_peer(const struct agents *agents, uint64_t peer)
{
    struct agent *agent;
    HASH_FIND(session.by_peer, agents->sessions.peers, &peer, sizeof(peer), agent);
    return agent;
}

void agent_session_begin(struct agent *agent, int64_t now_ns, uint64_t peer, uint32_t version)
{
    struct agents *agents = agent->agents;
    assert(!agent->session.open && !agent_of_peer(agents, peer));
    agent->session.peer = peer;
    agent->session.open = true;
    agent->session.settling.sequence = 0; /* numbers of the old session mean nothing in this one */
    HASH_ADD(session.by_peer, agents->sessions.peers, session.peer, sizeof(peer), agent);
    wire_session_init(&agent->session.wire, version, agents->config.epoch);
    agent_hear(agent, now_ns);
    log_debug("agent %s: session begins, version %" PRIu32 ", boot %016" PRIx64,
              agent_who(agent)->name, version, agent_who(agent)->boot);
}

enum wire_verdict agent_session_accept(struct agent *agent, int64_t now_ns,
                                       const duopoly_Envelope *envelope)
{
    enum wire_verdict verdict = wire_session_accept(&agent->session.wire, envelope);
    agent_hear(agent, now_ns);
    agent_unanswered_settle(agent);
    return verdict;
}

bool agent_is_open(const struct agent *agent)
{
    return agent->session.open;
}

uint64_t agent_peer(const struct agent *agent)
{
    return agent->session.peer;
}

int64_t agent_heard_ns(const struct agent *agent)
{
    return agent->session.heard_ns;
}

void agent_hear(struct agent *agent, int64_t now_ns)
{
    agent->session.heard_ns = now_ns;
}

uint64_t agent_sent(const struct agent *agent)
{
    return agent->session.wire.sent;
}

bool agent_answered(const struct agent *agent, uint64_t sequence)
{
    return agent->session.wire.answered >= sequence;
}

uint64_t agent_unacknowledged(const struct agent *agent)
{
    return agent->session.wire.received - agent->session.wire.effected;
}

/* Ends the session of a peer that does not read, and its connection with what waits for it. */
static void agent_cut(struct agent *agent)
{
    agent->agents->hooks.cut(agent->agents->hooks.user, agent->session.peer);
    agent_end(agent, duopoly_Reason_REASON_NONE, NULL);
}

int agent_send(struct agent *agent, duopoly_Envelope *envelope, bool changes_state)
{
    struct agents *agents = agent->agents;
    if (!agent->session.open)
        return -ENOTCONN;
    int r = wire_session_stamp(&agent->session.wire, envelope, changes_state);
    if (r == 0)
        r = agents->hooks.send(agents->hooks.user, agent->session.peer, envelope);
    if (r < 0) {
        log_of(agent_who(agent)->name, LOG_LEVEL_WARNING, LOG_FAULT_PEER,
               "agent %s takes nothing in any more: its session ends", agent_who(agent)->name);
        agent_cut(agent);
    } else if (changes_state) {
        struct agent *slowest = agent_unanswered_add(agent, wire_length(envelope));
        if (slowest)
            agent_cut(slowest);
    }
    return agent->session.open ? r : -ENOTCONN;
}

static void refused_send(struct agents *agents, uint64_t peer, uint64_t sequence,
                         duopoly_Reason reason, const char *text)
{
    duopoly_Refused *refused =
        &wire_begin(&agents->out, duopoly_Envelope_refused_tag)->body.refused;
    agents->out.epoch = agents->config.epoch;
    refused->reason = reason;
    refused->sequence = sequence;
    wire_copy(refused->text, sizeof(refused->text), text);
    agents->hooks.send(agents->hooks.user, peer, &agents->out);
}

/* Their queues count against no bound, so little may wait for a thousand peers that do not read. */
static bool stranger_may_hear(struct agents *agents, int64_t now_ns)
{
    if (now_ns - agents->sessions.refusals_since_ns >= 1000000000) {
        agents->sessions.refusals_since_ns = now_ns;
        agents->sessions.refusals = 0;
    }
    if (++agents->sessions.refusals <= AGENT_REFUSALS)
        return true;
    agents->counters.unanswered_strangers++;
    return false;
}

void agent_tell_stranger(struct agents *agents, int64_t now_ns, uint64_t peer, uint64_t sequence,
                         duopoly_Reason reason, const char *text)
{
    if (stranger_may_hear(agents, now_ns))
        refused_send(agents, peer, sequence, reason, text);
}

void agent_refuse_stranger(struct agents *agents, int64_t now_ns, uint64_t peer,
                           const duopoly_Envelope *refused, duopoly_Reason reason, const char *text)
{
    agents->counters.refused[refused->which_body]++;
    agent_tell_stranger(agents, now_ns, peer, refused->sequence, reason, text);
}

void agent_refuse(struct agents *agents, uint64_t peer, const duopoly_Envelope *refused,
                  duopoly_Reason reason, const char *text)
{
    agents->counters.refused[refused->which_body % WIRE_KINDS]++;
    refused_send(agents, peer, refused->sequence, reason, text);
}

void agent_end(struct agent *agent, duopoly_Reason reason, const char *text)
{
    struct agents *agents = agent->agents;
    if (!agent->session.open)
        return;
    log_debug("agent %s: session ends: %s", agent_who(agent)->name,
              text ? text : "its connection is over, or another takes its place");
    if (reason != duopoly_Reason_REASON_NONE)
        refused_send(agents, agent->session.peer, 0, reason, text);
    agent_unanswered_drop(agent);
    assert(agent_of_peer(agents, agent->session.peer) == agent);
    HASH_DELETE(session.by_peer, agents->sessions.peers, agent);
    agent->session.open = false;
    agents->upward.over(agent);
}
