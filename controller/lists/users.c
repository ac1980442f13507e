#include "controller/lists/list.h"

#define ROW duopoly_UserRow
static struct value note(const void *opaque, char words[CELL_WORDS])
{
    const ROW *row = opaque;
    (void)words;
    if (row->leaves)
        return value_text(row->jobs ? "leaves with the last of its jobs"
                                    : "leaves when it has paid back");
    return row->user ? value_absent() : value_text("and jobs of users that are not listed");
}

static const struct cell user_cells[] = {
    CELL("user", "USER", ID, user),
    CELL("name", "NAME", TEXT, name),
    CELL("share", "SHARE", NUMBER, share),
    CELL("jobs", "JOBS", NUMBER, jobs),
    CELL("owed", "OWED", SIGNED, owed),
    CELL("age_ns", "SINCE", DURATION, age_ns, UNLESS_NEGATIVE, .since = true),
    CELL("leaves", NULL, BOOL, leaves),
    CELL_OF("text", "NOTE", TEXT, note),
    {0},
};
#undef ROW

#define ROW duopoly_DebtRow
static const struct cell debt_cells[] = {
    CELL("borrower", "USER", TEXT, borrower_name),
    CELL("lender", "OWES", TEXT, lender_name),
    CELL("amount", "GRANULES", NUMBER, amount),
    CELL("age_ns", "SINCE", DURATION, age_ns, .since = true),
    CELL("borrower_user", NULL, ID, borrower),
    CELL("lender_user", NULL, ID, lender),
    {0},
};
#undef ROW

const struct list list_of_users =
    LIST_IN(LIST_USERS, "users", user_cells, UserRow, user_page, rows);
const struct list list_of_debts =
    LIST_IN(LIST_DEBTS, "debts", debt_cells, DebtRow, debt_page, rows);
