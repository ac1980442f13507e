#include "controller/clients/listing_combinations.h"

#include "lib/wire.h"

#include <string.h>

#define MOST (sizeof(((duopoly_CombinationPage *)0)->rows) / sizeof(duopoly_Combination))

static bool answers(const struct engine *engine, const char *question, const char *name)
{
    return strcmp(engine_policy(engine, question), name) == 0;
}

static void row_fill(const struct engine *engine, const struct engine_combination *all,
                     duopoly_Combination *row)
{
    *row = (duopoly_Combination){0};
    wire_copy(row->turn, sizeof(row->turn), all->turn);
    wire_copy(row->place, sizeof(row->place), all->place);
    wire_copy(row->commit, sizeof(row->commit), all->commit);
    wire_copy(row->network, sizeof(row->network), all->network);
    wire_copy(row->mode, sizeof(row->mode), all->mode);
    wire_copy(row->users, sizeof(row->users), all->users);
    row->one_host = all->one_host;
    wire_copy(row->refused, sizeof(row->refused), all->refused);
    row->in_force = answers(engine, "turn", all->turn) && answers(engine, "place", all->place) &&
                    answers(engine, "commit", all->commit) &&
                    answers(engine, "network", all->network) &&
                    answers(engine, "mode", all->mode) && answers(engine, "users", all->users);
}

void listing_combinations(const struct conductor_parts *parts, const duopoly_List *list,
                          struct sieve *sieve, duopoly_Envelope *answer)
{
    duopoly_CombinationPage *page =
        &wire_begin(answer, duopoly_Envelope_combination_page_tag)->body.combination_page;
    struct engine_combination all;
    uint64_t number = list->cursor;
    for (; engine_combination(number, &all) == 0; number++) {
        if (page->rows_count == MOST || sieve_is_worn(sieve)) {
            page->cursor = number;
            return;
        }
        row_fill(parts->engine, &all, &page->rows[page->rows_count]);
        page->rows_count += sieve_keeps(sieve, &page->rows[page->rows_count]);
    }
}
