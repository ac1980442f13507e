#include "controller/clients/audit_page.h"

void audit_answer(const struct store *store, uint64_t after, duopoly_Envelope *answer)
{
    duopoly_AuditPage *page = &wire_begin(answer, duopoly_Envelope_audit_page_tag)->body.audit_page;
    struct store_audit_row row;
    while (store_audit_after(store, after, &row) == 0) {
        if (page->rows_count == sizeof(page->rows) / sizeof(page->rows[0])) {
            page->more = true;
            return;
        }
        duopoly_AuditRow *out = &page->rows[page->rows_count++];
        out->n = after = row.n;
        out->at_ns = (uint64_t)row.at_ns;
        wire_copy(out->who, sizeof(out->who), row.who);
        wire_copy(out->what, sizeof(out->what), row.what);
        wire_copy(out->result, sizeof(out->result), row.result);
    }
}
