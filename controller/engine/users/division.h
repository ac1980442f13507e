/* Which user gets what is free: who divides the cluster between users, and the steps that they
 * share. Private to controller/engine. */
#pragma once

#include "controller/engine/policy/questions.h"

/* Nobody: the placement is asked for all users at once. */
extern const struct users_policy users_none;
/* Sequence deployment with lending: Wang, Hong, Feng. */
extern const struct users_policy users_sequence;
/* The same by amount × time. */
extern const struct users_policy users_sequence_time;
/* Of each offer a part by shares, rounded: the plain way that the source compares with. */
extern const struct users_policy users_proportional;
/* Lowest use for its share first: of slots, or of what a user has most of. */
extern const struct users_policy users_capacity, users_drf;

/* The parameters of those that count in granules. */
extern const struct engine_parameter parameter_granule_slots, parameter_granule_cpu,
    parameter_granule_memory;
#define DIVISION_GRANULE_PARAMETERS                                                                \
    &parameter_granule_slots, &parameter_granule_cpu, &parameter_granule_memory

/* By these; a slot where all are 0. */
struct resources division_granule(const struct engine *engine);
/* Granules that are free, and that a claim takes. */
uint64_t division_free(const struct engine *engine, const struct resources *granule);
uint64_t division_claim_size(const struct resources *granule, const struct claim *claim);
/* Whether something is ready for which a slot is free. O(shapes). */
bool division_has_room(const struct engine *engine);
/* Granules that are free on the host. O(its units). */
uint64_t division_free_on(const struct host *host, const struct resources *granule);
/* The user's next claim on the host (NULL: on any; else place_policy.one_host); false: nothing of
 * it is ready that fits, or the placement leaves it. The cost of a pick, or of
 * place_policy.in_vain. */
bool division_ask(struct engine *engine, struct user *user, struct host *host,
                  struct claim *ret_claim);
/* Of a user for which that is false there: the rule of what is no loan. The placement holds what
 * it has ready on purpose, although there is room for it (hold.h): what others use meanwhile
 * nobody owes it. False: it has nothing ready, and lends its part, or nothing that fits, and is
 * owed that; so is one whose tasks wait since only the cluster's last slots are free
 * (place_policy.full), for them the cluster is full. O(shapes). */
bool division_is_held(const struct engine *engine, const struct user *user,
                      const struct host *host);

/* Who waits before a user: users with something ready, and what each gets first (0: not known), as
 * they are added. Said as a clause ("behind bob 2, ann 1") and as the fact "user_waits_behind". */
struct division_queue {
    struct engine_explanation *e;
    uint32_t n;
    char names[352];
};
void division_queue_add(struct division_queue *queue, const struct user *user, uint64_t amount);
void division_queue_say(struct division_queue *queue);
