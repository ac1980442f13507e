#include "controller/clients/listing_users.h"

#include "lib/wire.h"

#define MOST       (sizeof(((duopoly_UserPage *)0)->rows) / sizeof(duopoly_UserRow))
#define MOST_DEBTS (sizeof(((duopoly_DebtPage *)0)->rows) / sizeof(duopoly_DebtRow))

static void row_fill(const struct conductor_parts *parts, const struct user_view *user,
                     duopoly_UserRow *row)
{
    *row = (duopoly_UserRow){.user = user->user,
                             .share = user->share,
                             .age_ns = -1,
                             .jobs = user->jobs,
                             .owed = user->owed,
                             .leaves = user->leaves};
    wire_copy(row->name, sizeof(row->name), user->name);
    if (user->user)
        row->age_ns = clock_now_ns(parts->clock) - user->since_ns;
}

void listing_users(const struct conductor_parts *parts, const duopoly_List *list,
                   duopoly_Envelope *answer)
{
    duopoly_UserPage *page = &wire_begin(answer, duopoly_Envelope_user_page_tag)->body.user_page;
    struct user_view user;
    uint64_t from = list->cursor;
    for (; engine_user_from(parts->engine, from, &user) == 0; from = (uint64_t)user.user + 1) {
        if (page->rows_count == MOST) {
            page->cursor = from;
            return;
        }
        row_fill(parts, &user, &page->rows[page->rows_count++]);
    }
}

static void name_fill(const struct engine *engine, uint32_t number, char *name, size_t size)
{
    struct user_view user;
    if (engine_user_from(engine, number, &user) == 0 && user.user == number)
        wire_copy(name, size, user.name);
}

static void debt_fill(const struct conductor_parts *parts, const struct debt_view *debt,
                      duopoly_DebtRow *row)
{
    *row = (duopoly_DebtRow){.borrower = debt->borrower,
                             .lender = debt->lender,
                             .amount = debt->amount,
                             .age_ns = clock_now_ns(parts->clock) - debt->since_ns};
    name_fill(parts->engine, debt->borrower, row->borrower_name, sizeof(row->borrower_name));
    name_fill(parts->engine, debt->lender, row->lender_name, sizeof(row->lender_name));
}

/* The cursor is a borrower and a lender: where to go on. */
void listing_debts(const struct conductor_parts *parts, const duopoly_List *list,
                   duopoly_Envelope *answer)
{
    duopoly_DebtPage *page = &wire_begin(answer, duopoly_Envelope_debt_page_tag)->body.debt_page;
    struct debt_view debt;
    uint64_t at = list->cursor;
    while (engine_debt_from(parts->engine, (uint32_t)(at >> 32), (uint32_t)at, &debt) == 0) {
        if (page->rows_count == MOST_DEBTS) {
            page->cursor = at;
            return;
        }
        debt_fill(parts, &debt, &page->rows[page->rows_count++]);
        at = ((uint64_t)debt.borrower << 32 | debt.lender) + 1;
    }
}
