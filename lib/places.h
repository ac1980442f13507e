/* Places for clients, shared by rank, so that who may only look keeps nobody out who may change things,
 * and nobody alone takes all of a rank's.
 *
 * Of `most` places clients of a rank and those below it have `shares` sixteenths at most together: the
 * others are left for the ranks above. One client (a user, a key) has a quarter of all at most. Pure;
 * O(1). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum place_rank { RANK_LOOKS, RANK_SUBMITS, RANK_OPERATES, RANK_ADMINISTERS, RANKS };

struct places {
    uint32_t most;
    uint32_t taken[RANKS];
};

#define PLACES_MOST 256

/* For clients, where they share connections with others: half of these at most. */
static inline struct places places_of(uint32_t connections)
{
    return (struct places){.most = connections / 2 < PLACES_MOST ? connections / 2 : PLACES_MOST};
}

static inline uint32_t places_of_one(const struct places *places)
{
    return places->most / 4;
}

/* Whether one more of this rank may come. */
static inline bool places_left(const struct places *places, enum place_rank rank)
{
    static const uint32_t shares[RANKS] = {8, 12, 15, 16};
    uint32_t up_to = 0, all = 0;
    for (uint32_t r = 0; r < RANKS; r++) {
        all += places->taken[r];
        up_to += r <= rank ? places->taken[r] : 0;
    }
    return all < places->most && up_to < places->most * shares[rank] / 16;
}
