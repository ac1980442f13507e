/* The jobs that an engine has, in the form of a workload: what a run that begins with the engine
 * must know of them beside what the engine knows. How long tasks compute is what the engine
 * believes.
 *
 * A stage of which it believes nothing is taken to compute as long as its profile says; without
 * one, twice as long as the one of its tasks that has computed longest by now, which is what to
 * expect of something met at any time of its life. */
#pragma once

#include "testbed/sim/whatif/state_file.h"

#include "lib/workload/workload.h"

struct present_jobs {
    struct workload_job *jobs; /* owned, in order of numbers; arrived at 0 */
    size_t n;
    int64_t *submitted_ns;   /* owned: of each, on the engine's clock */
    uint64_t arriving;       /* jobs that are submitted just now, which are left out */
    uint64_t stages_guessed; /* whose computing is twice what has passed, */
    uint64_t stages_unknown; /* or 0, as none of their tasks computes */
    uint32_t hosts;          /* one more than the largest number */
    uint64_t next_job;       /* a number that no job of ours has */
};

/* 0 or −ENOMEM with a sentence. Call present_jobs_done in any case. O(tasks). */
int present_jobs_make(const struct state *state, struct present_jobs *ret_present, struct err *err);
void present_jobs_done(struct present_jobs *present);
