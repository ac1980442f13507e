#include "testbed/sim/figures_page.h"

#include "lib/plural.h"
#include "lib/xml.h"
#include "testbed/sim/figure.h"
#include "testbed/sim/policy_styles.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define MEAN  offsetof(struct batch_row, jct.mean)
#define P99   offsetof(struct batch_row, jct.p99)
#define CLASS offsetof(struct batch_row, classes.mean_s)

/* The source's "about equal" has no number; this is ours, in %. */
#define ABOUT 5.0

/* Gain in % of our first policy over number `from_last` from the end. */
static double gain_at(const struct grid *g, int value, int from_last, size_t offset)
{
    return grid_gain(grid_median(g, 0, value, offset),
                     grid_median(g, g->n_policies - 1 - from_last, value, offset));
}

static double least_gain(const struct grid *g, int from_last, size_t offset)
{
    double least = INFINITY;
    for (int v = 0; v < g->n_values; v++)
        least = fmin(least, gain_at(g, v, from_last, offset));
    return least;
}

static void row(FILE *out, int figure, const char *what, const char *source, const char *ours,
                bool seen)
{
    fprintf(out, "<tr%s><td>%d</td><td>", seen ? "" : " class='missed'", figure);
    xml_text(out, what);
    fprintf(out, "</td><td>");
    xml_text(out, source);
    fprintf(out, "</td><td>");
    xml_text(out, ours);
    fprintf(out, "</td><td>%s</td></tr>\n", seen ? "yes" : "MISSED");
}

static void gain_row(FILE *out, const struct experiment *e, const struct grid *g, bool tail,
                     bool neat, double claim, const char *source)
{
    char what[64], said[64], ours[64];
    double gain = least_gain(g, neat ? 0 : 1, tail ? P99 : MEAN);
    snprintf(what, sizeof(what), "%s JCT below %s", tail ? "p99" : "mean", neat ? "NEAT" : "Aalo");
    snprintf(said, sizeof(said), "by %.2f %% at least", claim);
    snprintf(ours, sizeof(ours), "by %.2f %% at least", gain);
    row(out, e->figure, what, source ? source : said, ours, gain >= claim);
}

static void gain_rows(FILE *out, const struct experiment *e, const struct grid *g)
{
    const struct experiment_claim *c = &e->claim;
    const double claims[2][2] = {{c->mean_aalo, c->mean_neat}, {c->tail_aalo, c->tail_neat}};
    for (int tail = 0; tail < 2; tail++)
        for (int neat = 0; neat < 2; neat++) {
            if (!isnan(claims[tail][neat]))
                gain_row(out, e, g, tail, neat, claims[tail][neat], NULL);
            else if (!tail)
                gain_row(out, e, g, false, neat, 0, "yes, no number");
            else if (e->figure == 7)
                gain_row(out, e, g, true, neat, -ABOUT, "better or about equal");
        }
}

static double mean_at(const struct grid *g, int policy, int value)
{
    return grid_median(g, policy, value, MEAN);
}

static double class_at(const struct grid *g, int policy, size_t c)
{
    return grid_median(g, policy, 0, CLASS + c * sizeof(double));
}

static void ablation_rows(FILE *out, const struct grid *g)
{
    char what[64], ours[64];
    for (int p = 1; p < g->n_policies; p++) {
        double times = mean_at(g, p, 0) / mean_at(g, 0, 0);
        snprintf(what, sizeof(what), "mean JCT of %s", g->policies[p]->name);
        snprintf(ours, sizeof(ours), "%.3f times", times);
        row(out, 6, what, "1.08 to 1.25 times the full one's", ours, times >= 1.08);
    }
    int better = 0, classes = 0;
    for (size_t c = 0; c + 1 < JOB_CLASSES; c++)
        if (class_at(g, 1, c) > 0) {
            classes++;
            better += class_at(g, 1, c) < class_at(g, 2, c);
        }
    snprintf(ours, sizeof(ours), "in %d of %d", better, classes);
    row(out, 6, "small jobs sooner under (IC) than under (IM)", "in all classes but the last", ours,
        better == classes);
}

