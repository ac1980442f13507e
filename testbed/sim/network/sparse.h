/* The network as ports, bundles and flows that point at each other: sparse.c keeps them, maxmin.c
 * sets rates.
 *
 * A *port* is one level of one link. Only ports that some bundle crosses are listed at their link;
 * the others rest. */
#pragma once

#include "testbed/sim/network/fluid_state.h"
#include "testbed/sim/network/heap.h"

#include <uthash.h>

struct bundle;

/* How far the present filling is with a port: its `state` is the filling's number + one of these;
 * anything less is a port outside. */
enum {
    PORT_BOUNDS = 1, /* outside, with a share that the region's bundles cannot exceed */
    PORT_JOINED = 2, /* in the region: gets a new share */
    PORT_PASSED = 3, /* outside, and its share stays: the filling has passed it */
    PORT_DONE = 4,   /* of the region, and its share is final */
    PORT_STATES = 5,
};

/* A bundle as a port sees it: all that filling reads of it. */
struct crossing {
    struct port *peer; /* the other port of its path; NULL if there are more */
    struct bundle *bundle;
    uint32_t n_flows;
    bool fresh; /* never had a rate */
};

/* The first cache line is all that filling reads of it, but for the row. */
struct port {
    /* Flows that this port limits have `rate` bytes a second each (infinite while it limits
     * nobody). */
    double rate;
    double capacity;           /* what the levels above left of the link, when last solved */
    double used;               /* by this level */
    double free, share, delta; /* while solving; delta is 0 else */
    uint64_t state;
    uint32_t n_flows;
    uint32_t open; /* while solving: flows not yet given a rate */

    struct crossing *row;
    uint32_t n_bundles, room;
    uint32_t id, link, level;
    bool listed, dirty, changed; /* changed: bundles or flows came or went since the last solve */
    double served; /* bytes that each flow that it limited all the time had at at_ns since the port
                      was made */
    int64_t at_ns;
    struct heap limited; /* bundles with their bottleneck here, by the `served` at which their next
                            flow ends */
    struct port *lower;  /* the next less urgent level in use on this link */
} __attribute__((aligned(64)));

struct bundle_key {
    uint32_t level, n;
    uint32_t links[TOPOLOGY_PATH_MAX];
};

struct bundle {
    struct port *ports[TOPOLOGY_PATH_MAX];
    struct port *limit;     /* bottleneck; NULL until the first solve */
    struct port *new_limit; /* while solving, of those in fluid.moved */
    uint32_t n_ports, n_flows;
    double offset; /* limit->served − what each flow of this bundle had since it was made */
    uint32_t id;
    struct bundle_key key;
    uint32_t place[TOPOLOGY_PATH_MAX]; /* in ports[i]->row */
    struct heap flows;                 /* by the bytes per flow at which they end */
    UT_hash_handle hh;
};

struct flow {
    struct bundle *bundle; /* NULL: ended, or free */
    double end;            /* its key in bundle->flows */
    uint32_t macroflow;
};

/* A Macroflow's; one per source. */
struct sparse_flows {
    uint32_t n;
    uint32_t ids[]; /* UINT32_MAX: ended */
};

struct link {
    double capacity;
    struct port *first; /* listed ports, most urgent first */
};

struct sparse {
    struct fluid *fluid;
    struct link *links;
    struct port ***levels; /* per level an array of n_links ports, each NULL until used, or NULL */
    struct list ports;     /* by id */
    struct heap ends;      /* ports by the instant at which their next flow ends */
    uint32_t *ends_where;  /* by port id */
    struct bundle *bundles;
    struct list spare_bundles, bundles_by_id;
    uint32_t *limited_where; /* by bundle id */
    size_t limited_room, ends_room;
    struct flow *flows;
    uint32_t *flows_where; /* place in its bundle's heap */
    struct ids flow_ids;
    size_t flows_room;
    struct list *dirty;            /* per level */
    uint32_t dirty_from, dirty_to; /* levels that may have dirty ports: from ≤ level < to */
    /* The solver's own. */
    uint64_t filling; /* fillings × PORT_STATES */
    struct list region, touched, moved, joining;
    struct heap fill;
    struct list uplinks; /* struct link: their use changed */
};

/* sparse.c */
void port_advance(struct port *p, int64_t now_ns);
int port_schedule(struct sparse *f, struct port *p);
int port_mark_dirty(struct sparse *f, struct port *p);
double bundle_progress(const struct bundle *b); /* bytes each of its flows had, at limit->at_ns */
int bundle_schedule(struct sparse *f, struct bundle *b);
