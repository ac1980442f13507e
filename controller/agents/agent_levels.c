/* Levels on their way to the hosts. WHY in rounds: a relabelling gives several jobs other ranks at
 * once; if one host had the new labels and another still those of two relabellings ago, a later job
 * might be above an earlier one. A round sends all changed levels, each host's in one message (as
 * many as that holds), and the next one waits until every host has acknowledged, which it does when
 * its kernel has them. Meanwhile changes wait, only the newest level of each attempt; a level that
 * is back at its former value is not sent.
 *
 * A round waits for a host while that has its session, and for `silent` at most. A host that has
 * not acknowledged by then still gets the next rounds, and is waited for again once it has. */
#include "controller/agents/agent.h"

#include "lib/container_of.h"

static void wait_no_more(struct agent *agent)
{
    struct agents *agents = agent->agents;
    if (!agent->levels.awaited)
        return;
    agent->levels.awaited = false;
    if (--agents->levels.awaited == 0)
        timers_disarm(agents->timers, &agents->levels.timer);
}

void agent_levels_answered(struct agent *agent)
{
    if (!agent->levels.sequence || !agent_answered(agent, agent->levels.sequence))
        return;
    agent->levels.sequence = 0;
    wait_no_more(agent);
}

void agent_levels_drop(struct agent *agent, struct attempt_levels *levels)
{
    if (!levels->waits)
        return;
    levels->waits = false;
    STAILQ_REMOVE(&agent->levels.waiting, levels, attempt_levels, link);
}

/* Its next inventory reports what it has. */
void agent_levels_end(struct agent *agent)
{
    while (!STAILQ_EMPTY(&agent->levels.waiting))
        agent_levels_drop(agent, STAILQ_FIRST(&agent->levels.waiting));
    agent->levels.sequence = 0;
    wait_no_more(agent);
}

static void wait_fire(struct timer *timer, int64_t now_ns)
{
    struct agents *agents = container_of(timer, struct agents, levels.timer);
    (void)now_ns;
    agents->counters.levels_late += agents->levels.awaited;
    for (uint32_t i = 0; i < agents_count(agents); i++)
        wait_no_more(agent_at(agents, i));
}

void levels_round_begin(struct levels_round *round)
{
    STAILQ_INIT(&round->waiting);
    round->timer.fire = wait_fire;
}

void levels_round_end(struct agents *agents)
{
    timers_disarm(agents->timers, &agents->levels.timer);
}

void agent_levels_begin(struct agent *agent)
{
    STAILQ_INIT(&agent->levels.waiting);
}

void agent_levels_done(struct agent *agent)
{
    if (agent->levels.listed)
        STAILQ_REMOVE(&agent->agents->levels.waiting, agent, agent, levels.link);
}

void agent_levels_told(struct attempt_levels *levels, uint32_t coflow, uint32_t macroflow)
{
    levels->told.coflow = coflow;
    levels->told.macroflow = macroflow;
}

void agent_levels_want(struct agent *agent, struct attempt_levels *levels, uint32_t coflow,
                       uint32_t macroflow)
{
    struct agents *agents = agent->agents;
    bool known = coflow == levels->told.coflow && macroflow == levels->told.macroflow;
    agents->counters.levels_merged += levels->waits;
    levels->wanted.coflow = coflow;
    levels->wanted.macroflow = macroflow;
    if (known) {
        agent_levels_drop(agent, levels);
    } else if (!levels->waits) {
        levels->waits = true;
        STAILQ_INSERT_TAIL(&agent->levels.waiting, levels, link);
    }
    if (!known && !agent->levels.listed) {
        agent->levels.listed = true;
        STAILQ_INSERT_TAIL(&agents->levels.waiting, agent, levels.link);
    }
}

/* One message; false: the session has ended. */
static bool send_some(struct agent *agent)
{
    struct agents *agents = agent->agents;
    duopoly_Levels *levels = &wire_begin(&agents->out, duopoly_Envelope_levels_tag)->body.levels;
    const pb_size_t most = sizeof(levels->levels) / sizeof(levels->levels[0]);
    while (levels->levels_count < most && !STAILQ_EMPTY(&agent->levels.waiting)) {
        struct attempt_levels *next = STAILQ_FIRST(&agent->levels.waiting);
        agent_levels_drop(agent, next);
        next->told = next->wanted;
        levels->levels[levels->levels_count++] =
            (duopoly_AttemptLevels){.attempt = next->attempt,
                                    .coflow_level = next->told.coflow,
                                    .macroflow_level = next->told.macroflow};
    }
    agents->counters.levels_told += levels->levels_count;
    return agent_send(agent, &agents->out, true) >= 0;
}

static void send_all(struct agent *agent)
{
    struct agents *agents = agent->agents;
    bool late = agent->levels.sequence != 0;
    if (STAILQ_EMPTY(&agent->levels.waiting))
        return;
    while (!STAILQ_EMPTY(&agent->levels.waiting))
        if (!send_some(agent))
            return;
    agent->levels.sequence = agent_sent(agent);
    if (late)
        return;
    agent->levels.awaited = true;
    agents->levels.awaited++;
}

void agents_levels_flush(struct agents *agents, int64_t now_ns)
{
    struct agent *agent;
    if (agents->levels.awaited || STAILQ_EMPTY(&agents->levels.waiting))
        return;
    while ((agent = STAILQ_FIRST(&agents->levels.waiting))) {
        STAILQ_REMOVE_HEAD(&agents->levels.waiting, levels.link);
        agent->levels.listed = false;
        send_all(agent);
    }
    agents->counters.levels_rounds += agents->levels.awaited > 0;
    if (agents->levels.awaited)
        timers_arm(agents->timers, &agents->levels.timer, now_ns + agents->config.silent_ns);
}
