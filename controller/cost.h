/* Measures the loop's turns, and returns freed memory to the system. Not pure: it reads the
 * thread's clock and trims the heap. One thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Turns of the loop: from the end of one to the end of the next, by cost_now_ns. */
struct cost_turns {
    int64_t ended_ns;     /* of the last one; 0: there was none */
    uint64_t turns, slow; /* slow: longer than COST_SLOW_NS */
    uint64_t returns;     /* times that cost_follow_memory returned memory */
    int64_t longest_ns;
};
#define COST_SLOW_NS INT64_C(5000000)
/* A turn ends. */
void cost_turn_over(struct cost_turns *turns);

/* Processor time of this thread. WHY not wall time: a message is not to blame for other processes
 * on this machine. */
int64_t cost_now_ns(void);

/* `held` counted bytes are held now. If at most half of what was held before, and much less, the
 * freed memory is returned to the system: small live pieces between freed ones would keep the heap
 * at its largest. *most: the most that was held since then; begins with 0. True: it was
 * returned: O(heap); else O(1).
 * WHY not sooner: each time costs a system call for every free piece of a page or more, also for
 * those that were returned before: milliseconds where there are thousands. */
bool cost_follow_memory(uint64_t *most, uint64_t held);
