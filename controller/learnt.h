/* What was learnt of the tasks of stages that have a history: what a task reads from its host's
 * disk, at which rate a lone one does, and how long it computes; for each way to run it. A stage
 * without a profile gets the one that was learnt; a task that asks more than its profile says
 * corrects that (learnt_correct).
 *
 * Estimators. Bytes and computing: the mean of the first LEARNT_TASKS tasks, then one that moves by
 * 1 ÷ LEARNT_TASKS of each difference. WHY this one: it is right from the first task on, follows
 * data that grow from run to run, lets one odd task move it by an eighth at most, and needs no
 * memory of the tasks. The lone rate: a task that read faster raises it at once, a slower one
 * lowers it by 1 ÷ LEARNT_SLOWER of the difference. WHY not the mean: beside others a task reads
 * slower than alone, and never faster. The error: in the same way as bytes, how far the lone time
 * by the estimate before was from what a task took.
 *
 * Of a task that reads while it computes the computing includes what others slow it by, which is
 * not seen apart; so its estimate is of the cluster as it was.
 *
 * Bounds: LEARNT_MAX ways; the one that was refined longest ago is dropped first. Pure; O(1)
 * expected. */
#pragma once

#include "lib/profile.h"

#include <stdbool.h>
#include <stdint.h>

enum { LEARNT_MAX = 4096, LEARNT_TASKS = 8, LEARNT_SLOWER = 16, LEARNT_ERROR_MAX = 1000000 };

/* A done task. */
struct learnt_seen {
    uint64_t total_ns; /* from the end of its network input to its own */
    bool before;       /* it reads before it computes */
    bool counted;      /* what it read is known: */
    uint64_t read_bytes, read_bytes_s, reading_ns;
};
struct learnt_estimate {
    struct profile profile;  /* valid (profile_check) */
    uint64_t tasks;          /* it was made of */
    uint64_t error_permille; /* of the time that a task took; ≤ LEARNT_ERROR_MAX */
};

struct learnt;

/* NULL if out of memory. */
struct learnt *learnt_create(void);
/* NULL is fine. */
void learnt_destroy(struct learnt *learnt);

/* Refines the estimate; `history` is not 0. Silently nothing when memory is short. */
void learnt_see(struct learnt *learnt, uint64_t history, uint32_t variant,
                const struct learnt_seen *seen);
/* False: nothing is known. */
bool learnt_find(const struct learnt *learnt, uint64_t history, uint32_t variant,
                 struct learnt_estimate *ret_estimate);
/* An estimate that was kept; the oldest first. One that is not valid is left out: false. */
bool learnt_restore(struct learnt *learnt, uint64_t history, uint32_t variant,
                    const struct learnt_estimate *estimate);

/* A profile that reads less or slower than was learnt reads as that; one that is not known becomes
 * what was learnt. */
void learnt_correct(const struct learnt_estimate *estimate, struct profile *profile);
