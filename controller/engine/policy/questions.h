/* What policies of each question answer, and the list of policies. Private to controller/engine.
 *
 * One object in several files: policy.h. */
#pragma once

#include "controller/engine/policy/policy.h"

/* Which job is next: an order of jobs, by a number per job. */
struct turn_policy {
    struct policy policy;
    /* Smaller is sooner; ties go to the smaller job number. Pure, O(1): uses the job and the
     * policy's state of it. It is called again whenever a task of the job runs, is done or waits
     * again, its estimate or priority changes, and (if the policy listens to them) bytes are
     * received or its attempts move; the job moves when the number changed. */
    uint64_t (*number)(const struct engine *engine, const struct job *job);
    bool by_attempts; /* it is also called again when an attempt moves, without a listener */
    /* Why the job has its turn: a clause without its full stop. NULL: no explanation. */
    void (*explain)(const struct engine *engine, const struct job *job,
                    struct engine_explanation *e);
};

/* Which task runs where, or is held: proposes one claim at a time until nothing more. */
struct place_policy {
    struct policy policy;
    /* True with the next claim (its task is ready and its unit has room); false: nothing (more),
     * and free slots stay reserved. Of the user that is asked for (engine->asked, users_asked), or
     * of all; where `one_host`, on the host that is asked for (engine->asked_host), or on any.
     * O(log n). */
    bool (*pick)(struct engine *engine, struct claim *ret_claim);
    /* True with the next attempt to evict (eviction_may); false: none (more). It is asked in each
     * step, whether tasks are ready or not, after the events and before `pick`; each eviction is
     * done before it is asked again. Its room is free only when its host has reported the end, in a
     * later step; its task is ready at once, and `pick` may start it elsewhere in this step. NULL:
     * it evicts nothing. */
    bool (*evict)(struct engine *engine, struct eviction *ret_eviction);
    bool chooses_way; /* of a stage that can run in several ways it says in which; else a task runs
                         in the first for which there is room on the host that it chose */
    bool one_host;    /* `pick` can be asked for one host: place_has_room, place_fit */
    bool pure;        /* to ask `pick` for one user more or less changes no decision, nor a dump; */
    bool pure_without_reduces; /* nor does it of a user without a ready reduce task */
    bool at_most;              /* its claims keep the bounds of jobs that have some: at_most_room */
    /* Where somebody divides: to ask `pick` for this user, on any host, would find nothing and
     * change no decision. False: that is not known. NULL: it never is. O(hosts that changed since
     * it was asked for the user). */
    bool (*in_vain)(struct engine *engine, struct user *user);
    /* This claim, which `pick` proposed, goes to the commit policy now. Others were proposed in
     * vain: who divides asks several users. False: what follows from it makes the claim void, and
     * `pick` is asked again. NULL: nothing changes by it. */
    bool (*chosen)(struct engine *engine, struct claim *claim);
    bool first_local; /* it uses waiting_first */
    bool even;        /* its state per job begins with struct locality_job */
    unsigned
        orders; /* orders of hosts with room that it reads, besides by_load: enum host_order, or-ed;
                   kept only while it is in force */
    /* Why the stage's tasks are left although a slot is free: they are held. `task` is the one to
     * explain; NULL: the next of them. NULL: it leaves none on purpose, and holds nothing. */
    struct policy_why (*held)(const struct engine *engine, const struct stage *stage,
                              const struct task *task);
    /* The next arc after number `after` (0: the first) of the graph of which its last decisions are
     * an optimum, for people; false: no more. *ret_round is which optimum that is, 0: there was
     * none yet. NULL: it decides by no graph. */
    bool (*arc_after)(const struct engine *engine, uint64_t after, uint64_t *ret_round,
                      struct arc_view *ret_arc);
    /* Adds what it weighed for the task, which is ready or runs: sentences that begin with a blank,
     * and numbers. NULL: its reasons say it all. */
    void (*explain)(const struct engine *engine, const struct task *task,
                    struct engine_explanation *e);
    /* Overdue stages may wait longer (hold.h): maps until they are late, and are picked then;
     * reduce tasks as long as the policy decides. */
    bool patient;
    /* Only the last slots are free, which it leaves to tasks that need them for a moment: others
     * wait as in a cluster without a free slot, and nothing is held. NULL: never. */
    bool (*full)(const struct engine *engine);
    /* Values of queues->maps and queues->reduces; only the job's turn and ready tasks may change
     * them. NULL: 0, and the smallest transfer of its ready reduce tasks. */
    uint64_t (*map_value)(struct engine *engine, const struct bucket *bucket);
    uint64_t (*reduce_value)(struct engine *engine, const struct bucket *bucket);
};

