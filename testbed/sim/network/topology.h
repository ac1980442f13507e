/* Which links a transfer crosses, and their rates.
 *
 * Every host has an uplink and a downlink. A switch of infinite capacity between them is the big
 * switch of the source (Tian et al., section 6: "no congestion inside the network"); leaf-spine
 * adds, between racks, one link from the leaf to a spine and one from the spine to the other leaf.
 * Transfers within a rack do not leave it. The spine is the one that the flow's hash names (ECMP),
 * or all of them together as if packets were sprayed ideally.
 *
 * Links are numbered: uplink of host h = h, downlink = hosts + h, then leaf to spine, then spine to
 * leaf. Constant once made, so threads may share it. */
#pragma once

#include "lib/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { TOPOLOGY_PATH_MAX = 4, TOPOLOGY_HOSTS_MAX = 1000000 };

struct topology {
    uint32_t n_hosts, n_links;
    uint32_t n_racks, hosts_per_rack; /* one rack: a big switch */
    uint32_t n_spines;   /* links between a leaf and the core: 1 with ideal spreading */
    double edge_bytes_s; /* of each uplink and each downlink */
    double core_bytes_s; /* of each link between leaf and spine */
    double *own_bytes_s; /* of each link, if rates differ; else NULL */
};

struct topology_path {
    uint32_t n;
    uint32_t links[TOPOLOGY_PATH_MAX];
};

/* A big switch with `hosts` ports of edge_bytes_s bytes a second, both ≥ 1. Returns 0 or
 * −EINVAL. */
int topology_init_switch(struct topology *t, uint32_t hosts, double edge_bytes_s, struct err *err);

/* `racks` × hosts_per_rack hosts; a rack's links to the core together have its hosts' rate ÷
 * oversubscription (≥ 1: what the source calls 4:1 is 4), divided over `spines` links, or one where
 * `spread`. Returns 0 or −EINVAL. */
int topology_init_leaf_spine(struct topology *t, uint32_t racks, uint32_t hosts_per_rack,
                             double edge_bytes_s, uint32_t spines, double oversubscription,
                             bool spread, struct err *err);

/* One link's own rate, ≥ 1 byte/s. Returns 0, −EINVAL or −ENOMEM. O(1), the first time O(links). */
int topology_set_link(struct topology *t, uint32_t link, double bytes_s, struct err *err);
/* Multiplies the rate of every link by `factor` > 0. O(links). */
void topology_scale(struct topology *t, double factor);
/* Frees the links' own rates; not needed without any. */
void topology_done(struct topology *t);

/* From a rack's leaf to a spine (`up`), or back. */
uint32_t topology_core_link(const struct topology *t, uint32_t rack, uint32_t spine, bool up);

/* The links from host `source` to host `target`, in order; source = target takes the host's own
 * two. */
struct topology_path topology_path(const struct topology *t, uint32_t source, uint32_t target,
                                   uint64_t flow_hash);

double topology_link_bytes_s(const struct topology *t, uint32_t link);
