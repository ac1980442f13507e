/* What bringing whole switches about costs on this machine, beside its bars, with misses marked.
 *
 *   ovs  real ovsdb-server and ovs-vswitchd, no data path below: 64 ports of ten queues and the
 *        flows; then ovs-vswitchd, ovsdb-server, and both killed and begun again, 100 times each:
 *        from the start of ovs-vswitchd, or from when it found its database again (it serves no
 *        OpenFlow without), to rows and flows that are right; then who applies
 *        and restores killed at random, 200 times, each beside other rows and flows of somebody's:
 *        all of it before and after, as Open vSwitch's own programs show it
 *
 * usage: bench-switches-ovs [KILLS]    exit status 1 if a bar is missed */
#include "hostagent/switches/switches.h"
#include "lib/now.h"
#include "tests/unit/kill_schedule.h"
#include "tests/unit/ovs_others.h"
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

struct victims {
    const char *name;
    bool rows, flows; /* ovsdb-server, ovs-vswitchd */
};

/* A new ovs-vswitchd seeks its database again after 1 s, one that lost it often after 8. */
static void begin_anew(struct ovs_world *world, struct switch_state *sw)
{
    ovs_world_kill(&world->vswitchd);
    ovs_world_start_vswitchd(world);
    put_right(sw);
}

static FILE *words_of_vswitchd(const struct ovs_world *world)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/vswitchd.log", world->folder);
    FILE *words = fopen(path, "r");
    if (words)
        fseek(words, 0, SEEK_END);
    return words;
}

static void await_reconnection(FILE *words)
{
    char line[1024];
    for (;;) {
        if (!fgets(line, sizeof(line), words)) {
            clearerr(words);
            usleep(1000);
        } else if (strstr(line, "db.sock: connected")) {
            return;
        }
    }
}

static double kill_once(struct ovs_world *world, struct switch_state *sw,
                        const struct victims *victims)
{
    struct switch_plan *plan = NULL;
    struct err err = {0};
    if (!victims->flows)
        begin_anew(world, sw);
    FILE *words = victims->flows ? NULL : words_of_vswitchd(world);
    if (victims->flows)
        ovs_world_kill(&world->vswitchd);
    if (victims->rows)
        ovs_world_kill(&world->database);
    if (victims->rows) {
        ovs_world_start_database(world);
        ovs_world_answers(world, "db.sock");
    }
    uint64_t begin = now_ns(CLOCK_MONOTONIC);
    if (victims->flows)
        ovs_world_start_vswitchd(world);
    if (words) {
        await_reconnection(words);
        begin = now_ns(CLOCK_MONOTONIC);
        fclose(words);
    }
    put_right(sw);
    double took = seconds_since(begin);
    or_die(switch_ovs.plan(sw, true, &plan, &err), &err);
    missed |= plan->steps_n != 0;
    switch_ovs.free_plan(plan);
    return took;
}

static void kill_and_begin(struct ovs_world *world, struct switch_state *sw, int kills,
                           const struct victims *victims)
{
    char what[96];
    double *took = calloc((size_t)kills, sizeof(*took));
    for (int i = 0; took && i < kills; i++)
        took[i] = kill_once(world, sw, victims);
    qsort(took, (size_t)kills, sizeof(*took), by_size);
    snprintf(what, sizeof(what), "%s killed and begun again: median until right", victims->name);
    row(what, took[kills / 2], 0, "s");
    snprintf(what, sizeof(what), "%s killed and begun again: worst until right", victims->name);
    row(what, took[kills - 1], 1.0, "s");
    free(took);
}

static void kill_at_random(const struct ovs_world *world, struct switch_config *config)
{
    int differ = 0;
    uint64_t stream = test_seed();
    config->replace = true;
    for (int i = 0; i < SCHEDULES; i++) {
        bool shown = others_plant(world, PORTS, &stream) && others_shown(world, "before");
        schedule_kill(&switch_ovs, config, &stream, 150000);
        shown = shown && others_shown(world, "after");
        differ += !shown || !others_are_the_same(world, "before", "after");
    }
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
    const struct victims victims[] = {
        {"ovs-vswitchd", false, true}, {"ovsdb-server", true, false}, {"both", true, true}};
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
    for (size_t i = 0; i < sizeof(victims) / sizeof(victims[0]); i++)
        kill_and_begin(&world, sw, kills, &victims[i]);
    begin = now_ns(CLOCK_MONOTONIC);
    or_die(switch_ovs.restore(sw, &err), &err);
    row("taken back", seconds_since(begin), 0, "s");
    kill_at_random(&world, &config);
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
