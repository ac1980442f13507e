#include "controller/cost.h"

#include <malloc.h>
#include <time.h>

/* Bytes; fewer are not worth the look through the heap. */
#define GIVE (UINT64_C(8) << 20)

int64_t cost_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

void cost_follow_memory(uint64_t *most, uint64_t held)
{
    if (held > *most)
        *most = held;
    if (*most - held < GIVE || held > *most / 2)
        return;
    malloc_trim(0);
    *most = held;
}
