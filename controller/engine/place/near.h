/* Where a reduce task is at home: on the host with most of its input. Private to
 * controller/engine/place.
 *
 * Where each map's bytes for each reduce task are known (cells, or sums by host), a task's home is
 * its own; where they are split evenly, all tasks of a stage are at home where most outputs of the
 * job are: of equals any, and none is waited for.
 *
 * Who stays away from home reads more over the network. So a task may wait for a slot at home, at
 * most for twice as long as one link takes for what its home has beyond an even part of its input.
 * Once as long is ski rental (Karlin et al., Algorithmica 3, 1988): it loses no more by waiting
 * than by going at once, whatever comes. WHY twice: what it reads from afar others wait for as
 * well. On the synthetic loads of make demo NET=spark, simulated, means are 6 % lower than with
 * once, and no lower with three or four times; on the Facebook trace p95 is a little lower, and the
 * mean the same. Nothing waits for a home that is not up or could never run it, before pipelined
 * edges, and for bytes that nobody has told.
 *
 * Pure memory of facts: it is the same whenever it is made. */
#pragma once

#include "controller/engine/base/state.h"

/* Of one stage; zeroed it is empty. It owns what it points to. */
struct near {
    uint64_t readied, closed; /* the stage's, when it was made */
    struct sorted at;         /* its ready tasks, and some that were, by home, the largest first */
    struct near_home {
        uint32_t host; /* ENGINE_NONE: none of its own */
        bool known;
        uint64_t bytes;
        struct sorted_node listed; /* `at` */
    } * homes;                     /* of each task; NULL: by the job's outputs */
    uint32_t *fresh, n_fresh;      /* tasks that became ready since */
};

/* Follows what was told since. O(1) when nothing was, else what became ready since (near_ready),
 * and the inputs of that which was not ready before; all ready tasks, when a framework tells them,
 * or the stage was closed. While a stage opens (stage->opening) it is to be called for each
 * portion: when no host has had room meanwhile, the first question would be about all of them. */
void near_follow(struct engine *engine, const struct stage *stage, struct near *near);
/* The task of the stage is ready. O(1). */
void near_ready(struct engine *engine, struct near *near, const struct task *task);
void near_done(struct near *near);

/* Until when it may wait for a slot at home; at most the instant at which it was ready: not at all.
 * O(log hosts). */
int64_t near_until_ns(const struct engine *engine, const struct near *near,
                      const struct task *task);
/* Is it at home there? */
bool near_is_home(const struct near *near, const struct task *task, const struct host *host);
/* Each host where a ready task of the stage has a home of its own, or had one, or else where `task`
 * is at home. O(log tasks) each. */
void near_each_home(const struct near *near, const struct task *task,
                    void (*each)(void *context, uint32_t host), void *context);
/* The largest ready task of the stage with a home of its own there; NULL: none. O(log tasks), and
 * those that have been placed since the last such question. */
struct task *near_largest(struct near *near, const struct stage *stage, const struct host *host);
