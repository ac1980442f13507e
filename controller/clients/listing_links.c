#include "controller/clients/listing_links.h"

#include "controller/clients/listing.h"
#include "controller/clients/listing_place.h"
#include "controller/clients/refusal.h"

#include <string.h>

#define MOST (sizeof(((duopoly_LinkPage *)0)->rows) / sizeof(duopoly_LinkRow))

/* False: the page is full; *row says where. */
static bool fill(const struct agent_view *agent, uint32_t *row, int64_t now_ns,
                 duopoly_LinkPage *page)
{
    for (uint32_t i = *row; i < agent->links->n; i++) {
        const struct agent_link *link = &agent->links->rows[i];
        if (!link->told_ns)
            continue;
        if (page->rows_count == MOST) {
            *row = i;
            return false;
        }
        duopoly_LinkRow *told = &page->rows[page->rows_count++];
        *told = (duopoly_LinkRow){
            .has_link = true, .link = link->link, .age_ns = now_ns - link->told_ns};
        wire_copy(told->host, sizeof(told->host), agent->name);
        told->gone = listing_gone(agent, now_ns, told->text, sizeof(told->text));
    }
    return true;
}

void listing_links(const struct conductor_parts *parts, const duopoly_List *list,
                   duopoly_Envelope *answer)
{
    const struct agents *agents = parts->agents;
    const struct listing_order order = listing_agents(agents);
    uint32_t row, place = listing_resume(&order, list->cursor, &row);
    struct agent_view agent;
    if (*list->name && agents_named(agents, list->name, &agent) < 0) {
        refused_answer(answer, duopoly_Reason_REASON_UNKNOWN, "there is no host or switch %s",
                       list->name);
        return;
    }
    duopoly_LinkPage *page = &wire_begin(answer, duopoly_Envelope_link_page_tag)->body.link_page;
    for (; agents_at(agents, place, &agent) == 0; place++, row = 0)
        if ((!*list->name || strcmp(list->name, agent.name) == 0) &&
            !fill(&agent, &row, clock_now_ns(parts->clock), page)) {
            page->cursor = listing_cursor(&order, place, row);
            return;
        }
}
