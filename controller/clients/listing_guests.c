#include "controller/clients/listing_guests.h"

#include "controller/clients/refusal.h"
#include "lib/wire.h"

#include <string.h>

#define MOST (sizeof(((duopoly_GuestPage *)0)->rows) / sizeof(duopoly_GuestRow))

/* What its agent cannot know: whether the driver follows what we allow, and what of its transfers goes
 * where no mark reaches. */
static void gate_tell(const struct conductor *conductor, duopoly_GuestApplication *row)
{
    bool holds;
    const char *text;
    if (row->rung != duopoly_Rung_RUNG_MARK || !row->vouched ||
        !conductor_gate(conductor, row->name, &holds, &text))
        return;
    if (holds)
        row->rung = duopoly_Rung_RUNG_HOLD;
    if (!holds || *text)
        wire_copy(row->text, sizeof(row->text), text);
}

/* False: the page is full, and its cursor says where. */
static bool fill(const struct conductor *conductor, const struct agent_view *agent, uint32_t place,
                 uint32_t first, duopoly_GuestPage *page)
{
    for (uint32_t i = first; agent->state != AGENT_LOST && i < agent->guests->n; i++) {
        if (page->rows_count == MOST) {
            page->cursor = (uint64_t)place << 32 | i;
            return false;
        }
        duopoly_GuestRow *row = &page->rows[page->rows_count++];
        *row = (duopoly_GuestRow){.has_application = true, .application = agent->guests->rows[i]};
        wire_copy(row->host, sizeof(row->host), agent->name);
        gate_tell(conductor, &row->application);
    }
    return true;
}

void listing_guests(const struct conductor *conductor, const duopoly_List *list,
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
    duopoly_GuestPage *page = &wire_begin(answer, duopoly_Envelope_guest_page_tag)->body.guest_page;
    for (; agents_at(agents, place, &agent) == 0; place++, first = 0)
        if ((!*list->name || strcmp(list->name, agent.name) == 0) &&
            !fill(conductor, &agent, place, first, page))
            return;
}
