#include "controller/clients/explanation_thing.h"

#include "controller/clients/absent_host.h"
#include "controller/clients/explanation_host.h"
#include "controller/clients/explanation_link.h"
#include "controller/clients/explanation_mode.h"
#include "controller/clients/refusal.h"

void explanation_thing(const struct conductor_parts *parts, const duopoly_ExplainThing *thing,
                       duopoly_Envelope *answer)
{
    struct agent_view agent;
    if (thing->kind == duopoly_ThingKind_THING_MODE)
        explanation_mode(parts, answer);
    else if (agents_named(parts->agents, thing->name, &agent) < 0)
        absent_host_answer(parts->agents, ABSENT_EITHER, thing->name, answer);
    else if (thing->kind == duopoly_ThingKind_THING_HOST)
        explanation_host(parts, &agent, answer);
    else if (thing->kind == duopoly_ThingKind_THING_LINK)
        explanation_link(parts, &agent, thing->port, answer);
    else
        refused_answer(answer, duopoly_Reason_REASON_UNSUPPORTED,
                       "this controller explains no such thing");
}
