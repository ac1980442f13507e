/* A workload's job as the engine's events: a submission in one piece.
 *
 * Hosts of the workload fold onto those of the cluster (host h is the (h mod n)-th). The events
 * borrow from the job and from the submission until submission_done. Pure. */
#pragma once

#include "controller/engine/event.h"
#include "lib/workload/workload.h"

#include <stddef.h>

struct submission {
    struct event *events;
    size_t n, allocated;
    void **arrays; /* what events point to and the job does not own */
    size_t n_arrays, arrays_allocated;
};

/* Fills an empty (or reused) submission. Returns 0 or −ENOMEM; call submission_done in any case. */
int submission_make(struct submission *s, const struct workload_job *job, uint32_t hosts);

/* Multiplies the transfers' bytes by `factor`, to at least 1 unless 0: a wrong estimate. 0 or
 * −ENOMEM. */
int submission_tell(struct submission *s, double factor);
/* Multiplies what profiles say by e^(sigma·N(0,1)), number by number: wrong profiles, of tasks that
 * can be. The same for the same seed. 0 or −ENOMEM. */
int submission_misjudge(struct submission *s, double sigma, uint64_t seed);
/* e^(sigma·N(0,1)), the error of an estimate (Box and Muller 1958). */
double submission_error(double sigma, uint64_t *state);

/* The same as a framework's facts: matrices in rows. 0 or −ENOMEM. */
int submission_as_facts(struct submission *s);
/* Without what a framework cannot tell at the beginning: bytes between stages, and how long tasks
 * compute. −ENOMEM. */
int submission_hide(struct submission *s);

/* Puts what is told of tasks behind all else, which keeps its order; returns how many come before.
 * O(events²). */
size_t submission_tasks_last(struct submission *s);

struct resources submission_demand(const struct workload_demand *d);

/* Frees what it owns and zeroes it. */
void submission_done(struct submission *s);
