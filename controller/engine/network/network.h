/* How urgent transfers are on the wire: their two levels, and the size by which the network serves
 * them. */
#pragma once

#include "controller/engine/policy/questions.h"

/* For policies that give all attempts of a stage one level, which follows the bytes received: what
 * they keep per stage, and how they announce a new level. */
struct network_stage {
    bool told; /* every attempt has the level; false: unknown */
    uint64_t level;
};
#define NETWORK_STAGE_STATE                                                                        \
    {                                                                                              \
        .size = sizeof(struct network_stage)                                                       \
    }
void network_tell(struct engine *engine, struct stage *stage, uint64_t level, int64_t left,
                  int64_t right);
/* Announces the level to attempts that have another one. O(1) when it has not changed. */
static inline void network_follow(struct engine *engine, struct stage *stage, uint64_t level,
                                  int64_t left, int64_t right)
{
    const struct network_stage *kept = stage->kept[QUESTION_NETWORK];
    if (!kept->told || kept->level != level)
        network_tell(engine, stage, level, left, right);
}

/* By mode: Duopoly, Tian et al., section 4; its ablations (C) and (M). */
extern const struct network_policy network_cans, network_cans_coflow, network_cans_macroflow;
/* Aalo, SIGCOMM 2015: sizes unknown, levels follow the bytes received. */
extern const struct network_policy network_dclas;
/* Shortest Coflow first, by the bytes left. */
extern const struct network_policy network_scf;
/* The job's place among those that receive. */
extern const struct network_policy network_rank;
/* One level for all. */
extern const struct network_policy network_none;
