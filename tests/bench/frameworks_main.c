/* `make bench-frameworks`: what a framework's facts cost the engine, beside their bars.
 *
 *   the facts of a shuffle of 2 000 × 2 000, cells as rows      ≤ 100 ms
 *   the longest step, half of its reduce tasks running          ≤ 5 ms
 *   objects that are looked at for a fact, at 10 n              ≤ 1.5 × those at n
 *
 * The shuffle's job is one of 100 under joint on 1 000 hosts. Its maps end, its reduce stage is
 * offered with sizes that are guessed, then each map's row comes; then one is corrected in all its
 * cells. Times are CPU times of this thread around engine_step, the median of ROUNDS; the stages
 * and the rows count, the correction is shown. A row that is longer than a message comes in parts:
 * that is another line, and what decoding them takes, which is the wire's, a third.
 *
 * Objects are counted by the engine itself, over all facts of a shuffle's life, from its stages to
 * the end of its tasks, which start on other hosts than they are allowed. The slots are all taken,
 * at n and at 10 n, but for one line: most hosts are idle there, at both. MISS marks what is
 * missed; exit status 1 then. */
#include "controller/engine/policy/presets.h"
#include "lib/wire.h"
#include "tests/model/script.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 5, SIDE = 2000, OTHERS = 99, HOSTS = 1000, SLOTS = 4, PART = 1024, AT_ONCE = 512 };
static const double most_ms = 100, most_step_ms = 5, most_growth = 1.5;

struct size {
    const char *what;
    uint32_t jobs, side, hosts;
};

struct shuffle {
    struct script script;
    uint64_t job, attempts;
    uint32_t side, hosts;
    uint64_t facts;
    uint64_t *row;
    uint32_t *places;
    double cpu_ms, longest_ms;
};

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void step(struct shuffle *s, const struct event *event, uint32_t n)
{
    s->script.now_ns += 1000;
    double before = cpu_ms();
    if (engine_step(s->script.engine, s->script.now_ns, event, n, &s->script.decisions))
        exit(2);
    double took = cpu_ms() - before;
    s->cpu_ms += took;
    s->longest_ms = took > s->longest_ms ? took : s->longest_ms;
}

static void tell(struct shuffle *s, struct event event)
{
    step(s, &event, 1);
    s->facts++;
}

static void tell_stage(struct shuffle *s, uint32_t stage, enum framework_phase phase)
{
    static const uint32_t parent[] = {0}, edge[] = {EDGE_BARRIER};
    struct event event = {.kind = EVENT_FRAMEWORK_STAGE};
    event.framework_stage.job = s->job;
    event.framework_stage.stage = stage;
    event.framework_stage.tasks = s->side;
    event.framework_stage.phase = phase;
    event.framework_stage.demand.amount[RES_SLOTS] = 1;
    event.framework_stage.parents = (struct u32s){parent, stage};
    event.framework_stage.edges = (struct u32s){edge, stage};
    tell(s, event);
}

static void tell_task(struct shuffle *s, enum event_kind kind, uint64_t attempt, uint32_t stage,
                      uint32_t task)
{
    struct event event = {.kind = kind};
    event.framework_task.attempt = UINT64_C(1) << 63 | attempt;
    event.framework_task.job = s->job;
    event.framework_task.stage = stage;
    event.framework_task.task = task;
    event.framework_task.host = task % s->hosts;
    event.framework_task.phase = ATTEMPT_STARTED;
    event.framework_task.resources.amount[RES_SLOTS] = 1;
    tell(s, event);
}

static void run_stage(struct shuffle *s, uint32_t stage)
{
    for (uint32_t t = 0; t < s->side; t++) {
        uint64_t attempt = ++s->attempts;
        tell_task(s, EVENT_FRAMEWORK_STARTED, attempt, stage, t);
        tell_task(s, EVENT_FRAMEWORK_DONE, attempt, stage, t);
    }
}

/* The row's cells from `first` on, as one message could have them, or all. */
static struct event piece(const struct shuffle *s, uint32_t map, uint32_t first, uint32_t n)
{
    struct event event = {.kind = EVENT_FRAMEWORK_BYTES};
    event.framework_bytes.job = s->job;
    event.framework_bytes.stage = 1;
    event.framework_bytes.form = first ? BYTES_CELLS : BYTES_ROW;
    event.framework_bytes.first = map;
    event.framework_bytes.bytes = (struct u64s){s->row + first, n};
    event.framework_bytes.at = (struct u32s){s->places + first, first ? n : 0};
    return event;
}

