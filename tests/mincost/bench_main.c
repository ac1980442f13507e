/* `make bench-mcmf`: the library against LEMON on Quincy-like graphs, in one run on one machine.
 *
 * Times are CPU milliseconds of this thread: ours of applying the changes and solving, LEMON's of
 * run() alone. The ratios decide; absolute figures depend on the machine and on what else runs
 * there. Every target is printed with what was measured, and MISS with by how much when it is not
 * met. Exit 0 also with misses, 1 when an answer is wrong.
 *
 * A row is printed when it is done; all take about ten minutes, nearly all of it LEMON's on the
 * large graphs.
 *
 *   bench-mcmf [ROUNDS [ROW]]    measured rounds per row (default 9, at least 8; single events
 *                                300); one row only, counted from 1 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/mincost/mincost.h"
#include "tests/mincost/queue_scheduler.h"
#include "tests/mincost/quincy.h"

enum { MOST_ROUNDS = 1000, EVENT_ROUNDS = 300, WARM_ROUNDS = 3, LEMON_ROUNDS = 8, COLD_ROUNDS = 3 };

enum life { LIFE_CHURN, LIFE_EVENT, LIFE_AGE };

struct times {
    double ms[MOST_ROUNDS];
    unsigned count;
};

struct row {
    const char *name;
    uint32_t machines, tasks;
    enum life life;
    uint32_t per_mille;
    double most_ms, least_ns_ratio, least_cs_ratio; /* targets, 0 = none */
    bool with_lemon; /* LEMON solves the first LEMON_ROUNDS rounds too; the other rows' graphs are
                        among these */
    double cold_most_ms;
    uint32_t popular_percent;
};

static const struct row rows[] = {
    {"10k/20k, 1 %", 10000, 20000, LIFE_CHURN, 10, 1.0, 30, 100, true, 0, 0},
    {"10k/100k, 1 %", 10000, 100000, LIFE_CHURN, 10, 10, 50, 300, true, 0, 0},
    {"10k/100k, 5 %", 10000, 100000, LIFE_CHURN, 50, 45, 0, 0, false, 0, 0},
    {"12.5k/150k saturated, 1 %", 12500, 150000, LIFE_CHURN, 10, 40, 180, 0, true, 2500, 0},
    {"12.5k/150k saturated, 5 %", 12500, 150000, LIFE_CHURN, 50, 150, 0, 0, false, 0, 0},
    {"10k/150k at 125 %, 1 %", 10000, 150000, LIFE_CHURN, 10, 250, 0, 0, true, 0, 0},
    {"one event, 10k/100k", 10000, 100000, LIFE_EVENT, 0, 0.2, 0, 0, false, 0, 0},
    {"all running tasks age, 10k/50k", 10000, 50000, LIFE_AGE, 0, 12, 0, 0, true, 0, 0},
    {"beside: 10k/100k, 1 %, half of the tasks want three machines of ten", 10000, 100000,
     LIFE_CHURN, 10, 0, 0, 0, true, 0, 50},
};

struct bench {
    const struct row *row;
    struct quincy *q;
    struct mincost *problem;
    struct times ours, apply, certify, simplex, scaling, full_queue, sampled_queue;
    unsigned fallbacks, misses;
    bool wrong;
};

static double ms_since(int64_t start_ns)
{
    return (double)(cpu_now_ns() - start_ns) / 1e6;
}

static void note(struct times *times, double ms)
{
    if (times->count < MOST_ROUNDS)
        times->ms[times->count++] = ms;
}

