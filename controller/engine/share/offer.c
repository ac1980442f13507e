#include "controller/engine/share/offer.h"

#include "controller/engine/share/debts.h"

#include <string.h>

__extension__ typedef __int128 wide;

static int64_t positive(int64_t value)
{
    return value > 0 ? value : 0;
}

/* Deals `total` out by the weights in `parts` (≥ 0, their sum ≥ total), which become what each
 * gets: all together exactly `total`, and nobody more than its weight. */
static void deal(int64_t *parts, uint32_t n, int64_t total)
{
    wide sum = 0, passed = 0;
    int64_t given = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += parts[i];
    for (uint32_t i = 0; i < n; i++) {
        passed += parts[i];
        int64_t upto = sum ? (int64_t)(total * passed / sum) : 0;
        parts[i] = upto - given;
        given = upto;
    }
}

/* What those are owed who have something to run, as weights; their sum. */
static int64_t wanted(struct offer *o)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < o->n; i++) {
        o->parts[i] = o->users[i].idle ? 0 : positive(o->users[i].balance);
        sum += o->parts[i];
    }
    return sum;
}

/* Step 2. */
static void pay(struct offer *o)
{
    int64_t left = wanted(o), total = 0;
    for (uint32_t i = 0; i < o->n && left > 0; i++) {
        struct offer_user *u = &o->users[i];
        if (u->balance >= 0)
            continue;
        int64_t owes = -u->balance < left ? -u->balance : left;
        u->paid = (int64_t)debts_due((uint64_t)owes, (uint64_t)u->quota, !u->idle, o->permille,
                                     &u->carry);
        total += u->paid;
        left -= u->paid;
    }
    deal(o->parts, o->n, total);
    for (uint32_t i = 0; i < o->n; i++) {
        struct offer_user *u = &o->users[i];
        u->paid -= o->parts[i];
        u->quota -= u->paid;
    }
}

void offer_open(struct offer *offer, uint64_t amount)
{
    memset(offer->parts, 0, offer->n * sizeof(*offer->parts));
    sequence_take(offer->sequence, amount, offer->parts);
    offer->amount = offer->left = (int64_t)amount;
    for (uint32_t i = 0; i < offer->n; i++) {
        struct offer_user *u = &offer->users[i];
        u->before = u->balance;
        u->carried = u->carry;
        u->quota = offer->parts[i];
        u->used = u->paid = 0;
    }
    pay(offer);
}

void offer_more(struct offer *offer, uint64_t amount)
{
    memset(offer->parts, 0, offer->n * sizeof(*offer->parts));
    sequence_take(offer->sequence, amount, offer->parts);
    offer->amount += (int64_t)amount;
    offer->left += (int64_t)amount;
    for (uint32_t i = 0; i < offer->n; i++)
        offer->users[i].quota += offer->parts[i];
}

int64_t offer_room(const struct offer *offer, uint32_t user)
{
    int64_t room = offer->users[user].quota - offer->users[user].used;
    return room < offer->left ? room : offer->left;
}

bool offer_lend(struct offer *offer, uint32_t user, uint64_t size)
{
    if (size > (uint64_t)offer->left)
        return false;
    offer->users[user].used += (int64_t)size;
    offer->left -= (int64_t)size;
    return true;
}

bool offer_run(struct offer *offer, uint32_t user, uint64_t size)
{
    int64_t room = offer_room(offer, user);
    return room > 0 && size <= (uint64_t)room && offer_lend(offer, user, size);
}

/* What it would be owed if the offer ended now. */
static int64_t standing(const struct offer_user *u)
{
    return u->before + u->quota + u->paid - u->used;
}

static bool stands_better(const struct offer *o, uint32_t a, uint32_t b)
{
    return (wide)standing(&o->users[a]) * sequence_share(o->sequence, b) >
           (wide)standing(&o->users[b]) * sequence_share(o->sequence, a);
}

uint32_t offer_spare(const struct offer *offer, const uint64_t *sizes)
{
    uint32_t best = offer->n;
    for (uint32_t i = 0; i < offer->n; i++) {
        if (!sizes[i] || sizes[i] > (uint64_t)offer->left)
            continue;
        bool larger = offer->largest && best < offer->n && sizes[i] > sizes[best],
             equal = !offer->largest || best == offer->n || sizes[i] == sizes[best];
        if (best == offer->n || larger || (equal && stands_better(offer, i, best)))
            best = i;
    }
    return best;
}

/* Nobody owes more for what users gave that hold: what they would be owed for it they are not. */
static void forgive_held(struct offer *o)
{
    int64_t total = 0;
    for (uint32_t i = 0; i < o->n; i++) {
        struct offer_user *u = &o->users[i];
        int64_t lent = u->balance - u->before - positive(u->paid);
        o->parts[i] = positive(u->before - u->balance);
        if (!u->held || lent <= 0)
            continue;
        u->balance -= lent;
        total += lent;
    }
    if (!total)
        return;
    deal(o->parts, o->n, total);
    for (uint32_t i = 0; i < o->n; i++)
        o->users[i].balance += o->parts[i];
}

/* What this made of debts beyond the bound is given. WHY there is always so much to take back:
 * balances sum to 0 before and after, so some grew by what these fell. */
static void bound(struct offer *o)
{
    int64_t total = 0;
    for (uint32_t i = 0; i < o->n; i++) {
        struct offer_user *u = &o->users[i];
        int64_t grew = u->before - u->balance, beyond = -o->debt_max - u->balance;
        o->parts[i] = positive(-grew);
        int64_t given = grew < beyond ? grew : beyond;
        if (given <= 0)
            continue;
        u->balance += given;
        total += given;
    }
    if (!total)
        return;
    deal(o->parts, o->n, total);
    for (uint32_t i = 0; i < o->n; i++)
        o->users[i].balance -= o->parts[i];
}

void offer_close(struct offer *offer)
{
    memset(offer->parts, 0, offer->n * sizeof(*offer->parts));
    sequence_back(offer->sequence, (uint64_t)offer->left, offer->parts);
    for (uint32_t i = 0; i < offer->n; i++) {
        struct offer_user *u = &offer->users[i];
        u->quota += offer->parts[i];
        u->balance = standing(u);
        u->carry = offer->left == offer->amount ? u->carried : u->carry;
    }
    forgive_held(offer);
    bound(offer);
}

void offer_return(struct offer *offer, uint32_t user, uint64_t size)
{
    memset(offer->parts, 0, offer->n * sizeof(*offer->parts));
    sequence_back(offer->sequence, size, offer->parts);
    for (uint32_t i = 0; i < offer->n; i++) {
        struct offer_user *u = &offer->users[i];
        u->before = u->balance;
        u->balance += offer->parts[i] + (i == user ? (int64_t)size : 0);
    }
    bound(offer);
}
