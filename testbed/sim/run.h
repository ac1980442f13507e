/* The shipping engine under virtual time: a workload's jobs arrive, the engine decides, the fluid
 * network carries what tasks fetch, computing takes the time that the workload says, and nothing
 * else takes any.
 *
 * Everything that happens at one instant reaches the engine in one step: transfers that ended, then
 * computing that ended, then jobs that arrived, then what uplinks and D-CLAS report. A task whose
 * input is all on its host computes at once. D-CLAS, SCF and NEAT need to know what arrived:
 * received bytes are reported every 100 ms while anything is received, as agents do. Reports and
 * decisions are not delayed.
 *
 * Deterministic: same configuration and jobs, same result. The cost follows events, not time. */
#pragma once

#include "controller/engine/engine.h"
#include "lib/workload.h"

#include <stdio.h>

struct run_config {
    struct engine_config engine;
    uint32_t hosts, slots; /* of each host; ≥ 1 */
    uint64_t link_bps;     /* of each uplink and downlink */
    uint32_t racks; /* 0: a big switch; else leaf-spine, hosts ÷ racks a rack, 4:1 oversubscribed,
                       spread ideally */
    const double *told; /* per job (borrowed): the engine is told its transfers' bytes × this; NULL:
                           the truth */
    bool local_free; /* bytes that are on the task's own host cost nothing (else they use its links)
                      */
    FILE *log;       /* gets the run in the controller's log format; NULL: nobody */
    void (*progress)(void *user, double part);
    void *user;
};

struct run_result {
    double *jct_s;      /* per job, in the order of the jobs; the caller's array */
    double makespan_s;  /* first planned arrival to last end */
    double slot_wait_s; /* mean over tasks: from ready to start */
    double held_slot_s; /* free slots × time while a task that could use one was held back */
    double link_use; /* bytes over uplinks ÷ what they could have carried in the makespan, 0…1 */
    double starved;  /* part of the makespan in slot-starved mode, 0…1 */
    uint64_t tasks, mode_switches, holds, steps;
};

/* Runs `jobs` (in order of arrival; borrowed) to their end. Returns 0; −EINVAL with a sentence for
 * a job that the engine refuses, that cannot end, or that has pipelined edges (not simulated);
 * −ENOMEM. */
int run_simulate(const struct run_config *config, const struct workload_job *jobs, size_t n_jobs,
                 struct run_result *result, struct err *err);
