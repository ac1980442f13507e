/* The preferred host of a reduce task: the one with most of its input. Private to
 * controller/engine/place.
 *
 * Where each map's bytes for each reduce task are known (cells, or sums by host), each task has a
 * preferred host of its own. Where they are split evenly, all tasks of a stage prefer the hosts
 * with most outputs of the job; they take any of these, and wait for none in particular.
 *
 * A task on another host reads more over the network. So it may wait for a slot on its preferred
 * host, at most twice as long as one link takes for what that host has beyond an even part of the
 * task's input. Waiting once as long is ski rental (Karlin et al., Algorithmica 3, 1988): it never
 * loses more by waiting than by going at once. WHY twice: what the task reads from other hosts
 * delays others as well. On the synthetic loads of make demo NET=spark, simulated, means are 6 %
 * lower than with once, and no lower with three or four times; on the Facebook trace p95 is a
 * little lower, and the mean the same. A task does not wait for a host that is not up or could
 * never run it, before pipelined edges, for bytes that were not reported, and where tasks of a
 * framework's stage have more than 65 536 inputs together.
 *
 * A cache of facts: it does not depend on when it is made. */
#pragma once

#include "controller/engine/base/state.h"

/* For one stage; zeroed it is empty. It owns what it points to. */
struct near {
    uint64_t readied, closed, outputs; /* the stage's and its job's, when this was made */
    uint32_t n_tasks;                  /* then; a framework's stage grows */
    struct sorted at; /* its ready tasks, and some that were, by preferred host, the largest
                                 first */
    struct near_preferred {
        uint32_t host; /* ENGINE_NONE: none of its own */
        bool known;
        uint64_t bytes;
        struct sorted_node listed; /* in `at` */
    } * preferred;                 /* of each task; NULL: by the job's outputs */
    uint32_t *fresh, n_fresh;      /* tasks that became ready since */
};

/* Follows what changed since. O(1) without changes, else the tasks that became ready since
 * (near_ready), and the inputs of those that were not ready before; all ready tasks when a
 * framework reported some, or the stage was closed. While a stage opens (stage->opening) call it
 * for each portion: if no host has room meanwhile, the first question would else concern all of
 * them. */
void near_follow(struct engine *engine, const struct stage *stage, struct near *near);
/* The task of the stage is ready. O(1). */
void near_ready(struct engine *engine, struct near *near, const struct task *task);
void near_done(struct near *near);

/* Until when it may wait for a slot on its preferred host; the instant at which it was ready: not
 * at all. O(log hosts). */
int64_t near_until_ns(const struct engine *engine, const struct near *near,
                      const struct task *task);
/* Whether the task prefers the host. */
bool near_is_preferred(const struct near *near, const struct task *task, const struct host *host);
/* Calls `each` for each host that a ready task of the stage prefers, or preferred, by its own
 * input, or else that `task` prefers. O(log tasks) each. */
void near_each_preferred(const struct near *near, const struct task *task,
                         void (*each)(void *context, uint32_t host), void *context);
/* The largest ready task of the stage that prefers the host by its own input; NULL: none. O(log
 * tasks), and the tasks placed since the last such question. */
struct task *near_largest(struct near *near, const struct stage *stage, const struct host *host);
