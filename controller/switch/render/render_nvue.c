/* Cumulus Linux 5 by NVUE: profiles of our own for mapping, scheduling and congestion control, set
 * on ports, so that no other port changes. Strict queues have no guarantees there. A port has one
 * scheduler profile for all its queues: lossless ones share by DWRR what the strict ones leave. By
 * default switch priority n has queue n (NVUE maps that only for the whole switch). */
#include "controller/switch/render/render.h"

#include <inttypes.h>
#include <stdlib.h>

static void put_mapping(const struct render_switch *sw, const struct port *want, uint32_t profile,
                        FILE *out)
{
    fprintf(out, "nv set qos mapping duopoly-%u trust l3\n", profile);
    for (uint32_t dscp = 0; dscp < PORT_CODE_POINTS; dscp++) {
        int queue = render_queue_of(sw, want, dscp);
        if (queue >= 0)
            fprintf(out, "nv set qos mapping duopoly-%u dscp %u switch-priority %d\n", profile,
                    dscp, queue);
    }
}

static void put_lossless(const struct render_switch *sw, uint32_t profile, FILE *out)
{
    uint32_t n = (uint32_t)__builtin_popcount(sw->lossless);
    for (uint32_t q = 0; q < sw->queues_n; q++)
        if (sw->lossless >> q & 1)
            fprintf(out,
                    "nv set qos egress-scheduler duopoly-%u traffic-class %u mode dwrr\n"
                    "nv set qos egress-scheduler duopoly-%u traffic-class %u bw-percent %u\n",
                    profile, q, profile, q, 100 / n);
}

static void put_ecn(uint32_t profile, uint32_t number, uint64_t bytes, FILE *out)
{
    const struct {
        const char *name;
        uint64_t value;
    } numbers[] = {{"min-threshold", bytes}, {"max-threshold", bytes}, {"probability", 100}};
    for (uint32_t i = 0; i < 3; i++)
        fprintf(out, "nv set qos congestion-control duopoly-%u traffic-class %u %s %" PRIu64 "\n",
                profile, number, numbers[i].name, numbers[i].value);
    fprintf(out,
            "nv set qos congestion-control duopoly-%u traffic-class %u ecn enable\n"
            "nv set qos congestion-control duopoly-%u traffic-class %u red disable\n",
            profile, number, profile, number);
}

static void put_queues(const struct render_switch *sw, const struct port *want, uint32_t profile,
                       FILE *out)
{
    for (uint32_t i = 0; i < want->queues_n; i++) {
        uint32_t number = render_number(sw, &want->queues[i]);
        uint64_t ecn = render_ecn_bytes(want, &want->queues[i]);
        fprintf(out, "nv set qos egress-scheduler duopoly-%u traffic-class %u mode strict\n",
                profile, number);
        if (ecn)
            put_ecn(profile, number, ecn, out);
    }
}

static bool has_ecn(const struct port *want)
{
    for (uint32_t i = 0; i < want->queues_n; i++)
        if (want->queues[i].ecn_packets)
            return true;
    return false;
}

/* "set" or "unset" of what a port has. */
static void put_port(const char *verb, const char *port, const struct port *want, int profile,
                     FILE *out)
{
    static const char *const kinds[] = {"mapping", "egress-scheduler", "congestion-control"};
    for (uint32_t i = 0; i < (has_ecn(want) ? 3 : 2); i++) {
        fprintf(out, "nv %s interface %s qos %s profile", verb, port, kinds[i]);
        if (profile >= 0)
            fprintf(out, " duopoly-%d", profile);
        fputs("\n", out);
    }
}

static int nvue_render(const struct render_switch *sw, FILE *out, struct err *err)
{
    uint32_t *profile_of, *port_of, n;
    int r = render_profiles(sw, &profile_of, &port_of, &n, err);
    if (r < 0)
        return r;
    fprintf(out, "# %s: floors are not to be had with strict queues of this switch\n", sw->name);
    for (uint32_t p = 0; p < n; p++) {
        put_mapping(sw, sw->ports[port_of[p]].want, p, out);
        put_queues(sw, sw->ports[port_of[p]].want, p, out);
        put_lossless(sw, p, out);
    }
    for (uint32_t i = 0; i < sw->ports_n; i++)
        put_port("set", sw->ports[i].name, sw->ports[i].want, (int)profile_of[i], out);
    fputs("nv config apply\n", out);
    free(profile_of);
    free(port_of);
    return 0;
}

static int nvue_undo(const struct render_switch *sw, FILE *out, struct err *err)
{
    uint32_t *profile_of, *port_of, n;
    int r = render_profiles(sw, &profile_of, &port_of, &n, err);
    if (r < 0)
        return r;
    fprintf(out, "# %s: a profile that a port had before is the site's to set again\n", sw->name);
    for (uint32_t i = 0; i < sw->ports_n; i++)
        put_port("unset", sw->ports[i].name, sw->ports[i].want, -1, out);
    for (uint32_t p = 0; p < n; p++) {
        fprintf(out, "nv unset qos mapping duopoly-%u\nnv unset qos egress-scheduler duopoly-%u\n",
                p, p);
        if (has_ecn(sw->ports[port_of[p]].want))
            fprintf(out, "nv unset qos congestion-control duopoly-%u\n", p);
    }
    fputs("nv config apply\n", out);
    free(profile_of);
    free(port_of);
    return 0;
}

const struct renderer render_nvue = {.name = "nvue",
                                     .what = "commands of Cumulus Linux 5 (NVUE)",
                                     .abilities = {.strict = true, .ecn = true, .hardware = true},
                                     .render = nvue_render,
                                     .undo = nvue_undo};
