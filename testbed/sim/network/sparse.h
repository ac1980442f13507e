/* The network as ports, bundles and flows that point at each other: sparse.c keeps them, rows.c
 * each port's data about its bundles, maxmin.c sets rates.
 *
 * A *port* is one level of one link. Only ports that a bundle crosses are listed at their link. */
#pragma once

#include "testbed/sim/network/fluid_state.h"
#include "testbed/sim/network/heap.h"

#include <uthash.h>

struct bundle;

/* A bundle as a port sees it: all that solving reads of it while it stays in its section. */
struct crossing {
    struct port *peer; /* the other port of its path; NULL if there are more */
    uint32_t n_flows;
};

/* A port's row holds its bundles in sections. Those whose other ports all have this port's share or
 * a greater one are *open*: their flows get its share, and the other ports are told of it. If the
 * other port is *quiet*, it is told a ceiling only. The rest are *closed*, another port limits them
 * to less. */
enum section { SECTION_TOLD, SECTION_QUIET, SECTION_CLOSED };

/* Neighbours' changes read only its first cache line. */
struct port {
    double share;    /* what each flow that it limits will get, infinite while it limits none; its
                        rate between solves */
    double load;     /* of this level, with the present shares; if quiet, with their ceilings */
    double capacity; /* what the levels above left of the link at the last solve */
    double closed_most; /* no closed bundle gets more from its other ports */
    uint32_t solve;     /* the last solve that touched it; numbers repeat after 2³² */
    uint32_t id;
    uint32_t open; /* flows in open bundles */
    uint32_t n_flows;
    uint32_t tells;              /* of neighbours, since it limited a flow or was quiet */
    bool listed, dirty, changed; /* changed: bundles or flows came or went since the last solve */
    bool quiet;   /* it limits no flow and would not with its neighbours' shares at their ceilings,
                     and its load is not needed */
    float spared; /* at least this much of its link must stay unused while it is quiet, */
    float unused; /* and at most this much, so that it gets neither hot nor cool */
    struct crossing *row;
    struct bundle **bundles;                       /* row[i] is bundles[i]'s */
    uint32_t n_told, n_open, n_bundles, allocated; /* ends of the sections */
    double ceiling; /* not less than a finite share: what quiet ports count with */
    uint32_t sets;  /* since the load was last added up */
    uint32_t link, level;
    /* Bytes a second of each flow that this port limits (infinite while it limits none). */
    double rate;
    double used;   /* by this level, when last solved */
    double served; /* bytes at at_ns of a flow that it has limited since the port was made */
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
    size_t limited_allocated, ends_allocated;
    struct flow *flows;
    uint32_t *flows_where; /* place in its bundle's heap */
    struct ids flow_ids;
    size_t flows_allocated;
    struct list *dirty;            /* per level */
    uint32_t dirty_from, dirty_to; /* levels that may have dirty ports: from ≤ level < to */
    /* Scratch of the solver. */
    uint32_t solves; /* of one level each */
    bool rests;      /* ports may be quiet: all paths have two */
    struct list touched, moved;
    struct list fresh;     /* bundles that never had a rate */
    struct heap unfit;     /* ports that get another share, by the lesser of both */
    uint32_t *unfit_where; /* by port id */
    size_t unfit_allocated;
    struct list uplinks; /* struct link: their use changed */
};

/* sparse.c */
void port_advance(struct port *p, int64_t now_ns);
int port_schedule(struct sparse *f, struct port *p);
int port_mark_dirty(struct sparse *f, struct port *p);
double bundle_progress(const struct bundle *b); /* bytes each of its flows had, at limit->at_ns */
int bundle_schedule(struct sparse *f, struct bundle *b);

/* A share is at least this part of its ceiling. */
static const double CEILING_LEAST = .94;

/* rows.c */
/* The least share of the bundle's ports except these two; infinite without one. O(path). */
double bundle_least(const struct bundle *b, const struct port *but, const struct port *nor);
/* The bundle crosses port i of its path from now on, without flows; all its ports are known. 0 or
 * −ENOMEM. */
int row_join(struct bundle *b, uint32_t i);
void row_leave(struct bundle *b, uint32_t i);
/* Puts the crossing at that place of p's row into a section. O(1); another one takes its place. */
void row_move(struct port *p, uint32_t at, enum section to);
/* Changes the bundle's number of flows by `more`. */
void row_count(struct bundle *b, uint32_t i, int more);
uint32_t row_place(const struct bundle *b, const struct port *p);
/* Where an open crossing belongs. */
enum section row_open_section(const struct crossing *c);
/* Adds up again what is kept by additions, which round. O(row), as the next two. */
void row_weigh(struct port *p);
/* A port that limits no flow and whose load is not needed becomes quiet if it fits even with its
 * neighbours' ceilings. */
void port_rest(const struct sparse *net, struct port *p);
/* It is told everything again. Its use at the last solve is unknown. */
void port_wake(struct port *p);
/* What it may use while quiet: an uplink stays hot, or not hot. */
void port_set_bounds(const struct sparse *net, struct port *p);
/* Whether neither it nor the ports below it limit a flow. */
bool port_may_rest(const struct sparse *net, const struct port *p);

/* What the other ports of its path allow bundle `at` of port p. */
static inline double others_share(const struct port *p, uint32_t at)
{
    const struct port *peer = p->row[at].peer;
    return peer ? peer->share : bundle_least(p->bundles[at], p, NULL);
}

/* Whether a quiet port can remain so with that load. */
static inline bool port_stays_quiet(const struct port *p, double load)
{
    return load <= p->capacity - p->spared && p->capacity - CEILING_LEAST * load <= p->unused;
}
