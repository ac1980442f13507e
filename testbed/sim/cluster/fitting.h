/* Whether the hosts of a run could ever run a workload's tasks in each way that their stages
 * list. */
#pragma once

#include "lib/workload/workload.h"
#include "testbed/sim/cluster/cluster_file.h"

/* 0, or −EINVAL with a sentence for the first way that none of the hosts could run. `slots`: of
 * hosts that say no units. Of hosts without a cluster file (no hosts) only their slots count, and
 * stages that list but one way are the engine's to refuse. O(hosts), each way. */
int fitting_check(const struct cluster *cluster, uint32_t slots, const struct workload_job *job,
                  struct err *err);
