/* What a target's world says in answer to one input, as a digest. An input says the same whenever
 * it comes (replay.c): so nothing that a target keeps from one input to the next, to spare itself
 * the making of it, can change what follows. Include it once in a target. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <xxhash.h>

extern uint64_t said;
uint64_t said;

/* An input comes. */
static inline void said_begin(void)
{
    said = 0;
}

static inline void said_add(const void *bytes, size_t length)
{
    said = XXH64(bytes, length, said);
}
