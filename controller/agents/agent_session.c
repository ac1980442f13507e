/* A session from its first message to its end: numbers and acknowledgements (lib/wire.h), and the two
 * timers.
 *
 * `watch` fires when nothing was heard for `silent`, then for `host_lost`, then (of a lost agent
 * that never brought anything) when its name is to be forgotten; `beat` sends the lease. A session
 * ends in agent_end alone, whoever is at fault, and its host is silent from then on. */
#include "controller/agents/agent.h"

#include "lib/container_of.h"
#include "lib/log.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

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
        agent_unanswered_add(agent, wire_length(envelope));
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

void agent_refuse_stranger(struct agents *agents, int64_t now_ns, uint64_t peer,
                           const duopoly_Envelope *refused, duopoly_Reason reason, const char *text)
{
    if (stranger_may_hear(agents, now_ns))
        agent_refuse(agents, peer, refused, reason, text);
    else
        agents->counters.refused[refused->which_body % WIRE_KINDS]++;
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
    agent_levels_end(agent);
    agent->inventory = INVENTORY_NONE;
    agent_seen_drop(agent);
    agent_settle_drop(agent);
    timers_disarm(agents->timers, &agent->beat);
    if (agent->joined && !agent->silent && !agent->lost)
        agent_tell_host(agent, EVENT_HOST_SILENT);
}

void agent_tell_host(struct agent *agent, enum event_kind kind)
{
    struct event event = {.kind = kind};
    agent->silent = kind != EVENT_HOST_BACK;
    agent->lost |= kind == EVENT_HOST_LOST;
    if (agent->is_switch)
        return;
    event.host.host = agent->host;
    agent->agents->hooks.event(agent->agents->hooks.user, &event);
    if (kind == EVENT_HOST_LOST)
        agent->agents->hooks.host_moved(agent->agents->hooks.user, agent->host);
}

static void join_tell(struct agent *agent, enum event_kind kind)
{
    struct event event = {.kind = kind};
    agent->joined = true;
    agent->joined_boot = agent->boot;
    agent->changed = false;
    if (agent->is_switch)
        return;
    event.host_join.host = agent->host;
    event.host_join.generation = agent->boot;
    event.host_join.name = agent->name;
    event.host_join.rack = agent->rack;
    event.host_join.labels = agent->labels;
    event.host_join.uplink_bps = agent->uplink_bps;
    event.host_join.downlink_bps = agent->downlink_bps;
    event.host_join.units.at = agent->units;
    event.host_join.units.n = agent->n_units * ENGINE_RESOURCES;
    agent->agents->hooks.event(agent->agents->hooks.user, &event);
    agent->agents->hooks.host_moved(agent->agents->hooks.user, agent->host);
}

void agent_tell_join(struct agent *agent)
{
    if (!agent->joined || agent->lost || agent->joined_boot != agent->boot) {
        join_tell(agent, EVENT_HOST_JOIN);
        agent->silent = agent->lost = false;
        return;
    }
    if (agent->changed)
        join_tell(agent, EVENT_HOST_CHANGE);
    if (agent->silent)
        agent_tell_host(agent, EVENT_HOST_BACK);
}

void agent_watch_fire(struct timer *timer, int64_t now_ns)
{
    struct agent *agent = container_of(timer, struct agent, watch);
    const struct agents_config *config = &agent->agents->config;
    int64_t quiet_ns = now_ns - agent->heard_ns;
    if (agent->unmarked) {
        agent_unmarked_look(agent, now_ns);
        return;
    }
    if (agent->lost && !agent->open) {
        agent_forget_unused(agent);
        return;
    }
    if (quiet_ns >= config->host_lost_ns) {
        log_of(agent->name, LOG_LEVEL_WARNING, LOG_FAULT_PEER,
               "agent %s was silent for %" PRId64 " s and counts as lost", agent->name,
               config->host_lost_ns / 1000000000);
        agent_attempts_drop(agent);
        if (agent->joined)
            agent_tell_host(agent, EVENT_HOST_LOST);
        agent->lost = true;
        agent->lost_ns = now_ns;
        agent_end(agent, duopoly_Reason_REASON_NONE, NULL);
        agent_await_no_more(agent);
        agent_watch_forgetting(agent, now_ns);
        return;
    }
    if (quiet_ns >= config->silent_ns && agent->joined && !agent->silent)
        agent_tell_host(agent, EVENT_HOST_SILENT);
    timers_arm(agent->agents->timers, timer,
               agent->heard_ns +
                   (quiet_ns >= config->silent_ns ? config->host_lost_ns : config->silent_ns));
}

