#include "controller/clients/listing_rows.h"

#include "controller/clients/listing_place.h"
#include "controller/clients/refusal.h"

#include <string.h>

bool listing_rows_known(const struct conductor_parts *parts, const duopoly_List *list,
                        duopoly_Envelope *answer)
{
    struct agent_view agent;
    bool known = !*list->name || agents_named(parts->agents, list->name, &agent) == 0;
    if (!known)
        refused_answer(answer, duopoly_Reason_REASON_UNKNOWN, "there is no host or switch %s",
                       list->name);
    return known;
}

uint64_t listing_rows(const struct conductor_parts *parts, const duopoly_List *list,
                      listing_rows_fill *fill, void *page)
{
    const struct listing_order order = listing_agents(parts->agents);
    uint32_t row, place = listing_resume(&order, list->cursor, &row);
    struct agent_view agent;
    for (; agents_at(parts->agents, place, &agent) == 0; place++, row = 0)
        if ((!*list->name || strcmp(list->name, agent.name) == 0) &&
            !fill(parts, &agent, &row, page))
            return listing_cursor(&order, place, row);
    return 0;
}
