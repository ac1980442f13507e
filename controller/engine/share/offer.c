#include "controller/engine/share/offer.h"

#include "controller/engine/share/debts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 wide;

static int64_t positive(int64_t value)
{
    return value > 0 ? value : 0;
}

static void follow_matter(struct offer *o, uint32_t i, bool matters)
{
    uint32_t *at = &o->matter_at[i];
    if (o->users[i].matters == matters)
        return;
    o->users[i].matters = matters;
    if (matters) {
        *at = o->n_matter;
        o->matter[o->n_matter++] = i;
        return;
    }
    uint32_t last = o->matter[--o->n_matter];
    o->matter[*at] = last;
    o->matter_at[last] = *at;
}

/* Its balance changed, or whether it is idle. */
static void weigh(struct offer *o, uint32_t i)
{
    const struct offer_user *u = &o->users[i];
    weights_set(&o->wanted, i, u->idle ? 0 : positive(u->balance));
    follow_matter(o, i, !u->idle || u->balance < 0);
}

int offer_init(struct offer *offer, uint32_t n)
{
    *offer = (struct offer){.users = calloc(n, sizeof(*offer->users)),
                            .n = n,
                            .touched = calloc(n, sizeof(*offer->touched)),
                            .matter = calloc(n, sizeof(*offer->matter)),
                            .matter_at = calloc(n, sizeof(*offer->matter_at)),
                            .holds = 1,
                            .parts = calloc(n, sizeof(*offer->parts))};
    int r = weights_init(&offer->wanted, n);
    if (!offer->users || !offer->touched || !offer->matter || !offer->matter_at || !offer->parts)
        return -ENOMEM;
    for (uint32_t i = 0; r == 0 && i < n; i++)
        weigh(offer, i);
    return r;
}

void offer_done(struct offer *offer)
{
    free(offer->users);
    free(offer->touched);
    free(offer->matter);
    free(offer->matter_at);
    free(offer->parts);
    weights_done(&offer->wanted);
    *offer = (struct offer){0};
}

void offer_set(struct offer *offer, uint32_t user, int64_t balance, uint32_t carry)
{
    struct offer_user *u = &offer->users[user];
    u->balance = u->before = balance;
    u->carry = carry;
    weigh(offer, user);
}

void offer_hold(struct offer *offer, uint32_t user, bool held)
{
    offer->users[user].held = held ? offer->holds : 0;
}

void offer_hold_nobody(struct offer *offer)
{
    offer->holds++;
}

static uint32_t entries_of(const struct offer *o)
{
    return sequence_entries(o->sequence);
}

static struct offer_user *touch(struct offer *o, uint32_t i)
{
    struct offer_user *u = &o->users[i];
    if (u->touched)
        return u;
    u->touched = true;
    u->carried = u->carry;
    o->unordered |= o->n_touched && o->touched[o->n_touched - 1] > i;
    o->touched[o->n_touched++] = i;
    return u;
}

/* Of entries from its start on: as many as it has, or as were used. */
static void set_quota(struct offer *o, uint32_t i, uint64_t entries)
{
    uint32_t position = sequence_position(o->sequence);
    struct offer_user *u = touch(o, i);
    sequence_seek(o->sequence, o->start);
    u->quota = sequence_count(o->sequence, i, entries) - u->paid;
    sequence_seek(o->sequence, position);
}

/* WHY a quota: in an open offer it may have been counted for nobody like it. */
void offer_idle(struct offer *offer, uint32_t user, bool idle)
{
    offer->users[user].idle = idle;
    weigh(offer, user);
    if (!idle && offer->open && offer->counted)
        set_quota(offer, user, (uint64_t)offer->amount);
}

void offer_forget(struct offer *offer)
{
    for (uint32_t k = 0; k < offer->n_touched; k++) {
        struct offer_user *u = &offer->users[offer->touched[k]];
        u->touched = false;
        u->quota = u->used = u->paid = 0;
        u->before = u->balance;
    }
    offer->n_touched = 0;
    offer->unordered = false;
}

static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

void offer_order(uint32_t *users, uint32_t n)
{
    qsort(users, n, sizeof(*users), ascending);
}

/* WHY: to sort one in so many users costs as much as a look at all. */
enum { FEW = 8 };

static void put_in_order(struct offer *o)
{
    if (!o->unordered)
        return;
    o->unordered = false;
    if (o->n_touched < o->n / FEW) {
        offer_order(o->touched, o->n_touched);
        return;
    }
    o->n_touched = 0;
    for (uint32_t i = 0; i < o->n; i++)
        if (o->users[i].touched)
            o->touched[o->n_touched++] = i;
}

