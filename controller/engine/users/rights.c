#include "controller/engine/users/rights.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int rights_init(struct rights *rights, uint32_t n)
{
    *rights = (struct rights){.of = calloc(n, sizeof(*rights->of))};
    int r = standings_init(&rights->line, n, false);
    return rights->of ? r : -ENOMEM;
}

void rights_done(struct rights *rights)
{
    free(rights->of);
    standings_done(&rights->line);
    *rights = (struct rights){0};
}

static struct right *right_of(struct rights *rights, uint32_t user)
{
    struct right *right = &rights->of[user];
    if (right->count != rights->counts)
        *right = (struct right){.count = rights->counts};
    return right;
}

void rights_open(struct rights *rights, const struct turns *turns, bool holds)
{
    const struct sequence *sequence = turns->offer.sequence;
    rights->open = true;
    rights->holds = holds;
    rights->at = 0;
    rights->counts++;
    rights->entry = sequence_position(sequence);
    right_of(rights, sequence_at(sequence, rights->entry))->moved++;
}

void rights_close(struct rights *rights)
{
    rights->open = false;
}

void rights_place(struct rights *rights, const struct turns *turns, uint32_t user)
{
    const struct offer_user *u = &turns->offer.users[user];
    bool in = rights->open && turns->who[user]->ready_here && u->quota > u->used;
    if (in && rights->holds && !right_of(rights, user)->asked)
        standings_place(&rights->line, user, u->balance + right_of(rights, user)->moved, 1);
    else if (in && !rights->holds && user >= rights->at)
        standings_place(&rights->line, user, 0, 1);
    else
        standings_remove(&rights->line, user);
}

static void move(struct rights *rights, const struct turns *turns, uint32_t user, int64_t by)
{
    right_of(rights, user)->moved += by;
    rights_place(rights, turns, user);
}

/* So many more entries are used. */
static void advance(struct rights *rights, const struct turns *turns, uint64_t entries)
{
    struct sequence *sequence = turns->offer.sequence;
    uint32_t n = turns->offer.n, all = sequence_entries(sequence),
             position = sequence_position(sequence);
    int64_t *counts = turns->offer.parts;
    for (; entries && entries <= n; entries--) {
        rights->entry = (rights->entry + 1) % all;
        move(rights, turns, sequence_at(sequence, rights->entry), 1);
    }
    if (!entries)
        return;
    memset(counts, 0, n * sizeof(*counts));
    sequence_seek(sequence, (uint64_t)rights->entry + 1);
    sequence_take(sequence, entries, counts);
    sequence_seek(sequence, position);
    rights->entry = (uint32_t)((rights->entry + entries) % all);
    for (uint32_t i = 0; i < n; i++)
        move(rights, turns, i, counts[i]);
}

void rights_use(struct rights *rights, const struct turns *turns, uint32_t user, uint64_t size)
{
    if (!rights->holds) {
        rights_place(rights, turns, user);
        return;
    }
    move(rights, turns, user, -(int64_t)size);
    advance(rights, turns, size);
}

uint32_t rights_next(struct rights *rights, const struct turns *turns)
{
    uint32_t n = turns->offer.n, first = turns->offer.left > 0 ? standings_first(&rights->line) : n;
    rights->at = first;
    if (!rights->holds || first == n)
        return first;
    uint32_t next = sequence_at(turns->offer.sequence, rights->entry);
    return standings_are_equal(&rights->line, first, next) ? next : first;
}

void rights_pass(struct rights *rights, const struct turns *turns, uint32_t user)
{
    rights->at = user + 1;
    right_of(rights, user)->asked = true;
    rights_place(rights, turns, user);
}
