/* RED for the data plane's queues by DPDK's rte_red. All threads share one stream of random
 * numbers. */
#pragma once

#include "dataplane/queues.h"

extern const struct queues_red queues_red;
