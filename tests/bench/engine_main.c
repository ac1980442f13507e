/* `make bench-engine`: what the engine costs at 1 000 hosts of 32 slots with 100 000 ready tasks,
 * and how that grows from a tenth of it and to ten times as much, under duopoly, joint and flow
 * beside each other.
 *
 * Jobs of 100 maps on three replicas and 32 reduce tasks of random sizes keep as many tasks ready
 * as are to be: where one ends the next is submitted. Slots are first filled, host by host; then,
 * and only then is measured, one event a step: a running attempt, drawn at random, has received or
 * is done. Times are CPU times of this thread around engine_step, without submissions and without
 * what reading the clock twice takes at least (a system call: half a microsecond, as long as half a
 * decision may take). Decisions per second are all decisions by all this time, of steps without any
 * too. Every bar is printed with what was measured, and MISS where it is missed; exit status 1
 * then.
 *
 * Behind the rows of each policy stand those of unlike hosts: the same slots in UNITS units, and
 * jobs of SHAPES demands (u); then the same with two variants for the stages of every other job
 * (v). Their median step is printed beside that of the plain row of 1 000 hosts, and their growth.
 * At the end each placement has a row of 10 000 hosts of 32 slots, with the turn and the network of
 * duopoly, and how far it is from the aim: 10⁶ decisions a second, and a step of 20 us at most in
 * 99 of 100 cases.
 *
 * Last come rows of users (d): 4, then 1 000 that divide the cluster by sequence, jobs theirs in
 * turn, at 1 000 hosts with a tenth of the ready tasks and with all. TURNS times one behind the
 * other, the median of their decisions a second beside those without users is printed, and the
 * growth of what a step looks at.
 *
 * Behind these come rows of PROFILES profiles (p) at 10 000 hosts with disks, for greedy and
 * affinity: jobs of one map, 10 000 of them ready, then 100 000. Printed is how many times as much
 * a decision of affinity costs as one of greedy, and the growth of what a step looks at. As so many
 * jobs wait for longer than affinity's `patience`, it starts them by that alone; so there are the
 * same rows (g) without patience, on hosts with GPUS GPUs and every other disk faster, for jobs
 * that can run on a GPU too.
 *
 * Three columns are for comparisons. "reads" is how many reads of one 64-byte line after the other
 * the machine makes in a second, each found by the one before, all over as much memory as the row's
 * engine uses, between slices of the row's steps: decisions a second by it ("per read") say more of
 * the engine and less of the machine. "looks" are objects looked at a step
 * (engine_counters().visits) and "starts" is a digest of all starts: both are the same on each
 * machine.
 *
 * With CLUSTER=FILE in the environment each policy has one row alone: the hosts of that cluster
 * file, 100 ready tasks a host.
 *
 *   bench-engine [STEPS [POLICY [HOSTS]]]    measured steps a row (default 100000); one policy
 *                                            only, places: the placements only, users: the rows
 *                                            of users only, profiles: those of profiles only,
 *                                            all: everything;
 *                                            no row of more hosts */
#include "controller/engine/policy/presets.h"
#include "lib/fnv1a.h"
#include "tests/model/script.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* WHY: engine_before.py builds this file with trees of before there were those. */
#if __has_include("lib/profile.h")
#include "lib/profile.h"
#endif
#if __has_include("tests/bench/engine_cluster.h")
#include "tests/bench/engine_cluster.h"
#else
#define clustered_read(path)                                  NULL
#define clustered_hosts(cluster)                              0
#define clustered_slots(cluster, slots)                       0
#define clustered_join(cluster, h, slots, ret_host, ret_join) ((void)0)
#define clustered_done(cluster)                               ((void)0)
struct clustered_host {
    uint64_t units[ENGINE_RESOURCES];
};
#endif

enum { MAPS = 100, REDUCES = 32, SLOTS = 32, MEGABYTE = 1000000 };
enum { UNITS = 5, SHAPES = 8, GPUS = 8 };
enum { LINE = 64, SLICES = 50, READS = 20000, MEMORY_MAX = 1 << 28, MEMORY_PER_HOST = 100000 };
enum { TURNS = 3 };
enum { PROFILES = 1000, DISK_BYTES_S = 128 * MEGABYTE };
static const double most_growth = 1.5, most_unlike = 2, aim_per_s = 1e6, aim_p99_us = 20,
                    least_divided = .8, most_users_growth = 1.1, most_profiled = 3;

