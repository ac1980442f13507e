/* Where others fetch a host's map outputs: every host needs an address that they can use, and one that is
 * its own. An address that is not refused here would be written into the input files of tasks, whose
 * fetches fail, for ever, at whoever answers there.
 *
 * Of two hosts with one address the first keeps it while it is alive: the second is refused, and each is
 * named. When the first is silent the address goes to who comes with it (a machine was replaced, a host
 * renamed). */
#include "controller/agents/agent.h"

#include "lib/address.h"

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

struct agent_refusal agent_address_refusal(struct agents *agents, int64_t now_ns,
                                           const duopoly_Hello *hello)
{
    const char *why = address_useless(hello->address);
    const struct agent *other = agent_at_address(agents, hello->address);
    if (hello->role == duopoly_Role_ROLE_SWITCH)
        return (struct agent_refusal){duopoly_Reason_REASON_NONE, NULL};
    if (why)
        return useless(agents, hello, why);
    if (other && other != agent_find(agents, hello->name) && other->open &&
        now_ns - other->heard_ns < agents->config.silent_ns)
        return taken(agents, hello, other->name);
    return (struct agent_refusal){duopoly_Reason_REASON_NONE, NULL};
}
