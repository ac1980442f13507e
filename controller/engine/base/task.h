/* A task, and the index of where the blocks of ready maps are: structures of the engine's state
 * (state.h, which includes this). Private to controller/engine. */
#pragma once

#include "controller/engine/base/sorted.h"
#include "controller/engine/engine.h"

#include <bsd/sys/queue.h>
#include <bsd/sys/tree.h>

/* One block of a ready map. */
struct local_ref {
    struct local_maps *local;
    struct located *located;
    uint32_t task;      /* its index */
    uint16_t index, of; /* `of`: its place in task->refs */
    TAILQ_ENTRY(local_ref) link;
};

struct task {
    struct stage *stage;
    uint32_t index;
    enum task_state last_state; /* what it was made: task_state() says what it is */
    uint64_t bytes;             /* network input by the edges: the Macroflow; 0: a map */
    struct attempt *attempts;   /* live ones */
    /* Index: of a ready map with replicas. One that was ready when its stage closed keeps them
     * until it is made something else; nobody else reads them. */
    struct local_ref *refs;
    uint32_t n_refs, candidates; /* refs, and how many of their hosts fit */
    struct retry *retry;         /* where it failed (retry.h); NULL: nowhere */
    uint64_t done_attempt;
    uint32_t done_host;
    bool guessed; /* a framework's: its bytes were not reported (framework_sizes.h) */
    /* For people, not dumped: an attempt of it that was no allow has ended; it runs, or waits,
     * again. */
    bool ran, again;
    bool past; /* index: nothing of it remains (remaining.h) */
    uint64_t input_bytes, compute_ns, output_bytes;
    int64_t ready_ns, started_ns;
    uint64_t readied_at; /* stage->closed when it became ready */
    /* While it is ready; then as `refs`. */
    struct sorted_node ready;           /* stage->ready_reduces or stage->ready_maps */
    struct sorted_node ready_unlocated; /* stage->unlocated */
    uint32_t failures;
    uint32_t losses; /* hosts that were lost with an attempt of it (loss.h) */
    struct reruns
        *reruns; /* outputs that were lost, though their hosts were not (rerun.h); NULL: none */
};

/* Ready maps of one stage whose block is on one host. WHY apart from other stages': when its stage
 * closes they leave together. */
struct located {
    struct local_maps *local;
    struct stage *stage;                    /* NULL: it is not in use */
    TAILQ_HEAD(local_refs, local_ref) refs; /* by index of their tasks */
    uint32_t n;
    uint32_t with_candidates[ENGINE_REPLICAS_MAX + 1];
    RB_ENTRY(located) on_local;
    LIST_ENTRY(located) of_stage;  /* stage->located */
    LIST_ENTRY(located) of_memory; /* stage->located_memory, unless it is a local's own */
};
RB_HEAD(located_tree, located);

/* Ready maps of one bucket whose block is on one host. WHY this order: the start of a map reads
 * adjacent members. */
struct local_maps {
    struct sorted_node waiting; /* host_queue->waiting */
    struct bucket *bucket;
    struct host *host;
    struct located_tree stages; /* of the bucket's stages those with such maps, by index */
    uint32_t n;                 /* of all of them */
    uint32_t fewest; /* candidates, of `pair`; more than ENGINE_REPLICAS_MAX: no task has any */
    bool fit;        /* at the bucket's last look */
    bool up, under;  /* where maps are spread evenly: its host could run such a task when empty, and
                        has fewer than its part of the job's maps */
    struct host_queue *of_user;      /* where somebody divides: its user's there; else NULL */
    TAILQ_ENTRY(local_maps) on_host; /* host->locals */
    uint32_t with_candidates[ENGINE_REPLICAS_MAX + 1];
    struct located one;      /* of one of these stages; nearly always there is no other */
    uint64_t placed;         /* of the job's maps on the host; 0 where maps are not spread evenly */
    struct sorted_node pair; /* in bucket->pairs: nats' order of (task, server) pairs */
};
