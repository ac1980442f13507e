/* The newest rows of the audit, in memory: changes, jobs (submitted, cancelled), and refusals, each
 * in a ring of its own, so that a flood of refused requests or of jobs never displaces a change. In
 * the store's file refusals displace nothing either: for each asker no more are written than the
 * log would print (lib/log.h); further ones are counted, and the next row says how many.
 *
 * Pure except for memory. A look-up is O(rows). */
#pragma once

#include "lib/log.h"

#include <stdbool.h>
#include <stdint.h>

#define AUDIT_SHOWN 1024 /* of each kind */

struct audit_line {
    uint64_t n; /* 0: none */
    int64_t at_ns;
    char *text; /* who, zero, what, zero, result, zero */
};

/* Derived from a row's words, since the file has nothing else. */
enum audit_kind { AUDIT_CHANGE, AUDIT_JOB, AUDIT_REFUSED, AUDIT_KINDS };

/* Zero it first. */
struct audit_book {
    struct audit_line lines[AUDIT_KINDS][AUDIT_SHOWN]; /* rings */
    uint64_t n[AUDIT_KINDS];
    uint64_t newest; /* the highest number */
    struct log_limit askers;
};

/* Refused: the result begins with "refused, "; job: the action begins with "submit " or "cancel
 * ". */
enum audit_kind audit_kind_of(const char *what, const char *result);

/* Whether to write one more refusal of this asker; *ret_left_out: how many were left out since the
 * last one. */
bool audit_admits(struct audit_book *book, const char *who, uint64_t now_ms,
                  uint32_t *ret_left_out);

/* Adds a row. −ENOMEM. *ret_gone: the refusal that it displaced, which must be deleted from the
 * file too; 0: none. */
int audit_take(struct audit_book *book, uint64_t n, int64_t at_ns, const char *who,
               const char *what, const char *result, uint64_t *ret_gone);

/* The first row with a number > after; NULL: none. Borrowed until the next audit_take. */
const struct audit_line *audit_after(const struct audit_book *book, uint64_t after);

/* The number of the newest row of a kind; 0: none. O(1). */
uint64_t audit_newest(const struct audit_book *book, enum audit_kind kind);

void audit_done(struct audit_book *book);
