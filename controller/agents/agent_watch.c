/* The consequences of an agent's silence over time.
 *
 * `watch` fires when nothing was heard for `silent`, then for `host_lost`, then (of a lost agent
 * that never brought anything) when its name is to be forgotten; `beat` sends the lease. */
#include "controller/agents/agent.h"

#include "lib/container_of.h"
#include "lib/log.h"

#include <inttypes.h>

void agent_watch_fire(struct timer *timer, int64_t now_ns)
{
    struct agent *agent = container_of(timer, struct agent, watch);
    const struct agents_config *config = &agent->agents->config;
    int64_t quiet_ns = now_ns - agent_heard_ns(agent);
    if (agent_who(agent)->unmarked) {
        agent_unmarked_look(agent, now_ns);
        return;
    }
    if (agent_who(agent)->lost && !agent_is_open(agent)) {
        agent_forget_unused(agent);
        return;
    }
    if (quiet_ns >= config->host_lost_ns) {
        log_of(agent_who(agent)->name, LOG_LEVEL_WARNING, LOG_FAULT_PEER,
               "agent %s was silent for %" PRId64 " s and counts as lost", agent_who(agent)->name,
               config->host_lost_ns / 1000000000);
        agent_attempts_drop(agent);
        agent_tell_lost(agent, now_ns);
        agent_end(agent, duopoly_Reason_REASON_NONE, NULL);
        agent_await_no_more(agent);
        agent_watch_forgetting(agent, now_ns);
        return;
    }
    if (quiet_ns >= config->silent_ns && agent_who(agent)->joined && !agent_who(agent)->silent) {
        log_debug("agent %s: silent for %" PRId64 " ms, gets no new tasks", agent_who(agent)->name,
                  quiet_ns / 1000000);
        agent_tell_host(agent, EVENT_HOST_SILENT);
    }
    timers_arm(agent->agents->timers, timer,
               agent_heard_ns(agent) +
                   (quiet_ns >= config->silent_ns ? config->host_lost_ns : config->silent_ns));
}

void agent_beat_fire(struct timer *timer, int64_t now_ns)
{
    struct agent *agent = container_of(timer, struct agent, beat);
    struct agents *agents = agent->agents;
    timers_arm(agents->timers, timer, now_ns + agents->config.heartbeat_ns);
    wire_begin(&agents->out, duopoly_Envelope_lease_tag)->body.lease.lease_ms =
        (uint32_t)(agents->config.lease_ns / 1000000);
    log_debug("agent %s: lease of %" PRIu32 " ms", agent_who(agent)->name,
              agents->out.body.lease.lease_ms);
    agent_send(agent, &agents->out, false);
}
