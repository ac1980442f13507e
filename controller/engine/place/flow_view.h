/* The graph of placement as facts have it: hosts, their room, ready tasks, who waits for them. It
 * follows announcements and the ring of changed hosts, and is made anew only when shapes, racks or
 * weights change. Private to controller/engine; flow.c asks it.
 *
 * One object in several files: flow_view, flow_cost, flow_fair, flow_weights. */
#pragma once

#include "controller/engine/base/state.h"
#include "controller/engine/place/flow_graph.h"
#include "controller/engine/place/flow_wait.h"

/* What each dimension of a cost counts, from 0 to FLOW_DIMENSION; the turn from 0 to FLOW_TURN: an
 * octave of what it counts as much as FLOW_OCTAVE, and as an octave of the wait. Both together are
 * FLOW_TURN_MOST at most. Priorities are cut to FLOW_PRIORITY_LEAST and
 * the FLOW_PRIORITIES − 1 above it. */
enum { FLOW_DIMENSION = 255, FLOW_OCTAVE = 64, FLOW_TURN = 64 * FLOW_OCTAVE - 1 };
enum { FLOW_WEIGHT = 8, FLOW_TURN_MOST = FLOW_WEIGHT * FLOW_TURN };
/* Utilities of what a stage prefers are summed up to here. */
enum { FLOW_UTILITY = 1000 };
enum { FLOW_PRIORITY_LEAST = -4, FLOW_PRIORITIES = 12 };
/* A second that a running task has run counts FLOW_DIMENSION where it is lost; to stop a task for
 * another one costs FLOW_LOST_MOST of it at most. */
enum { FLOW_LOST_MOST = 12 * FLOW_DIMENSION };
struct flow_weights {
    int64_t locality, load, turn, wait, prefer, lost;
    bool fair;     /* no job runs more than its max-min part while others could */
    bool priority; /* strict: more than all others together */
    bool stalls;   /* hold what would stall */
    bool remote;   /* hold what would read its block from another host */
    bool preempt;  /* stop what runs for what has a higher priority; only with `priority` */
    bool migrate;  /* stop what would cost less elsewhere */
};

/* The parameters of the placement, ended by NULL, and what they say now. O(parameters). */
extern const struct engine_parameter *const flow_parameters[];
struct flow_weights flow_weights_now(const struct engine *engine);
/* Whether `preempt` or `migrate` is said. */
bool flow_may_stop(const struct engine *engine);
/* Whether waiting gets dearer. */
bool flow_waits_count(const struct engine *engine);

/* Costs of a ready task. Waiting is dearer than running, so no slot is left free, except that with
 * `stalls` there is no way for a transfer to a host that receives one of its length or a shorter
 * one, and with `remote` none for a map away from its block. Lengths are Coflows by powers of 8,
 * from FLOW_SHORT bytes on. */
enum { FLOW_LENGTHS = 9, FLOW_SHORT = 1 << 20 };
int64_t flow_cost_of_wait(const struct flow_weights *weights, const struct job *job);
int64_t flow_cost_of_way(const struct flow_weights *weights, enum flow_way way, bool has_block);
/* What a task of the stage loses there against a host that is all that it prefers; NULL: where
 * nothing is what it prefers. O(wishes). */
int64_t flow_cost_of_host(const struct flow_weights *weights, const struct stage *stage,
                          const struct host *host);
/* What it costs to leave the task where it runs, beside that host's load. O(blocks, wishes). */
int64_t flow_cost_of_stay(const struct engine *engine, const struct flow_weights *weights,
                          const struct attempt *attempt);
/* What it counts, at least 1, that an attempt has run for so long and does so in vain. */
int64_t flow_cost_of_lost(const struct flow_weights *weights, int64_t ran_ns);
/* What it costs a running task to wait, beside what its job's tasks cost that wait: as much as it
 * would cost the last to wait of its priority, what it costs to leave it there, and what is lost.
 * So no task of the same priority is worth it, and each of a higher one is. */
int64_t flow_cost_of_stop(const struct flow_weights *weights, const struct job *job, int64_t stays,
                          int64_t lost);
/* Whether so many of its tasks run on a host or rack at most. */
bool flow_is_bounded(const struct stage *stage);

/* A class of its own: of stages that prefer the same hosts, or of one with bounds. */
struct flow_special {
    uint32_t class, shape, length; /* length: 0, or its class's number + 1 */
    bool near; /* maps leave their blocks' hosts only for such as are preferred */
    uint64_t key;
    TAILQ_HEAD(, flow_stage) stages;
    TAILQ_ENTRY(flow_special) of_view;
};

