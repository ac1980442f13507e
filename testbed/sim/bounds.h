/* How good any scheduler could be: lower bounds of the mean job completion time, from the jobs and
 * the cluster alone. Each leaves out constraints; the largest counts.
 *
 * - alone: every job has the empty cluster to itself. Its critical path: a task receives at a
 *   link's rate at most, then computes (a pipelined one does both at once), a stage takes as long
 *   as its longest task, and no less than its work on all slots or its bytes on all links. A
 *   pipelined stage begins with its parents, and ends after those of their tasks that it reads.
 * - links: one server as fast as all links together serves the jobs' bytes, the least remaining
 *   first, which is optimal (Schrage 1968). A job's bytes come into being when those of its stages
 *   could begin that receive, and after the last byte some task still computes.
 * - mixed: the largest sum where some jobs are counted as if alone and the others as links: those
 *   are alone whose bytes would take all links less than some part of that time, for 40 parts. This
 *   is what limits a job by its largest reducer. (The least remaining first with such a limit on
 *   each job's rate would be no bound: with limits it is not optimal.)
 * - slots: as links with tasks' times and all slots.
 *
 * They hold for every policy where bytes that stay on their host use its links (`local_free` is
 * false); where these are free, they are no bounds: all maps and reduces of a job may share a host.
 * Faults, delays, copies, racks, wrong estimates, a framework's manners and blocks that are read
 * over the network only add to times. O(tasks + cells + n log n). */
#pragma once

#include "testbed/sim/cluster/run.h"

struct bounds {
    double alone_s, links_s, mixed_s, slots_s;
    double largest_s;
    bool proven; /* no policy's mean is below; else it is an estimate, which is to be called so */
};

/* 0, −EINVAL with a sentence for a wrong topology, −ENOMEM. */
int bounds_of(const struct run_config *config, const struct workload_job *jobs, size_t n,
              struct bounds *ret_bounds, struct err *err);