/* How the mean of a policy changes from one value to another, in %. */
static double change(const struct grid *g, int policy, int from, int to)
{
    return 100 * (mean_at(g, policy, to) / mean_at(g, policy, from) - 1);
}

static void scale_row(FILE *out, const struct grid *g)
{
    char ours[96];
    int last = g->n_values - 1;
    snprintf(ours, sizeof(ours),
             "gain on Aalo %.0f %%, then %.0f %%; on NEAT %.0f %%, then %.0f %%",
             gain_at(g, 0, 1, MEAN), gain_at(g, last, 1, MEAN), gain_at(g, 0, 0, MEAN),
             gain_at(g, last, 0, MEAN));
    row(out, 7, "all converge as the cluster grows", "yes", ours,
        gain_at(g, last, 1, MEAN) < gain_at(g, 0, 1, MEAN) &&
            gain_at(g, last, 0, MEAN) < gain_at(g, 0, 0, MEAN));
}

static void slots_row(FILE *out, const struct grid *g)
{
    char ours[96];
    int six = 0, last = g->n_values - 1;
    while (six < last && strcmp(g->values[six], "6") != 0)
        six++;
    snprintf(ours, sizeof(ours), "%+.1f %% from 6 to %s", change(g, 0, six, last), g->values[last]);
    row(out, 8, "duopoly gains nothing beyond 6 slots", "a little worse", ours,
        change(g, 0, six, last) > -ABOUT);
}

static void compute_row(FILE *out, const struct grid *g)
{
    char ours[96];
    int last = g->n_values - 1, aalo = g->n_policies - 2;
    snprintf(ours, sizeof(ours), "Aalo %+.1f %%, NEAT %+.1f %%", change(g, aalo, 0, last),
             change(g, aalo + 1, 0, last));
    row(out, 10, "Aalo and NEAT get worse as computing gets faster", "yes", ours,
        change(g, aalo, 0, last) > 0 && change(g, aalo + 1, 0, last) > 0);
}

static void topology_rows(FILE *out, const struct grid *g)
{
    char ours[96];
    double one = change(g, 0, 0, 1), other = change(g, 0, 2, 3);
    snprintf(ours, sizeof(ours), "%+.1f %% at 64 servers, %+.1f %% at 128", one, other);
    row(out, 11, "duopoly hardly feels the oversubscription", "yes, no number", ours,
        fmax(one, other) < ABOUT);
    double flat = grid_gain(mean_at(g, 1, 0), mean_at(g, 0, 0));
    double racks = grid_gain(mean_at(g, 1, 1), mean_at(g, 0, 1));
    snprintf(ours, sizeof(ours), "unlimited levels gain %.1f %% flat, %.1f %% in racks", flat,
             racks);
    row(out, 11, "more levels help more inside a congested core", "yes, no number", ours,
        racks > flat);
}

static void summary(const struct figures_page *page, FILE *out)
{
    fprintf(out, "<table><tr><th>fig.</th><th>what</th><th>the source says</th><th>here</th>"
                 "<th>seen</th></tr>\n");
    for (int i = 0; i < page->n; i++) {
        const struct experiment *e = page->experiments[i];
        const struct grid *g = &page->grids[i];
        if (e->figure == 6)
            ablation_rows(out, g);
        else if (e->figure)
            gain_rows(out, e, g);
        if (e->figure == 7)
            scale_row(out, g);
        if (e->figure == 8)
            slots_row(out, g);
        if (e->figure == 10)
            compute_row(out, g);
        if (e->figure == 11)
            topology_rows(out, g);
    }
    fprintf(out, "</table>\n");
}

struct points {
    double x[GRID_MAX], y[FIGURE_SERIES][GRID_MAX], least[FIGURE_SERIES][GRID_MAX],
        most[FIGURE_SERIES][GRID_MAX];
};

