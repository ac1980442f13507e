/* Text that grows at its end. A zeroed one is empty. Without memory it stays as it was and says so
 * by `failed`, for good, so that callers look once, at the end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
    char *at; /* not ended by NUL; NULL while nothing was added */
    size_t used, size;
    bool failed; /* out of memory: something is missing */
};

/* Where the next `n` bytes go, which the caller writes; NULL: out of memory. */
char *text_room(struct text *text, size_t n);
void text_add(struct text *text, const char *bytes, size_t n);
void text_word(struct text *text, const char *word);
void text_fill(struct text *text, char byte, size_t n);
/* Decimal. WHY not printf: it takes most of the time of a text of many numbers. */
void text_number(struct text *text, uint64_t number);
void text_signed(struct text *text, int64_t number);

/* Frees it; it is empty then. */
void text_done(struct text *text);
