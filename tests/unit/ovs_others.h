/* What somebody may have in an Open vSwitch, drawn at random, and all of it as its own programs
 * show it. */
#pragma once

#include "tests/unit/ovs_world.h"
#include "tests/unit/test.h"

static const char *const others_types[] = {"linux-htb", "linux-hfsc", "linux-sfq", "linux-codel",
                                           "egress-policer"};

static inline uint32_t others_below(uint64_t *stream, uint32_t bound)
{
    return (uint32_t)(test_random(stream) % bound);
}

/* Rows that ports share, that only some have, and that none has. */
static inline void others_rows(FILE *out, int ports, uint64_t *stream)
{
    uint32_t queues = 1 + others_below(stream, 6), qos = 1 + others_below(stream, 3);
    for (uint32_t i = 0; i < queues; i++)
        fprintf(out, " -- --id=@q%u create queue other_config:min-rate=%u external_ids:of=u%u", i,
                others_below(stream, 1u << 30), others_below(stream, 9));
    for (uint32_t i = 0; i < qos; i++) {
        fprintf(out, " -- --id=@s%u create qos type=%s other_config:max-rate=%u", i,
                others_types[others_below(stream, 5)], others_below(stream, 1u << 30));
        for (uint32_t j = others_below(stream, 4); j > 0; j--)
            fprintf(out, " queues:%u=@q%u", 3 * j + others_below(stream, 3),
                    others_below(stream, queues));
    }
    for (int i = 0; i < ports; i++)
        if (others_below(stream, 3) == 0)
            fprintf(out, " -- set port p%d qos=@s%u external_ids:of=u%u", i,
                    others_below(stream, qos), others_below(stream, 9));
}

/* In other tables than ours. */
static inline void others_flows(FILE *out, uint64_t *stream)
{
    static const char *const matches[] = {"ip,nw_tos=12", "ipv6", "tcp,tp_dst=7070", "in_port=1",
                                          "arp"};
    static const char *const actions[] = {"drop", "NORMAL", "set_queue:3,NORMAL", "goto_table:200",
                                          "output:1"};
    for (uint32_t i = others_below(stream, 12); i > 0; i--)
        fprintf(out, "table=%u,priority=%u,cookie=0x%x,%s,actions=%s\n",
                1 + others_below(stream, 90), others_below(stream, 65535),
                others_below(stream, 1u << 30), matches[others_below(stream, 5)],
                actions[others_below(stream, 5)]);
}

/* In the place of all that was there; false: Open vSwitch does not take it. */
static inline bool others_plant(const struct ovs_world *world, int ports, uint64_t *stream)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/others", world->folder);
    FILE *out = fopen(path, "w");
    if (!out)
        return false;
    for (int i = 0; i < ports; i++)
        fprintf(out, " -- clear port p%d qos", i);
    fprintf(out, " -- --all destroy qos -- --all destroy queue");
    others_rows(out, ports, stream);
    fclose(out);
    snprintf(path, sizeof(path), "%s/flows", world->folder);
    out = fopen(path, "w");
    if (!out)
        return false;
    fprintf(out, "priority=0,actions=NORMAL\n");
    others_flows(out, stream);
    fclose(out);
    return ovs_world_run(
               "cd %s && ovs-vsctl --db=unix:$PWD/db.sock --no-wait $(cat others) >/dev/null && "
               "ovs-ofctl -O OpenFlow13 --bundle replace-flows unix:$PWD/br0.mgmt flows",
               world->folder) == 0;
}

static inline void others_clear(const struct ovs_world *world, int ports)
{
    for (int i = 0; i < ports; i++)
        ovs_world_run("ovs-vsctl --db=unix:%s/db.sock --no-wait clear port p%d qos external_ids",
                      world->folder, i);
    ovs_world_run(
        "cd %s && ovs-vsctl --db=unix:$PWD/db.sock --no-wait -- --all destroy qos -- --all "
        "destroy queue && ovs-ofctl -O OpenFlow13 del-flows unix:$PWD/br0.mgmt && ovs-ofctl -O "
        "OpenFlow13 add-flow unix:$PWD/br0.mgmt priority=0,actions=NORMAL",
        world->folder);
}

/* Into a file of the world's folder. */
static inline bool others_shown(const struct ovs_world *world, const char *file)
{
    return ovs_world_run(
               "cd %s && { for t in Bridge Port QoS Queue; do ovsdb-client dump "
               "unix:$PWD/db.sock Open_vSwitch $t || exit 1; done; ovs-ofctl -O OpenFlow13 "
               "--no-stats dump-flows unix:$PWD/br0.mgmt | sort; } >%s",
               world->folder, file) == 0;
}

static inline bool others_are_the_same(const struct ovs_world *world, const char *a, const char *b)
{
    return ovs_world_run("cd %s && diff %s %s", world->folder, a, b) == 0;
}
