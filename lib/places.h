/* Places for clients, shared by rank: clients that may only look cannot keep out clients that may
 * make changes, and no client can take all places of its rank.
 *
 * Clients of a rank and of the ranks below it together have at most `shares` sixteenths of the
 * `most` places; the rest is left for the ranks above. One client (a user, a key) has at most a
 * quarter of all places. Pure; O(1). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum place_rank { RANK_LOOKS, RANK_SUBMITS, RANK_OPERATES, RANK_ADMINISTERS, RANKS };

struct places {
    uint32_t most;
    uint32_t taken[RANKS];
};

#define PLACES_MOST 256

/* Places for clients that share connections with others: at most half of the connections. */
static inline struct places places_of(uint32_t connections)
{
    return (struct places){.most = connections / 2 < PLACES_MOST ? connections / 2 : PLACES_MOST};
}

static inline uint32_t places_of_one(const struct places *places)
{
    return places->most / 4;
}

/* Whether one more client of this rank may come. */
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
