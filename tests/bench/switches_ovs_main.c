/* What bringing whole switches about costs on this machine, beside its bars, with misses marked.
 *
 *   ovs  real ovsdb-server and ovs-vswitchd, no data path below: 64 ports of ten queues and the
 *        flows; then ovs-vswitchd killed and begun again, 100 times: from the start of its process
 *        to flows that are right; then who applies and restores killed at random, 200 times, beside
 *        rows that are somebody's: what is not ours before and after
 *
 * usage: bench-switches-ovs [KILLS]    exit status 1 if a bar is missed */
#include "hostagent/switches/switches.h"
#include "lib/now.h"
#include "tests/unit/ovs_world.h"

#include <poll.h>

#define PORTS     64
#define KILLS     100
#define SCHEDULES 200

static int missed;

static void row(const char *what, double value, double bar, const char *unit)
{
    bool bad = bar > 0 && value > bar;
    missed |= bad;
    printf("  %-64s %10.3f %-3s", what, value, unit);
    if (bar > 0)
        printf("  ≤ %.1f %s%s", bar, unit, bad ? "  MISSED" : "");
    printf("\n");
    fflush(stdout);
}

static double seconds_since(uint64_t begin)
{
    return (double)(now_ns(CLOCK_MONOTONIC) - begin) / 1e9;
}

static void or_die(int r, const struct err *err)
{
    if (r >= 0)
        return;
    fprintf(stderr, "bench-switches-ovs: %s\n", err->text);
    exit(2);
}

/* From now until a look at the switch finds nothing to do. */
static void put_right(struct switch_state *sw)
{
    for (;;) {
        struct pollfd poll_of = {.fd = switch_ovs.fd(sw), .events = POLLIN};
        struct switch_plan *plan = NULL;
        struct err err = {0};
        poll(&poll_of, 1, 1000);
        if (switch_ovs.notice(sw, &err) != SWITCH_BACK)
            continue;
        int r = switch_ovs.plan(sw, true, &plan, &err);
        if (r == 0)
            r = switch_ovs.apply(sw, plan, &err);
        switch_ovs.free_plan(plan);
        if (r == 0)
            return;
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void kill_and_begin(struct ovs_world *world, struct switch_state *sw, int kills)
{
    double *took = calloc((size_t)kills, sizeof(*took));
    for (int i = 0; took && i < kills; i++) {
        struct switch_plan *plan = NULL;
        struct err err = {0};
        ovs_world_kill(&world->vswitchd);
        uint64_t begin = now_ns(CLOCK_MONOTONIC);
        ovs_world_start_vswitchd(world);
        put_right(sw);
        took[i] = seconds_since(begin);
        or_die(switch_ovs.plan(sw, true, &plan, &err), &err);
        missed |= plan->steps_n != 0;
        switch_ovs.free_plan(plan);
    }
    qsort(took, (size_t)kills, sizeof(*took), by_size);
    row("ovs-vswitchd killed and begun again: median until right", took[kills / 2], 0, "s");
    row("ovs-vswitchd killed and begun again: worst until right", took[kills - 1], 1.0, "s");
    free(took);
}

static char *record(struct switch_state *sw)
{
    char *text = NULL;
    struct err err = {0};
    or_die(switch_ovs.record(sw, &text, &err), &err);
    return text;
}

static void apply_and_restore(const struct switch_config *config)
{
    struct switch_state *sw = NULL;
    struct err err = {0};
    or_die(switch_ovs.open(config, &sw, &err), &err);
    for (;;) {
        struct switch_plan *plan = NULL;
        or_die(switch_ovs.plan(sw, false, &plan, &err), &err);
        or_die(switch_ovs.apply(sw, plan, &err), &err);
        switch_ovs.free_plan(plan);
        or_die(switch_ovs.restore(sw, &err), &err);
    }
}

static void kill_at_random(struct switch_config *config, struct switch_state *sw)
{
    int differ = 0;
    ovs_world_run("ovs-vsctl --db=%s -- --id=@q create qos type=linux-htb queues:1=@r -- --id=@r "
                  "create queue other_config:min-rate=7000 -- set port p1 qos=@q -- set port p5 "
                  "qos=@q >/dev/null",
                  config->settings->at);
    config->replace = true;
    char *before = record(sw);
    srandom(1);
    for (int i = 0; i < SCHEDULES; i++) {
        struct err err = {0};
        pid_t child = fork();
        if (child == 0)
            apply_and_restore(config);
        usleep((useconds_t)(random() % 150000));
        ovs_world_kill(&child);
        or_die(switch_ovs.restore(sw, &err), &err);
        char *after = record(sw);
        differ += strcmp(before, after) != 0;
        free(after);
    }
    free(before);
    row("200 random kills: so often what is not ours differs", differ, 0, "");
    missed |= differ != 0;
}

static void bench_ovs(const char *folder, int kills)
{
    struct ovs_world world;
    struct switch_settings settings = {.driver = "ovs", .bridge = "br0"};
    struct switch_config config = {.settings = &settings,
                                   .owner = "bench",
                                   .state_dir = folder,
                                   .wish = port_wish_preset,
                                   .control_port = 7600};
    struct switch_state *sw = NULL;
    struct switch_plan *plan = NULL;
    struct err err = {0};
    snprintf(settings.at, sizeof(settings.at), "unix:%s/db.sock", folder);
    config.wish.link_bps = 1000000000;
    if (!ovs_world_begin(&world, folder, PORTS)) {
        fprintf(stderr, "bench-switches-ovs: Open vSwitch does not start\n");
        exit(2);
    }
    or_die(switch_ovs.open(&config, &sw, &err), &err);
    uint64_t begin = now_ns(CLOCK_MONOTONIC);
    or_die(switch_ovs.plan(sw, false, &plan, &err), &err);
    or_die(switch_ovs.apply(sw, plan, &err), &err);
    row("64 ports × 10 queues and flows, from nothing", seconds_since(begin), 0.3, "s");
    row("  steps", plan->steps_n, 0, "");
    switch_ovs.free_plan(plan);
    begin = now_ns(CLOCK_MONOTONIC);
    or_die(switch_ovs.plan(sw, false, &plan, &err), &err);
    row("looked at again, nothing to do", seconds_since(begin), 0, "s");
    missed |= plan->steps_n != 0;
    switch_ovs.free_plan(plan);
    kill_and_begin(&world, sw, kills);
    begin = now_ns(CLOCK_MONOTONIC);
    or_die(switch_ovs.restore(sw, &err), &err);
    row("taken back", seconds_since(begin), 0, "s");
    kill_at_random(&config, sw);
    switch_ovs.close(sw);
    ovs_world_end(&world);
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/duopoly-bench-switches-XXXXXX";
    int kills = argc > 1 ? atoi(argv[1]) : KILLS;
    signal(SIGPIPE, SIG_IGN);
    if (!ovs_world_possible()) {
        printf("ovs: left out, openvswitch-switch is not installed\n");
        return 0;
    }
    if (!mkdtemp(folder) || kills < 1)
        return 2;
    printf("ovs\n");
    bench_ovs(folder, kills);
    ovs_world_run("rm -r %s", folder);
    return missed;
}
