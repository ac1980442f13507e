/* Users in a dump; user 0 where it is not as it was made. WHY before jobs: each job is counted as
 * its user's own when it is read. */
#include "controller/engine/base/ground.h"
#include "controller/engine/books/users.h"
#include "controller/engine/dump/dump.h"

#include <errno.h>
#include <string.h>

struct user_record {
    uint32_t number, share;
    char name[ENGINE_NAME_MAX];
    int64_t since_ns;
    bool leaves;
    uint32_t carry;
    int64_t remainder;
};
struct turn_record {
    uint64_t position, charged;
};
struct debt_record {
    uint32_t borrower, lender;
    uint64_t amount;
    int64_t since_ns;
};
DUMP_FITS(struct user_record);
DUMP_FITS(struct turn_record);
DUMP_FITS(struct debt_record);

static int load_user(struct engine *engine, const void *object, struct err *err)
{
    const struct user_record *record = object;
    struct user *user = users_find(engine, record->number);
    const struct user *named = users_named(engine, record->name);
    if ((user && record->number) || (named && named != user) || !*record->name || !record->share ||
        record->carry >= 1000 || engine->users.n >= ENGINE_USERS_MAX)
        return err_set(err, EINVAL,
                       "user %u comes twice, or has another one's name, or none, or no share, or "
                       "is one too many",
                       record->number);
    user = user ? user : users_add(engine, record->number);
    users_share(engine, user, record->share);
    user->carry = record->carry;
    user->remainder = record->remainder;
    memcpy(user->name, record->name, sizeof(user->name));
    user->since_ns = record->since_ns;
    user->leaves = record->leaves && record->number;
    return 0;
}

static int load_turn(struct engine *engine, const void *object, struct err *err)
{
    const struct turn_record *record = object;
    (void)err;
    engine->users_position = record->position % engine->users_total;
    engine->users_charged = record->charged;
    return 0;
}

static int load_debt(struct engine *engine, const void *object, struct err *err)
{
    const struct debt_record *record = object;
    if (!users_find(engine, record->borrower) || !users_find(engine, record->lender) ||
        record->borrower == record->lender || !record->amount ||
        debts_position(engine->debts, record->borrower) > 0 ||
        debts_position(engine->debts, record->lender) < 0)
        return err_set(err, EINVAL,
                       "user %u cannot owe user %u something: one is not there, or it owes and is "
                       "owed",
                       record->borrower, record->lender);
    return debts_lend(engine->debts, record->lender, record->borrower, record->amount,
                      record->since_ns);
}

#define F FIELD_OF

enum { USER, TURN, DEBT };
const struct dump_kind user_kinds[] = {
    [USER] = {{"user",
               {F(user_record, number, U32), F(user_record, share, U32),
                F(user_record, name, CHARS), F(user_record, since_ns, I64),
                F(user_record, leaves, BOOL), FIELD_LEAN(user_record, carry, U32),
                FIELD_LEAN(user_record, remainder, I64)}},
              load_user},
    [TURN] = {{"users_turn",
               {F(turn_record, position, U64), FIELD_LEAN(turn_record, charged, U64)}},
              load_turn},
    [DEBT] = {{"debt",
               {F(debt_record, borrower, U32), F(debt_record, lender, U32),
                F(debt_record, amount, U64), F(debt_record, since_ns, I64)}},
              load_debt},
    {{0}, NULL},
};

void user_dump(struct dumper *d, const struct engine *engine)
{
    for (struct sorted_node *node = sorted_first(&engine->users); node; node = sorted_next(node)) {
        const struct user *user = container_of(node, struct user, by_number);
        struct user_record record = {.number = user->number,
                                     .share = user->share,
                                     .since_ns = user->since_ns,
                                     .leaves = user->leaves,
                                     .carry = user->carry,
                                     .remainder = user->remainder};
        memcpy(record.name, user->name, sizeof(record.name));
        if (user->number || user->share != 1 || user->carry || user->remainder ||
            strcmp(user->name, "everybody") != 0)
            dump_record(d, &user_kinds[USER].kind, &record);
    }
    const struct turn_record turn = {engine->users_position, engine->users_charged};
    if (turn.position || turn.charged)
        dump_record(d, &user_kinds[TURN].kind, &turn);
    struct debt debt;
    bool more = debts_first(engine->debts, &debt);
    for (; more; more = debts_after(engine->debts, debt.borrower, debt.lender, &debt)) {
        const struct debt_record record = {debt.borrower, debt.lender, debt.amount, debt.since_ns};
        dump_record(d, &user_kinds[DEBT].kind, &record);
    }
}
