/* Lower bounds of the mean job completion time of any scheduler, from the jobs and the cluster
 * alone. Each leaves out constraints; the largest counts.
 *
 * - alone: every job has the empty cluster to itself. Its critical path: a task receives at most at
 *   a link's rate, then computes (a pipelined one does both at once); a stage takes as long as its
 *   longest task, and no less than its work on all slots or its bytes on all links. A pipelined
 *   stage begins with its parents, and ends after those of their tasks that it reads.
 * - links: one server as fast as all links together serves the jobs' bytes, least remaining first,
 *   which is optimal (Schrage 1968). A job's bytes are released when its receiving stages could
 *   begin, and after its last byte some task still computes.
 * - mixed: the largest sum where some jobs count as alone and the others as links. Alone are the
 *   jobs whose bytes would take all links less than some part of that time, for 40 parts. This
 *   covers jobs that their largest reducer limits. (Least remaining first with such a limit on each
 *   job's rate would be no bound: with limits it is not optimal.)
 * - slots: as links, with tasks' times and all slots.
 *
 * They hold for every policy if bytes that stay on their host use its links (`local_free` is
 * false); if these are free, they are no bounds: all maps and reduces of a job may share a host.
 * Faults, delays, copies, racks, wrong estimates, a framework's manners and blocks that are read
 * over the network only add to times. O(tasks + cells + n log n). */
#pragma once

#include "testbed/sim/cluster/run.h"

struct bounds {
    double alone_s, links_s, mixed_s, slots_s;
    double largest_s;
    bool proven; /* no policy's mean is below; else it is an estimate and must be called so */
};

/* 0, −EINVAL with a sentence for a wrong topology, −ENOMEM. */
int bounds_of(const struct run_config *config, const struct workload_job *jobs, size_t n,
              struct bounds *ret_bounds, struct err *err);
