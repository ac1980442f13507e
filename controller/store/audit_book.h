/* The newest of the audit in memory: what was changed, and, apart from it, what was refused. A flood of
 * refused requests takes no place of a change, here or in the store's file, and of one asker no more
 * of the others' than the log would (lib/log.h): further ones are counted, and the next row says how many.
 *
 * Pure but for memory. Looking one up is O(rows). */
#pragma once

#include "lib/log.h"

#include <stdbool.h>
#include <stdint.h>

#define AUDIT_CHANGES 1024
#define AUDIT_REFUSED 1024

struct audit_line {
    uint64_t n; /* 0: none */
    int64_t at_ns;
    char *text; /* who, zero, what, zero, result, zero */
};

/* Zero to begin with. */
struct audit_book {
    struct audit_line changes[AUDIT_CHANGES], refused[AUDIT_REFUSED]; /* rings */
    uint64_t n_changes, n_refused;
    uint64_t newest; /* the highest number */
    struct log_limit askers;
};

/* A request that was refused, by its result's words. */
bool audit_is_refused(const char *result);

/* Whether one more refusal of this asker is to be written; *ret_left_out: so many were not since. */
bool audit_admits(struct audit_book *book, const char *who, uint64_t now_ms,
                  uint32_t *ret_left_out);

/* −ENOMEM. *ret_gone: the refused one that made room for it, which is to go from the file too; 0:
 * none. */
int audit_take(struct audit_book *book, uint64_t n, int64_t at_ns, const char *who,
               const char *what, const char *result, uint64_t *ret_gone);

/* The first with a number > after; NULL: none. Borrowed until the next audit_take. */
const struct audit_line *audit_after(const struct audit_book *book, uint64_t after);

void audit_done(struct audit_book *book);
