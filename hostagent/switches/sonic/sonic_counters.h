/* The counters of a SONiC switch's queues: COUNTERS_DB (database 2 of the same Redis), which its
 * flex counters fill (sonic-swss, COUNTERS_QUEUE_NAME_MAP and COUNTERS). */
#pragma once

#include "hostagent/switches/sonic/redis.h"
#include "hostagent/switches/switch.h"
#include "lib/sonic/sonic_rows.h"

/* A port's queues by number: the most urgent traffic of each; −1: not ours. */
struct sonic_counted {
    char port[SONIC_NAME];
    int8_t traffic[SONIC_QUEUES];
};

/* The sums since the switch began; 0 for queues that are not counted. The connection uses CONFIG_DB
 * before and after; after a failure close it. One exchange for all queues. */
int sonic_counters_read(struct redis *redis, uint64_t until_ns, const struct sonic_counted *counted,
                        uint32_t n, struct switch_stats *ret_stats, struct err *err);