/* Whether a claim may commit. */
struct commit_policy {
    struct policy policy;
    /* Whether the claim, whose task is ready or waits for another host and whose unit has room, may
     * become a start now. False with a reason of DECISION_HOLD: its stage is held for that
     * (refusal.h) until the policy calls refusal_ask_again, or until hold_max is over. Pure, O(log
     * n); until that call it would refuse again. A claim of another scheduler is refused alone. */
    bool (*admits)(const struct engine *engine, const struct claim *claim,
                   struct policy_why *ret_why);
};

/* How urgent transfers are on the wire: their two levels, and the size by which the network serves
 * them. */
struct network_policy {
    struct policy policy;
    /* By which of the two sizes the network serves transfers in this mode; nats predicts with
     * it. */
    enum transfer_order (*order)(enum mode mode);
    /* The levels of a new attempt from its two sizes (attempt->bytes). */
    void (*levels)(const struct engine *engine, const struct stage *stage, struct attempt *attempt);
    /* Where a transfer into the task stands in the order in which a link serves now, by its two
     * sizes (as attempt->bytes): smaller ones go before it, equal ones share with it. NULL: all
     * share. Pure, O(1). */
    struct sorted_key (*urgency)(const struct engine *engine, const struct task *task,
                                 const uint64_t bytes[static ORDERS]);
    /* Explains why a receiving attempt has the level that `levels` gives it now. */
    void (*explain)(const struct engine *engine, const struct attempt *attempt,
                    struct engine_explanation *e);
};

/* Whether the cluster is short of slots. */
struct mode_policy {
    struct policy policy;
    /* Orders of hosts with room that it reads, as place_policy.orders; NULL: none. */
    unsigned (*orders)(const struct engine *engine);
    /* The mode that it should be in, the reason, and the two numbers that decided. */
    enum mode (*wanted)(const struct engine *engine, enum reason *ret_reason, uint64_t *ret_ready,
                        int64_t *ret_free);
};

/* Which user gets what is free, and how much of it. */
struct users_policy {
    struct policy policy;
    /* As a placement's `pick`; it asks the placement for one user at a time (engine->asked). NULL:
     * no user is asked for separately. */
    bool (*pick)(struct engine *engine, struct claim *ret_claim);
    bool one_host; /* it has that parameter: it can ask for one host (place_policy.one_host) */
    /* As a placement's `evict`, and asked before it: a user gets back what others use of its. */
    bool (*evict)(struct engine *engine, struct eviction *ret_eviction);
    /* A claim commits, whoever proposed it; NULL: nothing is charged. */
    void (*charge)(struct engine *engine, const struct claim *claim);
    /* Nothing more is started in this step. May be NULL. */
    void (*over)(struct engine *engine);
    /* Time passes until then, with what ran before. May be NULL. */
    void (*pass)(struct engine *engine, int64_t now_ns);
    /* How the user stands: a clause without its full stop, behind its name. NULL: nothing. */
    void (*explain)(const struct engine *engine, const struct user *user,
                    struct engine_explanation *e);
};

/* In the order of listings; each ends with NULL. */
extern const struct turn_policy *const turn_policies[];
extern const struct place_policy *const place_policies[];
extern const struct commit_policy *const commit_policies[];
extern const struct network_policy *const network_policies[];
extern const struct mode_policy *const mode_policies[];
extern const struct users_policy *const users_policies[];
/* The choices of engine_config_default. */
extern const char *const policy_defaults[QUESTIONS];
