#include "controller/clients/listing_links.h"

#include "controller/clients/listing.h"
#include "controller/clients/listing_rows.h"

#include <string.h>

#define MOST (sizeof(((duopoly_LinkPage *)0)->rows) / sizeof(duopoly_LinkRow))

/* False: the page is full at *row. */
static bool fill(const struct conductor_parts *parts, const struct agent_view *agent, uint32_t *row,
                 void *to)
{
    duopoly_LinkPage *page = to;
    const int64_t now_ns = clock_now_ns(parts->clock);
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
    if (!listing_rows_known(parts, list, answer))
        return;
    duopoly_LinkPage *page = &wire_begin(answer, duopoly_Envelope_link_page_tag)->body.link_page;
    page->cursor = listing_rows(parts, list, fill, page);
}
