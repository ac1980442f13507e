/* What a turn of the loop takes: time, and memory that is given back. Not pure: it reads the thread's clock
 * and trims the heap. One thread. */
#pragma once

#include <stdint.h>

/* Turns of the loop: from the end of one to the end of the next, by cost_now_ns. */
struct cost_turns {
    int64_t ended_ns;     /* the last; 0: none has */
    uint64_t turns, slow; /* more than COST_SLOW_NS */
    int64_t longest_ns;
};
#define COST_SLOW_NS INT64_C(5000000)
/* A turn ends. */
void cost_turn_over(struct cost_turns *turns);

/* The time of this thread. WHY not the wall's: what others do on this machine is no message's fault. */
int64_t cost_now_ns(void);

/* So many counted bytes are held now. What was held since the last time and is not any more goes back to the
 * system, if it is much: small pieces among others that stay keep the heap as large as it ever was.
 * *most: the most that was held since then, begins with 0. O(heap) then, else O(1). */
void cost_follow_memory(uint64_t *most, uint64_t held);
