/* What is asked of a host's disk now, for placements that predict by it. Private to
 * controller/engine/place; part of affinity.
 *
 * That is the host's last report, and all attempts there that the host had not confirmed when it
 * came, each as if it read (its profile's lone rate). So each start counts at once; where a host
 * never reports, all that run there count. The sum is kept with the host: an attempt is added when
 * it is first asked for, and taken away when it ends, leaves its task, or is reported.
 *
 * The placement's states with hosts and attempts begin with the structures here. */
#pragma once

#include "controller/engine/place/affinity_model.h"
#include "controller/engine/place/place.h"

enum affinity_counted { AFFINITY_NOT_COUNTED, AFFINITY_TO_COUNT, AFFINITY_COUNTED };

/* With each attempt. */
struct affinity_reader {
    uint32_t unreported; /* 1: its host had not confirmed it at its last report */
    struct attempt *attempt;
    enum affinity_counted counted;
    uint64_t asked_bytes_s, reads; /* as it was counted */
    TAILQ_ENTRY(affinity_reader) to_count;
};
/* With each host. */
struct affinity_readers {
    engine_wide asked_bytes_s;
    uint64_t readers;
    TAILQ_HEAD(, affinity_reader) to_count;
};

policy_state_hook affinity_init_readers;
/* A new attempt is unreported. O(1). */
void affinity_init_reader(struct affinity_reader *reader, struct attempt *attempt);
/* It counts no more; nothing happens when it did not. O(1). */
void affinity_drop_reader(struct affinity_reader *reader);
/* The host reported what is asked of its disk. O(its attempts). */
void affinity_readers_reported(struct engine *engine, struct host *host);
/* A way to run the stage, which is a first one, has another profile. O(its attempts). */
void affinity_readers_profiled(struct engine *engine, struct stage *stage);
/* O(attempts that were to be counted). */
struct affinity_disk affinity_disk_of(struct engine *engine, struct host *host);
