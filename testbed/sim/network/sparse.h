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

enum { PORT_NONE = UINT32_MAX };

/* A bundle as a port sees it: all that solving reads of it. */
struct crossing {
    uint32_t peer; /* id of the other port of its path; PORT_NONE if there are more */
    uint32_t n_flows;
    struct bundle *bundle;
};

/* The first cache line is all that a neighbour's news need of it. */
struct port {
    double load;     /* of this level, with the present shares */
    double capacity; /* what the levels above left of the link, when last solved */
    uint64_t solve;  /* the last that touched it */
    uint32_t id;
    uint32_t open; /* flows that no other port limits to less than the share */
    uint32_t n_flows;
    bool wants;                  /* wanted, wanted_load and wanted_open are right */
    bool listed, dirty, changed; /* changed: bundles or flows came or went since the last solve */
    struct crossing *row;
    uint32_t n_bundles, room;
    double wanted; /* the share at which it is full */
    double wanted_load;
    uint32_t wanted_open;
    /* Flows that this port limits have `rate` bytes a second each (infinite while it limits
     * nobody). */
    double rate;
    double used; /* by this level, when last solved */
    uint32_t link, level;
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
    struct port *limit; /* bottleneck; NULL until the first solve */
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
    double *shares; /* by port id: the rate that it will have; its rate between solves */
    size_t shares_room;
    uint64_t solves; /* of one level each */
    struct list touched, moved;
    struct list fresh;     /* bundles that never had a rate */
    struct heap unfit;     /* ports that are to get another share, by the lesser of both */
    uint32_t *unfit_where; /* by port id */
    size_t unfit_room;
    struct list uplinks; /* struct link: their use changed */
};

/* sparse.c */
void port_advance(struct port *p, int64_t now_ns);
int port_schedule(struct sparse *f, struct port *p);
int port_mark_dirty(struct sparse *f, struct port *p);
double bundle_progress(const struct bundle *b); /* bytes each of its flows had, at limit->at_ns */
int bundle_schedule(struct sparse *f, struct bundle *b);