void agent_beat_fire(struct timer *timer, int64_t now_ns)
{
    struct agent *agent = container_of(timer, struct agent, beat);
    struct agents *agents = agent->agents;
    timers_arm(agents->timers, timer, now_ns + agents->config.heartbeat_ns);
    wire_begin(&agents->out, duopoly_Envelope_lease_tag)->body.lease.lease_ms =
        (uint32_t)(agents->config.lease_ns / 1000000);
    agent_send(agent, &agents->out, false);
}

bool agent_serves(const struct agent *agent)
{
    return agent->joined && agent->inventory == INVENTORY_IN && !*agent->no_room;
}

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
    log_of(agent->name, LOG_LEVEL_WARNING, LOG_FAULT_PEER, "the session with agent %s ends: %s",
           agent->name, refusals[verdict].text);
    agent_end(agent, refusals[verdict].reason, refusals[verdict].text);
}

static void session_message(struct agent *agent, int64_t now_ns, const duopoly_Envelope *envelope)
{
    enum wire_verdict verdict = wire_session_accept(&agent->session, envelope);
    agent->heard_ns = now_ns;
    agent_unanswered_settle(agent);
    if (verdict == WIRE_DUPLICATE) {
        agent->agents->counters.duplicates++;
        return;
    }
    if (verdict != WIRE_TAKE) {
        verdict_end(agent, verdict);
        return;
    }
    agent_levels_answered(agent);
    if (agent->silent && agent_serves(agent))
        agent_tell_host(agent, EVENT_HOST_BACK);
    agent_take(agent, envelope);
}

void agents_message(struct agents *agents, int64_t now_ns, uint64_t peer, const char *identity,
                    const duopoly_Envelope *envelope)
{
    struct agent *agent;
    if (envelope->which_body == duopoly_Envelope_hello_tag) {
        agent_hello(agents, now_ns, peer, identity, envelope);
        return;
    }
    HASH_FIND(by_peer, agents->peers, &peer, sizeof(peer), agent);
    if (agent)
        session_message(agent, now_ns, envelope);
    else
        agent_refuse_stranger(agents, now_ns, peer, envelope, duopoly_Reason_REASON_STATE,
                              "this connection has no session; say HELLO");
}

void agents_cut(struct agents *agents, uint64_t peer)
{
    struct agent *agent;
    HASH_FIND(by_peer, agents->peers, &peer, sizeof(peer), agent);
    if (!agent)
        return;
    agents->counters.ended++;
    log_of(agent->name, LOG_LEVEL_WARNING, LOG_FAULT_PEER,
           "the session with agent %s ends: its key is over", agent->name);
    agent_end(agent, duopoly_Reason_REASON_NONE, NULL);
}

void agent_tell_keys(struct agent *agent)
{
    struct agents *agents = agent->agents;
    if (!agents->believed.keys_count)
        return;
    wire_begin(&agents->out, duopoly_Envelope_controller_keys_tag)->body.controller_keys =
        agents->believed;
    agent_send(agent, &agents->out, false);
}

void agents_believe(struct agents *agents, const duopoly_ControllerKeys *keys)
{
    agents->believed = *keys;
    for (uint32_t i = 0; i < agents->n; i++)
        if (agents->order[i]->open)
            agent_tell_keys(agents->order[i]);
}

void agents_malformed(struct agents *agents, int64_t now_ns, uint64_t peer, const char *why)
{
    struct agent *agent;
    agents->counters.malformed++;
    HASH_FIND(by_peer, agents->peers, &peer, sizeof(peer), agent);
    const char *name = agent ? agent->name : "a stranger";
    log_of(name, LOG_LEVEL_WARNING, LOG_FAULT_PEER, "%s sent something that is no message: %s",
           name, why);
    if (agent) {
        agents->counters.ended++;
        agent_end(agent, duopoly_Reason_REASON_MALFORMED, why);
    } else if (peer && stranger_may_hear(agents, now_ns)) {
        refused_send(agents, peer, 0, duopoly_Reason_REASON_MALFORMED, why);
    }
}

void agents_flood(struct agents *agents, uint64_t peer)
{
    struct agent *agent;
    HASH_FIND(by_peer, agents->peers, &peer, sizeof(peer), agent);
    const char *name = agent ? agent->name : "a stranger";
    log_of(name, LOG_LEVEL_WARNING, LOG_FAULT_PEER,
           "%s sends more messages a second than bounds.agent_messages: it is cut off, and its "
           "address for a while",
           name);
    if (!agent)
        return;
    agents->counters.ended++;
    agent_end(agent, duopoly_Reason_REASON_NONE, NULL);
}
