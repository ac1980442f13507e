/* `make bench-engine`: what the engine costs at 1 000 hosts of 32 slots with 100 000 ready tasks, and
 * how that grows from a tenth of it, under duopoly and joint beside each other.
 *
 * Jobs of 100 maps on three replicas and 32 reduce tasks of random sizes keep as many tasks ready
 * as are to be: where one ends the next is submitted. Slots are first filled, host by host; then, and
 * only then is measured, one event a step: a running attempt, drawn at random, has received or is
 * done. Times are CPU times of this thread around engine_step, without submissions and without what
 * reading the clock twice takes at least (a system call: half a microsecond, as long as half a
 * decision may take). Decisions per second are all decisions by all this time, of steps without any
 * too. Every bar is printed with what was measured, and MISS where it is missed; exit status 1 then.
 *
 *   bench-engine [STEPS [POLICY]]    measured steps a row (default 100000); one policy only */
#include "controller/engine/policy/presets.h"
#include "lib/fnv1a.h"
#include "tests/model/script.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MAPS = 100, REDUCES = 32, SLOTS = 32, MEGABYTE = 1000000 };
static const double least_per_s = 1e6, most_p99_us = 20, most_growth = 1.5;

struct size {
    uint32_t hosts, ready;
};

struct row {
    double per_s, p50_us, p99_us, most_us;
    uint64_t decisions, digest;
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
    uint64_t decisions, digest;
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
                             .maps = MAPS,
                             .per = 3,
                             .reduces = REDUCES,
                             .replicas = blocks,
                             .map_input = 64 * MEGABYTE,
                             .map_ns = SECOND,
                             .reduce_ns = SECOND / 10,
                             .sums = sums};
    script_submit(&b->script, &job);
    take_starts(b);
}

static void keep_ready(struct bench *b)
{
    struct engine_status status;
    for (engine_status(b->script.engine, &status); status.tasks_ready < b->size.ready;
         engine_status(b->script.engine, &status))
        submit(b);
}

static void join_hosts(struct bench *b)
{
    static const uint64_t vector[ENGINE_RESOURCES] = {SLOTS};
    for (uint32_t h = 0; h < b->size.hosts; h++)
        timed_step(b, script_join(h, SLOTS, vector));
}

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

static struct row run(const char *policy, struct size size, size_t steps)
{
    struct bench b = {.size = size, .stream = 1, .digest = FNV1A_NOTHING, .clock_s = least_cpu_s()};
    struct engine_config config;
    engine_config_default(&config);
    preset_apply(preset_find(policy), &config);
    config.hosts_max = size.hosts;
    config.jobs_max = config.finished_max = 1000000;
    config.tasks_max = 10000000;
    b.running = calloc((size_t)size.hosts * SLOTS + 1, sizeof(*b.running));
    b.received = calloc((size_t)size.hosts * SLOTS + 1, sizeof(*b.received));
    b.step_us = calloc(steps, sizeof(*b.step_us));
    if (!b.running || !b.received || !b.step_us)
        exit(2);
    script_begin(&b.script, &config);
    keep_ready(&b);
    join_hosts(&b);
    b.engine_s = 0;
    b.decisions = 0;
    while (b.n_steps < steps) {
        go_on(&b);
        if (b.n_steps % 64 == 0)
            keep_ready(&b);
    }
    qsort(b.step_us, steps, sizeof(*b.step_us), ascending);
    struct row row = {(double)b.decisions / b.engine_s,
                      b.step_us[steps / 2],
                      b.step_us[steps * 99 / 100],
                      b.step_us[steps - 1],
                      b.decisions,
                      b.digest};
    script_end(&b.script);
    free(b.running);
    free(b.received);
    free(b.step_us);
    return row;
}

static bool print_row(const char *policy, struct size size, const struct row *row, bool bars)
{
    bool slow = bars && row->per_s < least_per_s, late = bars && row->p99_us > most_p99_us;
    printf("%-8s %5" PRIu32 " %8" PRIu32 " %10" PRIu64 " %12.0f%s %8.2f %8.2f%s %9.1f  %016" PRIx64
           "\n",
           policy, size.hosts, size.ready, row->decisions, row->per_s, slow ? " MISS" : "     ",
           row->p50_us, row->p99_us, late ? " MISS" : "     ", row->most_us, row->digest);
    fflush(stdout);
    return slow || late;
}

int main(int argc, char **argv)
{
    static const char *const policies[] = {"duopoly", "joint"};
    const struct size small = {100, 10000}, large = {1000, 100000};
    size_t steps = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
    bool missed = false;
    if (!steps) {
        fprintf(stderr, "bench-engine: give a number of steps of at least 1\n");
        return 2;
    }
    printf("%zu steps a row; bars at %" PRIu32
           " hosts: %.0e decisions/s, p99 %.0f us; growth of the "
           "median: %.1f\n%-8s %5s %8s %10s %12s      %8s %8s      %9s  %-16s\n",
           steps, large.hosts, least_per_s, most_p99_us, most_growth, "policy", "hosts", "ready",
           "decisions", "decisions/s", "p50 us", "p99 us", "most us", "starts");
    for (size_t p = 0; p < 2; p++) {
        if (argc > 2 && strcmp(argv[2], policies[p]) != 0)
            continue;
        struct row at_small = run(policies[p], small, steps),
                   at_large = run(policies[p], large, steps);
        print_row(policies[p], small, &at_small, false);
        missed |= print_row(policies[p], large, &at_large, true);
        bool grows = at_large.p50_us > most_growth * at_small.p50_us;
        printf("%-8s 10 n: the median step takes %.2f times as long%s\n", policies[p],
               at_large.p50_us / at_small.p50_us, grows ? " MISS" : "");
        missed |= grows;
    }
    return missed;
}
