/* What whole steps cost under `place flow`, patching and decisions included, beside the same engine
 * that makes the graph anew in each step, and beside the queue scheduler `random`: a part of `make
 * bench-flow`.
 *
 * HOSTS hosts of 24 slots run TASKS tasks (jobs of 20 maps, three replicas each). In a round a
 * hundredth of them ends and as many come, in one step; between rounds single tasks end, each in a
 * step of its own. Times are CPU times of this thread around engine_step. One process is one row,
 * so that its memory is the row's own:
 *
 *   bench-flow-steps POLICY HOSTS TASKS [ROUNDS]     POLICY: flow, random, scratch (flow with
 *                                                    another weight in each round), full, preempt
 *
 * Under full and preempt hosts have so many slots that all are taken, jobs have one of three
 * priorities in turn, and twice as many tasks come as end: full is flow by strict priority, preempt
 * also stops what runs for it. Its round is two steps: in the second one what was stopped has
 * ended.
 *
 * It prints one line: all tasks at once [ms], a round [ms] (median, worst), a single step [ms]
 * (median, p99, worst), CPU time of all [s], memory [MB], decisions, how many of them stopped a
 * task, and objects looked at a round. */
#include "controller/engine/policy/presets.h"
#include "tests/model/script.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { SLOTS = 24, MAPS = 20, REPLICAS = 3, SINGLES = 50, MEGABYTE = 1000000 };
enum { EVENTS_A_JOB = 8, ROOM_A_JOB = 4 * MAPS, PRIORITIES = 3, STOPS_MAX = 1024 };

struct kind {
    const char *word, *place;
    bool scratch, full, preempt;
};
static const struct kind kinds[] = {{"flow", "flow", false, false, false},
                                    {"random", "random", false, false, false},
                                    {"scratch", "flow", true, false, false},
                                    {"full", "flow", false, true, false},
                                    {"preempt", "flow", false, true, true}};

struct bench {
    struct script script;
    const struct kind *kind;
    uint32_t hosts, tasks, rounds;
    uint64_t stream, jobs;
    uint64_t *running; /* attempts */
    uint32_t n_running, n_allocated;
    uint64_t stopped[STOPS_MAX]; /* that have not ended */
    uint32_t n_stopped;
    uint64_t stops;
    double *single_ms, *round_ms;
    uint32_t n_singles, n_rounds;
    double all_s, all_at_once_ms;
    uint64_t decisions, looks_of_rounds;
    struct event *events;
    size_t n_events;
};

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *some(size_t n, size_t size)
{
    void *made = calloc(n, size);
    if (!made)
        exit(2);
    return made;
}

static void take_stop(struct bench *b, uint64_t attempt)
{
    uint32_t at = 0;
    while (at < b->n_running && b->running[at] != attempt)
        at++;
    if (at == b->n_running || b->n_stopped == STOPS_MAX)
        exit(2);
    b->running[at] = b->running[--b->n_running];
    b->stopped[b->n_stopped++] = attempt;
    b->stops++;
}

static void take_decisions(struct bench *b)
{
    const struct decisions *d = &b->script.decisions;
    for (size_t i = 0; i < d->n; i++)
        if (d->at[i].kind == DECISION_START && b->n_running < b->n_allocated)
            b->running[b->n_running++] = d->at[i].start.attempt;
        else if (d->at[i].kind == DECISION_STOP)
            take_stop(b, d->at[i].stop.attempt);
}

/* One step with the events that were collected; its CPU time in ms. */
static double step(struct bench *b)
{
    b->script.now_ns += SECOND / 50;
    double before = cpu_s();
    if (engine_step(b->script.engine, b->script.now_ns, b->events, b->n_events,
                    &b->script.decisions))
        exit(2);
    double took = cpu_s() - before;
    b->all_s += took;
    b->decisions += b->script.decisions.n;
    b->n_events = 0;
    take_decisions(b);
    return took * 1e3;
}

static uint64_t looks(const struct bench *b)
{
    struct engine_counters counters;
    engine_counters(b->script.engine, &counters);
    return counters.visits;
}

static void add_attempt(struct bench *b, enum event_kind kind, uint64_t attempt)
{
    struct event *event = &b->events[b->n_events++];
    *event = (struct event){.kind = kind};
    event->attempt.attempt = attempt;
}

static void add_end(struct bench *b)
{
    uint32_t at = (uint32_t)(test_random(&b->stream) % b->n_running);
    add_attempt(b, EVENT_ATTEMPT_DONE, b->running[at]);
    b->running[at] = b->running[--b->n_running];
}

/* What was stopped has ended: the CPU time of that step in ms. */
static double end_stopped(struct bench *b)
{
    if (!b->n_stopped)
        return 0;
    while (b->n_stopped)
        add_attempt(b, EVENT_ATTEMPT_KILLED, b->stopped[--b->n_stopped]);
    return step(b);
}

/* Room of what an event borrows: given back when the step is over. */
struct borrowed {
    uint32_t blocks[MAPS * REPLICAS];
    uint64_t room[ROOM_A_JOB];
    char name[32];
};

static void add_job(struct bench *b, struct borrowed *borrowed)
{
    for (uint32_t i = 0; i < MAPS; i++)
        for (uint32_t k = 0, first = (uint32_t)(test_random(&b->stream) % b->hosts); k < REPLICAS;
             k++)
            borrowed->blocks[i * REPLICAS + k] = (first + k) % b->hosts;
    struct script_job job = {.number = ++b->jobs,
                             .maps = MAPS,
                             .per = REPLICAS,
                             .replicas = borrowed->blocks,
                             .map_input = 64 * MEGABYTE,
                             .map_ns = SECOND};
    struct event *events = b->events + b->n_events;
    b->n_events +=
        script_job_events(&job, events, borrowed->room, borrowed->name, sizeof(borrowed->name));
    events[0].job_begin.priority = b->kind->full ? (int64_t)(b->jobs % PRIORITIES) : 0;
}

