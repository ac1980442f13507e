/* FNV-1a, 64 bits (Fowler, Noll, Vo 1991): a digest for names and texts that nobody has a reason to
 * forge. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The digest of no bytes. */
#define FNV1A_NOTHING UINT64_C(0xcbf29ce484222325)

/* Extends the digest `hash` by `n` bytes. O(n). */
static inline uint64_t fnv1a(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}
