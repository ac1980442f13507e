#include "controller/clients/listing_units.h"

#include "controller/clients/listing.h"
#include "controller/clients/listing_rows.h"
#include "controller/resources_wire.h"
#include "lib/wire.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Tasks that run in one unit, as many as fit. */
struct naming {
    duopoly_UnitRow *row;
    uint32_t more;
};

static void name_task(void *context, const struct attempt_view *attempt)
{
    struct naming *naming = context;
    char *tasks = naming->row->tasks, word[64];
    const size_t used = strlen(tasks), kept = sizeof(", and 4294967295 more");
    if (attempt->unit != naming->row->unit || attempt->in_own_room)
        return;
    int length = snprintf(word, sizeof(word), "%s%" PRIu64 "/%" PRIu32 "/%" PRIu32,
                          used ? ", " : "", attempt->job, attempt->stage, attempt->task);
    if (naming->more || used + (size_t)length + kept > sizeof(naming->row->tasks))
        naming->more++;
    else
        memcpy(tasks + used, word, (size_t)length + 1);
}

static void name_tasks(const struct engine *engine, uint32_t host, duopoly_UnitRow *row)
{
    struct naming naming = {row, 0};
    engine_host_attempts(engine, host, name_task, &naming);
    size_t used = strlen(row->tasks);
    if (naming.more)
        snprintf(row->tasks + used, sizeof(row->tasks) - used, ", and %" PRIu32 " more",
                 naming.more);
}

static bool find(const struct conductor_parts *parts, const struct agent_view *agent, uint32_t *row)
{
    struct unit_view unit;
    return !agent->is_switch && agent->state != AGENT_UNMARKED &&
           engine_unit(parts->engine, agent->host, *row, &unit) == 0;
}

static void fill(const struct conductor_parts *parts, const struct agent_view *agent,
                 uint32_t number, void *to)
{
    duopoly_UnitRow *row = to;
    struct unit_view unit = {0};
    engine_unit(parts->engine, agent->host, number, &unit);
    *row = (duopoly_UnitRow){.unit = unit.unit,
                             .has_total = true,
                             .total = resources_to_wire(&unit.total),
                             .has_free = true,
                             .free = resources_to_wire(&unit.free),
                             .running = unit.running};
    wire_copy(row->host, sizeof(row->host), agent->name);
    wire_copy(row->name, sizeof(row->name), unit.name);
    if (number < agent->said->devices_count)
        wire_copy(row->devices, sizeof(row->devices), agent->said->devices[number]);
    row->gone = listing_gone(agent, 0, NULL, 0);
    name_tasks(parts->engine, unit.host, row);
}

void listing_units(const struct conductor_parts *parts, const duopoly_List *list,
                   struct sieve *sieve, duopoly_Envelope *answer)
{
    static const struct listing_rows units = {find, fill, LISTING_IN(unit_page)};
    listing_rows(parts, list, &units, sieve, answer);
}
