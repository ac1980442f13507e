/* What happened of late, for people: the newest notices of each kind, numbered in one sequence.
 *
 * `duopolyctl events`, `watch` and `record` show them as events. WHY another word here: an event is
 * what the engine takes.
 *
 * Each kind has a ring of its own, so that a flood of one kind (tasks) drives no other one out
 * (modes). All kinds are noted always: a notice costs less than its decision by far, and who begins
 * to watch sees what was before. A reader has a place: how many notices of each kind it has passed.
 * It keeps that itself, so a reader that sleeps costs nothing here; when it reads again it learns
 * how many of its kinds were dropped meanwhile.
 *
 * Memory: 352 bytes for each place of a ring; notices_rooms makes 16 MB, of which pages that were
 * never written take none. Pure: the time is a parameter. One thread. */
#pragma once

#include "lib/event_kinds.h"

#include <stdbool.h>
#include <stdint.h>

#define NOTICE_NONE UINT32_MAX /* no stage, no task */

struct notice {
    uint64_t sequence; /* from 1 */
    uint64_t at_ns;    /* wall clock */
    duopoly_EventKind kind;
    uint32_t reason;       /* enum reason of a decision; 0: none */
    const char *what;      /* a word, a literal */
    uint64_t job, attempt; /* 0: of none */
    uint32_t stage, task;
    char name[64]; /* of the job or the application; of policies, stances and keys: who did it */
    char host[64], text[160];
};

/* How many of each kind are kept, by duopoly_EventKind, each at least 1. */
extern const uint32_t notices_rooms[EVENT_KIND_COUNT];

struct notices;

/* `rooms`: as notices_rooms. 0 or −ENOMEM. */
int notices_create(const uint32_t rooms[EVENT_KIND_COUNT], struct notices **ret_notices);
/* NULL is fine. */
void notices_destroy(struct notices *notices);

/* Adds one, which is empty but for what is given: the caller fills in the rest. The oldest of its
 * kind is dropped if there is no room. Borrowed until the next one is added. O(1). */
struct notice *notices_add(struct notices *notices, duopoly_EventKind kind, uint64_t at_ns,
                           const char *what);

/* Where a reader stands. */
struct notices_place {
    uint64_t passed[EVENT_KIND_COUNT];
};

/* Before all that are kept; behind all. */
void notices_begin(const struct notices *notices, struct notices_place *ret_place);
void notices_end(const struct notices *notices, struct notices_place *ret_place);
/* Behind this sequence. Returns how many after it are not kept any more, of all kinds; 0 if none of
 * these kinds (a bit for each) can be among them. O(kinds log room). */
uint64_t notices_after(const struct notices *notices, uint32_t kinds, uint64_t sequence,
                       struct notices_place *ret_place);
/* Moves a place on to the first notice of this time or later, as far as the clock was not set back.
 * O(kinds log room). */
void notices_since(const struct notices *notices, uint64_t at_ns, struct notices_place *place);
/* Moves a place on until at most `n` of these kinds are left. O(kinds n). */
void notices_newest(const struct notices *notices, uint32_t kinds, uint64_t n,
                    struct notices_place *place);

/* Whether notices_read would find some, or that some are lost. O(kinds). */
bool notices_more(const struct notices *notices, uint32_t kinds, const struct notices_place *place);
/* Passes at most `most` notices of these kinds in the order of their sequence; returns their
 * number, and how many were lost before them. A place beyond the end is taken for the end. Borrowed
 * until the next one is added. O(kinds most). */
uint32_t notices_read(const struct notices *notices, uint32_t kinds, struct notices_place *place,
                      const struct notice **ret_at, uint32_t most, uint64_t *ret_lost);
