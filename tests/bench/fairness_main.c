/* How the engine divides a cluster between users: shares over time under each answer to `users`, in
 * virtual time, beside the bars of the source's figures. Users always have work, save where a row
 * says otherwise; tasks are drawn by seed. Writes a table, and with a path one picture (SVG): a
 * column a load, a row a way, grey lines where shares should be. */
#include "controller/engine/engine.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND INT64_C(1000000000)
#define MB     INT64_C(1000000)

enum { USERS = 4, HOSTS = 10, SLOTS = 10, BACKLOG = 12, SEEDS = 10, POINTS = 100, RUNNING = 256 };

/* Of one slot and 20 to 30 s; of 5 to 40 MB on hosts of 100, with as many seconds; of one slot and
 * 5 s of the first two users, 50 s of the others; of three processors and 1 GB of the first two, of
 * one and 4 GB of the others, on hosts of 18 and 36, which is also what a granule is. */
enum tasks { SLOT_TASKS, MEMORY_TASKS, MIXED_TASKS, UNLIKE_TASKS };
enum { CPUS = 18, CPU_GB = 2 };

/* What users run, on what, for how long. */
struct load {
    const char *name, *what; /* of pictures and rows */
    uint32_t shares[USERS];
    enum tasks tasks;
    bool amounts; /* what tasks take counts when they start; else what they hold × time */
    int64_t horizon_s, from_s;      /* shares are looked at from then on */
    int64_t idle_from_s, idle_to_s; /* user 1 has no work then */
};

static const struct load loads[] = {
    {"slots",
     "time on slots, tasks of 20 to 30 s",
     {10, 8, 6, 5},
     SLOT_TASKS,
     false,
     5000,
     500,
     0,
     0},
    {"memory",
     "memory of tasks of 5 to 40 MB",
     {20, 14, 8, 5},
     MEMORY_TASKS,
     true,
     1000,
     200,
     0,
     0},
    {"memory-time", "memory x time of these", {20, 14, 8, 5}, MEMORY_TASKS, false, 1000, 200, 0, 0},
    {"idle",
     "as slots, one idle for a third",
     {10, 8, 6, 5},
     SLOT_TASKS,
     false,
     5000,
     500,
     500,
     2167},
    {"times",
     "tasks of 5 s of two users, of 50 s of two",
     {1, 1, 1, 1},
     MIXED_TASKS,
     false,
     5000,
     500,
     0,
     0},
    {"unlike",
     "dominant shares, tasks of 3 CPUs + 1 GB of two users, of 1 + 4 of two",
     {1, 1, 1, 1},
     UNLIKE_TASKS,
     false,
     5000,
     500,
     0,
     0},
};
enum { LOADS = sizeof(loads) / sizeof(loads[0]) };

