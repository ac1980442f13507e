#include "controller/clients/listing_links.h"

#include "controller/clients/listing.h"
#include "controller/clients/refusal.h"

#include <string.h>

#define MOST (sizeof(((duopoly_LinkPage *)0)->rows) / sizeof(duopoly_LinkRow))

/* False: the page is full, and its cursor says where. */
static bool fill(const struct agent_view *agent, uint32_t place, uint32_t first, int64_t now_ns,
                 duopoly_LinkPage *page)
{
    for (uint32_t i = first; i < agent->links->n; i++) {
        const struct agent_link *link = &agent->links->rows[i];
        if (!link->told_ns)
            continue;
        if (page->rows_count == MOST) {
            page->cursor = (uint64_t)place << 32 | i;
            return false;
        }
        duopoly_LinkRow *row = &page->rows[page->rows_count++];
        *row = (duopoly_LinkRow){
            .has_link = true, .link = link->link, .age_ns = now_ns - link->told_ns};
        wire_copy(row->host, sizeof(row->host), agent->name);
        row->gone = listing_gone(agent, now_ns, row->text, sizeof(row->text));
    }
    return true;
}

void listing_links(const struct conductor *conductor, const duopoly_List *list,
                   duopoly_Envelope *answer)
{
    const struct agents *agents = conductor_agents(conductor);
    uint32_t place = (uint32_t)(list->cursor >> 32), first = (uint32_t)list->cursor;
    struct agent_view agent;
    if (*list->name && agents_named(agents, list->name, &agent) < 0) {
        refused_answer(answer, duopoly_Reason_REASON_UNKNOWN, "there is no host or switch %s",
                       list->name);
        return;
    }
    duopoly_LinkPage *page = &wire_begin(answer, duopoly_Envelope_link_page_tag)->body.link_page;
    for (; agents_at(agents, place, &agent) == 0; place++, first = 0)
        if ((!*list->name || strcmp(list->name, agent.name) == 0) &&
            !fill(&agent, place, first, conductor_now_ns(conductor), page))
            return;
}
