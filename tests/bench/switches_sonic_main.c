/* Part of `make bench-switches`: the driver sonic on a Redis of its own with the CONFIG_DB of 64
 * ports with PFC, ranges, lists and maps of the site's own.
 *
 *   plan and one transaction                                  ≤ 0.1 s, slowest of 20
 *   back again, with the 0.2 s before rows are written twice    ≤ 0.5 s, slowest of 20
 *   right after FLUSHDB and a reload, from its last row on    ≤ 1 s, slowest of 20
 *   right after the server was killed and is back             ≤ 1 s, slowest of 20
 *   kill -9 at 200 random moments, then restore, each beside
 *   other rows of the site                                    all byte for byte
 *
 * Each is printed with its bar, and MISS when it is not met; exit 0 also then. */
#include "tests/unit/kill_schedule.h"
#include "tests/unit/redis_server.h"
#include "tests/unit/sonic_site.h"

#include "hostagent/switches/switch.h"
#include "lib/now.h"

#include <poll.h>

enum { PORTS = 64, ROUNDS = 20, KILLS = 200 };

static char folder[] = "/tmp/duopoly-bench-XXXXXX";
static struct redis_server server;
static struct switch_settings settings;
static struct switch_config config;
static json_t *site;

static void die(const char *what, const struct err *err)
{
    fprintf(stderr, "bench-switches-sonic: %s: %s\n", what, err->text);
    exit(EXIT_FAILURE);
}

static double now_ms(void)
{
    return (double)now_ns(CLOCK_MONOTONIC) / 1e6;
}

static void tell(const char *what, double ms, double bar_ms)
{
    printf("%-56s %8.1f ms (bar %.0f)%s\n", what, ms, bar_ms, ms > bar_ms ? "  MISS" : "");
    fflush(stdout);
}

static struct switch_state *open_switch(void)
{
    struct switch_state *sw = NULL;
    struct err err = {0};
    if (switch_sonic.open(&config, &sw, &err) < 0)
        die("connecting", &err);
    return sw;
}

/* Steps that were left; −1 when CONFIG_DB is none yet, or somebody was faster. */
static int bring_about(struct switch_state *sw, bool again)
{
    struct switch_plan *plan = NULL;
    struct err err = {0};
    int r = switch_sonic.plan(sw, again, &plan, &err);
    int steps = r < 0 ? -1 : (int)plan->steps_n;
    if (r >= 0 && switch_sonic.apply(sw, plan, &err) < 0)
        steps = -1;
    if (steps < 0 && !again)
        die("applying", &err);
    switch_sonic.free_plan(plan);
    return steps;
}

static void restore(struct switch_state *sw)
{
    struct err err = {0};
    if (switch_sonic.restore(sw, &err) < 0)
        die("restoring", &err);
}

static void measure_transactions(void)
{
    double apply_ms = 0, restore_ms = 0;
    struct switch_state *sw = open_switch();
    for (int i = 0; i < ROUNDS; i++) {
        double begin = now_ms();
        int steps = bring_about(sw, false);
        double end = now_ms();
        restore(sw);
        double back = now_ms();
        if (i == 0)
            printf("%d changes\n", steps);
        apply_ms = end - begin > apply_ms ? end - begin : apply_ms;
        restore_ms = back - end > restore_ms ? back - end : restore_ms;
    }
    tell("plan and one transaction, 64 ports, slowest of 20", apply_ms, 100);
    tell("back again, and once more after 0.2 s, slowest of 20", restore_ms, 500);
    switch_sonic.close(sw);
}

/* Whether queue 7 of the last port is ours. */
static bool is_right(void)
{
    char port[SONIC_NAME];
    site_name(PORTS - 1, port);
    redisReply *reply = redisCommand(server.context, "HGET QUEUE|%s|7 scheduler", port);
    bool right =
        reply && reply->type == REDIS_REPLY_STRING && strncmp(reply->str, "duopoly-", 8) == 0;
    freeReplyObject(reply);
    return right;
}

static void follow(struct switch_state *sw)
{
    struct pollfd poll_for = {.fd = switch_sonic.fd(sw), .events = POLLIN};
    struct err err;
    do {
        poll(&poll_for, 1, 1000);
        if (switch_sonic.notice(sw, &err) > 0)
            bring_about(sw, true);
    } while (!is_right());
}

static void reload(struct switch_state *sw)
{
    (void)sw;
    redis_do(&server, "FLUSHDB");
    redis_load(&server, site);
}

static void return_later(struct switch_state *sw)
{
    struct err err;
    redis_server_end(&server);
    switch_sonic.notice(sw, &err);
    redis_server_begin(&server, folder, "AKE");
    redis_load(&server, site);
}

static void measure_after(void (*shake)(struct switch_state *sw), const char *what)
{
    double worst = 0;
    struct switch_state *sw = open_switch();
    bring_about(sw, false);
    for (int i = 0; i < ROUNDS; i++) {
        shake(sw);
        double begin = now_ms();
        follow(sw);
        double took = now_ms() - begin;
        worst = took > worst ? took : worst;
    }
    tell(what, worst, 1000);
    restore(sw);
    switch_sonic.close(sw);
}

static void measure_kills(void)
{
    uint64_t stream = test_seed();
    int right = 0;
    for (int i = 0; i < KILLS; i++) {
        json_t *others = site_full(PORTS);
        site_scatter(others, PORTS, &stream);
        redis_do(&server, "FLUSHDB");
        redis_load(&server, others);
        json_t *before = redis_snapshot(&server);
        schedule_kill(&switch_sonic, &config, &stream, 60000);
        json_t *after = redis_snapshot(&server);
        right += json_equal(before, after);
        json_decref(others);
        json_decref(before);
        json_decref(after);
    }
    printf("%-56s %8d of %d byte for byte%s\n", "kill -9 at random moments, then restore", right,
           KILLS, right < KILLS ? "  MISS" : "");
}

int main(void)
{
    char command[128];
    if (!redis_server_is_there()) {
        printf("skipped: there is no %s (redis-tools)\n", REDIS_PROGRAM);
        return 0;
    }
    if (!mkdtemp(folder))
        return EXIT_FAILURE;
    site = site_full(PORTS);
    redis_server_begin(&server, folder, "AKE");
    redis_load(&server, site);
    settings = (struct switch_settings){.driver = "sonic"};
    snprintf(settings.at, sizeof(settings.at), "%s", server.at);
    config = (struct switch_config){.settings = &settings,
                                    .owner = "bench",
                                    .state_dir = folder,
                                    .wish = port_wish_preset,
                                    .replace = true};
    measure_transactions();
    measure_after(reload, "right after FLUSHDB and reload, slowest of 20");
    measure_after(return_later, "right after the server came back, slowest of 20");
    measure_kills();
    redis_server_end(&server);
    json_decref(site);
    snprintf(command, sizeof(command), "rm -r %s", folder);
    return system(command) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