static void tell_row(struct shuffle *s, uint32_t map, uint64_t least, uint32_t part)
{
    for (uint32_t r = 0; r < s->side; r++)
        s->row[r] = least + (map * 7 + r * 13) % 50000;
    for (uint32_t first = 0; first < s->side; first += part)
        tell(s, piece(s, map, first, s->side - first < part ? s->side - first : part));
}

static void tell_rows(struct shuffle *s, uint32_t part)
{
    for (uint32_t map = 0; map < s->side; map++)
        tell_row(s, map, 1000, part);
}

static void others_submit(struct shuffle *s, uint32_t jobs)
{
    for (s->job = 2; s->job < 2 + jobs; s->job++) {
        const uint32_t side = s->side;
        s->side = 20;
        tell_stage(s, 0, FRAMEWORK_OFFERED);
        tell_stage(s, 1, FRAMEWORK_KNOWN);
        tell_rows(s, s->side);
        s->side = side;
    }
    s->job = 1;
}

/* All slots are taken by tasks of others. `at_once`: tasks changed in a step; 0: no bound. */
static void begin(struct shuffle *s, uint32_t jobs, uint32_t side, uint32_t hosts, uint32_t at_once)
{
    struct engine_config config;
    engine_config_default(&config);
    preset_apply(preset_find("joint"), &config);
    config.hosts_max = hosts;
    config.framework_jobs_max = 10000;
    config.step_tasks_max = at_once;
    *s = (struct shuffle){.job = 1, .side = side, .hosts = hosts};
    s->row = calloc(side + 20, sizeof(*s->row));
    s->places = calloc(side + 20, sizeof(*s->places));
    if (!s->row || !s->places)
        exit(2);
    for (uint32_t r = 0; r < side + 20; r++)
        s->places[r] = r;
    script_begin(&s->script, &config);
    others_submit(s, jobs);
    for (uint32_t h = 0; h < hosts; h++)
        script_host(&s->script, h, SLOTS);
}

static void end(struct shuffle *s)
{
    script_end(&s->script);
    free(s->row);
    free(s->places);
}

/* ---- time ---- */

struct times {
    double announced_ms, rows_ms, corrected_ms;
};

static double lap(struct shuffle *s)
{
    double took = s->cpu_ms;
    s->cpu_ms = 0;
    return took;
}

static struct times shuffle_time(uint32_t part)
{
    struct shuffle s;
    struct times times;
    begin(&s, OTHERS, SIDE, HOSTS, 0);
    lap(&s);
    tell_stage(&s, 0, FRAMEWORK_OFFERED);
    tell_stage(&s, 1, FRAMEWORK_KNOWN);
    times.announced_ms = lap(&s);
    run_stage(&s, 0);
    lap(&s);
    tell_stage(&s, 1, FRAMEWORK_OFFERED);
    times.announced_ms += lap(&s);
    tell_rows(&s, part);
    times.rows_ms = lap(&s);
    tell_row(&s, 0, 1001, part);
    times.corrected_ms = lap(&s);
    end(&s);
    return times;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof(*values), ascending);
    return values[ROUNDS / 2];
}

static bool time_print(const char *what, uint32_t part)
{
    double announced[ROUNDS], rows[ROUNDS], corrected[ROUNDS], all[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        struct times times = shuffle_time(part);
        announced[i] = times.announced_ms;
        rows[i] = times.rows_ms;
        corrected[i] = times.corrected_ms;
        all[i] = times.announced_ms + times.rows_ms;
    }
    double took = median(all);
    printf("%-28s %8.1f ms (bar %.0f)%s: stages %.1f, cells %.1f; a row corrected: %.2f more\n",
           what, took, most_ms, took > most_ms ? " MISS" : "", median(announced), median(rows),
           median(corrected));
    fflush(stdout);
    return took > most_ms;
}

/* The maps' rows and a corrected one while half of the reduce tasks run, with the daemon's bound of
 * a step, until nothing is left to do. */
