#include "controller/engine/share/sequence.h"

#include "controller/engine/share/sequence_order.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

struct sequence {
    uint32_t n, entries, position;
    uint32_t *share;  /* in a turn, by user */
    uint32_t *entry;  /* users, in order */
    uint32_t *before; /* of each user before entry 0, n, 2n… */
    uint32_t *places; /* entries of the first user, in order, of the second… */
    uint32_t *first;  /* of each user among these */
    struct sequence_drift drift;
};

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    while (b) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The shares, as many as there is room for. */
static void say_shares(const struct sequence_user *users, uint32_t n, char *text, size_t size)
{
    size_t at = 0;
    for (uint32_t i = 0; i < n && at + 32 < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%suser %u has %u", i ? ", " : "",
                               users[i].number, users[i].share);
    if (at + 32 >= size)
        snprintf(text + at, size - at, " …");
}

/* Sets the divisor and the entries of a turn. */
static int check(const struct sequence_user *users, uint32_t n, uint32_t *ret_divisor,
                 uint32_t *ret_entries, struct err *err)
{
    uint32_t divisor = 0;
    uint64_t total = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!users[i].share || users[i].share > 1u << 31)
            return err_set(err, EINVAL, "the share of user %u is %u, it must be 1 to %u",
                           users[i].number, users[i].share, 1u << 31);
        divisor = common_divisor(users[i].share, divisor);
        total += users[i].share;
    }
    if (total / divisor > SEQUENCE_ENTRIES_MAX) {
        char shares[256];
        say_shares(users, n, shares, sizeof(shares));
        return err_set(err, E2BIG,
                       "a turn of these shares has %" PRIu64
                       " entries, at most %d are possible: %s; give shares with a larger common "
                       "divisor",
                       total / divisor, SEQUENCE_ENTRIES_MAX, shares);
    }
    *ret_divisor = divisor;
    *ret_entries = (uint32_t)(total / divisor);
    return 0;
}

int sequence_check(const struct sequence_user *users, uint32_t n, struct err *err)
{
    uint32_t divisor, entries;
    return check(users, n, &divisor, &entries, err);
}

static int allocate(const struct sequence_user *users, uint32_t n, uint32_t divisor,
                    uint32_t entries, struct sequence **ret_sequence)
{
    struct sequence *s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    s->n = n;
    s->entries = entries;
    s->share = calloc(n, sizeof(*s->share));
    s->entry = calloc(entries, sizeof(*s->entry));
    s->before = calloc((size_t)n * (entries / n + 1), sizeof(*s->before));
    s->places = calloc(entries, sizeof(*s->places));
    s->first = calloc(n, sizeof(*s->first));
    if (!s->share || !s->entry || !s->before || !s->places || !s->first) {
        sequence_destroy(s);
        return -ENOMEM;
    }
    for (uint32_t i = 0, first = 0; i < n; i++) {
        s->share[i] = users[i].share / divisor;
        s->first[i] = first;
        first += s->share[i];
    }
    *ret_sequence = s;
    return 0;
}

static void more(uint64_t *most, uint64_t value)
{
    if (value > *most)
        *most = value;
}

/* WHY only of the entry's user: all others fall behind with it, and are furthest just before their
 * next one. `count` is of each user, zeros. */
static void note_entries(struct sequence *s, uint32_t *count)
{
    for (uint32_t t = 0; t < s->entries; t++) {
        if (t % s->n == 0)
            memcpy(s->before + t, count, s->n * sizeof(*count));
        uint32_t user = s->entry[t];
        uint64_t due = (uint64_t)t * s->share[user], had = (uint64_t)count[user] * s->entries;
        more(&s->drift.behind, due > had ? due - had : 0);
        s->places[s->first[user] + count[user]] = t;
        count[user]++;
        due += s->share[user];
        had += s->entries;
        more(&s->drift.ahead, had > due ? had - due : 0);
    }
}

int sequence_create(const struct sequence_user *users, uint32_t n, enum sequence_order order,
                    struct sequence **ret_sequence, struct err *err)
{
    uint32_t divisor, entries;
    int r = check(users, n, &divisor, &entries, err);
    if (r < 0)
        return r;
    struct sequence *s = NULL;
    uint32_t *count = calloc(n, sizeof(*count));
    if (!count || allocate(users, n, divisor, entries, &s) < 0 ||
        sequence_order_fill(s->share, n, order, s->entry, entries) < 0) {
        free(count);
        sequence_destroy(s);
        return err_set(err, ENOMEM, "no memory for a turn of %u entries", entries);
    }
    note_entries(s, count);
    free(count);
    *ret_sequence = s;
    return 0;
}

