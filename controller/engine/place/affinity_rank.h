/* Which ready stages affinity would start on a host next, the best ones first. Private to
 * controller/engine/place; part of affinity.
 *
 * The rules are those of affinity.h. Of each group of kinds (kinds.h) the best are searched in its
 * tree: a subtree is left out when the least times and the first stage in it, as the group keeps
 * them, would come behind all that were found. What is found does not depend on that. O(log kinds)
 * a group where kinds differ much or are equal; in the worst case O(kinds), as by `rate`, whose
 * order moves with time.
 *
 * Where downlinks count, a kind is looked at with what the input of its first stage's next task
 * would wait there; of a subtree only is known that it may wait for nothing. So of kinds that wait
 * more are looked at, O(kinds · receivers there) at worst, whatever the number of jobs. */
#pragma once

#include "controller/engine/place/affinity_downlink.h"
#include "controller/engine/place/affinity_runners.h"
#include "controller/engine/place/kinds.h"

enum { AFFINITY_RANKED = 1 + AFFINITY_RUNNERS };

/* A stage that may go next on the host, and what speaks for it. */
struct affinity_choice {
    struct stage *stage;
    const struct kind *kind;
    uint64_t predicted_ns, lone_ns;
    uint64_t wait_ns; /* of its input, where downlinks count; in predicted_ns */
};
struct affinity_ranking {
    uint32_t n;
    uint64_t seen; /* kinds that were compared, or left out */
    struct affinity_choice at[AFFINITY_RANKED];
};
struct affinity_round {
    struct engine *engine;
    struct host *host;
    struct affinity_disk disk;
    enum affinity_stretch stretch;
    enum affinity_downlink downlink;
    bool rate; /* the progress of stages is their rate, else the sum */
    bool gpu;  /* for a GPU of the host, else for a slot */
};

/* By `sum`, without what its input waits. */
uint64_t affinity_progress(const struct stage *stage);
/* What counts there of a stage's progress beside its started tasks, ns. */
uint64_t affinity_added_ns(const struct affinity_round *round, const struct affinity_choice *one);
/* By `sum`, there. */
uint64_t affinity_progress_there(const struct affinity_round *round,
                                 const struct affinity_choice *one);
/* Starts of others since its own. */
uint64_t affinity_waited(const struct engine *engine, const struct stage *stage);
/* Those that waited for so many starts or more, which goes first; false: there are none. */
bool affinity_find_overdue(const struct affinity_round *round, uint64_t patience,
                           struct affinity_ranking *ret_ranking);
/* The best ones for a GPU, or for a slot; false: there are none. */
bool affinity_find_best(const struct affinity_round *round, struct affinity_ranking *ret_ranking);
