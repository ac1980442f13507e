#include "controller/loop_shares.h"

#include "lib/invariant.h"

#include <stdio.h>

int64_t loop_account_credit(struct loop_account *account, const struct loop_share *share,
                            int64_t now_ns)
{
    const int64_t passed_ns = account->at_ns ? now_ns - account->at_ns : INT64_MAX;
    const int64_t most_ns = share->burst_ns;
    if (passed_ns <= 0)
        return account->credit_ns;
    /* So much time fills it from its lowest. */
    const int64_t full_ns = share->permille ? 2 * most_ns / share->permille * 1000 + 1000 : 0;
    if (passed_ns >= full_ns)
        account->credit_ns = most_ns;
    else
        account->credit_ns += passed_ns * share->permille / 1000;
    if (account->credit_ns > most_ns)
        account->credit_ns = most_ns;
    account->at_ns = now_ns;
    return account->credit_ns;
}

void loop_account_charge(struct loop_account *account, const struct loop_share *share,
                         int64_t now_ns, int64_t spent_ns)
{
    if (spent_ns <= 0)
        return;
    account->spent_ns += (uint64_t)spent_ns;
    account->credit_ns = loop_account_credit(account, share, now_ns) - spent_ns;
    if (account->credit_ns < -share->burst_ns)
        account->credit_ns = -share->burst_ns;
}

void loop_account_note(struct loop_noted *noted, struct loop_account *account, int64_t ns)
{
    if (ns <= 0)
        return;
    if (!account->noted_ns)
        LIST_INSERT_HEAD(noted, account, next);
    account->noted_ns += ns;
}

void loop_account_drop(struct loop_account *account)
{
    if (account->noted_ns)
        LIST_REMOVE(account, next);
    account->noted_ns = 0;
}

struct loop_account *loop_noted_charge(struct loop_noted *noted, const struct loop_share *share,
                                       const struct loop_spent *spent)
{
    struct loop_account *account = LIST_FIRST(noted);
    if (!account)
        return NULL;
    int64_t part_ns = account->noted_ns;
    if (spent->noted_ns > spent->spent_ns)
        part_ns = (int64_t)((double)part_ns * (double)spent->spent_ns / (double)spent->noted_ns);
    loop_account_drop(account);
    loop_account_charge(account, share, spent->now_ns, part_ns);
    return account;
}

/* When the credit is 0 again. */
static int64_t account_due_ns(const struct loop_account *account, const struct loop_share *share)
{
    return account->credit_ns >= 0
               ? account->at_ns
               : account->at_ns + (-account->credit_ns / share->permille + 1) * 1000;
}

static int64_t credit(const struct loop_shares *shares, struct loop_owner *owner, int64_t now_ns)
{
    return loop_account_credit(&owner->account, &shares->share, now_ns) - owner->account.noted_ns;
}

static struct loop_owner *owner_find(struct loop_shares *shares, uint64_t number)
{
    for (struct loop_owner *owner = shares->owners; owner < shares->owners + shares->n; owner++)
        if (owner->number == number)
            return owner;
    return NULL;
}

/* A place for one more; NULL: there is none. */
static struct loop_owner *owner_place(struct loop_shares *shares, int64_t now_ns)
{
    struct loop_owner *best = NULL;
    if (shares->n < LOOP_OWNERS_MAX)
        return &shares->owners[shares->n++];
    for (struct loop_owner *owner = shares->owners; owner < shares->owners + shares->n; owner++)
        if (!owner->clients &&
            (!best || credit(shares, owner, now_ns) > credit(shares, best, now_ns)))
            best = owner;
    return best;
}

void loop_turn_begin(struct loop_shares *shares, struct loop_turn *turn, uint64_t number,
                     const char *name, bool first, int64_t now_ns)
{
    struct loop_owner *owner = owner_find(shares, number);
    if (!owner && (owner = owner_place(shares, now_ns))) {
        loop_account_drop(&owner->account);
        *owner = (struct loop_owner){.number = number};
        snprintf(owner->name, sizeof(owner->name), "%s", name);
        TAILQ_INIT(&owner->line);
    }
    turn->owner = owner;
    if (!owner)
        return;
    owner->first = first;
    owner->clients++;
}

static void leave(struct loop_shares *shares, struct loop_turn *turn)
{
    TAILQ_REMOVE(&turn->owner->line, turn, next);
    turn->waits = false;
    shares->waiting--;
}