/* At 1 000 hosts; 0: none. */
struct bar {
    const char *policy;
    double least_per_s, most_p99_us;
};
static const struct bar bars[] = {{"duopoly", 300000, 10}, {"joint", 150000, 20}, {"flow", 0, 0}};
enum { POLICIES = sizeof(bars) / sizeof(bars[0]) };

struct size {
    uint32_t hosts, ready;
    bool unlike, variants;
    uint32_t users;                /* 0: nobody divides */
    uint32_t profiles;             /* 0: nobody says one; else jobs have one map each */
    bool gpus;                     /* with profiles: two for each job, a slot's and a GPU's */
    const struct cluster *cluster; /* NULL: hosts as above */
};

struct row {
    double per_s, p50_us, p99_us, most_us, reads_per_s, looks;
    uint64_t digest;
};

/* Lines of memory in one ring, in random order. */
struct ring {
    struct line {
        volatile uint32_t next;
        char rest[LINE - sizeof(uint32_t)];
    } * lines;
    uint32_t at;
    double s;
    uint64_t reads;
};

struct bench {
    struct script script;
    struct size size;
    uint64_t stream, jobs;
    uint64_t *running; /* attempts */
    bool *received;
    uint32_t n_running;
    double *step_us;
    size_t n_steps;
    double clock_s, engine_s;
    uint64_t decisions, looks, digest;
};

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double least_cpu_s(void)
{
    double least = 1;
    for (int i = 0; i < 10000; i++) {
        double before = cpu_s(), took = cpu_s() - before;
        least = took < least ? took : least;
    }
    return least;
}

/* Sattolo's shuffle: a permutation of one cycle. */
static struct ring ring_make(size_t bytes)
{
    uint32_t n = (uint32_t)((bytes < MEMORY_MAX ? bytes : MEMORY_MAX) / LINE);
    struct ring ring = {.lines = calloc(n, sizeof(struct line))};
    uint64_t stream = 1;
    if (!ring.lines)
        exit(2);
    for (uint32_t i = 0; i < n; i++)
        ring.lines[i].next = i;
    for (uint32_t i = n - 1; i > 0; i--) {
        uint32_t other = (uint32_t)(test_random(&stream) % i), next = ring.lines[i].next;
        ring.lines[i].next = ring.lines[other].next;
        ring.lines[other].next = next;
    }
    return ring;
}

static void ring_read(struct ring *ring)
{
    double before = cpu_s();
    for (uint32_t i = 0; i < READS; i++)
        ring->at = ring->lines[ring->at].next;
    ring->s += cpu_s() - before;
    ring->reads += READS;
}

static void take_start(struct bench *b, const struct decision *start)
{
    const uint64_t what[] = {start->start.job,  start->start.stage,    start->start.task,
                             start->start.host, (uint64_t)start->left, (uint64_t)start->right};
    b->digest = fnv1a(b->digest, what, sizeof(what));
    b->received[b->n_running] = !start->start.input_bytes;
    b->running[b->n_running++] = start->start.attempt;
}

static void take_starts(struct bench *b)
{
    const struct decisions *d = &b->script.decisions;
    for (size_t i = 0; i < d->n; i++)
        if (d->at[i].kind == DECISION_START)
            take_start(b, &d->at[i]);
}

static double timed_step(struct bench *b, struct event event)
{
    double before = cpu_s();
    if (engine_step(b->script.engine, b->script.now_ns, &event, 1, &b->script.decisions))
        exit(2);
    double took = cpu_s() - before - b->clock_s;
    b->engine_s += took;
    b->decisions += b->script.decisions.n;
    take_starts(b);
    return took;
}

/* One of SHAPES, and of the variant the one after the next. */
static void demand_of_stage(const struct bench *b, struct event *stage)
{
    stage->job_stage.demand.amount[RES_MEM_BYTES] = (int64_t)(1 + b->jobs % SHAPES);
/* WHY: engine_before.py builds this file with engines of before there were variants. */
#if __has_include("controller/engine/books/variant.h")
    static uint64_t variant[ENGINE_RESOURCES] = {[RES_SLOTS] = 1};
    variant[RES_MEM_BYTES] = 1 + (b->jobs + 2) % SHAPES;
    if (b->size.variants && b->jobs % 2)
        stage->job_stage.variant_demands = (struct u64s){variant, ENGINE_RESOURCES};
#endif
}

