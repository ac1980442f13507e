/* What a job takes on one host, in one rack and spread over all hosts, each with what it costs
 * others: the formula of pack.h. Private to controller/engine/place.
 *
 * One object in several files: joint.h. */
#pragma once

#include "controller/engine/base/state.h"

__extension__ typedef unsigned __int128 wide;

struct pack_costs {
    wide compute_ns;                 /* of all its tasks on that host */
    wide shuffle_ns;                 /* of all its bytes on one link */
    wide one_ns, rack_ns, spread_ns; /* what is compared */
    uint64_t of_rack; /* hosts of the rack; 0: no rack is considered, and these are not set: */
    wide racks_ns;    /* of those of its bytes that leave racks, on one rack's uplink */
};

/* Of a job whose tasks have one demand; *ret is filled if true. False: there is nothing to compare.
 * O(its tasks). */
bool pack_costs(const struct engine *engine, const struct job *job, const struct host *home,
                struct pack_costs *ret);
/* What one link takes for all bytes of the job, as far as they are known; some host has a link. */
wide pack_shuffle_ns(const struct engine *engine, const struct job *job);