void loop_turn_end(struct loop_shares *shares, struct loop_turn *turn)
{
    struct loop_owner *owner = turn->owner;
    if (!owner)
        return;
    if (turn->waits)
        leave(shares, turn);
    if (turn->given)
        owner->gave_ns = 0;
    assert(owner->clients > 0);
    owner->clients--;
    *turn = (struct loop_turn){.owner = NULL};
}

static bool is_put_off(const struct loop_shares *shares, struct loop_owner *owner, int64_t now_ns)
{
    return shares->share.permille && !owner->first &&
           (!TAILQ_EMPTY(&owner->line) || credit(shares, owner, now_ns) < 0);
}

bool loop_turn_is_over(const struct loop_shares *shares, struct loop_turn *turn, int64_t now_ns)
{
    return turn->owner && !turn->given && is_put_off(shares, turn->owner, now_ns);
}

bool loop_turn_take(struct loop_shares *shares, struct loop_turn *turn, int64_t now_ns)
{
    struct loop_owner *owner = turn->owner;
    if (!owner)
        return true;
    if (turn->given) {
        turn->given = false;
        owner->gave_ns = 0;
        return true;
    }
    if (!turn->waits && !is_put_off(shares, owner, now_ns))
        return true;
    if (!turn->waits) {
        if (owner->tag_ns < shares->tag_ns)
            owner->tag_ns = shares->tag_ns;
        TAILQ_INSERT_TAIL(&owner->line, turn, next);
        turn->waits = true;
        shares->waiting++;
        owner->put_off++;
        shares->put_off++;
    }
    return false;
}

void loop_turn_note(struct loop_shares *shares, struct loop_turn *turn, int64_t ns)
{
    if (!turn->owner || ns <= 0)
        return;
    turn->owner->tag_ns += (uint64_t)ns;
    loop_account_note(&shares->noted, &turn->owner->account, ns);
}

void loop_shares_charge(struct loop_shares *shares, const struct loop_spent *spent)
{
    const struct loop_account *account;
    for (uint64_t before_ns; (account = LIST_FIRST(&shares->noted));) {
        before_ns = account->spent_ns;
        loop_noted_charge(&shares->noted, &shares->share, spent);
        shares->spent_ns += account->spent_ns - before_ns;
    }
}

int64_t loop_turn_credit(const struct loop_shares *shares, struct loop_turn *turn, int64_t now_ns)
{
    return !turn->owner || turn->owner->first || !shares->share.permille
               ? INT64_MAX
               : credit(shares, turn->owner, now_ns);
}

static int64_t owner_due_ns(const struct loop_shares *shares, struct loop_owner *owner,
                            int64_t now_ns)
{
    credit(shares, owner, now_ns);
    const int64_t due_ns = account_due_ns(&owner->account, &shares->share);
    const int64_t next_ns = owner->gave_ns ? owner->gave_ns + LOOP_TURN_NS : 0;
    return due_ns > next_ns ? due_ns : next_ns;
}

struct loop_turn *loop_shares_next(struct loop_shares *shares, int64_t now_ns, bool idle)
{
    struct loop_owner *best = NULL;
    for (struct loop_owner *owner = shares->owners;
         shares->waiting && owner < shares->owners + shares->n; owner++)
        if (!TAILQ_EMPTY(&owner->line) && (!best || owner->tag_ns < best->tag_ns) &&
            (idle || owner_due_ns(shares, owner, now_ns) <= now_ns))
            best = owner;
    if (!best)
        return NULL;
    struct loop_turn *turn = TAILQ_FIRST(&best->line);
    leave(shares, turn);
    turn->given = true;
    best->gave_ns = now_ns;
    shares->tag_ns = best->tag_ns;
    return turn;
}

int64_t loop_shares_due_ns(struct loop_shares *shares, int64_t now_ns)
{
    int64_t due_ns = INT64_MAX;
    for (struct loop_owner *owner = shares->owners;
         shares->waiting && owner < shares->owners + shares->n; owner++) {
        if (TAILQ_EMPTY(&owner->line))
            continue;
        const int64_t at_ns = owner_due_ns(shares, owner, now_ns);
        if (at_ns < due_ns)
            due_ns = at_ns;
    }
    return due_ns;
}
