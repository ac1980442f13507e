/* What would happen if: a state (state_file.h) runs on twice, as it is and with a change, until the
 * jobs that it has have ended. Both runs assume the same of what the state does not say (struct
 * run_assumed, struct present_jobs), nothing more arrives, and no further host fails.
 *
 * Pure but for reading the state. Memory: both runs' first starts (WHATIF_STARTS_MAX) and the
 * jobs. */
#pragma once

#include "testbed/sim/whatif/present_jobs.h"

enum {
    WHATIF_STARTS_MAX = 100000, /* of one run: later ones are not compared */
    WHATIF_JOBS_MAX = 64,       /* that a change brings */
    WHATIF_POLICIES = 6,        /* questions */
    WHATIF_VALUES = 2,          /* parameters that come with a preset */
};

/* The part of links' rates that headers take: 1448 of a full frame's 1514 bytes are payload. */
#define WHATIF_HEADERS 0.0436

/* What is otherwise. Zeroes (with host = ENGINE_NONE) are no change. */
struct whatif_change {
    struct whatif_policy {
        const char *question, *name;
    } policies[WHATIF_POLICIES];
    uint32_t n_policies;
    struct engine_value values[WHATIF_VALUES];
    uint32_t n_values;
    uint32_t host;             /* goes down now and stays down; ENGINE_NONE: none does */
    struct workload_job *jobs; /* that are submitted now (owned) */
    size_t n_jobs;
};

struct whatif_start {
    int64_t at_ns; /* since the state's instant */
    uint64_t job;
    uint32_t stage, task, host;
};

/* One run. */
struct whatif_side {
    struct run_result result;
    struct run_assumed assumed;
    size_t n_jobs;
    double *left_s;              /* owned: per job, from now to its end */
    enum run_end *ends;          /* owned */
    struct whatif_start *starts; /* owned: the first ones, in order of time */
    size_t n_starts, starts_allocated;
    bool starts_cut, no_memory;
};

/* A task's next start, in both runs; host = ENGINE_NONE: it does not start in that one. */
struct whatif_difference {
    uint64_t job;
    uint32_t stage, task;
    struct whatif_start as_it_is, changed;
};

/* "QUESTION=NAME[,QUESTION=NAME…]" or a preset's name, as policies that fit together with those in
 * force, in an order in which they can be set. −EINVAL with a sentence. */
int whatif_read_policies(const struct engine *engine, const char *text,
                         struct whatif_change *change, struct err *err);
/* A host that is up, by its name. With a sentence: −ENOENT: there is none; −EINVAL: it is down. */
int whatif_read_host(const struct engine *engine, const char *name, struct whatif_change *change,
                     struct err *err);
/* The jobs of a workload file; they arrive at once, whatever it says, and their blocks are on the
 * hosts on which a controller takes them to be. −errno with a sentence. */
int whatif_read_jobs(const struct engine *engine, const char *path, struct whatif_change *change,
                     struct err *err);
void whatif_change_done(struct whatif_change *change);

/* Runs the state, whose engine is used up, with its jobs (made from it, or from the same state read
 * again) and the change. `headers`: of links' rates, 0…1, less than 1; 0 for a simulated state,
 * whose links had none. 0, or −errno with a sentence; call whatif_side_done in any case. */
int whatif_run(const struct state *state, const struct present_jobs *present,
               const struct whatif_change *change, double headers, struct whatif_side *ret_side,
               struct err *err);
void whatif_side_done(struct whatif_side *side);

/* Tasks whose next start is on another host or at another time, in order of the earlier time: at
 * most `most` of them. Returns how many there are, as far as both runs' starts are known; −ENOMEM.
 * Sorts the starts by task. */
long whatif_compare(struct whatif_side *as_it_is, struct whatif_side *changed,
                    struct whatif_difference *ret, size_t most);
