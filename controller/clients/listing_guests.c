#include "controller/clients/listing_guests.h"

#include "controller/clients/listing_rows.h"
#include "lib/wire.h"

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

static bool find(const struct conductor_parts *parts, const struct agent_view *agent, uint32_t *row)
{
    (void)parts;
    return agent->state != AGENT_LOST && *row < agent->guests->n;
}

static void fill(const struct conductor_parts *parts, const struct agent_view *agent, uint32_t row,
                 void *to)
{
    duopoly_GuestRow *told = to;
    *told = (duopoly_GuestRow){.has_application = true, .application = agent->guests->rows[row]};
    wire_copy(told->host, sizeof(told->host), agent->name);
    gate_tell(parts, &told->application);
}

void listing_guests(const struct conductor_parts *parts, const duopoly_List *list,
                    struct sieve *sieve, duopoly_Envelope *answer)
{
    static const struct listing_rows guests = {find, fill, LISTING_IN(guest_page)};
    listing_rows(parts, list, &guests, sieve, answer);
}
