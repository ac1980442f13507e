/* What every unit test includes: cmocka and what cmocka needs before it, and the seed of property
 * tests. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* Skips this test; tests/run says at its end how many were skipped for this reason. */
#define skip_since(reason)                                                                         \
    do {                                                                                           \
        printf("skipped: %s\n", reason);                                                           \
        fflush(stdout);                                                                            \
        skip();                                                                                    \
    } while (0)

/* The seed of this run: TEST_SEED from the environment, else always the same, so that a test that
 * starts to fail fails for what was changed; `make soak` draws new ones. It is printed. */
static inline uint64_t test_seed(void)
{
    static uint64_t seed;
    if (!seed) {
        const char *given = getenv("TEST_SEED");
        seed = given ? strtoull(given, NULL, 0) : 20261121;
        fprintf(stderr, "# TEST_SEED=%llu\n", (unsigned long long)seed);
    }
    return seed;
}

/* splitmix64 (Steele, Lea, Flood 2014): the next number of a property test's own stream. */
static inline uint64_t test_random(uint64_t *stream)
{
    uint64_t z = (*stream += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}
