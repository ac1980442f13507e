#include "controller/clients/explanation_thing.h"

#include "controller/clients/explanation_host.h"
#include "controller/clients/explanation_link.h"
#include "controller/clients/explanation_mode.h"
#include "controller/clients/refusal.h"
#include "lib/nearest.h"
#include "lib/wire.h"

enum { NAMES_LOOKED = 4096 };

/* "": there is none. */
static void nearest_name(const struct agents *agents, const char *name, char *text, size_t size)
{
    struct nearest nearest = NEAREST_TO(name);
    struct agent_view agent;
    *text = '\0';
    for (uint32_t i = 0; i < NAMES_LOOKED && agents_at(agents, i, &agent) == 0; i++) {
        const size_t before = nearest.distance;
        nearest_take(&nearest, agent.name);
        if (nearest.distance < before)
            wire_copy(text, size, agent.name);
    }
}

static void absent_answer(const struct conductor_parts *parts, const char *name,
                          duopoly_Envelope *answer)
{
    char nearest[64];
    nearest_name(parts->agents, name, nearest, sizeof(nearest));
    if (*nearest)
        refused_answer(answer, duopoly_Reason_REASON_UNKNOWN,
                       "there is no host or switch %s; did you mean '%s'?", name, nearest);
    else
        refused_answer(answer, duopoly_Reason_REASON_UNKNOWN, "there is no host or switch %s",
                       name);
}

void explanation_thing(const struct conductor_parts *parts, const duopoly_ExplainThing *thing,
                       duopoly_Envelope *answer)
{
    struct agent_view agent;
    if (thing->kind == duopoly_ThingKind_THING_MODE)
        explanation_mode(parts, answer);
    else if (agents_named(parts->agents, thing->name, &agent) < 0)
        absent_answer(parts, thing->name, answer);
    else if (thing->kind == duopoly_ThingKind_THING_HOST)
        explanation_host(parts, &agent, answer);
    else if (thing->kind == duopoly_ThingKind_THING_LINK)
        explanation_link(parts, &agent, thing->port, answer);
    else
        refused_answer(answer, duopoly_Reason_REASON_UNSUPPORTED,
                       "this controller explains no such thing");
}
