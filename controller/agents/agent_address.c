/* The address at which other hosts fetch a host's map outputs: every host needs one that others can
 * use and that is its own. A bad address that is accepted here would be written into the input
 * files of tasks, whose fetches would then fail, for ever, at whatever answers there.
 *
 * Of two hosts with one address the first keeps it while it is alive: the second is refused, and
 * each is named. When the first is silent the address goes to the next host with it (a machine was
 * replaced, a host renamed). A host that connects from the address gets it in any case, unless the
 * first does so, too: else a host that took another's address while that was away would keep it
 * out. */
#include "controller/agents/agent.h"

#include "lib/address.h"
#include "lib/log.h"

#include <stdio.h>

static struct agent_refusal useless(struct agents *agents, const duopoly_Hello *hello,
                                    const char *why)
{
    char text[INET6_ADDRSTRLEN];
    address_print(hello->address, text);
    snprintf(agents->why, sizeof(agents->why),
             "its address, %s, %s: others fetch its map outputs there (`address`; without it the "
             "agent takes that of its route to the controller)",
             text, why);
    return (struct agent_refusal){duopoly_Reason_REASON_MALFORMED, agents->why};
}

static struct agent_refusal taken(struct agents *agents, const duopoly_Hello *hello, const char *by)
{
    char text[INET6_ADDRSTRLEN];
    address_print(hello->address, text);
    snprintf(agents->why, sizeof(agents->why),
             "%s is also the address of %.63s, which is alive: each host needs its own (`address`)",
             text, by);
    return (struct agent_refusal){duopoly_Reason_REASON_CONFLICT, agents->why};
}

static bool comes_from(const struct agents *agents, uint64_t peer, const uint8_t *address)
{
    const struct agents_where *where = &agents->config.where;
    return where->comes_from && where->comes_from(where->user, peer, address);
}

static void usurper_end(struct agents *agents, struct agent *usurper, const duopoly_Hello *hello)
{
    char text[INET6_ADDRSTRLEN];
    address_print(hello->address, text);
    snprintf(
        agents->why, sizeof(agents->why),
        "%s is the address of %.63s, which connects from there, and not this host's (`address`)",
        text, hello->name);
    log_of(agent_who(usurper)->name, LOG_LEVEL_WARNING, LOG_FAULT_PEER,
           "the session of agent %s is ended: %s", agent_who(usurper)->name, agents->why);
    agent_end(usurper, duopoly_Reason_REASON_CONFLICT, agents->why);
}

struct agent_refusal agent_address_refusal(struct agents *agents, int64_t now_ns, uint64_t peer,
                                           const duopoly_Hello *hello)
{
    const char *why = address_useless(hello->address);
    struct agent *other = agent_at_address(agents, hello->address);
    if (hello->role == duopoly_Role_ROLE_SWITCH)
        return (struct agent_refusal){duopoly_Reason_REASON_NONE, NULL};
    if (why)
        return useless(agents, hello, why);
    if (other && other != agent_find(agents, hello->name) && agent_is_open(other) &&
        now_ns - agent_heard_ns(other) < agents->config.silent_ns) {
        if (!comes_from(agents, peer, hello->address) ||
            comes_from(agents, agent_peer(other), hello->address))
            return taken(agents, hello, agent_who(other)->name);
        usurper_end(agents, other, hello);
    }
    return (struct agent_refusal){duopoly_Reason_REASON_NONE, NULL};
}
