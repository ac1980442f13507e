/* The tables of policies; no other file lists them. A policy is one file in its question's folder
 * and one line here. */
#include "controller/engine/commit/commit.h"
#include "controller/engine/mode/mode_rule.h"
#include "controller/engine/network/network.h"
#include "controller/engine/place/place.h"
#include "controller/engine/turn/turn.h"
#include "controller/engine/users/division.h"

const struct turn_policy *const turn_policies[] = {
    &turn_fifo,         &turn_sjf, &turn_fair,     &turn_srpt,
    &turn_srpt_ageless, &turn_drf, &turn_priority, NULL};

const struct place_policy *const place_policies[] = {
    &place_nats,   &place_greedy, &place_delay, &place_neat, &place_neat_fair,
    &place_gather, &place_random, &place_joint, &place_flow, &place_affinity,
    &place_model,  &place_spread, &place_score, NULL};

const struct commit_policy *const commit_policies[] = {&commit_single, NULL};

const struct network_policy *const network_policies[] = {
    &network_cans, &network_cans_coflow, &network_cans_macroflow, &network_dclas,
    &network_scf,  &network_rank,        &network_none,           NULL};

const struct mode_policy *const mode_policies[] = {&mode_first, &mode_all, &mode_rich,
                                                   &mode_starved, NULL};

const struct users_policy *const users_policies[] = {&users_none,
                                                     &users_sequence,
                                                     &users_sequence_time,
                                                     &users_proportional,
                                                     &users_capacity,
                                                     &users_drf,
                                                     NULL};

const char *const policy_defaults[QUESTIONS] = {
    [QUESTION_TURN] = "sjf",     [QUESTION_PLACE] = "nats", [QUESTION_COMMIT] = "single",
    [QUESTION_NETWORK] = "cans", [QUESTION_MODE] = "first", [QUESTION_USERS] = "none",
};
