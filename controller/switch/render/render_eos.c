/* Arista EOS (4.2x and later, platforms with eight unicast queues): a QoS profile for each kind of
 * port, strict queues of which 7 is first, `bandwidth guaranteed` in kbit/s for floors, and ECN
 * thresholds by `random-detect ecn`. The map of code points belongs to the switch, not to a port:
 * unchanged entries are not written, and `no qos map dscp` restores a code point's delivered class.
 * By default traffic class n has queue n. */
#include "controller/switch/render/template.h"

#include <errno.h>

/* Code points are mapped once for all ports. */
static int check_ports(const struct render_switch *sw, struct err *err)
{
    for (uint32_t i = 1; i < sw->ports_n; i++)
        for (uint32_t dscp = 0; dscp < PORT_CODE_POINTS; dscp++)
            if (render_queue_of(sw, sw->ports[i].want, dscp) !=
                render_queue_of(sw, sw->ports[0].want, dscp))
                return err_set(err, EINVAL,
                               "%s and %s want different queues for code point %u, and EOS has one "
                               "map for all ports: give them the same levels",
                               sw->ports[0].name, sw->ports[i].name, dscp);
    return 0;
}

static const struct render_part class_parts[] = {
    {RENDER_EACH_DSCP, " $dscp", NULL},
    {RENDER_ONCE, " to traffic-class $queue\n", NULL},
    {0},
};
static const struct render_part queue_parts[] = {
    {RENDER_IF_FLOOR, "      bandwidth guaranteed $kbps\n", NULL},
    {RENDER_IF_ECN,
     "      random-detect ecn minimum-threshold $bytes bytes maximum-threshold $bytes bytes "
     "max-mark-probability 100 weight 0\n",
     NULL},
    {0},
};
static const struct render_part profile_parts[] = {
    {RENDER_EACH_QUEUE,
     "   !\n"
     "   uc-tx-queue $queue\n"
     "      priority strict\n",
     queue_parts},
    {0},
};
static const struct render_part set_parts[] = {
    {RENDER_ONCE, "! $switch: code points are mapped on all ports of the switch\n", NULL},
    {RENDER_EACH_CLASS, "qos map dscp", class_parts},
    {RENDER_EACH_PROFILE,
     "!\n"
     "qos profile duopoly-$profile\n"
     "   qos trust dscp\n",
     profile_parts},
    {RENDER_EACH_PORT,
     "!\n"
     "interface $port\n"
     "   service-profile duopoly-$profile\n",
     NULL},
    {0},
};

static int eos_render(const struct render_switch *sw, FILE *out, struct err *err)
{
    int r = check_ports(sw, err);
    return r < 0 ? r : render_text(sw, set_parts, out, err);
}

static const struct render_part undo_parts[] = {
    {RENDER_ONCE,
     "! $switch: code points get their classes as delivered; a map that the site had before is the "
     "site's to put back\n",
     NULL},
    {RENDER_EACH_PORT,
     "interface $port\n"
     "   no service-profile duopoly-$profile\n"
     "!\n",
     NULL},
    {RENDER_EACH_PROFILE, "no qos profile duopoly-$profile\n", NULL},
    {RENDER_ONCE, "no qos map dscp", NULL},
    {RENDER_EACH_OWN_DSCP, " $dscp", NULL},
    {RENDER_ONCE, "\n", NULL},
    {0},
};

static int eos_undo(const struct render_switch *sw, FILE *out, struct err *err)
{
    return render_text(sw, undo_parts, out, err);
}

const struct renderer render_eos = {
    .name = "eos",
    .what = "lines of an Arista EOS configuration",
    .abilities = {.strict = true, .floors = true, .ecn = true, .hardware = true},
    .render = eos_render,
    .undo = eos_undo};
