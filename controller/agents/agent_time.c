/* What each agent takes of the controller's time (loop_shares.h). Messages of agents come in turn
 * from all connections, so an agent keeps no other from being heard; but what its messages cost
 * could take most of the time. Such a one loses its session, as one does that sends too many. */
#include "controller/agents/agent.h"

#include "lib/container_of.h"
#include "lib/log.h"

static struct loop_share share_of(const struct agents *agents)
{
    return (struct loop_share){agents->config.time_permille, AGENT_BURST_NS};
}

bool agent_has_time(struct agent *agent, int64_t now_ns)
{
    const struct loop_share share = share_of(agent->agents);
    if (agent->time.shut)
        agent->time.shut =
            loop_account_credit(&agent->time.account, &share, now_ns) < AGENT_BURST_NS / 2;
    return !agent->time.shut;
}

static void time_over(struct agent *agent)
{
    struct agents *agents = agent->agents;
    agent->time.over++;
    agents->counters.times_over++;
    agents->counters.ended++;
    log_of(agent_who(agent)->name, LOG_LEVEL_WARNING, LOG_FAULT_PEER,
           "%s takes more of the controller's time than its share (bounds.host_time): its session "
           "ends, and it begins none for a while",
           agent_who(agent)->name);
    agent_end(agent, duopoly_Reason_REASON_LIMIT,
              "this host takes more of the controller's time than its share; say HELLO later");
}

void agents_note(struct agents *agents, int64_t now_ns, uint64_t peer, const char *identity,
                 int64_t took_ns)
{
    struct agent *agent = agent_of_peer(agents, peer);
    if (!agent && identity)
        agent = agent_find(agents, identity);
    if (!agent)
        return;
    loop_account_note(&agents->noted, &agent->time.account, took_ns);
    if (!agent_has_time(agent, now_ns))
        agents->hooks.cut(agents->hooks.user, peer);
}

static bool look(struct agent *agent, int64_t now_ns)
{
    struct agents *agents = agent->agents;
    agent->time.shut |= agents->config.time_permille && agent->time.account.credit_ns < 0;
    if (agent_has_time(agent, now_ns) || !agent_is_open(agent))
        return false;
    const uint64_t peer = agent_peer(agent);
    time_over(agent);
    agents->hooks.cut(agents->hooks.user, peer);
    return true;
}

bool agents_charge(struct agents *agents, const struct loop_spent *spent)
{
    const struct loop_share share = share_of(agents);
    bool ended = false;
    struct loop_account *account;
    while ((account = LIST_FIRST(&agents->noted))) {
        const uint64_t before_ns = account->spent_ns;
        loop_noted_charge(&agents->noted, &share, spent);
        agents->counters.spent_ns += account->spent_ns - before_ns;
        ended |= look(container_of(account, struct agent, time.account), spent->now_ns);
    }
    return ended;
}
