/* Levels on their way to the hosts. A relabelling gives several jobs other ranks at once; where one
 * host has the new labels and another still those of two relabellings ago, a later job may stand
 * above an earlier one. So levels go out in rounds: all that have changed, each host's in one
 * message (of at most as many as that holds), and nothing more until every host has acknowledged,
 * which it does when its kernel has them. What changes meanwhile waits, the newest level of each
 * attempt, and one that is back where it was is not sent at all.
 *
 * A host is waited for while it has its session, and for `silent` at most; one that has not
 * acknowledged by then is sent what comes like all others, and waited for again when it has. */
#include "controller/agents/agent.h"

#include "lib/container_of.h"

static void wait_no_more(struct agent *agent)
{
    struct agents *agents = agent->agents;
    if (!agent->levels_awaited)
        return;
    agent->levels_awaited = false;
    if (--agents->levels_awaited == 0)
        timers_disarm(agents->timers, &agents->levels_wait);
}

void agent_levels_answered(struct agent *agent)
{
    if (!agent->levels_sequence || agent->session.answered < agent->levels_sequence)
        return;
    agent->levels_sequence = 0;
    wait_no_more(agent);
}

void agent_level_drop(struct placed_attempt *placed)
{
    if (!placed->relabelled)
        return;
    placed->relabelled = false;
    STAILQ_REMOVE(&placed->agent->relabelled, placed, placed_attempt, levels_link);
}

/* Its next inventory says what it has. */
void agent_levels_end(struct agent *agent)
{
    while (!STAILQ_EMPTY(&agent->relabelled))
        agent_level_drop(STAILQ_FIRST(&agent->relabelled));
    agent->levels_sequence = 0;
    wait_no_more(agent);
}

void agents_levels_wait_fire(struct timer *timer, int64_t now_ns)
{
    struct agents *agents = container_of(timer, struct agents, levels_wait);
    (void)now_ns;
    agents->counters.levels_late += agents->levels_awaited;
    for (uint32_t i = 0; i < agents->n_indexes; i++)
        if (agents->hosts[i])
            wait_no_more(agents->hosts[i]);
}

void agents_level(struct agents *agents, uint32_t host, uint64_t attempt, uint32_t coflow_level,
                  uint32_t macroflow_level)
{
    const struct placed_levels levels = {coflow_level, macroflow_level};
    struct agent *agent = host < agents->n_indexes ? agents->hosts[host] : NULL;
    struct placed_attempt *placed = agent && agent->open ? agent_placed(agent, attempt) : NULL;
    if (!placed)
        return;
    bool known = levels.coflow == placed->told.coflow && levels.macroflow == placed->told.macroflow;
    agents->counters.levels_merged += placed->relabelled;
    placed->wanted = levels;
    if (known) {
        agent_level_drop(placed);
    } else if (!placed->relabelled) {
        placed->relabelled = true;
        STAILQ_INSERT_TAIL(&agent->relabelled, placed, levels_link);
    }
    if (!known && !agent->in_relabelled) {
        agent->in_relabelled = true;
        STAILQ_INSERT_TAIL(&agents->relabelled, agent, relabelled_link);
    }
}

/* One message; false: the session has ended. */
static bool send_some(struct agent *agent)
{
    struct agents *agents = agent->agents;
    duopoly_Levels *levels = &wire_begin(&agents->out, duopoly_Envelope_levels_tag)->body.levels;
    const pb_size_t most = sizeof(levels->levels) / sizeof(levels->levels[0]);
    while (levels->levels_count < most && !STAILQ_EMPTY(&agent->relabelled)) {
        struct placed_attempt *placed = STAILQ_FIRST(&agent->relabelled);
        agent_level_drop(placed);
        placed->told = placed->wanted;
        levels->levels[levels->levels_count++] =
            (duopoly_AttemptLevels){.attempt = placed->attempt,
                                    .coflow_level = placed->told.coflow,
                                    .macroflow_level = placed->told.macroflow};
    }
    agents->counters.levels_told += levels->levels_count;
    return agent_send(agent, &agents->out, true) >= 0;
}

static void send_all(struct agent *agent)
{
    struct agents *agents = agent->agents;
    bool late = agent->levels_sequence != 0;
    if (STAILQ_EMPTY(&agent->relabelled))
        return;
    while (!STAILQ_EMPTY(&agent->relabelled))
        if (!send_some(agent))
            return;
    agent->levels_sequence = agent->session.sent;
    if (late)
        return;
    agent->levels_awaited = true;
    agents->levels_awaited++;
}

void agents_levels_flush(struct agents *agents, int64_t now_ns)
{
    struct agent *agent;
    if (agents->levels_awaited || STAILQ_EMPTY(&agents->relabelled))
        return;
    while ((agent = STAILQ_FIRST(&agents->relabelled))) {
        STAILQ_REMOVE_HEAD(&agents->relabelled, relabelled_link);
        agent->in_relabelled = false;
        send_all(agent);
    }
    agents->counters.levels_rounds += agents->levels_awaited > 0;
    if (agents->levels_awaited)
        timers_arm(agents->timers, &agents->levels_wait, now_ns + agents->config.silent_ns);
}
