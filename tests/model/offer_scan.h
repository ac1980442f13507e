/* What an offer does (controller/engine/share/offer.h), as it is defined: each step looks at all
 * users. A model for tests, which say that the engine's, which looks at few, does the same. */
#pragma once

#include "controller/engine/share/debts.h"
#include "controller/engine/share/sequence.h"

#include <stdbool.h>
#include <string.h>

__extension__ typedef __int128 scan_wide;

enum { SCAN_USERS = 64 };

struct scan_user {
    int64_t balance, quota, used, paid, before;
    uint32_t carry, carried;
    bool idle, held;
};

struct scan {
    struct sequence *sequence;
    struct scan_user users[SCAN_USERS];
    int64_t parts[SCAN_USERS];
    uint32_t n, permille;
    int64_t debt_max, amount, left;
};

static inline int64_t scan_positive(int64_t value)
{
    return value > 0 ? value : 0;
}

static inline void scan_deal(int64_t *parts, uint32_t n, int64_t total)
{
    scan_wide sum = 0, passed = 0;
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

static inline int64_t scan_wanted(struct scan *o)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < o->n; i++) {
        o->parts[i] = o->users[i].idle ? 0 : scan_positive(o->users[i].balance);
        sum += o->parts[i];
    }
    return sum;
}

static inline void scan_pay(struct scan *o)
{
    int64_t left = scan_wanted(o), total = 0;
    for (uint32_t i = 0; i < o->n && left > 0; i++) {
        struct scan_user *u = &o->users[i];
        if (u->balance >= 0)
            continue;
        int64_t owes = -u->balance < left ? -u->balance : left;
        u->paid = (int64_t)debts_due((uint64_t)owes, (uint64_t)u->quota, !u->idle, o->permille,
                                     &u->carry);
        total += u->paid;
        left -= u->paid;
    }
    scan_deal(o->parts, o->n, total);
    for (uint32_t i = 0; i < o->n; i++) {
        struct scan_user *u = &o->users[i];
        u->paid -= o->parts[i];
        u->quota -= u->paid;
    }
}

static inline void scan_more(struct scan *o, uint64_t amount)
{
    memset(o->parts, 0, sizeof(o->parts));
    sequence_take(o->sequence, amount, o->parts);
    o->amount += (int64_t)amount;
    o->left += (int64_t)amount;
    for (uint32_t i = 0; i < o->n; i++)
        o->users[i].quota += o->parts[i];
}

static inline void scan_open(struct scan *o, uint64_t amount)
{
    o->amount = o->left = 0;
    for (uint32_t i = 0; i < o->n; i++) {
        struct scan_user *u = &o->users[i];
        u->before = u->balance;
        u->carried = u->carry;
        u->quota = u->used = u->paid = 0;
    }
    scan_more(o, amount);
    scan_pay(o);
}

static inline void scan_lend(struct scan *o, uint32_t user, uint64_t size)
{
    o->users[user].used += (int64_t)size;
    o->left -= (int64_t)size;
}

static inline int64_t scan_standing(const struct scan *o, uint32_t i)
{
    const struct scan_user *u = &o->users[i];
    return u->before + u->quota + u->paid - u->used;
}

static inline void scan_forgive_held(struct scan *o)
{
    int64_t total = 0;
    for (uint32_t i = 0; i < o->n; i++) {
        struct scan_user *u = &o->users[i];
        int64_t lent = u->balance - u->before - scan_positive(u->paid);
        o->parts[i] = scan_positive(u->before - u->balance);
        if (!u->held || lent <= 0)
            continue;
        u->balance -= lent;
        total += lent;
    }
    if (!total)
        return;
    scan_deal(o->parts, o->n, total);
    for (uint32_t i = 0; i < o->n; i++)
        o->users[i].balance += o->parts[i];
}

static inline void scan_bound(struct scan *o)
{
    int64_t total = 0;
    for (uint32_t i = 0; i < o->n; i++) {
        struct scan_user *u = &o->users[i];
        int64_t grew = u->before - u->balance, beyond = -o->debt_max - u->balance;
        o->parts[i] = scan_positive(-grew);
        int64_t given = grew < beyond ? grew : beyond;
        if (given <= 0)
            continue;
        u->balance += given;
        total += given;
    }
    if (!total)
        return;
    scan_deal(o->parts, o->n, total);
    for (uint32_t i = 0; i < o->n; i++)
        o->users[i].balance -= o->parts[i];
}

static inline void scan_close(struct scan *o)
{
    memset(o->parts, 0, sizeof(o->parts));
    sequence_back(o->sequence, (uint64_t)o->left, o->parts);
    for (uint32_t i = 0; i < o->n; i++) {
        struct scan_user *u = &o->users[i];
        u->quota += o->parts[i];
        u->balance = scan_standing(o, i);
        u->carry = o->left == o->amount ? u->carried : u->carry;
    }
    scan_forgive_held(o);
    scan_bound(o);
}

static inline void scan_return(struct scan *o, uint32_t user, uint64_t size)
{
    memset(o->parts, 0, sizeof(o->parts));
    sequence_back(o->sequence, size, o->parts);
    for (uint32_t i = 0; i < o->n; i++) {
        struct scan_user *u = &o->users[i];
        u->before = u->balance;
        u->balance += o->parts[i] + (i == user ? (int64_t)size : 0);
    }
    scan_bound(o);
}
