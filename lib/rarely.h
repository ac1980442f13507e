/* What goes on being wrong is said at once, again when it becomes something else, and else more and
 * more seldom: after RARELY_FIRST_S, then twice as long each time up to RARELY_MOST_S. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define RARELY_FIRST_S 60
#define RARELY_MOST_S  3600

struct rarely {
    uint64_t words; /* a hash of what was said last; 0: nothing */
    uint64_t next_usec, wait_usec;
};

/* Whether `words` are to be said at `now_usec` (of a clock that only goes forward); if so they count
 * as said. */
bool rarely_say(struct rarely *rarely, const char *words, uint64_t now_usec);

/* It is right again: the next fault is said at once. */
void rarely_right(struct rarely *rarely);
