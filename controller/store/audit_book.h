/* The newest of the audit in memory: what was changed, which jobs were submitted and cancelled, and what was
 * refused, each apart: neither a flood of refused requests nor of jobs takes the place of a change. Refused
 * ones take none in the store's file either, and of one asker no more than the log would (lib/log.h): further
 * ones are counted, and the next row says how many.
 *
 * Pure but for memory. Looking one up is O(rows). */
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

/* By the words of a row, since the file has no others. */
enum audit_kind { AUDIT_CHANGE, AUDIT_JOB, AUDIT_REFUSED, AUDIT_KINDS };

/* Zero to begin with. */
struct audit_book {
    struct audit_line lines[AUDIT_KINDS][AUDIT_SHOWN]; /* rings */
    uint64_t n[AUDIT_KINDS];
    uint64_t newest; /* the highest number */
    struct log_limit askers;
};

/* Refused: its result begins with "refused, "; of a job: it is called "submit …" or "cancel …". */
enum audit_kind audit_kind_of(const char *what, const char *result);

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