static void add_jobs(struct bench *b, struct borrowed *borrowed, uint32_t tasks)
{
    for (uint32_t i = 0; i < (tasks + MAPS - 1) / MAPS; i++)
        add_job(b, &borrowed[i]);
}

/* WHY a weight: a graph of other weights is made anew and solved from nothing. */
static void begin_from_scratch(struct bench *b)
{
    if (!b->kind->scratch)
        return;
    struct event *event = &b->events[b->n_events++];
    *event = (struct event){.kind = EVENT_POLICY_PARAMETER};
    event->policy_parameter.word = "weight.load";
    event->policy_parameter.value = 1 + b->n_rounds % 2;
}

static void round_of(struct bench *b, struct borrowed *borrowed)
{
    uint32_t part = b->tasks / 100;
    begin_from_scratch(b);
    for (uint32_t i = 0; i < part && b->n_running > 1; i++)
        add_end(b);
    add_jobs(b, borrowed, b->kind->full ? 2 * part : part);
    uint64_t before = looks(b);
    double took = step(b);
    b->round_ms[b->n_rounds++] = took + end_stopped(b);
    b->looks_of_rounds += looks(b) - before;
    for (uint32_t i = 0; i < SINGLES && b->n_running > 1; i++) {
        add_end(b);
        b->single_ms[b->n_singles++] = step(b);
        end_stopped(b);
    }
}

static void begin(struct bench *b)
{
    const uint64_t slots = b->kind->full ? (b->tasks + b->hosts - 1) / b->hosts : SLOTS;
    const uint64_t vector[ENGINE_RESOURCES] = {slots};
    struct engine_config config = script_config();
    config.hosts_max = b->hosts;
    preset_apply(preset_find("flow"), &config);
    snprintf(config.place, sizeof(config.place), "%s", b->kind->place);
    snprintf(config.turn, sizeof(config.turn), "%s", "fifo");
    engine_config_say(&config, "weight.priority", b->kind->full, NULL);
    engine_config_say(&config, "preempt", b->kind->preempt, NULL);
    script_begin(&b->script, &config);
    for (uint32_t h = 0; h < b->hosts; h++) {
        b->events[b->n_events++] = script_join(h, slots, vector);
        step(b);
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double at_part(double *values, uint32_t n, double part)
{
    qsort(values, n, sizeof(*values), ascending);
    return n ? values[(uint32_t)(part * (n - 1))] : 0;
}

static void print_row(struct bench *b)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    printf("{\"policy\": \"%s\", \"hosts\": %" PRIu32 ", \"tasks\": %" PRIu32
           ", \"all_at_once_ms\": %.3f, \"round_ms\": %.3f, \"worst_round_ms\": %.3f, "
           "\"step_ms\": %.4f, \"p99_step_ms\": %.4f, \"worst_step_ms\": %.4f, \"cpu_s\": %.3f, "
           "\"memory_mb\": %.1f, \"decisions\": %" PRIu64 ", \"stops\": %" PRIu64
           ", \"looks_a_round\": %.0f}\n",
           b->kind->word, b->hosts, b->tasks, b->all_at_once_ms,
           at_part(b->round_ms, b->n_rounds, .5), at_part(b->round_ms, b->n_rounds, 1),
           at_part(b->single_ms, b->n_singles, .5), at_part(b->single_ms, b->n_singles, .99),
           at_part(b->single_ms, b->n_singles, 1), b->all_s, (double)use.ru_maxrss / 1024,
           b->decisions, b->stops, (double)b->looks_of_rounds / (b->n_rounds ? b->n_rounds : 1));
}

static const struct kind *kind_of(const char *word)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].word, word) == 0)
            return &kinds[i];
    return NULL;
}

int main(int argc, char **argv)
{
    const struct kind *kind = argc < 4 ? NULL : kind_of(argv[1]);
    if (!kind) {
        fprintf(stderr, "usage: bench-flow-steps flow|scratch|random|full|preempt HOSTS TASKS "
                        "[ROUNDS]\n");
        return 2;
    }
    struct bench b = {.kind = kind,
                      .hosts = (uint32_t)atoi(argv[2]),
                      .tasks = (uint32_t)atoi(argv[3]),
                      .rounds = argc > 4 ? (uint32_t)atoi(argv[4]) : 50,
                      .stream = 1};
    uint32_t jobs = b.tasks / MAPS + 1;
    b.n_allocated = 2 * b.tasks;
    b.running = some(b.n_allocated, sizeof(*b.running));
    b.round_ms = some(b.rounds, sizeof(double));
    b.single_ms = some((size_t)b.rounds * SINGLES, sizeof(double));
    b.events = some((size_t)jobs * EVENTS_A_JOB + b.tasks + STOPS_MAX, sizeof(*b.events));
    struct borrowed *borrowed = some(jobs, sizeof(*borrowed));
    begin(&b);
    add_jobs(&b, borrowed, b.tasks);
    b.all_s = 0;
    b.all_at_once_ms = step(&b) + end_stopped(&b);
    for (uint32_t i = 0; i < b.rounds; i++)
        round_of(&b, borrowed);
    print_row(&b);
    script_end(&b.script);
    free(borrowed);
    free(b.running);
    free(b.round_ms);
    free(b.single_ms);
    free(b.events);
    return 0;
}
