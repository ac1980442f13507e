/* RED of the data plane's queues by DPDK's rte_red. Its random numbers are one stream for all threads. */
#pragma once

#include "dataplane/queues.h"

extern const struct queues_red queues_red;
