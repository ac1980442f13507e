/* The Coflows on the network, and what the ports have left, for the ordered policies and D-CLAS.
 *
 * A Coflow's flows are a matrix, a row per reducer and a column per mapper. Until the next plan
 * each flow's rate is the sum of up to three parts:
 *   pace × its bytes left             MADD: all flows shrink by one factor, which costs one
 *                                     multiplication
 *   min(row's share, column's share)  sharing, on rows and columns with a free port
 *   extra                             back-filling, a list of single flows (each fills a port, so
 *                                     there are few)
 * MADD keeps the flows' proportions: bytes left = scale × matrix entry, and MADD changes only
 * `scale`. So the work of a plan depends on ports and served flows, not on all flows.
 *
 * coflow_live_run is the clock: it admits Coflows as they arrive, asks the policy for a plan, moves
 * to the next instant, and notes which Coflows ended. */
#pragma once

#include "testbed/sim/coflows/coflows.h"

#include <stddef.h>
#include <stdint.h>

struct coflow_extra {
    uint32_t row, column;
    double bytes_s;
};

struct coflow_live {
    const struct workload_fb_coflow *spec;
    uint32_t index;   /* in the trace */
    uint32_t arrived; /* how many arrived before it: FIFO */
    double arrival_s, sent, total;
    double largest; /* the largest reducer's bytes, at arrival */
    double scale;
    double *left;                   /* rows × columns; × scale = bytes; 0: ended */
    double *row_left, *column_left; /* sums of `left`, exactly 0 when no flow is live */
    uint32_t *row_live, *column_live, n_live;
    double key;
    uint32_t queue;
    uint64_t entered; /* D-CLAS: place in the queue */
    /* The plan. */
    double pace;
    uint32_t n_rows, n_columns; /* that share; 0 where the Coflow does not */
    uint32_t *rows, *columns;
    double *row_share, *column_share;
    double share_bytes_s; /* the sum of all shares */
    struct coflow_extra *extras;
    uint32_t n_extras, room_extras;
};

struct coflow_ports {
    uint32_t n;
    double rate;
    double *send_free, *recv_free;
    double *send_need, *recv_need; /* scratch, all 0 between calls */
};

struct coflow_sim {
    const struct coflow_policy *policy;
    const struct coflows_config *config;
    struct coflow_ports ports;
    struct coflow_live **live; /* in the order in which the last plan served them */
    size_t n_live;
    double now_s;
    uint64_t entered;
};

/* Bytes (and bytes a second) below which nothing is left. */
#define COFLOW_ZERO 1e-3

/* Decides all plans for the present instant; returns the seconds after which they must be decided
 * again if no Coflow arrives: the first end or demotion (INFINITY: never). A negative number means
 * −ENOMEM. */
typedef double coflow_planner(struct coflow_sim *sim);

/* Runs the trace. Returns 0 or −ENOMEM. */
int coflow_live_run(const struct coflow_policy *policy, const struct coflows_config *config,
                    coflow_planner *plan, double *ret_cct_s);

/* Frees all ports: no Coflow is served. */
void coflow_ports_reset(struct coflow_sim *sim);

/* The time that c needs alone on what is free; INFINITY if a port that it needs is full. */
double coflow_bottleneck_s(struct coflow_sim *sim, const struct coflow_live *c);

/* Gives c the pace at which all its flows end together after duration_s. */
void coflow_serve_madd(struct coflow_sim *sim, struct coflow_live *c, double duration_s);

/* Gives each flow of c min(free at its source ÷ c's live flows there, free at its destination ÷ c's
 * live flows there). */
void coflow_serve_share(struct coflow_sim *sim, struct coflow_live *c);

/* Gives the flows of c, one by one, what both their ports have free. 0 or −ENOMEM. */
int coflow_serve_rest(struct coflow_sim *sim, struct coflow_live *c);

/* Seconds until the last flow of c ends by its shares alone; INFINITY if one has none. */
double coflow_share_end_s(const struct coflow_live *c);