/* Only theirs who matter. */
static void take_of_few(struct offer *o, uint64_t amount)
{
    o->counted = true;
    for (uint32_t k = 0; k < o->n_matter; k++) {
        int64_t entries = sequence_count(o->sequence, o->matter[k], amount);
        if (entries)
            touch(o, o->matter[k])->quota += entries;
    }
    sequence_seek(o->sequence, sequence_position(o->sequence) + amount % entries_of(o));
}

/* The next entries come to quotas. */
static void take(struct offer *o, uint64_t amount)
{
    if (amount < o->n_matter) {
        for (; amount; amount--) {
            touch(o, sequence_next(o->sequence))->quota++;
            sequence_seek(o->sequence, (uint64_t)sequence_position(o->sequence) + 1);
        }
        return;
    }
    if (o->n_matter < o->n / FEW) {
        take_of_few(o, amount);
        return;
    }
    memset(o->parts, 0, o->n * sizeof(*o->parts));
    sequence_take(o->sequence, amount, o->parts);
    for (uint32_t i = 0; i < o->n; i++)
        touch(o, i)->quota += o->parts[i];
}

/* The last entries leave quotas. */
static void roll_back(struct offer *o, uint64_t amount)
{
    uint32_t all = entries_of(o);
    if (amount < o->n) {
        for (; amount; amount--) {
            sequence_seek(o->sequence, (uint64_t)sequence_position(o->sequence) + all - 1);
            touch(o, sequence_next(o->sequence))->quota--;
        }
        return;
    }
    memset(o->parts, 0, o->n * sizeof(*o->parts));
    sequence_back(o->sequence, amount, o->parts);
    for (uint32_t i = 0; i < o->n; i++)
        touch(o, i)->quota += o->parts[i];
}

/* The same where they were counted for few: of all that was used. */
static void count_used(struct offer *o)
{
    uint64_t used = (uint64_t)(o->amount - o->left);
    for (uint32_t k = 0; k < o->n && k < used; k++)
        touch(o, used < o->n ? sequence_at(o->sequence, (o->start + k) % entries_of(o)) : k);
    for (uint32_t k = 0; k < o->n_touched; k++)
        set_quota(o, o->touched[k], used);
    sequence_seek(o->sequence, o->start + used % entries_of(o));
}

/* Deals `total` out by the weights in `parts` (≥ 0, their sum ≥ total) of who is touched, which
 * become what each gets: all together exactly `total`, and nobody more than its weight. */
static void deal(struct offer *o, int64_t total)
{
    wide sum = 0, passed = 0;
    int64_t given = 0;
    for (uint32_t k = 0; k < o->n_touched; k++)
        sum += o->parts[o->touched[k]];
    for (uint32_t k = 0; k < o->n_touched; k++) {
        int64_t *part = &o->parts[o->touched[k]];
        passed += *part;
        int64_t upto = sum ? (int64_t)(total * passed / sum) : 0;
        *part = upto - given;
        given = upto;
    }
}

/* The same by what those are owed that have something to run. WHY not by deal: that looks at all of
 * them, this only at those that get something. Up to a user are dealt ⌊total · its sum / sum⌋, so
 * the next one to get something is the first whose sum makes that at least one more. */
static void deal_to_lenders(struct offer *o, int64_t total)
{
    wide sum = o->wanted.total;
    for (int64_t given = 0; given < total;) {
        uint32_t i = weights_at(&o->wanted, (int64_t)(((given + 1) * sum + total - 1) / total));
        int64_t upto = (int64_t)(total * (wide)weights_upto(&o->wanted, i) / sum);
        struct offer_user *u = touch(o, i);
        u->paid -= upto - given;
        u->quota += upto - given;
        given = upto;
    }
}

/* Step 2. WHY only of who is touched: who has no entry pays nothing. */
static void pay(struct offer *o)
{
    int64_t left = o->wanted.total, total = 0;
    for (uint32_t k = 0; k < o->n_touched && left > 0; k++) {
        struct offer_user *u = &o->users[o->touched[k]];
        if (u->balance >= 0)
            continue;
        int64_t owes = -u->balance < left ? -u->balance : left;
        u->paid = (int64_t)debts_due((uint64_t)owes, (uint64_t)u->quota, !u->idle, o->permille,
                                     &u->carry);
        u->quota -= u->paid;
        total += u->paid;
        left -= u->paid;
    }
    deal_to_lenders(o, total);
}

