#include "controller/clients/listing_rows.h"

#include "controller/clients/absent_host.h"
#include "controller/clients/listing_place.h"

#include <string.h>

/* The cursor of the next page; 0: this is the last. */
static uint64_t rows_add(const struct conductor_parts *parts, const duopoly_List *list,
                         const struct listing_rows *what, struct sieve *sieve, char *page)
{
    const struct listing_order order = listing_agents(parts->agents);
    pb_size_t *n = (pb_size_t *)(page + what->count);
    uint32_t row, place = listing_resume(&order, list->cursor, &row);
    struct agent_view agent;
    for (; agents_at(parts->agents, place, &agent) == 0; place++, row = 0) {
        if (*list->name && strcmp(list->name, agent.name) != 0)
            continue;
        for (; what->find(parts, &agent, &row); row++) {
            if (*n == what->most || sieve_is_worn(sieve))
                return listing_cursor(&order, place, row);
            char *to = page + what->rows + *n * what->row_bytes;
            what->fill(parts, &agent, row, to);
            *n += sieve_keeps(sieve, to);
        }
    }
    return 0;
}

void listing_rows(const struct conductor_parts *parts, const duopoly_List *list,
                  const struct listing_rows *what, struct sieve *sieve, duopoly_Envelope *answer)
{
    struct agent_view agent;
    if (*list->name && agents_named(parts->agents, list->name, &agent) < 0) {
        absent_host_answer(parts->agents, ABSENT_EITHER, list->name, answer);
        return;
    }
    char *page = (char *)wire_begin(answer, what->page);
    uint64_t cursor = rows_add(parts, list, what, sieve, page);
    memcpy(page + what->cursor, &cursor, sizeof(cursor));
}
