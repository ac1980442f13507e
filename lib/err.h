/* The sentence a person reads when something failed. It holds no control characters (printable.h),
 * whatever it quotes.
 *
 * Functions that can fail for a reason worth telling return 0 or −errno and fill a caller-owned
 * `struct err` with one sentence: what is wrong, where, and what to do about it. Libraries fill it,
 * programs print it, once. A NULL `struct err *` is allowed everywhere and means that only the code
 * matters.
 *
 * No allocation, no locking, no output; safe in any thread on distinct objects. */
#pragma once

#include <stdarg.h>

struct err {
    int code;       /* errno value, 0 while nothing failed */
    char text[512]; /* one sentence without a trailing newline, cut at the end when too long */
};

/* Sets code (> 0) and sentence and returns −code, so that `return err_set(…)` ends a function. */
__attribute__((format(printf, 3, 4))) int err_set(struct err *err, int code, const char *format,
                                                  ...);

/* As err_set, with ": " and the system's words for `code` at the end. */
__attribute__((format(printf, 3, 4))) int err_sys(struct err *err, int code, const char *format,
                                                  ...);

/* Puts "WORDS: " in front of what is there, to add where it happened; returns −err->code. */
__attribute__((format(printf, 2, 3))) int err_prefix(struct err *err, const char *format, ...);
