/* duopoly-sim figures: the source's figs 6 to 12 from our simulations, its percentages beside ours.
 */
#include "testbed/sim/commands.h"
#include "testbed/sim/figure.h"
#include "testbed/sim/grid.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEAN offsetof(struct batch_row, jct.mean)
#define P99  offsetof(struct batch_row, jct.p99)

/* The smallest gains in % that the source prints, mean and tail, against Aalo and NEAT; NAN: it
 * prints none. */
struct claim {
    double mean_aalo, mean_neat, tail_aalo, tail_neat;
};

struct experiment {
    const char *title, *option, *values, *x_name, *policies, *fixed_option, *fixed;
    struct claim claim;
    bool bars;
};

static const char four[] = "duopoly,duopoly-i,aalo,neat";
static const struct experiment experiments[] = {
    {"Fig. 6: each part replaced by a plain one (64 levels)",
     NULL,
     NULL,
     "",
     "duopoly-i,duopoly-ic,duopoly-im,duopoly-if,duopoly-ia",
     NULL,
     NULL,
     {NAN, NAN, NAN, NAN},
     true},
    {"Fig. 7: size of the cluster",
     "servers",
     "30,50,70,100,150",
     "servers",
     four,
     NULL,
     NULL,
     {38.00, 37.30, NAN, NAN},
     false},
    {"Fig. 8: slots per server",
     "slots",
     "2,4,6,8,10,14",
     "slots",
     four,
     NULL,
     NULL,
     {38.40, 47.05, 1.74, 14.72},
     false},
    {"Fig. 9: network load",
     "load",
     "0.4,0.6,0.8,1,1.2,1.4",
     "factor on all bytes",
     four,
     NULL,
     NULL,
     {43.51, 41.13, 18.21, 10.84},
     false},
    {"Fig. 10: compute rate",
     "compute",
     "200M,600M,1G,1400M,1800M",
     "bytes/s per slot",
     four,
     NULL,
     NULL,
     {37.65, 38.55, 20.54, 15.61},
     false},
    {"Fig. 11: 64 servers in 4 racks, 4:1 oversubscribed",
     "racks",
     "4",
     "racks",
     four,
     "servers",
     "64",
     {NAN, NAN, NAN, NAN},
     true},
    {"Fig. 11: 128 servers in 8 racks, 4:1 oversubscribed",
     "racks",
     "8",
     "racks",
     four,
     "servers",
     "128",
     {NAN, NAN, NAN, NAN},
     true},
    {"Fig. 12: job order",
     "turn",
     "sjf,fair",
     "job order",
     four,
     NULL,
     NULL,
     {NAN, NAN, NAN, NAN},
     true},
    {0},
};

static const char *const own_words[] = {"output", "seeds", "figures", NULL};
enum { WORD_OUTPUT, WORD_SEEDS, WORD_FIGURES };

static void chart(const struct grid *g, const struct experiment *e, size_t offset, const char *what,
                  FILE *out)
{
    struct figure f = {.title = e->title,
                       .x_name = e->x_name,
                       .y_name = what,
                       .n_lines = g->n_policies,
                       .n_points = g->n_values,
                       .bars = e->bars};
    for (int v = 0; v < g->n_values; v++)
        f.labels[v] = g->values[v];
    for (int p = 0; p < g->n_policies; p++) {
        f.names[p] = g->policies[p]->name;
        for (int v = 0; v < g->n_values; v++)
            f.y[p][v] = grid_median(g, p, v, offset);
    }
    figure_write(&f, out);
}

static void cell(FILE *out, double x)
{
    if (isnan(x))
        fprintf(out, "<td>not given</td>");
    else
        fprintf(out, "<td>%.2f</td>", x);
}

static double least_gain(const struct grid *g, int theirs, size_t offset)
{
    double least = INFINITY;
    for (int v = 0; v < g->n_values; v++)
        least =
            fmin(least, grid_gain(grid_median(g, 0, v, offset), grid_median(g, theirs, v, offset)));
    return least;
}

/* Against the last two policies, which are Aalo and NEAT. */
static void gains(const struct grid *g, const struct claim *claim, FILE *out)
{
    const double source[2][2] = {{claim->mean_aalo, claim->mean_neat},
                                 {claim->tail_aalo, claim->tail_neat}};
    static const char *const rows[] = {"mean JCT", "p99 JCT"};
    fprintf(out, "<table><tr><th>smallest gain, %%</th><th>Aalo: source</th><th>ours</th>"
                 "<th>NEAT: source</th><th>ours</th></tr>\n");
    for (int r = 0; r < 2; r++) {
        fprintf(out, "<tr><td>%s</td>", rows[r]);
        for (int b = 0; b < 2; b++) {
            double ours = least_gain(g, g->n_policies - 2 + b, r ? P99 : MEAN);
            cell(out, source[r][b]);
            fprintf(out, "<td%s>%.2f</td>",
                    !isnan(source[r][b]) && ours < source[r][b] ? " class='missed'" : "", ours);
        }
        fprintf(out, "</tr>\n");
    }
    fprintf(out, "</table>\n");
}

