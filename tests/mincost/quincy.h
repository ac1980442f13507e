/* A generator of scheduling graphs in the manner of Quincy, with the life of a cluster: tasks
 * arrive, run, complete and are displaced, machines fail and return.
 *
 * Nodes: sink S, cluster X, racks R, machines M, one U per job, tasks T. Arcs: T → M (where some of
 * its input lies: cheap), T → R (two racks), T → X (dear), T → U (dearest, and dearer with the
 * job's weight); a running task has one to the machine where it runs, cheapest of all, added when
 * it was placed through R or X; X → R → M with load costs; M → S with the slots; U → S between the
 * job's bounds. About ten arcs a task.
 *
 * A round is made from the placement of the last one: call quincy_observe with the solved problem,
 * then one of the round functions, then feed quincy's `changes` to who wants them. `plain` always
 * holds the same problem as tables. */
#pragma once

#include "tests/mincost/plain.h"

struct quincy_shape {
    uint32_t machines, tasks;
    uint32_t rack_machines; /* 40 */
    uint32_t slots;         /* of a machine: 12 */
    uint32_t job_tasks;     /* 100 */
    uint64_t seed;
    uint32_t popular_percent; /* tasks whose input lies on three machines of ten; 0 = all alike */
};

struct quincy;

struct quincy *quincy_create(const struct quincy_shape *shape);
void quincy_destroy(struct quincy *q);

/* Reads where the tasks were placed; deterministic for a given flow. */
void quincy_observe(struct quincy *q, const struct mincost *problem);

/* The first round is the whole problem. Then: `per_mille` of the tasks complete and as many arrive,
 * and of the machines a twentieth of that share fails while those that failed the round before
 * return. */
void quincy_first_round(struct quincy *q);
void quincy_churn_round(struct quincy *q, uint32_t per_mille);

/* One arrival, one completion, one failure, and the return of the machine that failed last. */
void quincy_event_round(struct quincy *q);

/* The cost of every running task falls with what it has done, all at once. */
void quincy_age_round(struct quincy *q);

const struct changes *quincy_changes(const struct quincy *q);
const struct plain *quincy_plain(const struct quincy *q);

/* What the graph is like, in one line: arcs per task, cost ranges, free slots, share of tasks
 * placed through X. */
void quincy_print_statistics(const struct quincy *q, FILE *file);

/* For schedulers that look at machines and not at graphs. Tasks and machines count from 0. */
bool quincy_is_waiting(const struct quincy *q, uint32_t task);
uint32_t quincy_free_slots(const struct quincy *q, uint32_t machine);
