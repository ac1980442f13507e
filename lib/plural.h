/* The end of a counted word: "1 job", "2 jobs". */
#pragma once

#include <stdint.h>

/* "" for one, else "s"; static. Pure. */
static inline const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}
