/* What a policy of each question answers, and which policies there are. Private to
 * controller/engine.
 *
 * One object in several files: policy.h. */
#pragma once

#include "controller/engine/policy/policy.h"

/* Whose turn: the order of jobs, as a number per job. */
struct turn_policy {
    struct policy policy;
    /* Smaller is sooner; ties go to the smaller job number. Pure, O(1): looks at the job and at
     * what the policy keeps with it. It is asked again whenever a task of the job runs, is done or
     * waits anew, its estimate or priority changes, and (where the policy hears of them) bytes are
     * received or its attempts move; the job moves when the number did. */
    uint64_t (*number)(const struct engine *engine, const struct job *job);
    /* Why the job has the turn that it has: a clause without its dot. NULL: nothing is said. */
    void (*explain)(const struct engine *engine, const struct job *job,
                    struct engine_explanation *e);
};

/* Which task, where, or hold: proposes one claim at a time until nothing more. */
struct place_policy {
    struct policy policy;
    /* True with the next claim (its task is ready and its unit has room), false: nothing (more),
     * free slots stay reserved. O(log n). */
    bool (*pick)(struct engine *engine, struct claim *ret_claim);
    bool first_local; /* it asks whose map is first next to its block: waiting_first */
    bool even;        /* its state per job begins with struct locality_job */
    unsigned
        orders; /* of hosts with room, that it reads beside by_load: enum host_order, or-ed; kept
                        only while it is in force */
    /* Why the stage's tasks are left although a slot is free: they are held back. `task` is the one
     * to speak of; NULL: the next of them. NULL: it leaves none on purpose, and holds nothing. */
    struct policy_why (*held)(const struct engine *engine, const struct stage *stage,
                              const struct task *task);
    /* Overdue stages may go on waiting (hold.h): maps until they are late, and are picked then;
     * reduce tasks as long as the policy says. */
    bool patient;
    /* The slots that are free are the last ones, which it leaves to what needs them for a moment:
     * who waits then waits as in a cluster without a free slot, and nothing is held from now on.
     * NULL: never. */
    bool (*full)(const struct engine *engine);
    /* Values of shape->maps and shape->reduces, of facts that the job's turn and ready tasks alone
     * change. NULL: 0, and the smallest transfer of its ready reduce tasks. */
    uint64_t (*map_value)(struct engine *engine, const struct bucket *bucket);
    uint64_t (*reduce_value)(struct engine *engine, const struct bucket *bucket);
};

/* May a claim commit? */
struct commit_policy {
    struct policy policy;
    /* May the claim, whose task is ready or waits for another host and whose unit has room, be
     * turned into a start now? False with why (a reason of DECISION_HOLD): its stage is held for
     * that (refusal.h) until the policy says that the answer may be another (refusal_ask_again), or
     * until hold_max is over. Pure, O(log n); as long as nothing was said, it would refuse again. A
     * claim of another scheduler's is refused alone. */
    bool (*admits)(const struct engine *engine, const struct claim *claim,
                   struct policy_why *ret_why);
};

/* How urgent on the wire: the two levels of a transfer, and by which size the network serves. */
struct network_policy {
    struct policy policy;
    /* By which of the two sizes transfers are served in this mode: what nats predicts the network
     * with. */
    enum transfer_order (*order)(enum mode mode);
    /* The levels of a new attempt from its two sizes (attempt->bytes). */
    void (*levels)(const struct engine *engine, const struct stage *stage, struct attempt *attempt);
    /* Says why an attempt that receives has the level that `levels` gives it now. */
    void (*explain)(const struct engine *engine, const struct attempt *attempt,
                    struct engine_explanation *e);
};

/* Is the cluster short of slots? */
struct mode_policy {
    struct policy policy;
    /* Orders of hosts with room that it reads, as place_policy.orders; NULL: none. */
    unsigned (*orders)(const struct engine *engine);
    /* The mode that it should be in, why, and the two numbers that decided. */
    enum mode (*wanted)(const struct engine *engine, enum reason *ret_reason, uint64_t *ret_ready,
                        int64_t *ret_free);
};

/* In the order in which they are listed to people; each ends with NULL. */
extern const struct turn_policy *const turn_policies[];
extern const struct place_policy *const place_policies[];
extern const struct commit_policy *const commit_policies[];
extern const struct network_policy *const network_policies[];
extern const struct mode_policy *const mode_policies[];
/* What engine_config_default names. */
extern const char *const policy_defaults[QUESTIONS];
