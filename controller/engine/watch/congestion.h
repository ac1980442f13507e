/* Whether the network is congested. Private to controller/engine.
 *
 * It becomes congested when more than congested_share of the joined hosts' uplinks are over
 * `congested` in their last report, and stays so until no more than that are at or above `cleared`.
 * Hosts report their own use; a silent, lost or forgotten host has none.
 *
 * Source: Tian et al., section 5.2, where a monitor looks periodically; here each report, and each
 * host that joins or is forgotten, is followed. WHY also the latter: hosts may report crossings
 * only, and the share is one of all uplinks. O(1), and O(log uplinks) for one that passes
 * `cleared`. */
#pragma once

#include "controller/engine/base/state.h"

/* Sets the uplink's use of its last report; 0 without one. */
void congestion_report(struct engine *engine, struct host *host, uint32_t permille);
/* Call when hosts joined or were forgotten. */
void congestion_follow_hosts(struct engine *engine);
