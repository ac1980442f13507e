/* Coflow completion times of a trace on a big switch, network only: the classic comparison of
 * Coflow schedulers.
 *
 * Each reducer's bytes are split evenly over the mappers, one flow each; every port has the same
 * rate in both directions; a Coflow's time (CCT) runs from its arrival to its last byte. Flows
 * between a port and itself use the network, or nothing at all (local_free).
 *
 * A policy is an entry of coflow_policies. The ordered ones serve by a key, smallest first: minimum
 * allocation for desired duration (MADD: all flows of a Coflow end together) on what the ports have
 * left, then Coflows that met a full port share the rest, then the remainder is filled in the same
 * order (Varys, SIGCOMM 2014, section 5). D-CLAS is Aalo's (SIGCOMM 2015, section 4), srtf PDQ's
 * order per flow, fair exact max-min per flow. In the ordered policies and D-CLAS rates change when
 * a Coflow arrives, departs or is demoted; what a flow that ends between two of these leaves is
 * unused until the next (each keeps at least one port busy, so the loss is small; fair and srtf
 * have none).
 *
 * compat_coflowsim imitates the public simulator of that name, to be comparable with published
 * figures: arrivals of the next 10 240 ms count from the epoch's start, a "second" is 1 024 ms,
 * time moves in steps of 8 ms, a flow with less than 10⁻³ bytes left is done, sizes are whole MB
 * per flow, D-CLAS demotes only when a Coflow arrives or departs.
 *
 * Pure; memory 8 bytes a live flow (24 for srtf and fair). */
#pragma once

#include "lib/err.h"
#include "lib/workload/workload_fb.h"

#include <stdbool.h>

enum { COFLOWS_DENSE_PORTS = 2048 };
#define COFLOWS_PORT_BYTES_S 134217728.0 /* 1024·2²⁰ bit/s: the benchmark's customary ports */

struct coflows_config {
    const struct workload_fb *trace; /* borrows until the call returns */
    double port_bytes_s;
    bool local_free, compat_coflowsim;
    /* Called now and then with the part of the Coflows that ended, 0…1; may be NULL. */
    void (*progress)(void *user, double part);
    void *user;
};

struct coflow_live;

struct coflow_policy {
    const char *name, *what;
    bool compat; /* supports compat_coflowsim */
    /* Ordered policies: smaller is served first; NULL for the others. */
    double (*key)(const struct coflow_live *c);
    bool dense; /* keeps tables of ports × ports: COFLOWS_DENSE_PORTS ports at most */
    /* Fills ret_cct_s, one per Coflow of the trace. Returns 0 or −ENOMEM. */
    int (*simulate)(const struct coflow_policy *policy, const struct coflows_config *config,
                    double *ret_cct_s);
};

extern const struct coflow_policy *const coflow_policies[]; /* ends with NULL */

/* NULL: none has this name. */
const struct coflow_policy *coflow_policy_find(const char *name);

/* The least CCT that any scheduler could reach: bytes of its fullest port ÷ the port's rate. */
double coflow_bound_s(const struct coflows_config *config, const struct workload_fb_coflow *c);

/* When it counts as arrived, in seconds. */
double coflow_arrival_s(const struct coflows_config *config, const struct workload_fb_coflow *c);

/* Bytes of each of a reducer's flows. */
double coflow_flow_bytes(const struct coflows_config *config, const struct workload_fb_coflow *c,
                         uint32_t reducer);

/* Runs a policy. 0, −ENOMEM, or −EINVAL for a policy without support for compat_coflowsim or for as
 * many ports. */
int coflows_simulate(const struct coflow_policy *policy, const struct coflows_config *config,
                     double *ret_cct_s, struct err *err);

/* The trace's Coflows in order of arrival, ties in the order of the file; the caller frees. NULL
 * without memory. */
uint32_t *coflows_by_arrival(const struct coflows_config *config);