static double longest_step(void)
{
    struct shuffle s;
    begin(&s, OTHERS, SIDE, HOSTS, AT_ONCE);
    tell_stage(&s, 0, FRAMEWORK_OFFERED);
    tell_stage(&s, 1, FRAMEWORK_KNOWN);
    run_stage(&s, 0);
    tell_stage(&s, 1, FRAMEWORK_OFFERED);
    for (uint32_t t = 0; t < s.side / 2; t++)
        tell_task(&s, EVENT_FRAMEWORK_STARTED, ++s.attempts, 1, t);
    s.longest_ms = 0;
    tell_rows(&s, PART);
    tell_row(&s, 0, 1001, PART);
    while (engine_deadline_ns(s.script.engine) <= s.script.now_ns)
        step(&s, NULL, 0);
    end(&s);
    return s.longest_ms;
}

static bool longest_print(void)
{
    double longest[ROUNDS];
    for (int i = 0; i < ROUNDS; i++)
        longest[i] = longest_step();
    double took = median(longest);
    printf("%-28s %8.1f ms (bar %.0f)%s\n", "the longest step", took, most_step_ms,
           took > most_step_ms ? " MISS" : "");
    fflush(stdout);
    return took > most_step_ms;
}

/* A row's two messages, as often as there are rows. */
static void wire_print(void)
{
    static duopoly_Envelope envelopes[2], again;
    static uint8_t messages[2][WIRE_MAX_BYTES];
    size_t length[2];
    for (uint32_t p = 0; p < 2; p++) {
        duopoly_FrameworkBytes *body =
            &wire_begin(&envelopes[p], duopoly_Envelope_framework_bytes_tag)->body.framework_bytes;
        body->form = p ? duopoly_BytesForm_FORM_CELLS : duopoly_BytesForm_FORM_ROW;
        body->bytes_count = (pb_size_t)(p ? SIDE - PART : PART);
        body->at_count = (pb_size_t)(p ? SIDE - PART : 0);
        for (uint32_t i = 0; i < body->bytes_count; i++) {
            body->bytes[i] = 1000 + i * 13 % 50000;
            body->at[i] = PART + i;
        }
        if (wire_encode(&envelopes[p], messages[p], sizeof(messages[p]), &length[p], NULL) < 0)
            exit(2);
    }
    double before = cpu_ms();
    for (int row = 0; row < SIDE; row++)
        for (int p = 0; p < 2; p++)
            if (wire_decode(messages[p], length[p], &again, NULL) < 0)
                exit(2);
    printf("%-28s %8.1f ms (no bar): %d messages\n", "decoding them", cpu_ms() - before, 2 * SIDE);
}

/* ---- objects ---- */

static double visits_per_fact(struct size size)
{
    struct shuffle s;
    struct engine_counters before, after;
    begin(&s, size.jobs, size.side, size.hosts, 0);
    s.facts = 0;
    engine_counters(s.script.engine, &before);
    tell_stage(&s, 0, FRAMEWORK_OFFERED);
    tell_stage(&s, 1, FRAMEWORK_KNOWN);
    run_stage(&s, 0);
    tell_stage(&s, 1, FRAMEWORK_OFFERED);
    tell_rows(&s, size.side);
    run_stage(&s, 1);
    engine_counters(s.script.engine, &after);
    end(&s);
    return (double)(after.visits - before.visits) / (double)s.facts;
}

static bool growth_print(struct size small, struct size large)
{
    double at_small = visits_per_fact(small), at_large = visits_per_fact(large);
    bool grows = at_large > most_growth * at_small;
    printf("objects a fact, 10 x %-18s %6.2f, then %6.2f: %.2f x (bar %.1f)%s\n", large.what,
           at_small, at_large, at_large / at_small, most_growth, grows ? " MISS" : "");
    return grows;
}

static bool visits_print(void)
{
    const struct size small = {"", 10, 20, 20}, idle = {"", 10, 20, 200};
    bool missed = growth_print(small, (struct size){"tasks of the job", 10, 200, 20});
    missed |= growth_print(small, (struct size){"jobs", 100, 20, 20});
    missed |= growth_print(small, (struct size){"jobs and hosts", 100, 20, 200});
    missed |= growth_print(small, (struct size){"all of them", 100, 200, 200});
    missed |= growth_print(idle, (struct size){"hosts, idle ones", 10, 20, 2000});
    return missed;
}

int main(void)
{
    printf("a shuffle of %d x %d beside %d jobs on %d hosts; CPU time in engine_step\n", SIDE, SIDE,
           OTHERS, HOSTS);
    bool missed = time_print("its facts, a row a fact", SIDE);
    missed |= time_print("as messages have them", PART);
    missed |= longest_print();
    wire_print();
    return visits_print() | missed;
}
