#include "controller/clients/absent_host.h"

#include "controller/clients/refusal.h"
#include "lib/nearest.h"
#include "lib/wire.h"

enum { NAMES_LOOKED = 4096 };

static bool is_of(enum absent_kind kind, const struct agent_view *agent)
{
    return kind == ABSENT_EITHER || agent->is_switch == (kind == ABSENT_SWITCH);
}

/* "": there is none. */
static void nearest_name(const struct agents *agents, enum absent_kind kind, const char *name,
                         char *text, size_t size)
{
    struct nearest nearest = NEAREST_TO(name);
    struct agent_view agent;
    *text = '\0';
    for (uint32_t i = 0; i < NAMES_LOOKED && agents_at(agents, i, &agent) == 0; i++) {
        const size_t before = nearest.distance;
        if (is_of(kind, &agent))
            nearest_take(&nearest, agent.name);
        if (nearest.distance < before)
            wire_copy(text, size, agent.name);
    }
}

void absent_host_answer(const struct agents *agents, enum absent_kind kind, const char *name,
                        duopoly_Envelope *answer)
{
    static const char *const words[] = {"host", "switch", "host or switch"};
    char nearest[64];
    nearest_name(agents, kind, name, nearest, sizeof(nearest));
    if (*nearest)
        refused_answer(answer, duopoly_Reason_REASON_UNKNOWN,
                       "there is no %s %s; did you mean '%s'?", words[kind], name, nearest);
    else
        refused_answer(answer, duopoly_Reason_REASON_UNKNOWN, "there is no %s %s", words[kind],
                       name);
}
