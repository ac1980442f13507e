/* Kinds of ready stages, for placements that compare what stages say of their tasks. Private to
 * controller/engine/place.
 *
 * Ready stages that look alike to such a placement (shape, profile, best lone times, number in the
 * job, and user where somebody divides) are one kind, and within it the placement's order of them
 * does not depend on the host. So a choice looks at kinds, not at jobs. Of a stage that can run in
 * several ways each way is in a kind of its own.
 *
 * Kinds of one shape and user of which all read, or none does, are a group: they have room on the
 * same hosts. In a group they are a tree by profile, with the least of what is below each, so that
 * who looks for the best of a group can leave out whole subtrees; and they are in order of how long
 * their stages wait.
 *
 * At most `profiles` kinds are told apart; other stages are of one kind for each shape, as are
 * those without a profile: that kind is not known, and its tasks are taken to read nothing.
 *
 * The placement's states with the engine and with stages begin with the structures here, and it
 * listens by the functions here. O(log stages + log kinds + groups of the user) an event. */
#pragma once

#include "controller/engine/place/affinity_model.h"
#include "controller/engine/place/place.h"

#include <bsd/sys/tree.h>

/* Of a task whose profile is not known, where lone times are compared. */
#define KINDS_UNKNOWN_NS UINT64_C(1000000000)
/* Of lone times. WHY: products of two times and a number of tasks stay in 128 bits. */
#define KINDS_TIME_MOST ((uint64_t)1 << 53)

/* Of one kind, or the least of each of several. */
struct kind_least {
    struct affinity_bound bound;
    struct sorted_key first; /* of the first stage in order */
};
struct kind {
    struct kinds_group *group;
    uint32_t stage; /* their number in their jobs */
    bool known;     /* else those without a profile, or beyond the bound */
    struct profile profile;
    uint64_t lone_ns;            /* affinity_lone_ns */
    struct affinity_bound bound; /* measured by kind_by_ns() */
    /* The least of their lone times in any way; without a GPU; 0: not known, or there is none. */
    uint64_t best_ns, without_gpu_ns;
    struct sorted in_order, waiting;
    struct sorted_node longest;   /* group->waiting: as the first of `waiting` */
    struct kind_least own, below; /* below: of it and its subtree */
    RB_ENTRY(kind) of_group;
};
RB_HEAD(kind_tree, kind);
struct kinds_group {
    struct shape *shape;
    uint64_t whose; /* the number of their user + 1, where somebody divides; else 0 */
    bool reads;
    struct kind_tree kinds;
    uint32_t n;
    struct sorted waiting;
    struct sorted_node of_engine;
};
struct kinds_engine {
    struct sorted groups; /* by whose they are, then in order of their making */
    uint64_t made;
    uint32_t n_known;
    /* Where a ready stage stands among those of its kind; no two are equal. */
    struct sorted_key (*order)(const struct engine *engine, const struct stage *stage);
};
/* With each way to run a stage; the first one has what is counted for all. */
struct kinds_stage {
    struct stage *stage;
    struct kind *kind; /* while a task is ready */
    bool full;         /* it has a profile, and there was no room for its kind */
    uint64_t since;    /* the number of its last start, or of the last one when it became ready */
    uint64_t on_gpus;  /* attempts; counted by the placement */
    /* waiting: by since, then by job and stage, then on a GPU before others, then by preference. No
     * two of all kinds are equal. */
    struct sorted_node in_order, waiting;
};

extern const struct engine_parameter parameter_profiles;

static inline struct kinds_engine *kinds_all(const struct engine *engine)
{
    return engine->kept[QUESTION_PLACE];
}
static inline struct kinds_stage *kinds_of(const struct stage *stage)
{
    return stage->kept[QUESTION_PLACE];
}
static inline bool group_is_on_gpu(const struct kinds_group *group)
{
    return group->shape->demand.amount[RES_GPU_MILLI] > 0;
}
/* By what its predicted time is measured: on a GPU its lone time there, else the best one in any
 * way; 0: there is none. */
static inline uint64_t kind_by_ns(const struct kind *kind)
{
    return group_is_on_gpu(kind->group) ? kind->lone_ns : kind->best_ns;
}

/* Its tasks read, and the disk there answers nothing. */
static inline bool group_waits_for_disk(const struct kinds_group *group, const struct host *host)
{
    return host->disk_hangs && group->reads;
}

/* A placement's states and what it listens to. */
void kinds_init(struct kinds_engine *all,
                struct sorted_key (*order)(const struct engine *, const struct stage *));
policy_state_hook kinds_init_stage, kinds_done_stage;
void kinds_task_ready(struct engine *engine, struct task *task);
void kinds_stage_empty(struct engine *engine, struct stage *stage);
void kinds_task_moved(struct engine *engine, struct task *task, enum task_state before);
void kinds_job_changes_queues(struct engine *engine, struct job *job, struct user *before);
void kinds_profile_changed(struct engine *engine, struct stage *stage);
/* Something that the order looks at has changed for the stage, which is a first one. */
void kinds_reorder(struct engine *engine, struct stage *first);

/* The next group after that one, NULL: the first, of the user that is asked for, or of all where
 * nobody divides; NULL: there is no more. O(log groups). */
struct kinds_group *kinds_group_after(const struct engine *engine, const struct kinds_group *group);
/* The group's next kind after that one, NULL: the first, by profile; NULL: there is no more. */
struct kind *kinds_after(struct kinds_group *group, struct kind *kind);

/* Of the user that is asked for, or of all: the host with room for a task of some kind that runs
 * the fewest tasks, one whose disk hangs behind all others and for kinds that read nothing alone;
 * NULL: none. O(groups of the user). */
struct host *kinds_next_host(struct engine *engine);
/* The host has room for its kinds, and a disk that answers where their tasks read. */
bool kinds_fit(const struct engine *engine, const struct kinds_group *group,
               const struct host *host);
struct stage *kind_first(const struct kind *kind);
/* The stage's next task there: one whose block is there, else its first map, else its largest
 * reduce task. */
struct task *kinds_next_task(const struct stage *stage, const struct host *host);
/* In this way, ≤ KINDS_TIME_MOST. */
uint64_t kinds_lone_ns(const struct stage *stage);
