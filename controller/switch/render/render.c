#include "controller/switch/render/render.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct renderer *const render_all[] = {&render_eos, &render_nvue, &render_openconfig,
                                             &render_sonic_patch, NULL};

const struct renderer *render_find(const char *name)
{
    for (size_t i = 0; render_all[i]; i++)
        if (strcmp(render_all[i]->name, name) == 0)
            return render_all[i];
    return NULL;
}

uint32_t render_number(const struct render_switch *sw, const struct port_queue *queue)
{
    return sw->queues_n - 1 - queue->priority;
}

int render_queue_of(const struct render_switch *sw, const struct port *want, uint32_t dscp)
{
    return sw->kept_dscp >> dscp & 1
               ? -1
               : (int)render_number(sw, &want->queues[want->queue_of_dscp[dscp]]);
}

uint64_t render_ecn_bytes(const struct port *want, const struct port_queue *queue)
{
    return (uint64_t)queue->ecn_packets * want->mtu_bytes;
}

static bool same_queue(const struct port_queue *a, const struct port_queue *b)
{
    return a->priority == b->priority && a->floor_bps == b->floor_bps &&
           a->ecn_packets == b->ecn_packets;
}

static bool same(const struct port *a, const struct port *b)
{
    bool equal = a->queues_n == b->queues_n && a->mtu_bytes == b->mtu_bytes &&
                 memcmp(a->queue_of_dscp, b->queue_of_dscp, sizeof(a->queue_of_dscp)) == 0;
    for (uint32_t i = 0; equal && i < a->queues_n; i++)
        equal = same_queue(&a->queues[i], &b->queues[i]);
    return equal;
}

int render_profiles(const struct render_switch *sw, uint32_t **ret_profile_of,
                    uint32_t **ret_port_of, uint32_t *ret_profiles_n, struct err *err)
{
    uint32_t *profile_of = calloc(sw->ports_n + 1, sizeof(*profile_of));
    uint32_t *port_of = calloc(sw->ports_n + 1, sizeof(*port_of)), n = 0;
    if (!profile_of || !port_of) {
        free(profile_of);
        free(port_of);
        return err_sys(err, ENOMEM, "%u ports", sw->ports_n);
    }
    for (uint32_t i = 0; i < sw->ports_n; i++) {
        uint32_t profile = 0;
        while (profile < n && !same(sw->ports[port_of[profile]].want, sw->ports[i].want))
            profile++;
        if (profile == n)
            port_of[n++] = i;
        profile_of[i] = profile;
    }
    *ret_profile_of = profile_of;
    *ret_port_of = port_of;
    *ret_profiles_n = n;
    return 0;
}