static int compare_ms(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* The value that `share` of all are not above; sorts. */
static double quantile(struct times *times, double share)
{
    if (!times->count)
        return 0;
    qsort(times->ms, times->count, sizeof *times->ms, compare_ms);
    unsigned i = (unsigned)(share * times->count);
    return times->ms[i < times->count ? i : times->count - 1];
}

/* Prints one target. `good` is how much better than it, 1 = just met. */
static void judge(struct bench *bench, const char *what, double measured, const char *unit,
                  double target, bool at_most)
{
    double good = measured > 0 ? at_most ? target / measured : measured / target : 1e9;
    printf("  %-44s %10.3f %-6s %s %.4g: ", what, measured, unit, at_most ? "<=" : ">=", target);
    if (good >= 1)
        printf("met\n");
    else
        printf("MISS by %.2fx\n", 1 / good);
    bench->misses += good < 1;
}

static void check(struct bench *bench, bool right, const char *what)
{
    if (right)
        return;
    printf("  WRONG: %s\n", what);
    bench->wrong = true;
}

static void run_lemon(struct bench *bench, enum lemon_solver solver, struct times *times)
{
    int64_t cost = 0, cpu_ns;
    bool feasible = lemon_solve(quincy_plain(bench->q), solver, &cost, &cpu_ns);
    check(bench, feasible && cost == mincost_cost(bench->problem), "LEMON finds another cost");
    note(times, (double)cpu_ns / 1e6);
}

static void run_queues(struct bench *bench)
{
    for (int sampled = 0; sampled <= 1; sampled++) {
        struct queue_scheduler *scheduler = queue_scheduler_create(bench->q);
        int64_t start = cpu_now_ns();
        int64_t cost = queue_scheduler_place(scheduler, bench->q, sampled ? 50 : 0);
        note(sampled ? &bench->sampled_queue : &bench->full_queue, ms_since(start));
        check(bench, cost > 0, "the queue scheduler placed nothing");
        queue_scheduler_destroy(scheduler);
    }
}

static void next_round(struct bench *bench)
{
    switch (bench->row->life) {
    case LIFE_CHURN:
        quincy_churn_round(bench->q, bench->row->per_mille);
        break;
    case LIFE_EVENT:
        quincy_event_round(bench->q);
        break;
    case LIFE_AGE:
        quincy_age_round(bench->q);
        break;
    }
}

static void run_round(struct bench *bench, bool measured)
{
    const struct changes *changes = quincy_changes(bench->q);
    struct mincost_certificate certificate;
    struct mincost_stats stats;
    int64_t start = cpu_now_ns();
    if (mincost_apply(bench->problem, changes->items, changes->count, NULL))
        abort();
    double apply_ms = ms_since(start);
    int r = mincost_solve(bench->problem);
    double all_ms = ms_since(start);
    start = cpu_now_ns();
    check(bench, !r && mincost_certify(bench->problem, &certificate), "no certificate");
    if (!measured)
        return;
    note(&bench->certify, ms_since(start));
    note(&bench->apply, apply_ms);
    note(&bench->ours, all_ms);
    mincost_get_stats(bench->problem, &stats);
    bench->fallbacks += (unsigned)stats.fallbacks;
    if (!bench->row->with_lemon || bench->simplex.count == LEMON_ROUNDS)
        return;
    run_lemon(bench, LEMON_NETWORK_SIMPLEX, &bench->simplex);
    run_lemon(bench, LEMON_COST_SCALING, &bench->scaling);
}

/* The problem of the last round, solved once by a fresh object. */
static double time_fresh(struct bench *bench, const char *algorithm,
                         struct mincost_stats *ret_stats)
{
    const struct plain *plain = quincy_plain(bench->q);
    struct mincost *cold;
    if (mincost_create(plain->max_node, plain->max_arc, &cold) ||
        mincost_set_algorithm(cold, algorithm))
        abort();
    for (uint32_t v = 1; v <= plain->max_node; v++)
        if (plain->node_there[v] && mincost_set_node(cold, v, plain->supply[v]))
            abort();
    for (uint32_t a = 1; a <= plain->max_arc; a++) {
        const struct plain_arc *arc = &plain->arcs[a];
        if (arc->tail &&
            mincost_add_arc(cold, a, arc->tail, arc->head, arc->lower, arc->capacity, arc->cost))
            abort();
    }
    int64_t start = cpu_now_ns();
    int r = mincost_solve(cold);
    double ms = ms_since(start);
    mincost_get_stats(cold, ret_stats);
    check(bench, !r && mincost_cost(cold) == mincost_cost(bench->problem),
          "from scratch finds another cost");
    mincost_destroy(cold);
    return ms;
}

/* Median of COLD_ROUNDS. */
static double time_cold(struct bench *bench, const char *algorithm)
{
    struct times times = {.count = 0};
    struct mincost_stats stats;
    for (unsigned i = 0; i < COLD_ROUNDS; i++)
        note(&times, time_fresh(bench, algorithm, &stats));
    double ms = quantile(&times, 0.5);
    printf("  from scratch, %s: median %.1f ms (least %.1f)%s%s%s\n", algorithm, ms,
           quantile(&times, 0), strcmp(algorithm, stats.algorithm) ? " by " : "",
           strcmp(algorithm, stats.algorithm) ? stats.algorithm : "",
           stats.fallbacks ? " (after a budget)" : "");
    fflush(stdout);
    return ms;
}

static void judge_ratios(struct bench *bench, double ours)
{
    const struct row *row = bench->row;
    double simplex = quantile(&bench->simplex, 0.5), scaling = quantile(&bench->scaling, 0.5);
    if (simplex > 0)
        printf("  LEMON NetworkSimplex %.1f ms (%.0fx), CostScaling %.1f ms (%.0fx)\n", simplex,
               simplex / ours, scaling, scaling / ours);
    if (row->least_ns_ratio > 0)
        judge(bench, "NetworkSimplex / ours", simplex / ours, "x", row->least_ns_ratio, false);
    if (row->least_cs_ratio > 0)
        judge(bench, "CostScaling / ours", scaling / ours, "x", row->least_cs_ratio, false);
    if (simplex <= 0)
        return;
    time_cold(bench, "scaling");
    if (row->tasks < row->machines * 12) /* where many compete it takes minutes */
        time_cold(bench, "relax");
    double cold = time_cold(bench, "auto"), best = simplex < scaling ? simplex : scaling;
    judge(bench, "from scratch / better of NS and CS", cold / best, "x", 1, true);
    if (row->cold_most_ms > 0)
        judge(bench, "from scratch", cold, "ms", row->cold_most_ms, true);
    if (row->tasks > row->machines * 12)
        judge(bench, "worst round / from scratch", quantile(&bench->ours, 1) / cold, "x", 1.2,
              true);
}

static void judge_row(struct bench *bench)
{
    double ours = quantile(&bench->ours, 0.5);
    struct mincost_stats stats;
    mincost_get_stats(bench->problem, &stats);
    printf("  apply + solve: median %.3f (apply %.3f), least %.3f, worst %.3f ms in %u rounds, %u "
           "fallbacks\n",
           ours, quantile(&bench->apply, 0.5), quantile(&bench->ours, 0), quantile(&bench->ours, 1),
           bench->ours.count, bench->fallbacks);
    if (bench->row->most_ms > 0)
        judge(bench, "apply + solve, median", ours, "ms", bench->row->most_ms, true);
    if (bench->row->life == LIFE_EVENT)
        judge(bench, "apply + solve, p99", quantile(&bench->ours, 0.99), "ms", 1, true);
    judge_ratios(bench, ours);
    double arcs = (double)stats.arcs, nodes = (double)stats.nodes;
    judge(bench, "memory beside 64 B per node, per arc",
          ((double)mincost_memory_bytes(bench->problem) - 64 * nodes) / arcs, "B", 64, true);
    judge(bench, "certificate per million arcs", quantile(&bench->certify, 0.5) * 1e6 / arcs, "ms",
          15, true);
    if (bench->full_queue.count) {
        double full = quantile(&bench->full_queue, 0.5);
        judge(bench, "queue scheduler that scores all / ours", full / ours, "x", 1, false);
        printf("  queue scheduler: all machines %.3f ms, a sample of 50 %.3f ms (ours / it %.2f)\n",
               full, quantile(&bench->sampled_queue, 0.5),
               ours / quantile(&bench->sampled_queue, 0.5));
    }
}

/* Returns the number of missed targets. */
static unsigned run_row(const struct row *row, unsigned rounds, bool *ret_wrong)
{
    struct bench *bench = calloc(1, sizeof *bench);
    struct quincy_shape shape = {row->machines, row->tasks, 40, 12, 100, 7, row->popular_percent};
    if (!bench || mincost_create(0, 0, &bench->problem))
        abort();
    bench->row = row;
    bench->q = quincy_create(&shape);
    quincy_first_round(bench->q);
    printf("%s\n", row->name);
    fflush(stdout);
    int64_t start = cpu_now_ns();
    for (unsigned round = 0; round < WARM_ROUNDS + rounds; round++) {
        run_round(bench, round >= WARM_ROUNDS);
        quincy_observe(bench->q, bench->problem);
        if (round == 0 || round + 1 == WARM_ROUNDS + rounds) {
            printf("  %s: ", round ? "last round " : "first round");
            quincy_print_statistics(bench->q, stdout);
        }
        if (round + 1 < WARM_ROUNDS + rounds) {
            next_round(bench);
            if (row->tasks == 20000)
                run_queues(bench);
        }
    }
    judge_row(bench);
    printf("  this row took %.0f s\n", ms_since(start) / 1e3);
    fflush(stdout);
    unsigned misses = bench->misses;
    *ret_wrong |= bench->wrong;
    mincost_destroy(bench->problem);
    quincy_destroy(bench->q);
    free(bench);
    return misses;
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 9, misses = 0;
    size_t row_count = sizeof rows / sizeof *rows, only = argc > 2 ? (size_t)atoi(argv[2]) : 0;
    bool wrong = false;
    if (rounds < 8 || rounds > MOST_ROUNDS || only > row_count) {
        fprintf(stderr, "usage: bench-mcmf [ROUNDS [ROW]], from 8 to %d, from 1 to %zu\n",
                MOST_ROUNDS, row_count);
        return 2;
    }
    for (size_t i = only ? only - 1 : 0; i < (only ? only : row_count); i++)
        misses += run_row(&rows[i], rows[i].life == LIFE_EVENT ? EVENT_ROUNDS : rounds, &wrong);
    printf("%u targets missed%s\n", misses, wrong ? ", and a result was WRONG" : "");
    return wrong;
}
