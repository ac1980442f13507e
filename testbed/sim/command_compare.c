/* duopoly-sim compare and sweep: several policies on the same jobs. */
#include "testbed/sim/commands.h"
#include "testbed/sim/experiments.h"
#include "testbed/sim/figure.h"
#include "testbed/sim/grid.h"
#include "testbed/sim/output.h"
#include "testbed/sim/policy_styles.h"

#include <errno.h>
#include <jansson.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEAN  offsetof(struct batch_row, jct.mean)
#define BOUND offsetof(struct batch_row, bound_s)

static const char default_policies[] = "joint,duopoly,duopoly-paper,aalo,neat,neat-fair,fair";
static const char *const own_words[] = {
    "policies", "seeds",  "svg",   "servers",        "slots",        "load",           "compute",
    "map-mb",   "levels", "racks", "estimate-error", "report-delay", "decision-delay", NULL};
enum { WORD_POLICIES, WORD_SEEDS, WORD_SVG, WORD_AXES, WORD_AXES_END = 13 };
static const char axes_text[] =
    "--servers, --slots, --load, --compute, --map-mb, --levels, --racks, --estimate-error, "
    "--report-delay or --decision-delay";
static const char *const flags[] = {"csv", "help", "json", NULL};
enum { FLAG_CSV = 1, FLAG_HELP = 2, FLAG_JSON = 4 };

struct column {
    const char *name;
    size_t offset;
};
static const struct column columns[] = {
    {"mean", MEAN},
    {"median", offsetof(struct batch_row, jct.median)},
    {"p95", offsetof(struct batch_row, jct.p95)},
    {"p99", offsetof(struct batch_row, jct.p99)},
    {"max", offsetof(struct batch_row, jct.max)},
    {"cct-mean", offsetof(struct batch_row, cct.mean)},
    {"cct-p95", offsetof(struct batch_row, cct.p95)},
    {"slot-wait", offsetof(struct batch_row, slot_wait_s)},
    {"held", offsetof(struct batch_row, held_slot_s)},
    {"links", offsetof(struct batch_row, link_use)},
    {"devices", offsetof(struct batch_row, device_use)},
    {"starved", offsetof(struct batch_row, starved)},
    {"bound", BOUND}, /* or an estimate: name_of */
};
enum { COLUMNS = sizeof(columns) / sizeof(columns[0]), SHOWN = COLUMNS - 1 /* bound: a row */ };

/* No axis changes whether a bound is proven. */
static const char *name_of(const struct grid *g, int column)
{
    bool estimate = columns[column].offset == BOUND && !grid_proven(g, 0);
    return estimate ? "estimate" : columns[column].name;
}

/* Some device was used: where there is none, nothing is said of them. */
static bool has_devices(const struct grid *g)
{
    bool used = false;
    for (int p = 0; p < g->n_policies; p++)
        for (int v = 0; v < g->n_values; v++)
            used |= grid_median(g, p, v, offsetof(struct batch_row, device_use)) > 0;
    return used;
}

static bool is_shown(const struct grid *g, int column)
{
    return columns[column].offset != offsetof(struct batch_row, device_use) || has_devices(g);
}

static size_t class_offset(size_t c)
{
    return offsetof(struct batch_row, classes.mean_s) + c * sizeof(double);
}

static void print_csv(const struct grid *g)
{
    printf("policy,%s,seeds", g->option ? g->option : "value");
    for (int c = 0; c < COLUMNS; c++)
        if (is_shown(g, c))
            printf(",%s", name_of(g, c));
    for (int c = 0; c < JOB_CLASSES; c++)
        printf(",\"mean of %s\"", job_class_names[c]);
    putchar('\n');
    for (int p = 0; p < g->n_policies; p++)
        for (int v = 0; v < g->n_values; v++) {
            printf("%s,%s,%d", g->policies[p]->name, g->values[v], g->n_seeds);
            for (int c = 0; c < COLUMNS; c++)
                if (is_shown(g, c))
                    printf(",%.9g", grid_median(g, p, v, columns[c].offset));
            for (size_t c = 0; c < JOB_CLASSES; c++)
                printf(",%.9g", grid_median(g, p, v, class_offset(c)));
            putchar('\n');
        }
}

