#include "controller/engine/share/debts.h"

#include "controller/engine/base/sorted.h"

#include <errno.h>
#include <stdlib.h>

__extension__ typedef unsigned __int128 wide;

struct note {
    struct debt debt;
    struct sorted_node by_borrower, by_lender;
};

struct debts {
    struct sorted by_borrower; /* (borrower, lender) */
    struct sorted by_lender;   /* (lender, borrower) */
};

struct debts *debts_create(void)
{
    return calloc(1, sizeof(struct debts));
}

static void remove_note(struct debts *debts, struct note *note)
{
    sorted_remove(&debts->by_borrower, &note->by_borrower);
    sorted_remove(&debts->by_lender, &note->by_lender);
    free(note);
}

static struct note *note_of(struct sorted_node *node)
{
    return node ? container_of(node, struct note, by_borrower) : NULL;
}

void debts_destroy(struct debts *debts)
{
    struct note *note;
    while (debts && (note = note_of(sorted_first(&debts->by_borrower))))
        remove_note(debts, note);
    free(debts);
}

static struct note *find(const struct debts *debts, uint32_t borrower, uint32_t lender)
{
    return note_of(sorted_find(&debts->by_borrower, (struct sorted_key){borrower, lender, 0}));
}

/* The first thing that a user owes; NULL: nothing. */
static struct note *first_owed_by(const struct debts *debts, uint32_t borrower)
{
    struct note *note =
        note_of(sorted_from(&debts->by_borrower, (struct sorted_key){borrower, 0, 0}));
    return note && note->debt.borrower == borrower ? note : NULL;
}

static struct note *first_owed_to(const struct debts *debts, uint32_t lender)
{
    struct sorted_node *node = sorted_from(&debts->by_lender, (struct sorted_key){lender, 0, 0});
    struct note *note = node ? container_of(node, struct note, by_lender) : NULL;
    return note && note->debt.lender == lender ? note : NULL;
}

static int add(struct debts *debts, struct debt debt)
{
    struct note *note = find(debts, debt.borrower, debt.lender);
    if (note) {
        note->debt.amount += debt.amount;
        if (debt.since_ns < note->debt.since_ns)
            note->debt.since_ns = debt.since_ns;
        return 0;
    }
    note = calloc(1, sizeof(*note));
    if (!note)
        return -ENOMEM;
    note->debt = debt;
    sorted_insert(&debts->by_borrower, &note->by_borrower,
                  (struct sorted_key){debt.borrower, debt.lender, 0}, 0);
    sorted_insert(&debts->by_lender, &note->by_lender,
                  (struct sorted_key){debt.lender, debt.borrower, 0}, 0);
    return 0;
}

/* Up to so much of the note; it goes when nothing is left. The part that was taken. */
static struct debt take(struct debts *debts, struct note *note, uint64_t amount)
{
    struct debt part = note->debt;
    if (amount < part.amount) {
        part.amount = amount;
        note->debt.amount -= amount;
    } else {
        remove_note(debts, note);
    }
    return part;
}

/* The lender owes nobody. What others owe the borrower they owe the lender instead, as far as this
 * goes; each such part keeps its own time. */
static int owe(struct debts *debts, struct debt debt)
{
    struct note *note;
    while (debt.amount && (note = first_owed_to(debts, debt.borrower))) {
        struct debt part = take(debts, note, debt.amount);
        debt.amount -= part.amount;
        part.lender = debt.lender;
        if (add(debts, part) < 0)
            return -ENOMEM;
    }
    return debt.amount ? add(debts, debt) : 0;
}

/* What the lender owes others is the borrower's to owe, as far as this goes; what it owes the
 * borrower itself is cancelled. */
static int lend(struct debts *debts, struct debt debt)
{
    struct note *note;
    while (debt.amount && (note = first_owed_by(debts, debt.lender))) {
        struct debt part = take(debts, note, debt.amount);
        debt.amount -= part.amount;
        part.borrower = debt.borrower;
        if (part.lender != debt.borrower && owe(debts, part) < 0)
            return -ENOMEM;
    }
    return debt.amount ? owe(debts, debt) : 0;
}

int debts_lend(struct debts *debts, uint32_t lender, uint32_t borrower, uint64_t amount,
               int64_t now_ns)
{
    return lender == borrower ? 0 : lend(debts, (struct debt){borrower, lender, amount, now_ns});
}

uint64_t debts_repay(struct debts *debts, uint32_t borrower, uint32_t lender, uint64_t amount)
{
    struct note *note = find(debts, borrower, lender);
    return note && amount ? take(debts, note, amount).amount : 0;
}

