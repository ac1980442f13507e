#include "controller/engine/share/sequence_order.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* A fraction that says when a user's next entry may come, or is late. */
struct due {
    uint64_t over, share; /* over / share */
    uint32_t user, rank;  /* later in order of falling shares: larger */
};

struct heap {
    struct due *due;
    uint32_t n;
};

/* WHY cross products of 64 bits: `over` is at most 2·n·entries ≤ 2^42, a share at most 2^20. */
static bool before(const struct due *a, const struct due *b)
{
    uint64_t left = a->over * b->share, right = b->over * a->share;
    return left != right ? left < right : a->rank > b->rank;
}

static void sink(struct heap *heap, uint32_t at)
{
    for (;;) {
        uint32_t least = at, child = 2 * at + 1;
        for (uint32_t k = child; k < child + 2 && k < heap->n; k++)
            if (before(&heap->due[k], &heap->due[least]))
                least = k;
        if (least == at)
            return;
        struct due due = heap->due[at];
        heap->due[at] = heap->due[least];
        heap->due[least] = due;
        at = least;
    }
}

static void push(struct heap *heap, struct due due)
{
    uint32_t at = heap->n++;
    for (; at && before(&due, &heap->due[(at - 1) / 2]); at = (at - 1) / 2)
        heap->due[at] = heap->due[(at - 1) / 2];
    heap->due[at] = due;
}

static struct due pop(struct heap *heap)
{
    struct due first = heap->due[0];
    heap->due[0] = heap->due[--heap->n];
    sink(heap, 0);
    return first;
}

struct filling {
    const uint32_t *shares;
    uint32_t n, entries;
    uint32_t *rank, *count; /* by user */
    struct heap next, waiting;
};

/* The k-th unit of a share R leaves (R − k)/R: the largest deficit is the least k/R. */
static void fill_literal(struct filling *f, uint32_t *entry)
{
    for (uint32_t i = 0; i < f->n; i++)
        push(&f->next, (struct due){1, f->shares[i], i, f->rank[i]});
    for (uint32_t t = 0; t < f->entries; t++) {
        struct due due = pop(&f->next);
        entry[t] = due.user;
        if (++due.over <= due.share)
            push(&f->next, due);
    }
}

/* With d = 2n − 2 and x units taken of a share R, the next one is due from entry
 * (d·x + 1)·T / (d·R) on, and late after (d·(x + 1) − 1)·T / (d·R): numerators without T / d. */
static struct due due_from(const struct filling *f, uint32_t user)
{
    uint64_t d = 2 * (uint64_t)f->n - 2;
    return (struct due){d * f->count[user] + 1, f->shares[user], user, f->rank[user]};
}

static struct due late_after(const struct filling *f, uint32_t user)
{
    uint64_t d = 2 * (uint64_t)f->n - 2;
    return (struct due){d * (f->count[user] + 1) - 1, f->shares[user], user, f->rank[user]};
}

static bool is_due(const struct filling *f, const struct due *from, uint32_t t)
{
    uint64_t d = 2 * (uint64_t)f->n - 2;
    return from->over * f->entries <= d * from->share * t;
}

static void fill_even(struct filling *f, uint32_t *entry)
{
    for (uint32_t i = 0; i < f->n; i++)
        push(&f->waiting, due_from(f, i));
    for (uint32_t t = 1; t <= f->entries; t++) {
        while (f->waiting.n && is_due(f, &f->waiting.due[0], t))
            push(&f->next, late_after(f, pop(&f->waiting).user));
        uint32_t user = pop(&f->next).user;
        entry[t - 1] = user;
        if (++f->count[user] < f->shares[user])
            push(&f->waiting, due_from(f, user));
    }
}

struct ranked {
    uint32_t user, share;
};

static int by_share(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->share != y->share)
        return x->share > y->share ? -1 : 1;
    return x->user < y->user ? -1 : x->user > y->user;
}

static int rank(struct filling *f)
{
    struct ranked *ranked = calloc(f->n, sizeof(*ranked));
    if (!ranked)
        return -ENOMEM;
    for (uint32_t i = 0; i < f->n; i++)
        ranked[i] = (struct ranked){i, f->shares[i]};
    qsort(ranked, f->n, sizeof(*ranked), by_share);
    for (uint32_t i = 0; i < f->n; i++)
        f->rank[ranked[i].user] = i;
    free(ranked);
    return 0;
}

static void filling_done(struct filling *f)
{
    free(f->rank);
    free(f->count);
    free(f->next.due);
    free(f->waiting.due);
}

int sequence_order_fill(const uint32_t *shares, uint32_t n, enum sequence_order order,
                        uint32_t *ret_entry, uint32_t entries)
{
    struct filling f = {.shares = shares,
                        .n = n,
                        .entries = entries,
                        .rank = calloc(n, sizeof(*f.rank)),
                        .count = calloc(n, sizeof(*f.count)),
                        .next.due = calloc(n, sizeof(*f.next.due)),
                        .waiting.due = calloc(n, sizeof(*f.waiting.due))};
    int r = f.rank && f.count && f.next.due && f.waiting.due ? rank(&f) : -ENOMEM;
    /* WHY: alone a user has every entry, and d would be 0. */
    if (r == 0 && (order == SEQUENCE_LITERAL || n == 1))
        fill_literal(&f, ret_entry);
    else if (r == 0)
        fill_even(&f, ret_entry);
    filling_done(&f);
    return r;
}
