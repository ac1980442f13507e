/* duopoly-sim compare and sweep: several policies on the same jobs. */
#include "testbed/sim/commands.h"
#include "testbed/sim/grid.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEAN offsetof(struct batch_row, jct.mean)

static const char default_policies[] = "duopoly,duopoly-paper,aalo,neat,neat-fair,fair";
static const char *const own_words[] = {"policies", "seeds",   "servers", "slots",
                                        "load",     "compute", NULL};
enum { WORD_POLICIES, WORD_SEEDS, WORD_AXES, WORD_AXES_END = 6 };
static const char *const flags[] = {"csv", "help", NULL};
enum { FLAG_CSV = 1, FLAG_HELP = 2 };

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
    {"slot-wait", offsetof(struct batch_row, slot_wait_s)},
    {"held", offsetof(struct batch_row, held_slot_s)},
    {"links", offsetof(struct batch_row, link_use)},
    {"starved", offsetof(struct batch_row, starved)},
};
enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

static void print_csv(const struct grid *g)
{
    printf("policy,%s,seeds", g->option ? g->option : "value");
    for (int c = 0; c < COLUMNS; c++)
        printf(",%s", columns[c].name);
    for (int c = 0; c < JOB_CLASSES; c++)
        printf(",\"mean of %s\"", job_class_names[c]);
    putchar('\n');
    for (int p = 0; p < g->n_policies; p++)
        for (int v = 0; v < g->n_values; v++) {
            printf("%s,%s,%d", g->policies[p]->name, g->values[v], g->n_seeds);
            for (int c = 0; c < COLUMNS; c++)
                printf(",%.9g", grid_median(g, p, v, columns[c].offset));
            for (size_t c = 0; c < JOB_CLASSES; c++)
                printf(",%.9g", grid_median(g, p, v,
                                            offsetof(struct batch_row, classes.mean_s) +
                                                c * sizeof(double)));
            putchar('\n');
        }
}

static void print_value(const struct grid *g, int v)
{
    if (g->option)
        printf("\n%s = %s\n", g->option, g->values[v]);
    printf("%-14s %9s %17s %8s", "policy", "mean", "[least, most]", "ratio");
    for (int c = 1; c < COLUMNS; c++)
        printf(" %9s", columns[c].name);
    putchar('\n');
    double first = grid_median(g, 0, v, MEAN);
    for (int p = 0; p < g->n_policies; p++) {
        double least = 0, most = 0, mean = grid_median(g, p, v, MEAN);
        grid_range(g, p, v, MEAN, &least, &most);
        printf("%-14s %9.2f [%7.2f,%7.2f] %8.3f", g->policies[p]->name, mean, least, most,
               first > 0 ? mean / first : 0);
        for (int c = 1; c < COLUMNS; c++)
            printf(" %9.4g", grid_median(g, p, v, columns[c].offset));
        putchar('\n');
    }
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
            printf(" %10.3f",
                   grid_median(g, p, v,
                               offsetof(struct batch_row, classes.mean_s) + c * sizeof(double)));
        putchar('\n');
    }
}

static void print_tables(const struct grid *g)
{
    printf("medians over %d seeds; times in s; ratio: mean JCT over %s's; held: free slots x time "
           "while a task was held back\n",
           g->n_seeds, g->policies[0]->name);
    for (int v = 0; v < g->n_values; v++) {
        print_value(g, v);
        print_classes(g, v);
    }
}

/* An axis is an option with a list; one with a single value is that option. */
static int read_axes(const struct run_arguments *given, struct run_setup *setup, struct grid *grid,
                     struct err *err)
{
    int rc = 0;
    for (int w = WORD_AXES; w < WORD_AXES_END && !rc; w++) {
        const char *value = given->value[w];
        if (!value)
            continue;
        if (!strchr(value, ','))
            rc = run_setup_set(setup, own_words[w], value, err);
        else if (grid->option)
            rc = err_set(err, EINVAL, "--%s and --%s are both lists; give one", grid->option,
                         own_words[w]);
        else
            rc = grid_set_values(grid, own_words[w], value, err);
    }
    return rc;
}

static int read_seeds(const char *value, int *ret, struct err *err)
{
    char *end;
    long n = value ? strtol(value, &end, 10) : 5;
    if ((value && *end) || n < 1 || n > GRID_SEEDS_MAX)
        return err_set(err, EINVAL, "--seeds takes a number from 1 to %d, not '%s'", GRID_SEEDS_MAX,
                       value);
    *ret = (int)n;
    return 0;
}

static int run_grid(int argc, char **argv, const char *command, bool needs_axis)
{
    struct run_setup setup;
    struct run_arguments given = {.setup = &setup, .flags = flags, .values = own_words};
    struct grid grid = {0};
    struct err err = {0};
    int seeds = 0, status = 2;
    run_setup_init(&setup);
    if (run_arguments_read(&given, argc, argv, &err) || read_axes(&given, &setup, &grid, &err) ||
        read_seeds(given.value[WORD_SEEDS], &seeds, &err) ||
        grid_set_policies(
            &grid, given.value[WORD_POLICIES] ? given.value[WORD_POLICIES] : default_policies,
            &err))
        goto fail;
    if (given.set & FLAG_HELP) {
        printf(
            "usage: duopoly-sim %s [--policies A,B,…] [--seeds N] [--csv] OPTIONS\n      of these "
            "--servers, --slots, --load and --compute may be a list: A,B,…\n      %s\n",
            command, run_setup_usage);
        return 0;
    }
    if (needs_axis && !grid.option) {
        err_set(&err, EINVAL, "give a list for --servers, --slots, --load or --compute");
        goto fail;
    }
    status = 1;
    if (grid_run(&grid, &setup, seeds, &err))
        goto fail;
    if (given.set & FLAG_CSV)
        print_csv(&grid);
    else
        print_tables(&grid);
    grid_done(&grid);
    return fflush(stdout) ? 1 : 0;
fail:
    fprintf(stderr, "duopoly-sim: %s\n", err.text);
    grid_done(&grid);
    return status;
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
    .usage = "compare [--policies A,B,...] [--seeds N] [--csv] OPTIONS of run",
    .run = run_compare,
};

const struct command command_sweep = {
    .name = "sweep",
    .what = "the same over a list of servers, slots, loads or compute rates",
    .usage = "sweep --servers|--slots|--load|--compute A,B,... [--policies A,B,...] [--seeds N] "
             "[--csv] OPTIONS of run",
    .run = run_sweep,
};