int64_t debts_move(struct debts *debts, uint32_t borrower, uint32_t lender, uint32_t third,
                   uint64_t amount)
{
    struct note *note = find(debts, borrower, lender);
    if (!note || !amount || third == lender)
        return 0;
    struct debt part = take(debts, note, amount);
    int64_t moved = (int64_t)part.amount;
    part.lender = third;
    return third != borrower && lend(debts, part) < 0 ? -ENOMEM : moved;
}

int64_t debts_position(const struct debts *debts, uint32_t user)
{
    int64_t position = 0;
    struct note *note = first_owed_by(debts, user);
    for (; note && note->debt.borrower == user; note = note_of(sorted_next(&note->by_borrower)))
        position -= (int64_t)note->debt.amount;
    note = first_owed_to(debts, user);
    while (note && note->debt.lender == user) {
        position += (int64_t)note->debt.amount;
        struct sorted_node *next = sorted_next(&note->by_lender);
        note = next ? container_of(next, struct note, by_lender) : NULL;
    }
    return position;
}

uint64_t debts_between(const struct debts *debts, uint32_t borrower, uint32_t lender)
{
    const struct note *note = find(debts, borrower, lender);
    return note ? note->debt.amount : 0;
}

static bool tell(const struct note *note, struct debt *ret_debt)
{
    if (note)
        *ret_debt = note->debt;
    return note;
}

bool debts_after(const struct debts *debts, uint32_t borrower, uint32_t lender,
                 struct debt *ret_debt)
{
    struct sorted_key after = {borrower, (uint64_t)lender + 1, 0};
    return tell(note_of(sorted_from(&debts->by_borrower, after)), ret_debt);
}

bool debts_from(const struct debts *debts, uint32_t borrower, uint32_t lender,
                struct debt *ret_debt)
{
    return tell(note_of(sorted_from(&debts->by_borrower, (struct sorted_key){borrower, lender, 0})),
                ret_debt);
}

bool debts_first(const struct debts *debts, struct debt *ret_debt)
{
    return tell(note_of(sorted_first(&debts->by_borrower)), ret_debt);
}

uint64_t debts_count(const struct debts *debts)
{
    return debts->by_borrower.n;
}

uint64_t debts_due(uint64_t owed, uint64_t room, bool has_work, uint32_t permille, uint32_t *carry)
{
    uint64_t most = owed < room ? owed : room;
    if (!has_work)
        return most;
    wide part = (wide)most * permille + *carry;
    uint64_t due = (uint64_t)(part / 1000);
    *carry = (uint32_t)(part % 1000);
    return due < most ? due : most;
}

/* What one debtor owed to whom leaves. */
static int inherit(struct debts *debts, struct debt debt, const struct debts_heir *heirs,
                   uint32_t n, uint64_t total)
{
    for (uint32_t i = 0; i < n; i++) {
        struct debt part = debt;
        part.lender = heirs[i].user;
        part.amount = (uint64_t)((wide)debt.amount * heirs[i].share / total);
        if (part.lender != debt.borrower && part.amount && lend(debts, part) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* All that is owed to the user, which is owed nothing then. */
static struct debt *take_all(struct debts *debts, uint32_t user, uint32_t *ret_n)
{
    struct debt *taken = NULL;
    struct note *note;
    size_t room = 0;
    *ret_n = 0;
    while ((note = first_owed_to(debts, user))) {
        if (*ret_n == room) {
            room = 2 * room + 8;
            struct debt *more = reallocarray(taken, room, sizeof(*taken));
            if (!more) {
                free(taken);
                return NULL;
            }
            taken = more;
        }
        taken[(*ret_n)++] = take(debts, note, note->debt.amount);
    }
    return taken;
}

/* WHY all are taken before the first is dealt out: a debtor that inherits would pass on to the user
 * who leaves. */
int debts_leave(struct debts *debts, uint32_t user, const struct debts_heir *heirs, uint32_t n)
{
    uint64_t total = 0;
    uint32_t n_taken;
    if (first_owed_by(debts, user))
        return -EBUSY;
    if (!first_owed_to(debts, user))
        return 0;
    for (uint32_t i = 0; i < n; i++)
        total += heirs[i].share;
    struct debt *taken = take_all(debts, user, &n_taken);
    int r = taken ? 0 : -ENOMEM;
    for (uint32_t k = 0; r == 0 && total && k < n_taken; k++)
        r = inherit(debts, taken[k], heirs, n, total);
    free(taken);
    return r;
}
