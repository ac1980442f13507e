/* What users' shares cost, and how well they hold, on a load that no user chose: the Facebook trace
 * dealt out to users of equal work, under each answer to `users` above three placements, beside
 * nobody who divides. In virtual time, over seeds.
 *
 *   bench-fairness-trace TRACE [SEEDS]
 *
 * Columns, each the mean over the seeds:
 *   JCT      seconds that a job takes, and times as long as without users
 *   short    points of the cluster that users with ready tasks held less than their shares, in the
 *            time in which some user has ready tasks
 *   off      points that the worst user is off its share, of the slots in use while all users have
 *            ready tasks
 *   all      seconds of that time
 *   levels   new levels of running attempts, for each attempt that started */
#include "testbed/sim/run_setup.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USERS = 4, SEEDS = 3 };
static const uint32_t shares[USERS] = {4, 3, 2, 1};
static const double shares_total = 10;

static const char *const presets_compared[] = {"fair", "duopoly", "joint"};

static const struct way {
    const char *users, *parameters[2], *name;
    const char *preset; /* of this one only; NULL: of all */
} ways[] = {
    {"none", {NULL}, "none", NULL},
    {"sequence", {NULL}, "sequence", NULL},
    {"sequence", {"one_host=yes"}, "sequence, one host", NULL},
    {"sequence-time", {NULL}, "sequence-time", NULL},
    {"proportional", {NULL}, "proportional", NULL},
    {"capacity", {NULL}, "capacity", NULL},
    {"drf", {NULL}, "drf", NULL},
    {"none", {"users_first=yes"}, "none, users first", "joint"},
    {"sequence", {"users_first=yes"}, "sequence, users first", "joint"},
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

struct result {
    double jct_s, short_points, off_points, all_s, levels;
};

/* What passes in a run. */
struct seen {
    uint64_t slots;
    double some_s, short_slot_s, all_s, held_slot_s[USERS];
    struct engine_counters counters;
};

static void fail(const char *what)
{
    fprintf(stderr, "bench-fairness-trace: %s\n", what);
    exit(2);
}

static void pass(void *passer, const struct engine *engine, int64_t from_ns, int64_t to_ns)
{
    struct seen *seen = passer;
    double seconds = (double)(to_ns - from_ns) * 1e-9, held[USERS] = {0}, ready[USERS] = {0};
    struct job_view job;
    bool some = false, all = true;
    engine_counters(engine, &seen->counters);
    for (uint64_t after = 0; engine_job_in_turn(engine, after, &job) == 0; after = job.job) {
        held[job.user] += (double)job.running;
        ready[job.user] += (double)job.ready;
    }
    for (int u = 0; u < USERS; u++) {
        double lacks = shares[u] / shares_total * (double)seen->slots - held[u];
        seen->short_slot_s += seconds * fmin(ready[u], fmax(lacks, 0));
        some |= ready[u] > 0;
        all &= ready[u] > 0;
    }
    seen->some_s += some ? seconds : 0;
    seen->all_s += all ? seconds : 0;
    for (int u = 0; all && u < USERS; u++)
        seen->held_slot_s[u] += seconds * held[u];
}

static double off(const struct seen *seen)
{
    double total = 0, most = 0;
    for (int u = 0; u < USERS; u++)
        total += seen->held_slot_s[u];
    for (int u = 0; total > 0 && u < USERS; u++)
        most = fmax(most, fabs(seen->held_slot_s[u] / total - shares[u] / shares_total));
    return 100 * most;
}

static void run(const struct run_setup *setup, const struct run_inputs *in, const struct way *way,
                struct result *result)
{
    struct run_config config;
    struct run_result ran = {.jct_s = calloc(in->n, sizeof(double))};
    struct err err;
    run_setup_configure(setup, in, &config);
    struct seen seen = {.slots = run_slots(&config)};
    strcpy(config.engine.users, way->users);
    config.shares = shares;
    config.n_users = USERS;
    config.passes = pass;
    config.passer = &seen;
    if (!ran.jct_s)
        fail("out of memory");
    if (run_simulate(&config, in->jobs, in->n, &ran, &err) < 0)
        fail(err.text);
    for (size_t i = 0; i < in->n; i++)
        result->jct_s += ran.jct_s[i] / (double)in->n;
    result->short_points += 100 * seen.short_slot_s / seen.some_s / (double)seen.slots;
    result->off_points += off(&seen);
    result->all_s += seen.all_s;
    result->levels += (double)seen.counters.level_changes / (double)seen.counters.starts;
    free(ran.jct_s);
}

/* The largest job first, each to the user with the fewest bytes: n² is small. */
static void deal(struct run_inputs *in)
{
    double given[USERS] = {0};
    bool *dealt = calloc(in->n, sizeof(*dealt));
    for (size_t n = 0; dealt && n < in->n; n++) {
        size_t next = in->n;
        uint32_t user = 0;
        for (size_t i = 0; i < in->n; i++)
            if (!dealt[i] && (next == in->n || workload_job_shuffle_bytes(&in->jobs[i]) >
                                                   workload_job_shuffle_bytes(&in->jobs[next])))
                next = i;
        for (uint32_t u = 1; u < USERS; u++)
            user = given[u] < given[user] ? u : user;
        in->jobs[next].user = user;
        given[user] += (double)workload_job_shuffle_bytes(&in->jobs[next]);
        dealt[next] = true;
    }
    if (!dealt)
        fail("out of memory");
    free(dealt);
}

static void set(struct run_setup *setup, const char *option, const char *value)
{
    struct err err;
    if (run_setup_set(setup, option, value, &err) < 0)
        fail(err.text);
}

static struct result measure(const char *trace, const char *preset, const struct way *way,
                             int seeds)
{
    struct result sum = {0};
    struct err err;
    for (int seed = 1; seed <= seeds; seed++) {
        struct run_setup setup;
        struct run_inputs in = {0};
        char number[16];
        snprintf(number, sizeof(number), "%d", seed);
        run_setup_init(&setup);
        set(&setup, "trace", trace);
        set(&setup, "policy", preset);
        set(&setup, "seed", number);
        for (int i = 0; i < 2 && way->parameters[i]; i++)
            set(&setup, "parameter", way->parameters[i]);
        if (run_inputs_read(&setup, &in, &err) < 0)
            fail(err.text);
        deal(&in);
        run(&setup, &in, way, &sum);
        run_inputs_done(&in);
    }
    return (struct result){sum.jct_s / seeds, sum.short_points / seeds, sum.off_points / seeds,
                           sum.all_s / seeds, sum.levels / seeds};
}

static void compare(const char *trace, const char *preset, int seeds)
{
    double without_s = 0;
    for (int i = 0; i < WAYS; i++) {
        if (ways[i].preset && strcmp(ways[i].preset, preset) != 0)
            continue;
        struct result r = measure(trace, preset, &ways[i], seeds);
        without_s = i ? without_s : r.jct_s;
        printf("%-8s %-22s %8.2f %6.3f %8.2f %8.2f %8.1f %8.3f\n", preset, ways[i].name, r.jct_s,
               r.jct_s / without_s, r.short_points, r.off_points, r.all_s, r.levels);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    const char *trace = argc > 1 ? argv[1] : "../shared/traces/FB2010-1Hr-150-0.txt";
    int seeds = argc > 2 ? atoi(argv[2]) : SEEDS;
    if (seeds < 1)
        fail("SEEDS takes a number of at least 1");
    FILE *file = fopen(trace, "r");
    if (!file) {
        printf("bench-fairness: no trace at %s; set FB_TRACE to measure\n", trace);
        return 0;
    }
    fclose(file);
    printf("%s as four users of equal work, shares 4, 3, 2, 1; %d seeds\n", trace, seeds);
    printf("%-8s %-22s %8s %6s %8s %8s %8s %8s\n", "preset", "users", "JCT s", "times", "short",
           "off", "all s", "levels");
    for (size_t i = 0; i < sizeof(presets_compared) / sizeof(presets_compared[0]); i++)
        compare(trace, presets_compared[i], seeds);
    return 0;
}
