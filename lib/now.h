/* The time in nanoseconds, of one of the system's clocks (clock_gettime(2)). */
#pragma once

#include <stdint.h>
#include <time.h>

static inline uint64_t now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}