static void labels_of(const struct experiment *e, const struct grid *g, char (*ret_words)[32],
                      const char **ret_labels)
{
    int n = e->labels ? batch_split(e->labels, ret_words, GRID_MAX, NULL) : 0;
    for (int v = 0; v < g->n_values; v++)
        ret_labels[v] = v < n ? ret_words[v] : e->option ? g->values[v] : "all jobs";
}

/* Without an option the policies are side by side: each is a series of one bar. */
static void chart(const struct experiment *e, const struct grid *g, size_t offset, const char *what,
                  FILE *out)
{
    struct points at;
    char words[GRID_MAX][32];
    const char *labels[GRID_MAX];
    struct figure f = {.kind = e->x_unit > 0 ? FIGURE_LINES : FIGURE_BARS,
                       .title = e->title,
                       .x_name = e->option ? e->x_name : "",
                       .y_name = what,
                       .labels = labels,
                       .n_series = g->n_policies};
    labels_of(e, g, words, labels);
    for (int v = 0; v < g->n_values && e->x_unit > 0; v++)
        at.x[v] = experiment_number(g->values[v]) / e->x_unit;
    for (int p = 0; p < g->n_policies; p++) {
        for (int v = 0; v < g->n_values; v++) {
            at.y[p][v] = grid_median(g, p, v, offset);
            grid_range(g, p, v, offset, &at.least[p][v], &at.most[p][v]);
        }
        f.series[p] = (struct figure_series){g->policies[p]->name,
                                             policy_style(g->policies[p]->name),
                                             (size_t)g->n_values,
                                             at.x,
                                             at.y[p],
                                             at.least[p],
                                             at.most[p]};
    }
    figure_write(&f, out);
}

/* Classes of jobs, from `first` on, as multiples of the full policy's mean. */
static void class_chart(const struct grid *g, const char *title, size_t first, size_t n, FILE *out)
{
    struct points at;
    struct figure f = {.kind = FIGURE_BARS,
                       .title = title,
                       .x_name = "bytes shuffled by the job",
                       .y_name = "mean JCT / the full one's",
                       .labels = job_class_names + first,
                       .n_series = g->n_policies};
    for (int p = 0; p < g->n_policies; p++) {
        for (size_t c = 0; c < n; c++) {
            double full = class_at(g, 0, first + c);
            at.y[p][c] = full > 0 ? class_at(g, p, first + c) / full : 0;
        }
        f.series[p] = (struct figure_series){
            g->policies[p]->name, policy_style(g->policies[p]->name), n, NULL, at.y[p], NULL, NULL};
    }
    figure_write(&f, out);
}

static void head_of_table(const struct grid *g, const char *first, FILE *out)
{
    fprintf(out, "<table><tr><th>");
    xml_text(out, first);
    fprintf(out, "</th>");
    for (int p = 0; p < g->n_policies; p++)
        fprintf(out, "<th>%s</th>", g->policies[p]->name);
}

static void value_cell(const struct grid *g, int policy, int value, size_t offset, FILE *out)
{
    double least, most;
    grid_range(g, policy, value, offset, &least, &most);
    fprintf(out, "<td>%.2f", grid_median(g, policy, value, offset));
    if (g->n_seeds > 1)
        fprintf(out, " <small>%.1f&ndash;%.1f</small>", least, most);
    fprintf(out, "</td>");
}

static void gain_cell(double gain, double claim, FILE *out)
{
    fprintf(out, "<td%s>%.1f</td>", gain < claim ? " class='missed'" : "", gain);
}

