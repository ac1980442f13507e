/* Racks, by the names that hosts tell: how many of their hosts are up, and what they may send to
 * other racks. Private to controller/engine.
 *
 * A rack's *uplink* is what all its hosts together may send to other racks: the mean of what its
 * hosts that are up tell, at most the sum of their own uplinks; that sum, where none tells. Hosts
 * without a rack are in one of their own, whose uplink nobody tells. WHY a mean: each host tells it
 * of the same rack, and who tells something else counts as one of them.
 *
 * O(log racks) a host that comes or goes. One object in several files: cluster.h. */
#pragma once

#include "controller/engine/base/state.h"

struct rack {
    struct sorted_node by_name; /* engine->racks: hash, and a number where hashes are equal */
    char name[ENGINE_NAME_MAX];
    uint32_t up, told;            /* hosts that are up; of those, that tell its uplink */
    uint64_t told_bps, links_bps; /* sums over these, and of all uplinks of hosts that are up */
};

/* Around any change of a host's words and rates while it is up: it leaves before, and enters
 * after. `link_bps`: its uplink, as it counts in sums. */
void racks_enter(struct engine *engine, const struct host *host, uint64_t link_bps);
void racks_leave(struct engine *engine, const struct host *host, uint64_t link_bps);
/* The rack of a host that is up. */
const struct rack *racks_of(const struct engine *engine, const struct host *host);
/* Bits a second. */
uint64_t rack_uplink_bps(const struct rack *rack);
void racks_done(struct engine *engine);
