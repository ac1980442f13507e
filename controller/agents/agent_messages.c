/* What arrives on a connection: the begin of a session, a message of one, or neither. */
#include "controller/agents/agent.h"

#include "lib/log.h"

static void verdict_end(struct agent *agent, enum wire_verdict verdict)
{
    struct agents_counters *counters = &agent->agents->counters;
    static const struct agent_refusal refusals[] = {
        [WIRE_GAP] = {duopoly_Reason_REASON_STATE,
                      "a message was lost on the way; say HELLO again"},
        [WIRE_EPOCH] = {duopoly_Reason_REASON_EPOCH,
                        "that is from an older controller's time; say HELLO again"},
        [WIRE_NONSENSE] = {duopoly_Reason_REASON_MALFORMED,
                           "version, epoch, sequence or acknowledgement do not fit this session; "
                           "say HELLO again"},
    };
    *(verdict == WIRE_GAP     ? &counters->gaps
      : verdict == WIRE_EPOCH ? &counters->old_epochs
                              : &counters->nonsense) += 1;
    counters->ended++;
    log_of(agent_who(agent)->name, LOG_LEVEL_WARNING, LOG_FAULT_PEER,
           "the session with agent %s ends: %s", agent_who(agent)->name, refusals[verdict].text);
    agent_end(agent, refusals[verdict].reason, refusals[verdict].text);
}

static void session_message(struct agent *agent, int64_t now_ns, const duopoly_Envelope *envelope)
{
    enum wire_verdict verdict = agent_session_accept(agent, now_ns, envelope);
    if (verdict == WIRE_DUPLICATE) {
        agent->agents->counters.duplicates++;
        return;
    }
    if (verdict != WIRE_TAKE) {
        verdict_end(agent, verdict);
        return;
    }
    agent_levels_answered(agent);
    agent_mode_answered(agent, now_ns);
    if (agent_who(agent)->silent && agent_serves(agent))
        agent_tell_host(agent, EVENT_HOST_BACK);
    else if (agent_who(agent)->joined && !agent_who(agent)->silent && agent_is_behind(agent))
        agent_tell_host(agent, EVENT_HOST_SILENT);
    agent_take(agent, envelope);
}

void agents_message(struct agents *agents, int64_t now_ns, uint64_t peer, const char *identity,
                    const duopoly_Envelope *envelope)
{
    struct agent *agent = agent_of_peer(agents, peer);
    if (envelope->which_body == duopoly_Envelope_hello_tag) {
        agent_hello(agents, now_ns, peer, identity, envelope);
        return;
    }
    if (agent)
        session_message(agent, now_ns, envelope);
    else
        agent_refuse_stranger(agents, now_ns, peer, envelope, duopoly_Reason_REASON_STATE,
                              "this connection has no session; say HELLO");
}

void agents_cut(struct agents *agents, uint64_t peer)
{
    struct agent *agent = agent_of_peer(agents, peer);
    if (!agent)
        return;
    agents->counters.ended++;
    log_of(agent_who(agent)->name, LOG_LEVEL_WARNING, LOG_FAULT_PEER,
           "the session with agent %s ends: its key is over", agent_who(agent)->name);
    agent_end(agent, duopoly_Reason_REASON_NONE, NULL);
}

void agents_malformed(struct agents *agents, int64_t now_ns, uint64_t peer, const char *why)
{
    struct agent *agent = agent_of_peer(agents, peer);
    agents->counters.malformed++;
    const char *name = agent ? agent_who(agent)->name : "a stranger";
    log_of(name, LOG_LEVEL_WARNING, LOG_FAULT_PEER, "%s sent something that is no message: %s",
           name, why);
    if (agent) {
        agents->counters.ended++;
        agent_end(agent, duopoly_Reason_REASON_MALFORMED, why);
    } else if (peer) {
        agent_tell_stranger(agents, now_ns, peer, 0, duopoly_Reason_REASON_MALFORMED, why);
    }
}

void agents_flood(struct agents *agents, uint64_t peer)
{
    struct agent *agent = agent_of_peer(agents, peer);
    const char *name = agent ? agent_who(agent)->name : "a stranger";
    log_of(name, LOG_LEVEL_WARNING, LOG_FAULT_PEER,
           "%s sends more messages a second than bounds.agent_messages: it is cut off, and its "
           "address for a while",
           name);
    if (!agent)
        return;
    agents->counters.ended++;
    agent_end(agent, duopoly_Reason_REASON_NONE, NULL);
}