static void numbers(const struct experiment *e, const struct grid *g, bool tail, FILE *out)
{
    const struct experiment_claim *c = &e->claim;
    char words[GRID_MAX][32], first[64];
    const char *labels[GRID_MAX];
    size_t offset = tail ? P99 : MEAN;
    labels_of(e, g, words, labels);
    snprintf(first, sizeof(first), "%s JCT, s; by %s", tail ? "p99" : "mean", e->x_name);
    head_of_table(g, first, out);
    fprintf(out, "<th>below Aalo, %%</th><th>below NEAT, %%</th></tr>\n");
    for (int v = 0; v < g->n_values; v++) {
        fprintf(out, "<tr><td>");
        xml_text(out, labels[v]);
        fprintf(out, "</td>");
        for (int p = 0; p < g->n_policies; p++)
            value_cell(g, p, v, offset, out);
        gain_cell(gain_at(g, v, 1, offset), tail ? c->tail_aalo : c->mean_aalo, out);
        gain_cell(gain_at(g, v, 0, offset), tail ? c->tail_neat : c->mean_neat, out);
        fprintf(out, "</tr>\n");
    }
    fprintf(out, "</table>\n");
}

static void class_numbers(const struct grid *g, FILE *out)
{
    head_of_table(g, "mean JCT, s; by bytes shuffled", out);
    fprintf(out, "</tr>\n<tr><td>all</td>");
    for (int p = 0; p < g->n_policies; p++)
        value_cell(g, p, 0, MEAN, out);
    fprintf(out, "</tr>\n");
    for (size_t c = 0; c < JOB_CLASSES; c++) {
        fprintf(out, "<tr><td>");
        xml_text(out, job_class_names[c]);
        fprintf(out, "</td>");
        for (int p = 0; p < g->n_policies; p++)
            value_cell(g, p, 0, CLASS + c * sizeof(double), out);
        fprintf(out, "</tr>\n");
    }
    fprintf(out, "</table>\n");
}

static void section(const struct experiment *e, const struct grid *g, FILE *out)
{
    fprintf(out, "<h2>%s</h2>\n<div>\n", e->title);
    chart(e, g, MEAN, "mean JCT, s", out);
    chart(e, g, P99, "p99 JCT, s", out);
    if (e->option) {
        fprintf(out, "</div>\n");
        numbers(e, g, false, out);
        numbers(e, g, true, out);
        return;
    }
    class_chart(g, "Fig. 6 (b): small jobs", 0, 4, out);
    class_chart(g, "Fig. 6 (c): large jobs", 4, JOB_CLASSES - 4, out);
    fprintf(out, "</div>\n");
    class_numbers(g, out);
}

static void head(const struct figures_page *page, FILE *out)
{
    fprintf(out, "<!doctype html><html lang='en'><meta charset='utf-8'>"
                 "<title>duopoly: figs 6 to 12</title><style>body{font-family:sans-serif;"
                 "max-width:960px;margin:2em auto;padding:0 1em}table{border-collapse:collapse;"
                 "margin:1em 0;font-size:14px}td,th{border:1px solid #bbb;padding:3px 8px;"
                 "text-align:left}.missed,.missed td{background:#f6c9c2}svg{max-width:100%%;"
                 "height:auto}small{color:#666}code{background:#eee;padding:2px 4px}</style>\n"
                 "<h1>The source's figures, simulated</h1>\n<p>Made by <code>");
    xml_text(out, page->command);
    fprintf(out,
            "</code>: medians over %d seed%s from %lu (charts and tables show the least and the "
            "most, too).<br>Workload: ",
            page->seeds, plural((uint64_t)page->seeds), (unsigned long)page->setup->convert.seed);
    xml_text(out, page->description);
    fprintf(out,
            ".<br>MB of the trace are 2<sup>20</sup> bytes, 1 Gbit/s is 10<sup>9</sup> bit/s, "
            "1 GB/s is 10<sup>9</sup> bytes/s. Holds end after hold_max only where the command "
            "says so. duopoly has 8 levels, duopoly-i 64. Red: less than "
            "the source says; where it gives no number, less than better, and &ldquo;about "
            "equal&rdquo; is read as %.0f %%.</p>\n",
            ABOUT);
}

void figures_page_write(const struct figures_page *page, FILE *out)
{
    head(page, out);
    summary(page, out);
    for (int i = 0; i < page->n; i++)
        section(page->experiments[i], &page->grids[i], out);
    fprintf(out, "</html>\n");
}