void offer_open(struct offer *offer, uint64_t amount)
{
    offer_forget(offer);
    offer->amount = offer->left = (int64_t)amount;
    offer->start = sequence_position(offer->sequence);
    offer->open = true;
    offer->counted = false;
    take(offer, amount);
    put_in_order(offer);
    pay(offer);
}

void offer_more(struct offer *offer, uint64_t amount)
{
    offer->amount += (int64_t)amount;
    offer->left += (int64_t)amount;
    take(offer, amount);
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
    touch(offer, user)->used += (int64_t)size;
    offer->left -= (int64_t)size;
    return true;
}

bool offer_run(struct offer *offer, uint32_t user, uint64_t size)
{
    int64_t room = offer_room(offer, user);
    return room > 0 && size <= (uint64_t)room && offer_lend(offer, user, size);
}

int64_t offer_standing(const struct offer *offer, uint32_t user)
{
    const struct offer_user *u = &offer->users[user];
    return u->before + u->quota + u->paid - u->used;
}

static bool stands_better(const struct offer *o, uint32_t a, uint32_t b)
{
    return (wide)offer_standing(o, a) * sequence_share(o->sequence, b) >
           (wide)offer_standing(o, b) * sequence_share(o->sequence, a);
}

uint32_t offer_spare(const struct offer *offer, const uint32_t *users, uint32_t n,
                     const uint64_t *sizes)
{
    uint32_t best = n;
    for (uint32_t i = 0; i < n; i++) {
        if (!sizes[i] || sizes[i] > (uint64_t)offer->left)
            continue;
        bool larger = offer->largest && best < n && sizes[i] > sizes[best],
             equal = !offer->largest || best == n || sizes[i] == sizes[best];
        if (best == n || larger || (equal && stands_better(offer, users[i], users[best])))
            best = i;
    }
    return best;
}

/* Nobody owes more for what users gave that hold: what they would be owed for it they are not. */
static void forgive_held(struct offer *o)
{
    int64_t total = 0;
    for (uint32_t k = 0; k < o->n_touched; k++) {
        struct offer_user *u = &o->users[o->touched[k]];
        int64_t lent = u->balance - u->before - positive(u->paid);
        o->parts[o->touched[k]] = positive(u->before - u->balance);
        if (u->held != o->holds || lent <= 0)
            continue;
        u->balance -= lent;
        total += lent;
    }
    if (!total)
        return;
    deal(o, total);
    for (uint32_t k = 0; k < o->n_touched; k++)
        o->users[o->touched[k]].balance += o->parts[o->touched[k]];
}

/* What this made of debts beyond the bound is given. WHY there is always so much to take back:
 * balances sum to 0 before and after, so some grew by what these fell. */
static void bound(struct offer *o)
{
    int64_t total = 0;
    for (uint32_t k = 0; k < o->n_touched; k++) {
        struct offer_user *u = &o->users[o->touched[k]];
        int64_t grew = u->before - u->balance, beyond = -o->debt_max - u->balance;
        o->parts[o->touched[k]] = positive(-grew);
        int64_t given = grew < beyond ? grew : beyond;
        if (given <= 0)
            continue;
        u->balance += given;
        total += given;
    }
    if (!total)
        return;
    deal(o, total);
    for (uint32_t k = 0; k < o->n_touched; k++)
        o->users[o->touched[k]].balance -= o->parts[o->touched[k]];
}

static void weigh_touched(struct offer *o)
{
    for (uint32_t k = 0; k < o->n_touched; k++)
        weigh(o, o->touched[k]);
}

void offer_close(struct offer *offer)
{
    if (offer->counted)
        count_used(offer);
    else
        roll_back(offer, (uint64_t)offer->left);
    put_in_order(offer);
    for (uint32_t k = 0; k < offer->n_touched; k++) {
        struct offer_user *u = &offer->users[offer->touched[k]];
        u->balance = offer_standing(offer, offer->touched[k]);
        u->carry = offer->left == offer->amount ? u->carried : u->carry;
    }
    forgive_held(offer);
    bound(offer);
    weigh_touched(offer);
    offer->open = false;
}

void offer_return(struct offer *offer, uint32_t user, uint64_t size)
{
    offer_forget(offer);
    roll_back(offer, size);
    touch(offer, user)->balance += (int64_t)size;
    put_in_order(offer);
    for (uint32_t k = 0; k < offer->n_touched; k++) {
        struct offer_user *u = &offer->users[offer->touched[k]];
        u->balance += u->quota;
        u->quota = 0;
    }
    bound(offer);
    weigh_touched(offer);
}
