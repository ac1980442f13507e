/* What goes out in a session, and its end: in agent_end alone, whoever is at fault. The other parts hear of
 * that by agents->upward.over. */
#include "controller/agents/agent.h"

#include "lib/log.h"

#include <errno.h>

int agent_send(struct agent *agent, duopoly_Envelope *envelope, bool changes_state)
{
    struct agents *agents = agent->agents;
    if (!agent->open)
        return -ENOTCONN;
    int r = wire_session_stamp(&agent->session, envelope, changes_state);
    if (r == 0)
        r = agents->hooks.send(agents->hooks.user, agent->peer, envelope);
    if (r < 0) {
        log_of(agent->name, LOG_LEVEL_WARNING, LOG_FAULT_PEER,
               "agent %s takes nothing in any more: its session ends", agent->name);
        agent_cut(agent);
    } else if (changes_state) {
        struct agent *slowest = agent_unanswered_add(agent, wire_length(envelope));
        if (slowest)
            agent_cut(slowest);
    }
    return agent->open ? r : -ENOTCONN;
}

void agent_cut(struct agent *agent)
{
    agent->agents->hooks.cut(agent->agents->hooks.user, agent->peer);
    agent_end(agent, duopoly_Reason_REASON_NONE, NULL);
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

/* Their queues count for nobody's bound: what a thousand peers that do not read may have waiting
 * must be little. */
static bool stranger_may_hear(struct agents *agents, int64_t now_ns)
{
    if (now_ns - agents->refusals_since_ns >= 1000000000) {
        agents->refusals_since_ns = now_ns;
        agents->refusals = 0;
    }
    if (++agents->refusals <= AGENT_REFUSALS)
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
    if (!agent->open)
        return;
    if (reason != duopoly_Reason_REASON_NONE)
        refused_send(agents, agent->peer, 0, reason, text);
    agent_unanswered_drop(agent);
    HASH_DELETE(by_peer, agents->peers, agent);
    agent->open = false;
    agents->upward.over(agent);
}
