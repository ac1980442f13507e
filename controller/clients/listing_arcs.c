#include "controller/clients/listing_arcs.h"

#include "controller/clients/refusal.h"
#include "lib/wire.h"

#define MOST (sizeof(((duopoly_ArcPage *)0)->rows) / sizeof(duopoly_ArcRow))

static void row_fill(const struct arc_view *arc, duopoly_ArcRow *row)
{
    *row = (duopoly_ArcRow){.arc = arc->arc,
                            .tail = arc->tail,
                            .head = arc->head,
                            .lower = (uint64_t)arc->lower,
                            .capacity = (uint64_t)arc->capacity,
                            .flow = (uint64_t)arc->flow,
                            .cost = arc->cost,
                            .ranked = arc->ranked};
    wire_copy(row->what, sizeof(row->what), arc->what);
    wire_copy(row->tail_is, sizeof(row->tail_is), arc->tail_is);
    wire_copy(row->head_is, sizeof(row->head_is), arc->head_is);
}

void listing_arcs(const struct conductor_parts *parts, const duopoly_List *list,
                  struct sieve *sieve, duopoly_Envelope *answer)
{
    (void)sieve; /* the graph is read whole */
    struct arc_view arc;
    struct err err;
    uint64_t round, after = list->cursor;
    if (engine_graph(parts->engine, &round, &err) < 0) {
        refused_answer(answer, duopoly_Reason_REASON_UNSUPPORTED, "%s", err.text);
        return;
    }
    duopoly_ArcPage *page = &wire_begin(answer, duopoly_Envelope_arc_page_tag)->body.arc_page;
    page->round = round;
    while (engine_arc_after(parts->engine, after, &arc) == 0) {
        if (page->rows_count == MOST) {
            page->cursor = after;
            return;
        }
        after = arc.arc;
        row_fill(&arc, &page->rows[page->rows_count++]);
    }
}
