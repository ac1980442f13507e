/* Of several words the one nearest to what somebody wrote, for sentences that ask "did you mean".
 * By Levenshtein's distance; words of more than 64 bytes are near nothing. Pure; O(product of both
 * lengths) for each word. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct nearest {
    const char *word;  /* what was written; borrowed */
    const char *found; /* the nearest so far, the first of equals; NULL: none */
    size_t distance;   /* of it */
};
#define NEAREST_TO(word_)                                                                          \
    {                                                                                              \
        .word = (word_), .distance = SIZE_MAX                                                      \
    }

/* Compares with one more word, which is borrowed. */
void nearest_take(struct nearest *nearest, const char *word);