static void ablations(const struct grid *g, FILE *out)
{
    fprintf(out, "<table><tr><th></th><th>mean JCT, s</th><th>times the full one (source: 1.08 to "
                 "1.25)</th>");
    for (int c = 0; c < JOB_CLASSES; c++)
        fprintf(out, "<th>%s%s</th>", strncmp(job_class_names[c], "<", 1) ? "" : "under ",
                strspn(job_class_names[c], "<>= ") + job_class_names[c]);
    fprintf(out, "</tr>\n");
    for (int p = 0; p < g->n_policies; p++) {
        double mean = grid_median(g, p, 0, MEAN);
        fprintf(out, "<tr><td>%s</td><td>%.2f</td><td>%.3f</td>", g->policies[p]->name, mean,
                mean / grid_median(g, 0, 0, MEAN));
        for (size_t c = 0; c < JOB_CLASSES; c++)
            fprintf(out, "<td>%.3f</td>",
                    grid_median(g, p, 0,
                                offsetof(struct batch_row, classes.mean_s) + c * sizeof(double)));
        fprintf(out, "</tr>\n");
    }
    fprintf(out, "</table>\n");
}

static int experiment(const struct experiment *e, const struct run_setup *base, int seeds,
                      FILE *out, struct err *err)
{
    struct grid grid = {0};
    struct run_setup setup = *base;
    int rc = grid_set_policies(&grid, e->policies, err);
    if (!rc && e->option)
        rc = grid_set_values(&grid, e->option, e->values, err);
    if (!rc && e->fixed_option)
        rc = run_setup_set(&setup, e->fixed_option, e->fixed, err);
    if (!rc)
        rc = grid_run(&grid, &setup, seeds, err);
    if (!rc) {
        fprintf(out, "<h2>%s</h2>\n", e->title);
        chart(&grid, e, MEAN, "mean JCT, s", out);
        chart(&grid, e, P99, "p99 JCT, s", out);
        if (e->option)
            gains(&grid, &e->claim, out);
        else
            ablations(&grid, out);
        fprintf(stderr, "duopoly-sim: %s is done\n", e->title);
    }
    grid_done(&grid);
    return rc;
}

static bool wanted(const struct experiment *e, const char *list)
{
    char number[8];
    snprintf(number, sizeof(number), "%d", atoi(e->title + strlen("Fig. ")));
    for (const char *at = list; at && *at; at += strcspn(at, ",") + (at[strcspn(at, ",")] == ','))
        if (strcspn(at, ",") == strlen(number) && strncmp(at, number, strlen(number)) == 0)
            return true;
    return !list;
}

static void write_head(const struct run_setup *setup, int seeds, FILE *out)
{
    fprintf(out,
            "<!doctype html><meta charset='utf-8'><title>duopoly: figs 6 to 12</title>"
            "<style>body{font-family:sans-serif;max-width:1200px;margin:2em}"
            "table{border-collapse:collapse}td,th{border:1px solid #bbb;padding:3px "
            "8px}.missed{background:#f6c9c2}svg{max-width:100%%}</style>"
            "<h1>The source's figures, simulated</h1><p>Medians over %d seeds from %lu. MB of the "
            "trace are 2<sup>20</sup> bytes, 1 Gbit/s is 10<sup>9</sup> bit/s. Red: less than the "
            "source's smallest gain. The source gives no numbers for figs 11 and 12.</p>\n",
            seeds, (unsigned long)setup->convert.seed);
}

static int write_all(const struct run_setup *setup, int seeds, const char *list, FILE *out,
                     struct err *err)
{
    int rc = 0;
    write_head(setup, seeds, out);
    for (const struct experiment *e = experiments; e->title && !rc; e++)
        if (wanted(e, list))
            rc = experiment(e, setup, seeds, out, err);
    return rc;
}

static int run(int argc, char **argv)
{
    static const char *const flags[] = {"help", NULL};
    struct run_setup setup;
    struct run_arguments given = {.setup = &setup, .flags = flags, .values = own_words};
    struct err err = {0};
    run_setup_init(&setup);
    int rc = run_arguments_read(&given, argc, argv, &err);
    int seeds = given.value[WORD_SEEDS] ? atoi(given.value[WORD_SEEDS]) : 1;
    if (!rc && (seeds < 1 || seeds > GRID_SEEDS_MAX))
        rc = err_set(&err, EINVAL, "--seeds takes a number from 1 to %d", GRID_SEEDS_MAX);
    if (!rc && !given.set && !given.value[WORD_OUTPUT])
        rc = err_set(&err, EINVAL, "give --output FILE.html");
    if (rc) {
        fprintf(stderr, "duopoly-sim: %s\n", err.text);
        return 2;
    }
    if (given.set) {
        printf("usage: duopoly-sim %s\n      %s\n", command_figures.usage, run_setup_usage);
        return 0;
    }
    FILE *out = fopen(given.value[WORD_OUTPUT], "w");
    if (!out)
        rc = err_sys(&err, errno, "cannot write %s", given.value[WORD_OUTPUT]);
    else
        rc = write_all(&setup, seeds, given.value[WORD_FIGURES], out, &err);
    if (out && fclose(out) && !rc)
        rc = err_sys(&err, errno, "cannot write %s", given.value[WORD_OUTPUT]);
    if (rc)
        fprintf(stderr, "duopoly-sim: %s\n", err.text);
    return rc ? 1 : 0;
}

const struct command command_figures = {
    .name = "figures",
    .what = "the source's figs 6 to 12 as one HTML page, its percentages beside ours",
    .usage =
        "figures --trace FILE --output FILE.html [--figures 6,7,...] [--seeds N] OPTIONS of run",
    .run = run,
};