static void print_value(const struct grid *g, int v)
{
    if (g->option)
        printf("\n%s = %s\n", g->option, g->values[v]);
    printf("%-14s %9s %17s %8s", "policy", "mean", "[least, most]", "ratio");
    for (int c = 1; c < SHOWN; c++)
        if (is_shown(g, c))
            printf(" %9s", columns[c].name);
    putchar('\n');
    double first = grid_median(g, 0, v, MEAN);
    for (int p = 0; p < g->n_policies; p++) {
        double least = 0, most = 0, mean = grid_median(g, p, v, MEAN);
        grid_range(g, p, v, MEAN, &least, &most);
        printf("%-14s %9.2f [%7.2f,%7.2f] %8.3f", g->policies[p]->name, mean, least, most,
               first > 0 ? mean / first : 0);
        for (int c = 1; c < SHOWN; c++)
            if (is_shown(g, c))
                printf(" %9.4g", grid_median(g, p, v, columns[c].offset));
        putchar('\n');
    }
    double least = 0, most = 0, bound = grid_median(g, 0, v, BOUND);
    grid_range(g, 0, v, BOUND, &least, &most);
    printf(
        "%-14s %9.2f [%7.2f,%7.2f] %8.3f  of %s\n", grid_proven(g, v) ? "lower bound" : "estimate",
        bound, least, most, first > 0 ? bound / first : 0,
        grid_proven(g, v) ? "any policy's mean" : "the least mean, no bound: local bytes are free");
}

static void print_classes(const struct grid *g, int v)
{
    printf("\nmean JCT by job size  ");
    for (int c = 0; c < JOB_CLASSES; c++)
        printf(" %10s", job_class_names[c]);
    putchar('\n');
    for (int p = 0; p < g->n_policies; p++) {
        printf("%-22s", g->policies[p]->name);
        for (size_t c = 0; c < JOB_CLASSES; c++)
            printf(" %10.3f", grid_median(g, p, v, class_offset(c)));
        putchar('\n');
    }
}

/* Some of the compared policies may wait for less time: `run` prints each one's. */
static void print_holds(const struct run_setup *setup)
{
    struct engine_config engine;
    engine_config_default(&engine);
    if (setup->hold_max_ns)
        engine.hold_max_ns = setup->hold_max_ns;
    run_setup_print_holds(&engine, stdout);
    putchar('\n');
}

static void print_tables(const struct grid *g, const struct run_setup *setup)
{
    printf("medians over %d seeds; times in s; ratio: mean JCT over %s's; held: free slots x time "
           "while a task was held back\n",
           g->n_seeds, g->policies[0]->name);
    print_holds(setup);
    for (int v = 0; v < g->n_values; v++) {
        print_value(g, v);
        print_classes(g, v);
    }
}

static json_t *value_json(const struct grid *g, int p, int v)
{
    double least = 0, most = 0;
    json_t *row = json_pack("{s:s, s:i}", "policy", g->policies[p]->name, "seeds", g->n_seeds);
    json_t *classes = json_object();
    if (g->option)
        json_object_set_new(row, g->option, json_string(g->values[v]));
    for (int c = 0; c < COLUMNS; c++)
        if (is_shown(g, c))
            json_object_set_new(row, name_of(g, c),
                                json_real(grid_median(g, p, v, columns[c].offset)));
    grid_range(g, p, v, MEAN, &least, &most);
    json_object_set_new(row, "mean-least", json_real(least));
    json_object_set_new(row, "mean-most", json_real(most));
    for (size_t c = 0; c < JOB_CLASSES; c++)
        json_object_set_new(classes, job_class_names[c],
                            json_real(grid_median(g, p, v, class_offset(c))));
    json_object_set_new(row, "classes", classes);
    return row;
}

static int print_json(const struct grid *g, struct err *err)
{
    json_t *rows = json_array();
    for (int p = 0; p < g->n_policies; p++)
        for (int v = 0; v < g->n_values; v++)
            json_array_append_new(rows, value_json(g, p, v));
    int failed = !rows || json_dumpf(rows, stdout, JSON_COMPACT | JSON_REAL_PRECISION(15)) ||
                 putchar('\n') == EOF;
    json_decref(rows);
    return failed ? err_set(err, EIO, "cannot write the results") : 0;
}

