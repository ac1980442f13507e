#include "controller/clients/listing_users.h"

#include "controller/shares.h"
#include "lib/wire.h"

#define MOST        (sizeof(((duopoly_UserPage *)0)->rows) / sizeof(duopoly_UserRow))
#define MOST_SHARES (sizeof(((duopoly_SharePage *)0)->rows) / sizeof(duopoly_ShareRow))
#define MOST_DEBTS  (sizeof(((duopoly_DebtPage *)0)->rows) / sizeof(duopoly_DebtRow))

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
                   struct sieve *sieve, duopoly_Envelope *answer)
{
    duopoly_UserPage *page = &wire_begin(answer, duopoly_Envelope_user_page_tag)->body.user_page;
    struct user_view user;
    uint64_t from = list->cursor;
    for (; engine_user_from(parts->engine, from, &user) == 0; from = (uint64_t)user.user + 1) {
        if (page->rows_count == MOST || sieve_is_worn(sieve)) {
            page->cursor = from;
            return;
        }
        row_fill(parts, &user, &page->rows[page->rows_count]);
        page->rows_count += sieve_keeps(sieve, &page->rows[page->rows_count]);
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
                   struct sieve *sieve, duopoly_Envelope *answer)
{
    duopoly_DebtPage *page = &wire_begin(answer, duopoly_Envelope_debt_page_tag)->body.debt_page;
    struct debt_view debt;
    uint64_t at = list->cursor;
    while (engine_debt_from(parts->engine, (uint32_t)(at >> 32), (uint32_t)at, &debt) == 0) {
        if (page->rows_count == MOST_DEBTS || sieve_is_worn(sieve)) {
            page->cursor = at;
            return;
        }
        debt_fill(parts, &debt, &page->rows[page->rows_count]);
        page->rows_count += sieve_keeps(sieve, &page->rows[page->rows_count]);
        at = ((uint64_t)debt.borrower << 32 | debt.lender) + 1;
    }
}

/* WHY one by one: each list of the message has a count of its own. */
static void spans_fill(const struct share_span *spans, uint32_t n, duopoly_ShareSpans *ret)
{
    *ret = (duopoly_ShareSpans){.slots_milli_count = (pb_size_t)n,
                                .mem_mb_count = (pb_size_t)n,
                                .right_ppm_count = (pb_size_t)n,
                                .wanted_permille_count = (pb_size_t)n};
    for (uint32_t i = 0; i < n; i++) {
        ret->slots_milli[i] = spans[i].slots_milli;
        ret->mem_mb[i] = spans[i].mem_mb;
        ret->right_ppm[i] = spans[i].right_ppm;
        ret->wanted_permille[i] = spans[i].wanted_permille;
    }
}

static void share_fill(const struct conductor_parts *parts, const struct user_view *user,
                       uint32_t n, duopoly_ShareRow *row)
{
    const struct share_span *spans = shares_of(parts->shares, &user->user);
    row->user = user->user;
    row->share = user->share;
    wire_copy(row->name, sizeof(row->name), user->name);
    row->has_spans = spans;
    if (spans)
        spans_fill(spans, n, &row->spans);
}

static void drift_fill(const struct conductor_parts *parts, duopoly_SharePage *page)
{
    const struct users_drift *drift = shares_drift(parts->shares, parts->engine);
    if (!drift)
        return;
    page->entries = drift->entries;
    page->literal_ahead = drift->literal_ahead;
    page->literal_behind = drift->literal_behind;
    page->even_ahead = drift->even_ahead;
    page->even_behind = drift->even_behind;
}

void listing_shares(const struct conductor_parts *parts, const duopoly_List *list,
                    struct sieve *sieve, duopoly_Envelope *answer)
{
    (void)sieve; /* the parts of all users are read together */
    duopoly_SharePage *page = &wire_begin(answer, duopoly_Envelope_share_page_tag)->body.share_page;
    struct user_view user;
    uint64_t from = list->cursor;
    int64_t now_ns = clock_now_ns(parts->clock);
    shares_pass(parts->shares, parts->engine, now_ns);
    const struct shares_time time = shares_time(parts->shares);
    page->span_ns = (uint64_t)time.span_ns;
    page->age_ns = now_ns - time.end_ns;
    page->version = time.version;
    page->has_all = true;
    spans_fill(shares_of(parts->shares, NULL), time.n, &page->all);
    drift_fill(parts, page);
    for (; engine_user_from(parts->engine, from, &user) == 0; from = (uint64_t)user.user + 1) {
        if (page->rows_count == MOST_SHARES) {
            page->cursor = from;
            return;
        }
        share_fill(parts, &user, time.n, &page->rows[page->rows_count++]);
    }
}
