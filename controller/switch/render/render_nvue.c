/* Cumulus Linux 5 by NVUE: profiles of our own for mapping, scheduling and congestion control, set
 * on ports, so that no other port changes. Strict queues have no guarantees there. A port has one
 * scheduler profile for all its queues: lossless ones share by DWRR what the strict ones leave. By
 * default switch priority n has queue n (NVUE maps that only for the whole switch). */
#include "controller/switch/render/template.h"

static const struct render_part ecn_parts[] = {
    {RENDER_IF_ECN,
     "nv set qos congestion-control duopoly-$profile traffic-class $queue min-threshold $bytes\n"
     "nv set qos congestion-control duopoly-$profile traffic-class $queue max-threshold $bytes\n"
     "nv set qos congestion-control duopoly-$profile traffic-class $queue probability 100\n"
     "nv set qos congestion-control duopoly-$profile traffic-class $queue ecn enable\n"
     "nv set qos congestion-control duopoly-$profile traffic-class $queue red disable\n",
     NULL},
    {0},
};
static const struct render_part profile_parts[] = {
    {RENDER_ONCE, "nv set qos mapping duopoly-$profile trust l3\n", NULL},
    {RENDER_EACH_CODE_POINT,
     "nv set qos mapping duopoly-$profile dscp $dscp switch-priority $queue\n", NULL},
    {RENDER_EACH_QUEUE,
     "nv set qos egress-scheduler duopoly-$profile traffic-class $queue mode strict\n", ecn_parts},
    {RENDER_EACH_LOSSLESS,
     "nv set qos egress-scheduler duopoly-$profile traffic-class $queue mode dwrr\n"
     "nv set qos egress-scheduler duopoly-$profile traffic-class $queue bw-percent $share\n",
     NULL},
    {0},
};
static const struct render_part port_parts[] = {
    {RENDER_IF_PORT_ECN, "nv set interface $port qos congestion-control profile duopoly-$profile\n",
     NULL},
    {0},
};
static const struct render_part set_parts[] = {
    {RENDER_ONCE, "# $switch: floors are not to be had with strict queues of this switch\n", NULL},
    {RENDER_EACH_PROFILE, "", profile_parts},
    {RENDER_EACH_PORT,
     "nv set interface $port qos mapping profile duopoly-$profile\n"
     "nv set interface $port qos egress-scheduler profile duopoly-$profile\n",
     port_parts},
    {RENDER_ONCE, "nv config apply\n", NULL},
    {0},
};

static int nvue_render(const struct render_switch *sw, FILE *out, struct err *err)
{
    return render_text(sw, set_parts, out, err);
}

static const struct render_part port_undo_parts[] = {
    {RENDER_IF_PORT_ECN, "nv unset interface $port qos congestion-control profile\n", NULL},
    {0},
};
static const struct render_part profile_undo_parts[] = {
    {RENDER_IF_PORT_ECN, "nv unset qos congestion-control duopoly-$profile\n", NULL},
    {0},
};
static const struct render_part undo_parts[] = {
    {RENDER_ONCE, "# $switch: a profile that a port had before is the site's to set again\n", NULL},
    {RENDER_EACH_PORT,
     "nv unset interface $port qos mapping profile\n"
     "nv unset interface $port qos egress-scheduler profile\n",
     port_undo_parts},
    {RENDER_EACH_PROFILE,
     "nv unset qos mapping duopoly-$profile\n"
     "nv unset qos egress-scheduler duopoly-$profile\n",
     profile_undo_parts},
    {RENDER_ONCE, "nv config apply\n", NULL},
    {0},
};

static int nvue_undo(const struct render_switch *sw, FILE *out, struct err *err)
{
    return render_text(sw, undo_parts, out, err);
}

const struct renderer render_nvue = {.name = "nvue",
                                     .what = "commands of Cumulus Linux 5 (NVUE)",
                                     .abilities = {.strict = true, .ecn = true, .hardware = true},
                                     .render = nvue_render,
                                     .undo = nvue_undo};