/* The share of jobs over their times: at each share the median over the seeds. */
static void write_cdf(const struct grid *g, FILE *out)
{
    static double part[BATCH_QUANTILES], jct_s[FIGURE_SERIES][BATCH_QUANTILES];
    struct figure f = {.kind = FIGURE_STEPS,
                       .title = "Job completion times",
                       .x_name = "JCT, s",
                       .y_name = "part of the jobs",
                       .log_x = true,
                       .top = 1};
    for (size_t q = 0; q < BATCH_QUANTILES; q++)
        part[q] = (double)q / (BATCH_QUANTILES - 1);
    for (; f.n_series < g->n_policies && f.n_series < FIGURE_SERIES; f.n_series++) {
        int p = f.n_series;
        for (size_t q = 0; q < BATCH_QUANTILES; q++) {
            jct_s[p][q] =
                grid_median(g, p, 0, offsetof(struct batch_row, jct_s) + q * sizeof(double));
            f.log_x = f.log_x && jct_s[p][q] > 0;
        }
        f.series[p] = (struct figure_series){g->policies[p]->name,
                                             policy_style(g->policies[p]->name),
                                             BATCH_QUANTILES,
                                             jct_s[p],
                                             part,
                                             NULL,
                                             NULL};
    }
    figure_write(&f, out);
}

