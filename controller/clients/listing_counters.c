#include "controller/clients/listing_counters.h"

#include "controller/clients/counters.h"
#include "controller/clients/listing_place.h"

#include <stdio.h>

#define MOST(rows) (sizeof(rows) / sizeof((rows)[0]))

/* Counters come one by one; those before the cursor are skipped, and the first that does not fit
 * ends the page. */
struct filling {
    duopoly_Page *page;
    struct sieve *sieve;
    const char *source;
    uint32_t index, first; /* includes those that are left out: a counter's place never changes */
    bool full;
    uint32_t stopped; /* full: at this counter */
};

static void row_add(struct filling *filling, const struct counter *counter)
{
    duopoly_Page *page = filling->page;
    duopoly_CounterRow *row = &page->counters[page->counters_count];
    wire_copy(row->source, sizeof(row->source), filling->source);
    snprintf(row->name, sizeof(row->name), "%s%s%s", counter->name, counter->part ? "." : "",
             counter->part ? counter->part : "");
    row->value = counter->value;
    page->counters_count += sieve_keeps(filling->sieve, row);
}

static void on_counter(void *user, const struct counter *counter)
{
    struct filling *filling = user;
    uint32_t index = filling->index++;
    if (index < filling->first || filling->full || (counter->rare && !counter->value))
        return;
    filling->full = filling->page->counters_count == MOST(filling->page->counters) ||
                    sieve_is_worn(filling->sieve);
    if (filling->full)
        filling->stopped = index;
    else
        row_add(filling, counter);
}

/* NULL: there is none. */
static const struct loop_owner *owner_at(const struct listing_sources *sources, uint32_t place)
{
    const uint32_t agents = agents_count(sources->parts->agents);
    return place > agents && place - agents - 1 < sources->shares->n
               ? &sources->shares->owners[place - agents - 1]
               : NULL;
}

/* The controller, then agents, then who asks. */
static bool source_at(const void *list, uint32_t place, uint64_t *ret_identity)
{
    const struct listing_sources *sources = list;
    const struct listing_order agents = listing_agents(sources->parts->agents);
    const struct loop_owner *owner = owner_at(sources, place);
    *ret_identity = owner ? owner->number : 0;
    return place == 0 || owner || agents.at(agents.list, place - 1, ret_identity);
}

/* False: there is no source at this place. */
static bool source_tell(const struct listing_sources *sources, uint32_t place,
                        struct filling *filling)
{
    struct agent_view agent;
    const struct loop_owner *owner = owner_at(sources, place);
    if (place && !owner && agents_at(sources->parts->agents, place - 1, &agent) < 0)
        return false;
    filling->source = owner ? owner->name : place ? agent.name : "controller";
    if (owner)
        counters_of_owner(owner, on_counter, filling);
    else if (place)
        counters_of_agent(&agent, on_counter, filling);
    else
        counters_of_controller(sources, on_counter, filling);
    return true;
}

void counters_page(const struct listing_sources *sources, const duopoly_List *list,
                   struct sieve *sieve, duopoly_Page *page)
{
    const struct listing_order order = {source_at, sources};
    struct filling filling = {.page = page, .sieve = sieve};
    uint32_t place = listing_resume(&order, list->cursor, &filling.first);
    for (; source_tell(sources, place, &filling); place++) {
        if (filling.full) {
            page->cursor = listing_cursor(&order, place, filling.stopped);
            return;
        }
        filling.index = filling.first = 0;
    }
}
