#include "controller/cost.h"

#include <malloc.h>
#include <time.h>

/* Bytes: for fewer, a walk through the heap does not pay. */
#define GIVE (UINT64_C(16) << 20)

int64_t cost_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

void cost_turn_over(struct cost_turns *turns)
{
    const int64_t now_ns = cost_now_ns(), spent_ns = turns->ended_ns ? now_ns - turns->ended_ns : 0;
    turns->ended_ns = now_ns;
    turns->turns++;
    turns->slow += spent_ns > COST_SLOW_NS;
    if (spent_ns > turns->longest_ns)
        turns->longest_ns = spent_ns;
}

bool cost_follow_memory(uint64_t *most, uint64_t held)
{
    if (held > *most)
        *most = held;
    if (*most - held < GIVE || held > *most / 2)
        return false;
    malloc_trim(0);
    *most = held;
    return true;
}