static const char *axis_name(const char *option)
{
    static const char *const names[][2] = {{"slots", "slots per server"},
                                           {"load", "factor on all bytes"},
                                           {"compute", "bytes/s computed per slot"},
                                           {"map-mb", "most bytes of a map, MB of 2^20"},
                                           {"levels", "levels of priority"},
                                           {"estimate-error", "sigma of the estimates' error"},
                                           {"report-delay", "delay of reports, s"},
                                           {"decision-delay", "delay of decisions, s"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(names[i][0], option) == 0)
            return names[i][1];
    return option;
}

static void write_sweep(const struct grid *g, FILE *out)
{
    static double x[GRID_MAX], y[FIGURE_SERIES][GRID_MAX], least[FIGURE_SERIES][GRID_MAX],
        most[FIGURE_SERIES][GRID_MAX];
    struct figure f = {.kind = FIGURE_LINES,
                       .title = "Mean job completion time",
                       .x_name = axis_name(g->option),
                       .y_name = "mean JCT, s"};
    for (int v = 0; v < g->n_values; v++)
        x[v] = experiment_number(g->values[v]);
    for (; f.n_series < g->n_policies && f.n_series < FIGURE_SERIES; f.n_series++) {
        int p = f.n_series;
        for (int v = 0; v < g->n_values; v++) {
            y[p][v] = grid_median(g, p, v, MEAN);
            grid_range(g, p, v, MEAN, &least[p][v], &most[p][v]);
        }
        f.series[p] = (struct figure_series){g->policies[p]->name,
                                             policy_style(g->policies[p]->name),
                                             (size_t)g->n_values,
                                             x,
                                             y[p],
                                             least[p],
                                             most[p]};
    }
    figure_write(&f, out);
}

static int write_svg(const struct grid *g, const char *path, struct err *err)
{
    struct output output;
    int r = path ? output_open(&output, path, err) : 0;
    if (!path || r)
        return r;
    if (g->option)
        write_sweep(g, output.file);
    else
        write_cdf(g, output.file);
    return output_close(&output, err);
}

/* An axis is an option with a list; one with a single value is that option. */
static int read_axes(const struct run_arguments *given, struct run_setup *setup, struct grid *grid,
                     struct err *err)
{
    int r = 0;
    for (int w = WORD_AXES; w < WORD_AXES_END && !r; w++) {
        const char *value = given->value[w];
        if (!value)
            continue;
        if (!strchr(value, ','))
            r = run_setup_set(setup, own_words[w], value, err);
        else if (grid->option)
            r = err_set(err, EINVAL, "--%s and --%s are both lists; give one", grid->option,
                        own_words[w]);
        else
            r = grid_set_values(grid, own_words[w], value, err);
    }
    return r;
}

static int read_all(const struct run_arguments *given, struct grid *grid, bool needs_axis,
                    int *ret_seeds, struct err *err)
{
    const char *policies = given->value[WORD_POLICIES];
    int r = read_axes(given, given->setup, grid, err);
    r = r ? r : grid_read_seeds(given->value[WORD_SEEDS], 5, ret_seeds, err);
    r = r ? r : grid_set_policies(grid, policies ? policies : default_policies, err);
    if (!r && (given->set & (FLAG_CSV | FLAG_JSON)) == (FLAG_CSV | FLAG_JSON))
        r = err_set(err, EINVAL, "give --json or --csv, not both");
    if (!r && needs_axis && !grid->option)
        r = err_set(err, EINVAL, "give a list for %s", axes_text);
    if (!r && given->value[WORD_SVG] && grid->n_policies > FIGURE_SERIES)
        r = err_set(err, EINVAL, "--svg shows at most %d policies", FIGURE_SERIES);
    if (!r && !given->setup->path)
        r = err_set(err, EINVAL, "give --trace FILE or --workload FILE");
    return r;
}

static int print_grid(const struct run_arguments *given, const struct grid *grid, struct err *err)
{
    int r = write_svg(grid, given->value[WORD_SVG], err);
    if (r)
        return r;
    if (given->set & FLAG_JSON)
        return print_json(grid, err);
    if (given->set & FLAG_CSV)
        print_csv(grid);
    else
        print_tables(grid, given->setup);
    return fflush(stdout) ? err_sys(err, errno, "cannot write the results") : 0;
}

static int print_usage(const char *command)
{
    printf(
        "usage: duopoly-sim %s [--policies A,B,...] [--seeds N] [--json|--csv] [--svg FILE.svg] "
        "OPTIONS\n      of these one of %s\n      may be a list: A,B,...; the picture then shows "
        "the mean JCT along it, else the CDF of all jobs\n      %s\n",
        command, axes_text, run_setup_usage);
    return 0;
}

/* Checks before any simulation that the workload can be read and the picture written. */
static int try_files(const struct run_arguments *given, struct err *err)
{
    struct run_inputs in = {0};
    int r = run_inputs_read(given->setup, &in, err);
    run_inputs_done(&in);
    return r ? r : output_try(given->value[WORD_SVG], err);
}

static int run_grid(int argc, char **argv, const char *command, bool needs_axis)
{
    struct run_setup setup;
    struct run_arguments given = {.setup = &setup, .flags = flags, .values = own_words};
    struct grid grid = {0}, *const all = &grid;
    struct err err = {0};
    int seeds = 0, status = 2;
    run_setup_init(&setup);
    int r = run_arguments_read(&given, argc, argv, &err);
    if (!r && given.set & FLAG_HELP)
        return print_usage(command);
    r = r ? r : read_all(&given, &grid, needs_axis, &seeds, &err);
    r = r ? r : grid_prepare(&grid, &setup, seeds, &err);
    if (!r) {
        r = try_files(&given, &err);
        status = r == -EINVAL ? 2 : 1;
        r = r ? r : grid_run(&all, 1, &err);
    }
    r = r ? r : print_grid(&given, &grid, &err);
    if (r)
        fprintf(stderr, "duopoly-sim: %s\n", err.text);
    grid_done(&grid);
    return r ? status : 0;
}

static int run_compare(int argc, char **argv)
{
    return run_grid(argc, argv, "compare", false);
}

static int run_sweep(int argc, char **argv)
{
    return run_grid(argc, argv, "sweep", true);
}

const struct command command_compare = {
    .name = "compare",
    .what = "several policies on several seeds, on all cores: medians and ratios",
    .usage = "compare [--policies A,B,...] [--seeds N] [--json|--csv] [--svg FILE] OPTIONS of run",
    .run = run_compare,
};

const struct command command_sweep = {
    .name = "sweep",
    .what = "the same over a list of servers, slots, loads or compute rates",
    .usage =
        "sweep --servers|--slots|--load|--compute|... A,B,... [--policies A,B,...] [--seeds N]\n"
        "      [--json|--csv] [--svg FILE] OPTIONS of run",
    .run = run_sweep,
};