/* The next one's, of a task that reads while it computes, or on a GPU before. */
static void profile_stage(const struct bench *b, struct event *stage)
{
#if __has_include("lib/profile.h")
    static uint64_t numbers[2 * PROFILE_NUMBERS], gpu[ENGINE_RESOURCES];
    const uint64_t place = b->jobs % b->size.profiles;
    numbers[0] = (1 + place * PROFILES / b->size.profiles) * MEGABYTE;
    numbers[1] = DISK_BYTES_S;
    numbers[3] = (10 + place % 7) * SECOND;
    stage->job_stage.profiles = (struct u64s){numbers, PROFILE_NUMBERS};
    if (!b->size.gpus)
        return;
    gpu[RES_GPU_MILLI] = 1000;
    memcpy(numbers + PROFILE_NUMBERS, numbers, 2 * sizeof(numbers[0]));
    numbers[PROFILE_NUMBERS + 2] = 1;
    numbers[PROFILE_NUMBERS + 3] = (1 + place % 5) * SECOND;
    stage->job_stage.profiles.n *= 2;
    stage->job_stage.variant_demands = (struct u64s){gpu, ENGINE_RESOURCES};
#else
    (void)b;
    (void)stage;
#endif
}

static void submit(struct bench *b)
{
    uint64_t sums[REDUCES];
    uint32_t blocks[MAPS * 3];
    for (int i = 0; i < REDUCES; i++)
        sums[i] = (1 + test_random(&b->stream) % 64) * MEGABYTE;
    for (int i = 0; i < MAPS * 3; i += 3)
        for (uint32_t k = 0, first = (uint32_t)(test_random(&b->stream) % b->size.hosts); k < 3;
             k++)
            blocks[i + (int)k] = (first + k) % b->size.hosts;
    struct script_job job = {.number = ++b->jobs,
                             .maps = b->size.profiles ? 1 : MAPS,
                             .per = 3,
                             .reduces = b->size.profiles ? 0 : REDUCES,
                             .replicas = blocks,
                             .map_input = 64 * MEGABYTE,
                             .map_ns = SECOND,
                             .reduce_ns = SECOND / 10,
                             .sums = sums};
    struct event events[8];
    uint64_t room[2 * MAPS + 2 * REDUCES];
    char name[32];
    size_t n = script_job_events(&job, events, room, name, sizeof(name));
    events[0].job_begin.user = b->size.users ? (uint32_t)(b->jobs % b->size.users) : 0;
    for (size_t i = 0; b->size.unlike && i < n; i++)
        if (events[i].kind == EVENT_JOB_STAGE)
            demand_of_stage(b, &events[i]);
    for (size_t i = 0; b->size.profiles && i < n; i++)
        if (events[i].kind == EVENT_JOB_STAGE)
            profile_stage(b, &events[i]);
    b->script.now_ns += b->size.gpus;
    script_events(&b->script, events, n);
    take_starts(b);
}

static void keep_ready(struct bench *b)
{
    struct engine_status status;
    for (engine_status(b->script.engine, &status); status.tasks_ready < b->size.ready;
         engine_status(b->script.engine, &status))
        submit(b);
}

static void join_cluster(struct bench *b)
{
    struct clustered_host host;
    for (uint32_t h = 0; h < b->size.hosts; h++) {
        struct event join = script_join(h, SLOTS, host.units);
        clustered_join(b->size.cluster, h, SLOTS, &host, &join);
        timed_step(b, join);
    }
}

static void join_hosts(struct bench *b)
{
    if (b->size.cluster) {
        join_cluster(b);
        return;
    }
    const uint64_t vector[ENGINE_RESOURCES] = {SLOTS, [RES_GPU_MILLI] =
                                                          b->size.gpus ? UINT64_C(1000) * GPUS : 0};
    uint64_t units[UNITS * ENGINE_RESOURCES] = {0};
    for (uint64_t u = 0; u < UNITS; u++) {
        units[u * ENGINE_RESOURCES + RES_SLOTS] = (SLOTS + u) / UNITS;
        units[u * ENGINE_RESOURCES + RES_MEM_BYTES] = SLOTS * SHAPES;
    }
    for (uint32_t h = 0; h < b->size.hosts; h++) {
        struct event join = script_join(h, SLOTS, vector);
        if (b->size.unlike)
            join.host_join.units = (struct u64s){units, UNITS * ENGINE_RESOURCES};
#if __has_include("lib/profile.h")
        join.host_join.disk_bytes_s = b->size.profiles ? DISK_BYTES_S : 0;
        if (b->size.gpus && h % 2)
            join.host_join.disk_bytes_s *= 100;
#endif
        timed_step(b, join);
    }
}

