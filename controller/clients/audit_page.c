#include "controller/clients/audit_page.h"

#include "controller/clients/listing_sieve.h"
#include "lib/wire.h"

static void row_fill(const struct store_audit_row *row, duopoly_AuditRow *out)
{
    out->n = row->n;
    out->at_ns = (uint64_t)row->at_ns;
    wire_copy(out->who, sizeof(out->who), row->who);
    wire_copy(out->what, sizeof(out->what), row->what);
    wire_copy(out->result, sizeof(out->result), row->result);
}

void audit_answer(const struct store *store, const duopoly_GetAudit *request,
                  duopoly_Envelope *answer)
{
    struct store_audit_row row;
    const struct sieve_bounds bounds = {.looks = LISTING_FILLS};
    struct sieve sieve;
    if (!sieve_open(&sieve, &list_of_audit, request->filter, &bounds, answer))
        return;
    duopoly_AuditPage *page = &wire_begin(answer, duopoly_Envelope_audit_page_tag)->body.audit_page;
    if (store_audit_after(store, 0, &row) == 0)
        page->oldest = row.n;
    for (uint64_t after = request->after; store_audit_after(store, after, &row) == 0;
         after = row.n) {
        if (page->rows_count == sizeof(page->rows) / sizeof(page->rows[0]) ||
            sieve_is_worn(&sieve)) {
            page->more = true;
            page->after = after;
            return;
        }
        row_fill(&row, &page->rows[page->rows_count]);
        page->rows_count += sieve_keeps(&sieve, &page->rows[page->rows_count]);
    }
}
