#include "controller/clients/listing_modes.h"

#include "controller/mode_words.h"

#define MOST(rows) (sizeof(rows) / sizeof((rows)[0]))

/* The next one's time, or now. */
static int64_t end_of(const struct conductor_parts *parts, const struct mode_change *next)
{
    return next ? next->at_ns : clock_now_ns(parts->clock);
}

static void row_fill(const struct mode_change *change, int64_t end_ns, duopoly_ModeRow *row)
{
    row->mode_sequence = change->sequence;
    row->mode = change->mode;
    row->at_ns = (uint64_t)change->wall_ns;
    row->lasted_ns = end_ns - change->at_ns;
    wire_copy(row->mode_rule, sizeof(row->mode_rule), change->rule);
    row->ready = change->ready;
    row->free = change->free;
    mode_why_say(change->rule, change->ready, change->free, row->text, sizeof(row->text));
}

/* The cursor is the sequence of the last one of a page, which ends the next one. */
void listing_modes(const struct conductor_parts *parts, const duopoly_List *list,
                   struct sieve *sieve, duopoly_Envelope *answer)
{
    duopoly_ModePage *page = &wire_begin(answer, duopoly_Envelope_mode_page_tag)->body.mode_page;
    const struct mode_change *next =
        list->cursor ? mode_history_before(parts->modes, list->cursor + 1) : NULL;
    uint64_t before = list->cursor;
    const struct mode_change *change;
    while ((change = mode_history_before(parts->modes, before))) {
        if (page->rows_count == MOST(page->rows) || sieve_is_worn(sieve)) {
            page->cursor = before;
            return;
        }
        row_fill(change, end_of(parts, next), &page->rows[page->rows_count]);
        page->rows_count += sieve_keeps(sieve, &page->rows[page->rows_count]);
        next = change;
        before = change->sequence;
    }
}
