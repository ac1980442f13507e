#include "controller/frameworks/number_set.h"

#include "lib/invariant.h"

#include <stdlib.h>

enum { SIZE_AT_FIRST = 64 };

/* Fibonacci hashing spreads successive numbers. Its place, or the free one where it belongs. */
static uint64_t *place_of(const struct number_set *set, uint64_t number)
{
    size_t i = (size_t)(number * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (set->size - 1);
    while (set->at[i] && set->at[i] != number)
        i = (i + 1) & (set->size - 1);
    return &set->at[i];
}

static bool grow(struct number_set *set)
{
    struct number_set larger = {.n = set->n, .size = set->size ? 2 * set->size : SIZE_AT_FIRST};
    larger.at = calloc(larger.size, sizeof(*larger.at));
    if (!larger.at)
        return false;
    for (size_t i = 0; i < set->size; i++)
        if (set->at[i])
            *place_of(&larger, set->at[i]) = set->at[i];
    free(set->at);
    *set = larger;
    return true;
}

bool number_set_add(struct number_set *set, uint64_t number)
{
    assert(number);
    if (2 * set->n >= set->size && !grow(set))
        return false;
    uint64_t *place = place_of(set, number);
    set->n += *place != number;
    *place = number;
    return true;
}

bool number_set_has(const struct number_set *set, uint64_t number)
{
    return set->n && *place_of(set, number) == number;
}

void number_set_clear(struct number_set *set)
{
    free(set->at);
    *set = (struct number_set){0};
}