#if __has_include("controller/engine/share/offer.h")
static void set_users(struct bench *b)
{
    for (uint32_t user = 0; user < b->size.users; user++) {
        struct event event = {.kind = EVENT_USER_SET, .request = 1};
        char name[16];
        snprintf(name, sizeof(name), "u%" PRIu32, user);
        event.user_set.user = user;
        event.user_set.name = name;
        event.user_set.share = 1 + user % 3;
        script_event(&b->script, event);
    }
}

static void divide(struct engine_config *config)
{
    strcpy(config->users, "sequence");
}
#else
static void set_users(struct bench *b)
{
    (void)b;
}

static void divide(struct engine_config *config)
{
    (void)config;
}
#endif

/* An attempt goes on. */
static void go_on(struct bench *b)
{
    uint32_t at = (uint32_t)(test_random(&b->stream) % b->n_running);
    struct event event = {.kind = b->received[at] ? EVENT_ATTEMPT_DONE : EVENT_ATTEMPT_RECEIVED};
    event.attempt.attempt = b->running[at];
    if (b->received[at]) {
        b->n_running--;
        b->running[at] = b->running[b->n_running];
        b->received[at] = b->received[b->n_running];
    } else {
        b->received[at] = true;
    }
    b->script.now_ns += 20000;
    b->step_us[b->n_steps++] = timed_step(b, event) * 1e6;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static uint64_t looks(const struct bench *b)
{
    struct engine_counters counters;
    engine_counters(b->script.engine, &counters);
    return counters.visits;
}

static void measure(struct bench *b, size_t steps, struct ring *ring)
{
    b->engine_s = 0;
    b->decisions = 0;
    b->looks = looks(b);
    while (b->n_steps < steps) {
        if (b->n_steps % (steps / SLICES + 1) == 0)
            ring_read(ring);
        go_on(b);
        if (b->n_steps % 64 == 0)
            keep_ready(b);
    }
    b->looks = looks(b) - b->looks;
}

/* `place`: NULL: the policy's. */
static struct row run(const char *policy, const char *place, struct size size, size_t steps)
{
    struct bench b = {.size = size, .stream = 1, .digest = FNV1A_NOTHING, .clock_s = least_cpu_s()};
    struct ring ring = ring_make((size_t)size.hosts * MEMORY_PER_HOST);
    struct engine_config config;
    engine_config_default(&config);
    preset_apply(preset_find(policy), &config);
    if (place)
        strcpy(config.place, place);
    config.hosts_max = size.hosts;
    config.jobs_max = config.finished_max = 1000000;
    config.tasks_max = 10000000;
    const size_t slots = size.cluster ? clustered_slots(size.cluster, SLOTS)
                                      : size.hosts * (size_t)(SLOTS + (size.gpus ? GPUS : 0));
    b.running = calloc(slots + 1, sizeof(*b.running));
    b.received = calloc(slots + 1, sizeof(*b.received));
    b.step_us = calloc(steps, sizeof(*b.step_us));
    if (!b.running || !b.received || !b.step_us)
        exit(2);
    if (size.users)
        divide(&config);
    if (size.gpus)
        engine_config_say(&config, "patience", 1000000, NULL);
    script_begin(&b.script, &config);
    set_users(&b);
    keep_ready(&b);
    join_hosts(&b);
    measure(&b, steps, &ring);
    qsort(b.step_us, steps, sizeof(*b.step_us), ascending);
    struct row row = {(double)b.decisions / b.engine_s,
                      b.step_us[steps / 2],
                      b.step_us[steps * 99 / 100],
                      b.step_us[steps - 1],
                      (double)ring.reads / ring.s,
                      (double)b.looks / (double)steps,
                      b.digest};
    free(ring.lines);
    script_end(&b.script);
    free(b.running);
    free(b.received);
    free(b.step_us);
    return row;
}

/* NULL: it has none. */
static const struct bar *bar_of(const char *policy)
{
    for (size_t i = 0; i < sizeof(bars) / sizeof(bars[0]); i++)
        if (strcmp(bars[i].policy, policy) == 0)
            return &bars[i];
    return NULL;
}

static bool print_row(const char *policy, struct size size, const struct row *row, bool barred)
{
    const struct bar *bar = barred ? bar_of(policy) : NULL;
    bool slow = bar && row->per_s < bar->least_per_s,
         late = bar && bar->most_p99_us > 0 && row->p99_us > bar->most_p99_us;
    printf("%-8s %6" PRIu32 "%s %8" PRIu32 " %12.0f%s %8.2f %8.2f%s %9.1f %10.0f %9.4f %8.2f  "
           "%016" PRIx64 "\n",
           policy, size.hosts,
           size.users      ? "d"
           : size.gpus     ? "g"
           : size.profiles ? "p"
           : size.variants ? "v"
           : size.unlike   ? "u"
                           : " ",
           size.ready, row->per_s, slow ? " MISS" : "     ", row->p50_us, row->p99_us,
           late ? " MISS" : "     ", row->most_us, row->reads_per_s, row->per_s / row->reads_per_s,
           row->looks, row->digest);
    fflush(stdout);
    return slow || late;
}

static bool print_growth(const char *policy, const struct row *small, const struct row *large)
{
    bool grows = large->p50_us > most_growth * small->p50_us;
    printf(
        "%-8s   10 n: the median step takes %.2f times as long%s and looks at %.2f times as much\n",
        policy, large->p50_us / small->p50_us, grows ? " MISS" : "", large->looks / small->looks);
    return grows;
}

/* Rows of unlike hosts, beside the plain one of 1 000. */
static bool run_unlike(const char *policy, size_t steps, uint32_t hosts_max,
                       const struct row *plain, bool variants)
{
    const struct size sizes[] = {
        {.hosts = 1000, .ready = 100000, .unlike = true, .variants = variants},
        {.hosts = 10000, .ready = 1000000, .unlike = true, .variants = variants}};
    struct row rows[2];
    bool missed = false;
    for (size_t i = 0; i < 2 && sizes[i].hosts <= hosts_max; i++) {
        rows[i] = run(policy, NULL, sizes[i], steps);
        missed |= print_row(policy, sizes[i], &rows[i], false);
        missed |= i && print_growth(policy, &rows[i - 1], &rows[i]);
        double times = rows[i].p50_us / plain->p50_us;
        if (i == 0)
            printf("%-8s   %d units, %d demands%s: the median step takes %.2f times as long as the "
                   "plain row's%s\n",
                   policy, UNITS, SHAPES, variants ? ", half with two variants" : "", times,
                   times > most_unlike ? " MISS" : "");
        missed |= i == 0 && times > most_unlike;
    }
    return missed;
}

/* Its misses of the aim are known, and no bar. */
static void run_places(size_t steps, uint32_t hosts_max)
{
    const struct size size = {.hosts = 10000, .ready = 1000000};
    const char *place;
    for (unsigned i = 0; size.hosts <= hosts_max && (place = engine_policy_name("place", i)); i++) {
        struct row row = run("duopoly", place, size, steps);
        print_row(place, size, &row, false);
        printf("%-8s   aim: %.2f of the decisions a second, p99 %.2f times as long\n", place,
               row.per_s / aim_per_s, row.p99_us / aim_p99_us);
        fflush(stdout);
    }
}

static void run_cluster(const char *policy, size_t steps, const struct cluster *cluster)
{
    const uint32_t hosts = clustered_hosts(cluster);
    const struct size size = {.hosts = hosts, .ready = 100 * hosts, .cluster = cluster};
    struct row row = run(policy, NULL, size, steps);
    print_row(policy, size, &row, false);
}

static double median_of(double *values)
{
    qsort(values, TURNS, sizeof(*values), ascending);
    return values[TURNS / 2];
}

/* Beside nobody who divides, in the same minutes. */
static bool run_users(const char *policy, size_t steps)
{
    static const uint32_t users[] = {4, 1000};
    bool missed = false;
    for (size_t i = 0; i < 2; i++) {
        const struct size tenth = {.hosts = 1000, .ready = 10000, .users = users[i]},
                          all = {.hosts = 1000, .ready = 100000, .users = users[i]};
        double ratios[TURNS];
        struct row few = {0}, many = {0};
        for (int turn = 0; turn < TURNS; turn++) {
            struct row none =
                run(policy, NULL, (struct size){.hosts = 1000, .ready = 100000}, steps);
            many = run(policy, NULL, all, steps);
            ratios[turn] = many.per_s / none.per_s;
        }
        few = run(policy, NULL, tenth, steps);
        print_row(policy, tenth, &few, false);
        print_row(policy, all, &many, false);
        double ratio = median_of(ratios), growth = many.looks / few.looks;
        bool slow = ratio<least_divided, grows = growth> most_users_growth;
        printf("%-8s   %" PRIu32 " users: %.2f times as many decisions a second as without%s; with "
               "10 n jobs a step looks at %.2f times as much%s\n",
               policy, users[i], ratio, slow ? " MISS" : "", growth, grows ? " MISS" : "");
        missed |= slow || grows;
    }
    return missed;
}

static bool run_profiles(struct size size, const char *what, size_t steps)
{
    static const char *const places[] = {"greedy", "affinity"};
    struct row few, many[2];
    for (size_t i = 0; i < 2; i++) {
        size.ready = 10000;
        few = run("duopoly", places[i], size, steps);
        print_row(places[i], size, &few, false);
        size.ready *= 10;
        many[i] = run("duopoly", places[i], size, steps);
        print_row(places[i], size, &many[i], false);
    }
    double times = many[0].per_s / many[1].per_s, growth = many[1].looks / few.looks;
    bool slow = times > most_profiled, grows = growth > most_growth;
    printf("affinity   %d profiles%s: a decision costs %.2f times greedy's%s; with 10 n jobs a "
           "step looks at %.2f times as much%s\n",
           PROFILES, what, times, slow ? " MISS" : "", growth, grows ? " MISS" : "");
    return slow || grows;
}

static bool run_all_profiles(size_t steps, uint32_t hosts_max)
{
    struct size size = {.hosts = 10000, .profiles = PROFILES};
    if (hosts_max < size.hosts)
        return false;
    bool missed = run_profiles(size, "", steps);
    size.profiles /= 2;
    size.gpus = true;
    return run_profiles(size, " with GPUs, without patience", steps) || missed;
}

static bool run_policy(const char *policy, size_t steps, uint32_t hosts_max)
{
    static const struct size sizes[] = {{.hosts = 100, .ready = 10000},
                                        {.hosts = 1000, .ready = 100000},
                                        {.hosts = 10000, .ready = 1000000}};
    struct row rows[3];
    bool missed = false;
    for (size_t i = 0; i < 3 && sizes[i].hosts <= hosts_max; i++) {
        rows[i] = run(policy, NULL, sizes[i], steps);
        missed |= print_row(policy, sizes[i], &rows[i], i == 1);
        missed |= i && print_growth(policy, &rows[i - 1], &rows[i]);
    }
    if (hosts_max < 1000)
        return missed;
    missed |= run_unlike(policy, steps, hosts_max, &rows[1], false);
    missed |= run_unlike(policy, steps, hosts_max, &rows[1], true);
    return run_users(policy, steps) || missed;
}

/* `cluster`: NULL: hosts as above. */
static bool run_one(const char *policy, size_t steps, uint32_t hosts_max,
                    const struct cluster *cluster)
{
    if (!cluster)
        return run_policy(policy, steps, hosts_max);
    run_cluster(policy, steps, cluster);
    return false;
}

int main(int argc, char **argv)
{
    size_t steps = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
    const char *policy = argc > 2 ? argv[2] : "all";
    uint32_t hosts_max = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : UINT32_MAX;
    struct cluster *cluster = clustered_read(getenv("CLUSTER"));
    bool missed = false;
    if (!steps) {
        fprintf(stderr, "bench-engine: give a number of steps of at least 1\n");
        return 2;
    }
    printf("%zu steps a row; bars at 1000 hosts", steps);
    for (size_t i = 0; i < POLICIES && bars[i].least_per_s > 0; i++)
        printf(", %s: %.0f decisions/s, p99 %.0f us", bars[i].policy, bars[i].least_per_s,
               bars[i].most_p99_us);
    printf("; aim: %.0e; growth of the median: %.1f\n", aim_per_s, most_growth);
    printf("%-8s %6s %8s %12s      %8s %8s      %9s %10s %9s %8s  %-16s\n", "policy", "hosts",
           "ready", "decisions/s", "p50 us", "p99 us", "most us", "reads/s", "per read", "looks",
           "starts");
    for (size_t i = 0; i < POLICIES; i++)
        if (strcmp(policy, "all") == 0 || strcmp(policy, bars[i].policy) == 0)
            missed |= run_one(bars[i].policy, steps, hosts_max, cluster);
        else if (strcmp(policy, "users") == 0)
            missed |= run_users(bars[i].policy, steps);
    if (!cluster && (strcmp(policy, "all") == 0 || strcmp(policy, "places") == 0))
        run_places(steps, hosts_max);
    if (!cluster && (strcmp(policy, "all") == 0 || strcmp(policy, "profiles") == 0))
        missed |= run_all_profiles(steps, hosts_max);
    clustered_done(cluster);
    return missed;
}
