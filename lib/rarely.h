/* Says a lasting fault less and less often: at once, again when the sentence changes, else after
 * RARELY_FIRST_S, and after twice as long each time, up to RARELY_MOST_S. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define RARELY_FIRST_S 60
#define RARELY_MOST_S  3600

struct rarely {
    uint64_t words; /* a hash of the last sentence; 0: none */
    uint64_t next_usec, wait_usec;
};

/* Whether to say `words` at `now_usec` (of a monotonic clock); if so, they count as said. */
bool rarely_say(struct rarely *rarely, const char *words, uint64_t now_usec);

/* The fault is over: the next one is logged at once. */
void rarely_right(struct rarely *rarely);
