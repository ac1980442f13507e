/* Arista EOS (4.2x and later, platforms with eight unicast queues): a QoS profile for each kind of
 * port, strict queues of which 7 is first, `bandwidth guaranteed` in kbit/s for floors, and ECN
 * thresholds by `random-detect ecn`. The map of code points belongs to the switch, not to a port:
 * unchanged entries are not written, and `no qos map dscp` restores a code point's delivered class.
 * By default traffic class n has queue n. */
#include "controller/switch/render/render.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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

static void put_code_points(const struct render_switch *sw, int queue, FILE *out)
{
    bool any = false;
    for (uint32_t dscp = 0; dscp < PORT_CODE_POINTS; dscp++) {
        if (!sw->ports_n || render_queue_of(sw, sw->ports[0].want, dscp) != queue)
            continue;
        fprintf(out, "%s %u", any ? "" : "qos map dscp", dscp);
        any = true;
    }
    if (any)
        fprintf(out, " to traffic-class %d\n", queue);
}

static void put_queue(const struct render_switch *sw, const struct port *want,
                      const struct port_queue *queue, FILE *out)
{
    uint64_t ecn = render_ecn_bytes(want, queue);
    fprintf(out, "   !\n   uc-tx-queue %u\n      priority strict\n", render_number(sw, queue));
    if (queue->floor_bps)
        fprintf(out, "      bandwidth guaranteed %" PRIu64 "\n", (queue->floor_bps + 999) / 1000);
    if (ecn)
        fprintf(out,
                "      random-detect ecn minimum-threshold %" PRIu64
                " bytes maximum-threshold %" PRIu64 " bytes max-mark-probability 100 weight 0\n",
                ecn, ecn);
}

static int eos_render(const struct render_switch *sw, FILE *out, struct err *err)
{
    uint32_t *profile_of, *port_of, n;
    int r = check_ports(sw, err);
    if (r >= 0)
        r = render_profiles(sw, &profile_of, &port_of, &n, err);
    if (r < 0)
        return r;
    fprintf(out, "! %s: code points are mapped on all ports of the switch\n", sw->name);
    for (uint32_t q = 0; q < sw->queues_n; q++)
        put_code_points(sw, (int)q, out);
    for (uint32_t p = 0; p < n; p++) {
        const struct port *want = sw->ports[port_of[p]].want;
        fprintf(out, "!\nqos profile duopoly-%u\n   qos trust dscp\n", p);
        for (uint32_t i = 0; i < want->queues_n; i++)
            put_queue(sw, want, &want->queues[i], out);
    }
    for (uint32_t i = 0; i < sw->ports_n; i++)
        fprintf(out, "!\ninterface %s\n   service-profile duopoly-%u\n", sw->ports[i].name,
                profile_of[i]);
    free(profile_of);
    free(port_of);
    return 0;
}

static int eos_undo(const struct render_switch *sw, FILE *out, struct err *err)
{
    uint32_t *profile_of, *port_of, n;
    int r = render_profiles(sw, &profile_of, &port_of, &n, err);
    if (r < 0)
        return r;
    fprintf(out,
            "! %s: code points get their classes as delivered; a map that the site had before "
            "is the site's to put back\n",
            sw->name);
    for (uint32_t i = 0; i < sw->ports_n; i++)
        fprintf(out, "interface %s\n   no service-profile duopoly-%u\n!\n", sw->ports[i].name,
                profile_of[i]);
    for (uint32_t p = 0; p < n; p++)
        fprintf(out, "no qos profile duopoly-%u\n", p);
    fputs("no qos map dscp", out);
    for (uint32_t dscp = 0; dscp < PORT_CODE_POINTS; dscp++)
        if (!(sw->kept_dscp >> dscp & 1))
            fprintf(out, " %u", dscp);
    fputs("\n", out);
    free(profile_of);
    free(port_of);
    return 0;
}

const struct renderer render_eos = {
    .name = "eos",
    .what = "lines of an Arista EOS configuration",
    .abilities = {.strict = true, .floors = true, .ecn = true, .hardware = true},
    .render = eos_render,
    .undo = eos_undo};
