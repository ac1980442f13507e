/* What the parts of the fluid network share. fluid.c keeps Macroflows, events and time; a *method*
 * keeps flows and finds rates: `sparse` follows pointers from link to link and supports every
 * topology; `dense` (dense.h) has a small big switch as matrices. */
#pragma once

#include "testbed/sim/network/fluid.h"

#include <stddef.h>

/* All flows of one level on one path: `n` of them, each `rate` bytes a second. */
struct bundle_rate {
    struct topology_path path;
    uint32_t level, n;
    double rate;
};

typedef int (*bundle_rate_fn)(void *context, const struct bundle_rate *bundle);

/* A way to keep flows and find their rates. There are two on purpose: the sparse one follows
 * changes, through bundles and queues, and is faster where changes reach few links; the dense one
 * uses matrices, and is faster where they reach most. What they share is in fluid.c.
 * tests/unit/test_fluid.c compares their answers, so each is the other's oracle.
 *
 * `id` is that of a Macroflow. Functions that return int return 0 or −ENOMEM. */
struct fluid_method {
    int (*create)(struct fluid *f); /* sets f->net; destroy also frees a half-made one */
    void (*destroy)(struct fluid *f);
    /* Sets n_left; local flows and those of 0 bytes are left out already. */
    int (*start)(struct fluid *f, uint32_t id, const struct fluid_source *sources, uint32_t n);
    int (*move)(struct fluid *f, uint32_t id, uint32_t to_level); /* sets level */
    int (*stop)(struct fluid *f, uint32_t id);
    void (*forget)(struct fluid *f, uint32_t id);             /* it has no flows any more */
    double (*left_bytes)(const struct fluid *f, uint32_t id); /* at now_ns */
    int (*solve)(struct fluid *f);
    int64_t (*next_ns)(const struct fluid *f); /* of the next flow's end; FLUID_NEVER */
    int (*end)(struct fluid *f);               /* ends what has come by now_ns */
    /* The rate of one of the Macroflow's flows from that host, 0 without one. */
    double (*rate_from)(const struct fluid *f, uint32_t id, uint32_t host);
    void (*downlinks)(const struct fluid *f, double *ret_bytes_s); /* used, by host; when solved */
    /* Calls fn for each bundle, until it returns another value than 0, and returns that. */
    int (*each)(const struct fluid *f, bundle_rate_fn fn, void *context);
};

extern const struct fluid_method fluid_sparse, fluid_dense;
#ifdef __x86_64__
#define FLUID_DENSE_AVX2
extern const struct fluid_method fluid_dense_avx2; /* where the processor has it */
#endif

struct macroflow {
    uint64_t subject;
    int64_t bytes;
    void *flows;     /* the method's */
    uint32_t n_left; /* flows */
    uint32_t target, level;
    uint32_t wanted_level; /* goes there before the next solve */
    bool alive, moving;
};

/* Growing tables of reusable ids. */
struct ids {
    uint32_t *spare, n_spare, room_spare, next;
};

struct list {
    void **items;
    size_t n, allocated;
};

struct fluid {
    struct fluid_config config;
    const struct fluid_method *method;
    void *net; /* the method's */
    int64_t now_ns;
    struct macroflow *macroflows;
    struct ids macroflow_ids;
    size_t macroflows_allocated;
    uint32_t *moving; /* Macroflows whose wanted level differs */
    size_t n_moving, moving_allocated;
    struct fluid_event *events;
    size_t n_events, events_allocated, next_event;
    bool *hot;        /* by host */
    uint64_t visited; /* ports */
};

int fluid_solve(struct fluid *f); /* updates rates and hot links */

/* For methods. */
int fluid_grow(void **table, size_t *allocated, size_t need, size_t size);
int fluid_list_add(struct list *l, void *item);
uint32_t fluid_ids_take(struct ids *ids);
void fluid_ids_give_back(struct ids *ids, uint32_t id);
int fluid_flow_ended(struct fluid *f, uint32_t macroflow);
int fluid_uplink_used(struct fluid *f, uint32_t host, double used_bytes_s);
