/* The scheduler that the source compares itself with: tasks stand in a queue, and each takes the
 * cheapest machine that has a slot free, by a score of every machine, or of a sample of them. It
 * moves nobody who runs. */
#pragma once

#include "tests/mincost/quincy.h"

struct queue_scheduler;

/* Copies what a scheduler would keep of the cluster between rounds. */
struct queue_scheduler *queue_scheduler_create(const struct quincy *q);
void queue_scheduler_destroy(struct queue_scheduler *scheduler);

/* Places all tasks that wait in the generator's cluster. `sample` machines are scored for each, 0 =
 * all. Returns the sum of the costs of the placements, so that nothing is computed in vain. */
int64_t queue_scheduler_place(struct queue_scheduler *scheduler, const struct quincy *q,
                              uint32_t sample);