struct way {
    const char *users;
    int64_t even, remainders;
    const char *name;
    int64_t one_host;
};
static const struct way ways[] = {
    {"sequence", 1, 1, "sequence", 0},          {"sequence", 1, 1, "sequence, one host", 1},
    {"sequence", 0, 1, "sequence, literal", 0}, {"sequence-time", 1, 1, "sequence-time", 0},
    {"proportional", 1, 0, "proportional", 0},  {"proportional", 1, 1, "with remainders", 0},
    {"capacity", 1, 1, "capacity", 0},          {"drf", 1, 1, "drf", 0},
    {"none", 1, 1, "none (fair)", 0},
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

/* An attempt that runs. */
struct live {
    uint64_t attempt, job;
    uint32_t user;
    int64_t from_ns, end_ns, amount;
};

struct world {
    const struct load *load;
    struct engine *engine;
    struct decisions decisions;
    uint64_t stream, jobs;
    int64_t now_ns, sampled_ns;
    struct live live[RUNNING];
    uint32_t n_live, waiting[USERS];
    int64_t *amounts, *computes; /* of jobs, by number */
    uint32_t *owners;
    size_t room;
    double used[USERS];                 /* amount × seconds so far */
    double share[POINTS + 1][USERS];    /* of all until then */
    double window[USERS], worst_window; /* in points, of windows of 500 s */
    double idle_s;                      /* slot-seconds that were free while something fitted */
};

static bool is_memory(const struct load *load)
{
    return load->tasks == MEMORY_TASKS;
}

static uint64_t draw(struct world *w, uint64_t below)
{
    uint64_t z = (w->stream += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % below;
}

static void fail(const char *what)
{
    fprintf(stderr, "bench-fairness: %s\n", what);
    exit(2);
}

static void use(struct world *w, uint32_t user, double amount)
{
    w->used[user] += amount;
    w->window[user] += amount;
}

static void note_starts(struct world *w)
{
    for (size_t i = 0; i < w->decisions.n; i++) {
        const struct decision *d = &w->decisions.at[i];
        if (d->kind == DECISION_REJECT)
            fail(reason_name(d->reason));
        if (d->kind != DECISION_START)
            continue;
        if (w->n_live == RUNNING)
            fail("more runs than there is room for");
        uint64_t job = d->start.job;
        w->live[w->n_live++] = (struct live){
            d->start.attempt, job, w->owners[job], w->now_ns, w->now_ns + w->computes[job],
            w->amounts[job]};
        w->waiting[w->owners[job]]--;
        if (w->load->amounts)
            use(w, w->owners[job], (double)w->amounts[job]);
    }
}

static void step(struct world *w, const struct event *events, size_t n)
{
    if (engine_step(w->engine, w->now_ns, events, n, &w->decisions) < 0)
        fail("out of memory");
    note_starts(w);
}

static void remember_job(struct world *w, uint32_t user, int64_t amount, int64_t compute_ns)
{
    if (++w->jobs >= w->room) {
        w->room = 2 * w->room + 1024;
        w->amounts = reallocarray(w->amounts, w->room, sizeof(*w->amounts));
        w->computes = reallocarray(w->computes, w->room, sizeof(*w->computes));
        w->owners = reallocarray(w->owners, w->room, sizeof(*w->owners));
        if (!w->amounts || !w->computes || !w->owners)
            fail("out of memory");
    }
    w->amounts[w->jobs] = amount;
    w->computes[w->jobs] = compute_ns;
    w->owners[w->jobs] = user;
    w->waiting[user]++;
}

static int64_t time_of(struct world *w, uint32_t user, int64_t amount)
{
    if (is_memory(w->load))
        return amount * SECOND;
    if (w->load->tasks == MIXED_TASKS)
        return (user < 2 ? 5 : 50) * SECOND;
    return 20 * SECOND + (int64_t)draw(w, 10 * SECOND);
}

static int64_t amount_of(struct world *w, uint32_t user)
{
    if (is_memory(w->load))
        return 5 + (int64_t)draw(w, 36);
    return w->load->tasks == UNLIKE_TASKS ? user < 2 ? 3 : 2 : 1;
}

static void demand_of(const struct world *w, uint32_t user, int64_t amount,
                      struct resources *ret_demand)
{
    bool unlike = w->load->tasks == UNLIKE_TASKS;
    ret_demand->amount[RES_SLOTS] = 1;
    ret_demand->amount[RES_MEM_BYTES] = is_memory(w->load) ? amount * MB
                                        : unlike           ? (user < 2 ? 1 : 4) * 1000 * MB
                                                           : 0;
    ret_demand->amount[RES_CPU_MILLI] = unlike ? (user < 2 ? 3 : 1) * 1000 : 0;
}

/* A job of one task. */
static void submit(struct world *w, uint32_t user)
{
    struct event e[4] = {{.kind = EVENT_JOB_BEGIN},
                         {.kind = EVENT_JOB_STAGE},
                         {.kind = EVENT_JOB_TASKS},
                         {.kind = EVENT_JOB_END}};
    char name[32];
    int64_t amount = amount_of(w, user);
    int64_t compute_ns = time_of(w, user, amount);
    uint64_t compute = (uint64_t)compute_ns, input = 0;
    remember_job(w, user, amount, compute_ns);
    snprintf(name, sizeof(name), "job%llu", (unsigned long long)w->jobs);
    e[0].job_begin.job = e[1].job_stage.job = e[2].job_tasks.job = e[3].job_end.job = w->jobs;
    e[0].job_begin.name = name;
    e[0].job_begin.user = user;
    e[0].job_begin.estimate_bytes = e[0].job_begin.estimate_ns = -1;
    e[1].job_stage.tasks = 1;
    demand_of(w, user, amount, &e[1].job_stage.demand);
    e[1].job_stage.command = "task";
    e[1].job_stage.constraint = "";
    e[2].job_tasks.compute_ns = (struct u64s){&compute, 1};
    e[2].job_tasks.input_bytes = (struct u64s){&input, 1};
    step(w, e, 4);
}

static bool is_idle(const struct world *w, uint32_t user)
{
    return user == 1 && w->now_ns >= w->load->idle_from_s * SECOND &&
           w->now_ns < w->load->idle_to_s * SECOND;
}

static void submit_all(struct world *w)
{
    for (uint32_t user = 0; user < USERS; user++)
        while (!is_idle(w, user) && w->waiting[user] < BACKLOG)
            submit(w, user);
}

static void join_hosts(struct world *w)
{
    uint64_t unit[ENGINE_RESOURCES] = {0};
    bool unlike = w->load->tasks == UNLIKE_TASKS;
    unit[RES_SLOTS] = is_memory(w->load) || unlike ? 100 : SLOTS;
    unit[RES_MEM_BYTES] = is_memory(w->load) ? 100 * MB : unlike ? CPUS * CPU_GB * 1000 * MB : 0;
    unit[RES_CPU_MILLI] = unlike ? CPUS * 1000 : 0;
    for (uint32_t h = 0; h < HOSTS; h++) {
        struct event e = {.kind = EVENT_HOST_JOIN};
        char name[16];
        snprintf(name, sizeof(name), "h%u", h);
        e.host_join.host = h;
        e.host_join.generation = 1;
        e.host_join.name = name;
        e.host_join.rack = e.host_join.labels = "";
        e.host_join.uplink_bps = e.host_join.downlink_bps = 1000000000;
        e.host_join.units = (struct u64s){unit, ENGINE_RESOURCES};
        step(w, &e, 1);
    }
}

static void begin(struct world *w, const struct load *load, const struct way *way, uint64_t seed)
{
    struct engine_config config;
    struct err err;
    *w = (struct world){.load = load, .stream = seed};
    engine_config_default(&config);
    config.seed = seed;
    strcpy(config.turn, "fair");
    strcpy(config.place, "greedy");
    strcpy(config.users, way->users);
    config.finished_max = 10;
    engine_config_say(&config, "even", way->even, NULL);
    engine_config_say(&config, "remainders", way->remainders, NULL);
    engine_config_say(&config, "one_host", way->one_host, NULL);
    if (is_memory(load)) {
        engine_config_say(&config, "granule_slots", 0, NULL);
        engine_config_say(&config, "granule_mem_bytes", MB, NULL);
    }
    if (load->tasks == UNLIKE_TASKS) {
        engine_config_say(&config, "granule_slots", 0, NULL);
        engine_config_say(&config, "granule_cpu_milli", 1000, NULL);
        engine_config_say(&config, "granule_mem_bytes", CPU_GB * 1000 * MB, NULL);
    }
    if (engine_create(&config, &w->engine, &err) < 0)
        fail(err.text);
    for (uint32_t user = 0; user < USERS; user++) {
        struct event e = {.kind = EVENT_USER_SET, .request = 1};
        char name[8];
        snprintf(name, sizeof(name), "u%u", user);
        e.user_set.user = user;
        e.user_set.name = name;
        e.user_set.share = load->shares[user];
        step(w, &e, 1);
    }
    submit_all(w);
    join_hosts(w);
}

static void end(struct world *w)
{
    engine_destroy(w->engine);
    decisions_done(&w->decisions);
    free(w->amounts);
    free(w->computes);
    free(w->owners);
}

static double right_of(const struct load *load, uint32_t user)
{
    double total = 0;
    for (uint32_t i = 0; i < USERS; i++)
        total += load->shares[i];
    return load->shares[user] / total;
}

/* The largest distance from the right share, in points. */
static double off(const struct load *load, const double *used)
{
    double sum = 0, most = 0;
    for (uint32_t i = 0; i < USERS; i++)
        sum += used[i];
    for (uint32_t i = 0; sum > 0 && i < USERS; i++)
        most = fmax(most, fabs(100 * used[i] / sum - 100 * right_of(load, i)));
    return most;
}

static void pass(struct world *w, int64_t to_ns)
{
    for (uint32_t i = 0; !w->load->amounts && i < w->n_live; i++)
        use(w, w->live[i].user, (double)(to_ns - w->now_ns) / 1e9 * (double)w->live[i].amount);
    w->now_ns = to_ns;
}

static void sample(struct world *w)
{
    int64_t every_ns = w->load->horizon_s * SECOND / POINTS;
    int64_t point = w->now_ns / every_ns;
    memcpy(w->share[point], w->used, sizeof(w->used));
    if (w->now_ns % (500 * SECOND) == 0) {
        if (w->now_ns > w->load->from_s * SECOND)
            w->worst_window = fmax(w->worst_window, off(w->load, w->window));
        memset(w->window, 0, sizeof(w->window));
    }
    w->sampled_ns += every_ns;
}

/* What ends first, or the next sample. */
static int64_t next_ns(const struct world *w)
{
    int64_t next = w->sampled_ns;
    for (uint32_t i = 0; i < w->n_live; i++)
        next = w->live[i].end_ns < next ? w->live[i].end_ns : next;
    return next;
}

static void end_tasks(struct world *w)
{
    for (uint32_t i = 0; i < w->n_live;) {
        if (w->live[i].end_ns > w->now_ns) {
            i++;
            continue;
        }
        struct event e = {.kind = EVENT_ATTEMPT_DONE};
        e.attempt.attempt = w->live[i].attempt;
        w->live[i] = w->live[--w->n_live];
        step(w, &e, 1);
        submit_all(w);
    }
}

static void run(struct world *w)
{
    while (w->now_ns < w->load->horizon_s * SECOND) {
        int64_t next = next_ns(w);
        struct engine_status status;
        engine_status(w->engine, &status);
        if (!is_memory(w->load) && status.tasks_ready)
            w->idle_s += (double)status.slots_free * (double)(next - w->now_ns) / 1e9;
        pass(w, next);
        if (w->now_ns == w->sampled_ns) {
            sample(w);
            submit_all(w);
        }
        end_tasks(w);
    }
}

/* Of one way over all seeds. */
struct result {
    double worst, last, window, idle_s;
    double share[POINTS + 1][USERS]; /* of the first seed */
    double apart; /* users' parts of all that there is × time, from from_s on, in points */
};

static double apart(const struct world *w)
{
    int64_t from = w->load->from_s * POINTS / w->load->horizon_s;
    double seconds = (double)(w->load->horizon_s - w->load->from_s), least = INFINITY, most = 0;
    for (uint32_t i = 0; i < USERS; i++) {
        double part = (w->share[POINTS][i] - w->share[from][i]) / seconds / (HOSTS * CPUS);
        least = fmin(least, part);
        most = fmax(most, part);
    }
    return 100 * (most - least);
}

static void measure(const struct load *load, const struct way *way, struct result *ret)
{
    static struct world w;
    memset(ret, 0, sizeof(*ret));
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        begin(&w, load, way, seed);
        run(&w);
        double worst = 0;
        for (int p = 1; p <= POINTS; p++)
            if (p * load->horizon_s / POINTS >= load->from_s)
                worst = fmax(worst, off(load, w.share[p]));
        ret->worst += worst / SEEDS;
        ret->last += off(load, w.share[POINTS]) / SEEDS;
        ret->window += w.worst_window / SEEDS;
        ret->idle_s += w.idle_s / SEEDS;
        ret->apart += apart(&w) / SEEDS;
        if (seed == 1)
            memcpy(ret->share, w.share, sizeof(ret->share));
        end(&w);
    }
}

/* ---- the page ---- */

enum { WIDE = 420, HIGH = 240 };

static void picture(FILE *out, int column, int row, const struct result *result)
{
    const struct load *load = &loads[column];
    static const char *const colours[USERS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7"};
    fprintf(out,
            "<svg x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\">"
            "<text x=\"40\" y=\"16\">%s: %s</text>",
            column * WIDE, row * HIGH, WIDE, HIGH, load->name, ways[row].name);
    for (int user = 0; user < USERS; user++) {
        double right = 220 - 200 * right_of(load, (uint32_t)user);
        fprintf(out,
                "<path d=\"M40 %.1fH400\" stroke=\"#bbb\"/><path fill=\"none\" stroke=\"%s\" d=\"",
                right, colours[user]);
        for (int p = 1; p <= POINTS; p++) {
            double sum = 0;
            for (int i = 0; i < USERS; i++)
                sum += result->share[p][i];
            fprintf(out, "%c%.1f %.1f", p == 1 ? 'M' : 'L', 40 + 3.6 * p,
                    220 - 200 * (sum > 0 ? result->share[p][user] / sum : 0));
        }
        fprintf(out, "\"/>");
    }
    fprintf(out, "</svg>\n");
}

/* ---- bars ---- */

static const struct bar {
    const char *load, *way;
    size_t at; /* in struct result */
    const char *what;
    double most;
} bars[] = {
    {"slots", "sequence", offsetof(struct result, worst), "points off from 500 s on", .5},
    {"slots", "sequence", offsetof(struct result, window), "points off in each 500 s", 1},
    {"memory", "sequence", offsetof(struct result, worst), "points off from 200 s on", 1.5},
    {"memory", "sequence", offsetof(struct result, last), "points off at the end", .5},
    {"idle", "sequence", offsetof(struct result, last), "points off of the whole run", 2},
    {"memory-time", "sequence-time", offsetof(struct result, worst), "points off from 200 s on",
     1.5},
    {"times", "sequence-time", offsetof(struct result, worst), "points off from 500 s on", 3},
    {"unlike", "drf", offsetof(struct result, apart), "points between dominant shares", 3},
    {"unlike", "sequence", offsetof(struct result, apart), "points between dominant shares",
     INFINITY},
    {"idle", "sequence", offsetof(struct result, idle_s), "slot-seconds idle beside ready tasks",
     0},
};

static int judge(const struct load *load, const struct way *way, const struct result *result)
{
    int missed = 0;
    for (size_t i = 0; i < sizeof(bars) / sizeof(bars[0]); i++) {
        if (strcmp(bars[i].load, load->name) != 0 || strcmp(bars[i].way, way->name) != 0)
            continue;
        double value = *(const double *)((const char *)result + bars[i].at);
        bool misses = value > bars[i].most;
        printf("  %-36s %8.2f  at most %.3g%s\n", bars[i].what, value, bars[i].most,
               misses ? "  MISSED" : "");
        missed += misses;
    }
    return missed;
}

int main(int argc, char **argv)
{
    FILE *page = argc > 1 ? fopen(argv[1], "w") : NULL;
    int missed = 0;
    static struct result result;
    if (argc > 1 && !page)
        fail(strerror(errno));
    if (page)
        fprintf(page,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                "font-family=\"sans-serif\" font-size=\"12\"><title>Users' parts of what was used "
                "until then</title><rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                LOADS * WIDE, WAYS * HIGH);
    for (int l = 0; l < LOADS; l++) {
        printf("%s (%s; %d seeds)\n  %-20s %8s %8s %8s\n", loads[l].name, loads[l].what, SEEDS,
               "users", "worst", "end", "window");
        for (int i = 0; i < WAYS; i++) {
            measure(&loads[l], &ways[i], &result);
            printf("  %-20s %8.2f %8.2f %8.2f\n", ways[i].name, result.worst, result.last,
                   result.window);
            missed += judge(&loads[l], &ways[i], &result);
            if (page)
                picture(page, l, i, &result);
        }
    }
    if (page)
        fputs("</svg>\n", page);
    if (page && fclose(page) != 0)
        fail(strerror(errno));
    return missed > 0;
}
