/* How urgent on the wire: the two levels of a transfer, and by which size the network serves. */
#pragma once

#include "controller/engine/policy/questions.h"

/* For policies under which all attempts of a stage have one level that follows the bytes received:
 * what they keep per stage, and how they tell a new level. */
struct network_stage {
    bool told; /* every attempt has the level; false: who knows */
    uint64_t level;
};
#define NETWORK_STAGE_STATE                                                                        \
    {                                                                                              \
        .size = sizeof(struct network_stage)                                                       \
    }
void network_tell(struct engine *engine, struct stage *stage, uint64_t level, int64_t left,
                  int64_t right);
/* Attempts that have another level are told. O(1) when the level is what it was. */
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
/* One level for everybody. */
extern const struct network_policy network_none;
