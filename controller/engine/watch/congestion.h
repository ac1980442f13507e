/* Is the network congested? Private to controller/engine.
 *
 * It is from when more uplinks than `congested_share` of those of joined hosts are over `congested`
 * in their last report, until no more than that are at or above `cleared`. Between the two it stays
 * what it was. Reports are what hosts say of themselves; a silent, lost or forgotten one has none.
 *
 * Source: Tian et al., section 5.2, where a monitor looks periodically; here it follows each report
 * and each host that joins or is forgotten. WHY also the latter: hosts may report crossings only,
 * and the share is one of all uplinks. O(1). */
#pragma once

#include "controller/engine/base/state.h"

/* The uplink's use by its last report; 0 when it has none. */
void congestion_report(struct engine *engine, struct host *host, uint32_t permille);
/* Other hosts are joined than before. */
void congestion_follow_hosts(struct engine *engine);
