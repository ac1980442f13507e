#include "controller/clients/listing_guests.h"

#include "controller/clients/listing_rows.h"
#include "lib/wire.h"

#include <string.h>

#define MOST (sizeof(((duopoly_GuestPage *)0)->rows) / sizeof(duopoly_GuestRow))

/* What its agent cannot know: whether the driver follows allows, and which of its transfers no mark
 * reaches. */
static void gate_tell(const struct conductor_parts *parts, duopoly_GuestApplication *row)
{
    bool holds;
    const char *text;
    if (row->rung != duopoly_Rung_RUNG_MARK || !row->vouched ||
        !frameworks_gate(parts->frameworks, row->name, &holds, &text))
        return;
    if (holds)
        row->rung = duopoly_Rung_RUNG_HOLD;
    if (!holds || *text)
        wire_copy(row->text, sizeof(row->text), text);
}

/* False: the page is full at *row. */
static bool fill(const struct conductor_parts *parts, const struct agent_view *agent, uint32_t *row,
                 void *to)
{
    duopoly_GuestPage *page = to;
    for (uint32_t i = *row; agent->state != AGENT_LOST && i < agent->guests->n; i++) {
        if (page->rows_count == MOST) {
            *row = i;
            return false;
        }
        duopoly_GuestRow *told = &page->rows[page->rows_count++];
        *told = (duopoly_GuestRow){.has_application = true, .application = agent->guests->rows[i]};
        wire_copy(told->host, sizeof(told->host), agent->name);
        gate_tell(parts, &told->application);
    }
    return true;
}

void listing_guests(const struct conductor_parts *parts, const duopoly_List *list,
                    duopoly_Envelope *answer)
{
    if (!listing_rows_known(parts, list, answer))
        return;
    duopoly_GuestPage *page = &wire_begin(answer, duopoly_Envelope_guest_page_tag)->body.guest_page;
    page->cursor = listing_rows(parts, list, fill, page);
}
