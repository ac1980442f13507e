/* Preemption and migration: which running tasks an optimum stops. Private to controller/engine;
 * flow.c asks it.
 *
 * Both ask the graph of placement with running tasks in it, each a group of one (flow_victim), at
 * the begin of a step and before anything is placed. Their slots count as free then. Ready tasks
 * for which others were stopped that have not ended are not in the graph meanwhile: their slots
 * come. The stops that the optimum has are decided by the engine (books/eviction.h); a slot is free
 * when its host has reported the end. The graph is then as before, and what is stopped is a ready
 * task as any other.
 *
 * `preempt`: where tasks are ready of a higher priority than what runs, more of them than there is
 * room and room to come, running tasks of the lowest priority may stay or wait. To wait costs them
 * as much as the last of their priority, and what is lost (flow_cost_of_stop): so what is lost
 * decides among those of a priority, and never between two. A task is stopped only where the
 * optimum runs one of a higher priority on its host, which its slot alone makes fit; and no more
 * are stopped than tasks lack room. So a stop that is on its way is not made again.
 *
 * `migrate`: where no ready task has room, and slots are free, running tasks may stay or move. To
 * move costs what is lost beside the new way, so one moves only when it gains more. It moves to a
 * slot that is free, one task to a host a step.
 *
 * Neither stops a framework's attempt, one of several of a task, or what eviction_may does not
 * allow. Nothing is stopped where users divide the cluster: a slot would go to whose turn it is.
 *
 * **Bounds.** A step puts FLOW_STOPS running tasks into the graph at most, and so stops no more;
 * FLOW_COMING may be stopped and not ended at a time. A task that was stopped FLOW_STOPS_OF_TASK
 * times, by whomever, is stopped no more, and is moved only if it was never stopped. A step looks
 * at FLOW_LOOKS attempts and stages to find them, from the lowest priority and the last job on and
 * in each stage from the newest attempt on; and at as many jobs that wait.
 *
 * It keeps nothing that a dump does not tell: sets are made from facts when one of the two words is
 * said. While none is, it costs a look at them a step.
 *
 * Source: Sirius (Chen et al.), section 3; that a stop is counted so that no wait overtakes a
 * priority, and these bounds, are choices. */
#pragma once

#include "controller/engine/place/flow_view.h"

enum { FLOW_STOPS = 64, FLOW_COMING = 256, FLOW_STOPS_OF_TASK = 2, FLOW_LOOKS = 256 };
_Static_assert(FLOW_STOPS <= 1 << FLOW_TIE_BITS, "victims are told apart by ties");

/* For whose task an attempt was stopped that has not ended. */
struct flow_promise {
    uint64_t job;
    uint32_t stage;
};

/* Zeros are an empty one. */
struct flow_stops {
    bool watches;          /* the sets are kept: */
    struct sorted ready;   /* jobs with ready tasks, the highest priority first */
    struct sorted running; /* jobs with running ones, the lowest priority first, then the last */
    struct sorted coming;  /* hosts where a stopped attempt may not have ended, by index */
    struct flow_promise promised[FLOW_COMING];
    struct flow_victim victims[FLOW_STOPS];
    struct eviction list[FLOW_STOPS]; /* of this step, */
    uint64_t step;
    uint32_t n_promised, n_victims, n, next;
    uint64_t rounds; /* optima that were asked, for people */
};

/* place_policy.evict. Besides what a round costs: O(FLOW_LOOKS · log), and the hosts of what comes.
 */
bool flow_stops_next(struct engine *engine, struct flow_view *view, struct flow_stops *stops,
                     struct eviction *ret_eviction);

/* The job has other ready or running tasks, or another priority. O(log jobs). */
void flow_stops_follow(struct flow_stops *stops, struct job *job);
/* The states of a job or host are about to go. */
void flow_stops_leave(struct flow_stops *stops, struct flow_job *kept);
void flow_stops_leave_host(struct flow_stops *stops, struct flow_freed *kept);

#define REASON_OPTIMUM_STOPS ((enum reason)119)
#define REASON_OPTIMUM_MOVES ((enum reason)120)
#define FLOW_STOPS_REASONS                                                                         \
    {DECISION_STOP,                                                                                \
     REASON_OPTIMUM_STOPS,                                                                         \
     "optimum-stops",                                                                              \
     "what its lost work counted",                                                                 \
     "priority of the task that was to have its slot",                                             \
     "in the optimum a task of priority {right} has its slot; what it had run for counted "        \
     "{left}."},                                                                                   \
    {                                                                                              \
        DECISION_STOP, REASON_OPTIMUM_MOVES, "optimum-moves", "what it cost to leave it there",    \
            "what its lost work counted",                                                          \
            "in the optimum it runs on another host: to leave it there cost {left}, what it had "  \
            "run for counted {right}."                                                             \
    }