void sequence_destroy(struct sequence *sequence)
{
    if (!sequence)
        return;
    free(sequence->share);
    free(sequence->entry);
    free(sequence->before);
    free(sequence->places);
    free(sequence->first);
    free(sequence);
}

/* Of the entries before this one. */
static void add_before(const struct sequence *s, uint32_t entry, int64_t sign, int64_t *counts)
{
    uint32_t from = entry - entry % s->n;
    for (uint32_t i = 0; i < s->n; i++)
        counts[i] += sign * s->before[from + i];
    for (uint32_t t = from; t < entry; t++)
        counts[s->entry[t]] += sign;
}

static void add_turns(const struct sequence *s, int64_t turns, int64_t *counts)
{
    for (uint32_t i = 0; turns && i < s->n; i++)
        counts[i] += turns * (int64_t)s->share[i];
}

/* Of so many entries from the position on, and the position behind them. */
static uint32_t add(const struct sequence *s, uint64_t amount, int64_t sign, int64_t *counts)
{
    uint32_t rest = (uint32_t)(amount % s->entries), to = s->position + rest;
    bool wraps = to >= s->entries;
    to -= wraps ? s->entries : 0;
    add_turns(s, sign * (int64_t)(amount / s->entries), counts);
    if (rest < s->n) {
        for (uint32_t k = 0, t = s->position; k < rest; k++, t = t + 1 < s->entries ? t + 1 : 0)
            counts[s->entry[t]] += sign;
        return to;
    }
    add_turns(s, wraps ? sign : 0, counts);
    add_before(s, to, sign, counts);
    add_before(s, s->position, -sign, counts);
    return to;
}

void sequence_take(struct sequence *sequence, uint64_t amount, int64_t *counts)
{
    sequence->position = add(sequence, amount, 1, counts);
}

void sequence_back(struct sequence *sequence, uint64_t amount, int64_t *counts)
{
    uint32_t rest = (uint32_t)(amount % sequence->entries);
    sequence->position = (sequence->position + sequence->entries - rest) % sequence->entries;
    add(sequence, amount, -1, counts);
}

/* The user's entries before this one. */
static uint32_t count_before(const struct sequence *s, uint32_t user, uint32_t entry)
{
    const uint32_t *places = s->places + s->first[user];
    uint32_t low = 0, high = s->share[user];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (places[middle] < entry)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t sequence_count(const struct sequence *sequence, uint32_t user, uint64_t amount)
{
    uint32_t all = sequence->entries, rest = (uint32_t)(amount % all),
             to = sequence->position + rest;
    uint64_t turns = amount / all + (to >= all);
    to -= to >= all ? all : 0;
    return (int64_t)(turns * sequence->share[user]) + count_before(sequence, user, to) -
           count_before(sequence, user, sequence->position);
}

uint32_t sequence_next(const struct sequence *sequence)
{
    return sequence->entry[sequence->position];
}

uint32_t sequence_entries(const struct sequence *sequence)
{
    return sequence->entries;
}

uint32_t sequence_position(const struct sequence *sequence)
{
    return sequence->position;
}

uint32_t sequence_share(const struct sequence *sequence, uint32_t user)
{
    return sequence->share[user];
}

void sequence_seek(struct sequence *sequence, uint64_t position)
{
    sequence->position = (uint32_t)(position % sequence->entries);
}

uint32_t sequence_at(const struct sequence *sequence, uint32_t entry)
{
    return sequence->entry[entry];
}

/* ⌊position / total · share + ½⌋ */
static uint64_t used_of(uint64_t position, uint64_t total, uint32_t share)
{
    return (uint64_t)(((wide)position * share * 2 + total) / ((wide)total * 2));
}

uint64_t sequence_joined(uint64_t position, uint64_t total, uint32_t share)
{
    return total ? position + used_of(position, total, share) : 0;
}

uint64_t sequence_left(uint64_t position, uint64_t total, uint32_t share)
{
    return total ? position - used_of(position, total, share) : 0;
}

uint32_t sequence_until(const struct sequence *sequence, uint32_t user, int64_t *counts)
{
    uint32_t n = 0, at = sequence->position;
    for (; sequence->entry[at] != user; n++) {
        counts[sequence->entry[at]]++;
        at = at + 1 < sequence->entries ? at + 1 : 0;
    }
    return n;
}

struct sequence_drift sequence_drift(const struct sequence *sequence)
{
    return sequence->drift;
}