/* What a placement keeps with a stage (of each way to run it) and with a job. */
struct flow_stage {
    struct stage *stage;
    struct flow_group *group;     /* NULL: none of its tasks was ready yet */
    uint32_t kind;                /* its class, if it were no special one */
    struct flow_special *special; /* NULL: it is none */
    uint32_t blocks;              /* wishes of its ready tasks for hosts */
    TAILQ_ENTRY(flow_stage) of_special;
    TAILQ_ENTRY(flow_stage) of_dirty;
    bool dirty;
};
struct flow_job {
    struct flow_waiter *waiter; /* while it has groups */
    uint32_t groups;
    int64_t cost;   /* of waiting, in the graph, */
    uint32_t lower; /* and how many must */
    struct flow_wait wait;
    struct sorted_node of_ready, of_running; /* flow_stops.h */
};
/* With a host. */
struct flow_freed {
    struct sorted_node of_coming; /* flow_stops.h */
    uint32_t slots; /* while it is asked what to stop: so many of its slots count as free */
};

/* A running task that an optimum may stop. While that is asked it is a group of one. */
struct flow_victim {
    struct attempt *attempt;
    struct flow_group *group; /* while it is in the graph */
    bool moves;               /* it may run elsewhere, else wait */
    int64_t stays, lost;      /* flow_cost_of_stay, flow_cost_of_lost */
    const struct stage *by;   /* whose task is to have its slot; NULL: none */
};

struct flow_rack_name {
    uint64_t name;
    uint32_t number;
};

struct flow_view {
    struct flow_graph *graph; /* NULL: to be made anew */
    bool stale;               /* it has too few classes, and is to be made anew */
    struct flow_weights weights;
    TAILQ_HEAD(, flow_stage) dirty;
    uint64_t seen; /* changes of hosts */
    /* The engine's shapes when the graph was made, as a number each. */
    uint64_t *classes;
    uint32_t n_classes;
    bool *opened; /* by class, of those of a length: a stage was of it, so hosts have room for it */
    uint32_t *racks;  /* by host: its rack's number + 1; 0: not in the graph */
    uint64_t *labels; /* by host: their digest */
    uint32_t racks_room;
    struct table rack_numbers; /* by name: number + 1 */
    struct flow_waits waits;
    TAILQ_HEAD(, flow_special) specials;
    struct table special_keys;
    uint32_t *rack_hosts; /* by a rack's number: a host there */
    uint32_t rack_hosts_room;
};

void flow_view_init(struct flow_view *view);
void flow_view_done(struct flow_view *view);
/* The graph is made anew from facts when it is asked for next. O(1), and its memory. */
void flow_view_forget(struct engine *engine, struct flow_view *view);
/* Makes the graph as facts are now. Without memory it does not return. O(what changed), and hosts
 * for each new special class and for the first stage of a length. */
void flow_view_follow(struct engine *engine, struct flow_view *view,
                      const struct flow_weights *weights);

/* The graph has followed. The host as it is now, `slots` of its state included. */
void flow_view_show(struct engine *engine, struct flow_view *view, const struct host *host);
/* The stage is in the graph, though none of its tasks be ready. */
void flow_view_stage(struct engine *engine, struct flow_view *view, struct stage *stage);
/* So many of the stage's ready tasks are not in the graph, and of its job's, until it is said anew:
 * 0, all are. No more of the job must wait than are left; who must is then said anew, too. */
void flow_view_leave_out(struct flow_view *view, struct stage *stage, uint32_t n, uint32_t of_job);
/* Adds the group of a victim, whose stage and host are in the graph. Of those that cost the same to
 * stop the one with the smaller `order` is stopped. The caller removes the group
 * (flow_remove_group) before anything else changes. O(blocks · log). */
void flow_view_run(struct engine *engine, struct flow_view *view, struct flow_victim *victim,
                   uint32_t order);

/* So many of the job's ready tasks must wait. O(1). */
void flow_view_bound(struct flow_view *view, const struct job *job, uint32_t lower);

/* Whether jobs have parts of the slots: not where users have. */
bool flow_fair_bounds(const struct engine *engine, const struct flow_view *view);
/* Bounds who waits by the max-min parts of the moment, in tasks; `relaxed`: nobody must wait. The
 * graph has followed. O(active jobs · log). */
void flow_fair_follow(struct engine *engine, struct flow_view *view, bool relaxed);

/* Facts. Those of the same names in listener.h. */
void flow_view_task(struct engine *engine, struct flow_view *view, struct task *task, bool ready);
void flow_view_no_wishes(struct flow_view *view, struct stage *stage);
void flow_view_job(struct flow_view *view, const struct job *job);
void flow_view_blocks(struct engine *engine, struct flow_view *view, struct job *job);
void flow_view_job_on_host(struct engine *engine, struct flow_view *view, const struct job *job,
                           const struct host *host);
/* The stage's state is about to go. */
void flow_view_leave(struct flow_view *view, struct flow_stage *kept);
