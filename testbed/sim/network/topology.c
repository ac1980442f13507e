#include "testbed/sim/network/topology.h"

#include <errno.h>
#include <stdlib.h>

static int check_rate(double bytes_s, struct err *err)
{
    if (!(bytes_s >= 1 && bytes_s <= 1e15))
        return err_set(err, EINVAL, "a link has 8 bit/s to 8 Pbit/s, not %g", bytes_s * 8);
    return 0;
}

int topology_init_switch(struct topology *t, uint32_t hosts, double edge_bytes_s, struct err *err)
{
    if (hosts < 1 || hosts > TOPOLOGY_HOSTS_MAX)
        return err_set(err, EINVAL, "a network has 1 to %d hosts, not %u", TOPOLOGY_HOSTS_MAX,
                       hosts);
    int r = check_rate(edge_bytes_s, err);
    if (r)
        return r;
    *t = (struct topology){.n_hosts = hosts,
                           .n_links = 2 * hosts,
                           .n_racks = 1,
                           .hosts_per_rack = hosts,
                           .edge_bytes_s = edge_bytes_s};
    return 0;
}

int topology_init_leaf_spine(struct topology *t, uint32_t racks, uint32_t hosts_per_rack,
                             double edge_bytes_s, uint32_t spines, double oversubscription,
                             bool spread, struct err *err)
{
    if (racks < 1 || hosts_per_rack < 1 || spines < 1 ||
        racks > TOPOLOGY_HOSTS_MAX / hosts_per_rack || spines > 1024)
        return err_set(err, EINVAL,
                       "a leaf-spine network has racks and hosts (%d at most) and 1 to 1024 spines",
                       TOPOLOGY_HOSTS_MAX);
    if (!(oversubscription >= 1 && oversubscription <= 1000))
        return err_set(err, EINVAL, "oversubscription is 1 to 1000, not %g", oversubscription);
    struct topology made;
    int r = topology_init_switch(&made, racks * hosts_per_rack, edge_bytes_s, err);
    if (r)
        return r;
    made.n_racks = racks;
    made.hosts_per_rack = hosts_per_rack;
    made.n_spines = spread ? 1 : spines;
    made.n_links += 2 * racks * made.n_spines;
    made.core_bytes_s = edge_bytes_s * hosts_per_rack / oversubscription / made.n_spines;
    *t = made;
    return 0;
}

int topology_set_link(struct topology *t, uint32_t link, double bytes_s, struct err *err)
{
    int r = check_rate(bytes_s, err);
    double *own = r || t->own_bytes_s ? NULL : calloc(t->n_links, sizeof(*own));
    if (!r && !t->own_bytes_s && !own)
        r = err_set(err, ENOMEM, "not enough memory for %u links", t->n_links);
    if (r)
        return r;
    for (uint32_t i = 0; own && i < t->n_links; i++)
        own[i] = topology_link_bytes_s(t, i);
    if (own)
        t->own_bytes_s = own;
    t->own_bytes_s[link] = bytes_s;
    return 0;
}

void topology_scale(struct topology *t, double factor)
{
    t->edge_bytes_s *= factor;
    t->core_bytes_s *= factor;
    for (uint32_t i = 0; t->own_bytes_s && i < t->n_links; i++)
        t->own_bytes_s[i] *= factor;
}

void topology_done(struct topology *t)
{
    free(t->own_bytes_s);
    t->own_bytes_s = NULL;
}

/* WHY mixed: callers count their flows, and neighbours must fall on any spine. */
static uint32_t spine_of(const struct topology *t, uint64_t flow_hash)
{
    uint64_t mixed = (flow_hash + 1) * 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ (mixed >> 31)) * 0xbf58476d1ce4e5b9u;
    return (uint32_t)((mixed >> 32) % t->n_spines);
}

uint32_t topology_core_link(const struct topology *t, uint32_t rack, uint32_t spine, bool up)
{
    return 2 * t->n_hosts + (up ? rack : t->n_racks + rack) * t->n_spines + spine;
}

struct topology_path topology_path(const struct topology *t, uint32_t source, uint32_t target,
                                   uint64_t flow_hash)
{
    struct topology_path path = {.n = 2, .links = {source, t->n_hosts + target}};
    uint32_t from = source / t->hosts_per_rack, to = target / t->hosts_per_rack;
    if (from == to)
        return path;
    uint32_t spine = spine_of(t, flow_hash);
    path.n = 4;
    path.links[1] = topology_core_link(t, from, spine, true);
    path.links[2] = topology_core_link(t, to, spine, false);
    path.links[3] = t->n_hosts + target;
    return path;
}

double topology_link_bytes_s(const struct topology *t, uint32_t link)
{
    if (t->own_bytes_s)
        return t->own_bytes_s[link];
    return link < 2 * t->n_hosts ? t->edge_bytes_s : t->core_bytes_s;
}
