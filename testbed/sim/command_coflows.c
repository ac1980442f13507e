/* duopoly-sim coflows: the classic Coflow schedulers on a trace, network only. */
#include "lib/join.h"
#include "testbed/sim/coflows/coflows.h"
#include "testbed/sim/commands.h"
#include "testbed/sim/figure.h"
#include "testbed/sim/output.h"
#include "testbed/sim/policy_styles.h"
#include "testbed/sim/progress.h"
#include "testbed/sim/stats.h"
#include "testbed/sim/units.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
    const char *trace, *cdf;
    const struct coflow_policy *policy;
    double port_bytes_s;
    bool local_free, compat, json, csv, help;
};

static const struct option options[] = {
    {"trace", required_argument, NULL, 't'},  {"policy", required_argument, NULL, 'p'},
    {"link", required_argument, NULL, 'l'},   {"local", required_argument, NULL, 'L'},
    {"compat", required_argument, NULL, 'c'}, {"json", no_argument, NULL, 'j'},
    {"help", no_argument, NULL, 'h'},         {"csv", no_argument, NULL, 'v'},
    {"cdf", required_argument, NULL, 'd'},    {0},
};

static int set_policy(struct arguments *a, const char *name, struct err *err)
{
    char names[128] = "";
    a->policy = coflow_policy_find(name);
    if (a->policy)
        return 0;
    for (const struct coflow_policy *const *p = coflow_policies; *p; p++)
        join_word(names, sizeof(names), ", ", (*p)->name);
    return err_set(err, EINVAL, "there is no policy '%s'; choose one of %s", name, names);
}

static int set_word(bool *ret, const char *option, const char *given, const char *yes,
                    const char *no, struct err *err)
{
    *ret = strcmp(given, yes) == 0;
    if (*ret || (no && strcmp(given, no) == 0))
        return 0;
    return err_set(err, EINVAL, "%s takes '%s'%s%s%s, not '%s'", option, yes, no ? " or '" : "",
                   no ? no : "", no ? "'" : "", given);
}

static int set_option(struct arguments *a, int option, char **argv, struct err *err)
{
    switch (option) {
    case 't':
        a->trace = optarg;
        return 0;
    case 'p':
        return set_policy(a, optarg, err);
    case 'l':
        return units_parse_rate(optarg, &a->port_bytes_s, err);
    case 'L':
        return set_word(&a->local_free, "--local", optarg, "free", "network", err);
    case 'c':
        return set_word(&a->compat, "--compat", optarg, "coflowsim", NULL, err);
    case 'j':
        a->json = true;
        return 0;
    case 'v':
        a->csv = true;
        return 0;
    case 'd':
        a->cdf = optarg;
        return 0;
    case 'h':
        a->help = true;
        return 0;
    case ':':
        return err_set(err, EINVAL, "%s needs a value", argv[optind - 1]);
    default:
        return err_set(err, EINVAL, "there is no option '%s'; duopoly-sim --help lists them",
                       argv[optind - 1]);
    }
}

static int read_arguments(int argc, char **argv, struct arguments *a, struct err *err)
{
    *a = (struct arguments){.port_bytes_s = COFLOWS_PORT_BYTES_S};
    int option, r = 0;
    opterr = 0;
    optind = 1;
    while (!r && (option = getopt_long(argc, argv, "+:", options, NULL)) != -1)
        r = set_option(a, option, argv, err);
    if (r || a->help)
        return r;
    if (optind < argc)
        return err_set(err, EINVAL, "'%s' is one argument too many", argv[optind]);
    if (!a->trace || !a->policy)
        return err_set(err, EINVAL, "give --%s", a->trace ? "policy NAME" : "trace FILE");
    return a->json && a->csv ? err_set(err, EINVAL, "give --json or --csv, not both") : 0;
}

struct summary {
    struct stats cct;
    double bound_s, makespan_s;
};

static int summarise(const struct coflows_config *config, const double *cct_s, struct summary *ret)
{
    size_t n = config->trace->n_coflows;
    double *sorted = malloc(n * sizeof(*sorted));
    if (!sorted)
        return -ENOMEM;
    memcpy(sorted, cct_s, n * sizeof(*sorted));
    *ret = (struct summary){.cct = stats_of(sorted, n)};
    free(sorted);
    for (size_t i = 0; i < n; i++) {
        const struct workload_fb_coflow *c = &config->trace->coflows[i];
        ret->bound_s += coflow_bound_s(config, c) / (double)n;
        ret->makespan_s = fmax(ret->makespan_s, coflow_arrival_s(config, c) + cct_s[i]);
    }
    return 0;
}

static int print_json(const struct arguments *a, const struct coflows_config *config,
                      const double *cct_s, const struct summary *s)
{
    json_t *coflows = json_array();
    for (size_t i = 0; i < config->trace->n_coflows; i++)
        json_array_append_new(coflows, json_pack("{s:I, s:f}", "id",
                                                 (json_int_t)config->trace->coflows[i].id, "cct_s",
                                                 cct_s[i]));
    json_t *root =
        json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:o}", "policy", a->policy->name,
                  "mean_cct_s", s->cct.mean, "median_cct_s", s->cct.median, "p95_cct_s", s->cct.p95,
                  "p99_cct_s", s->cct.p99, "max_cct_s", s->cct.max, "mean_bound_s", s->bound_s,
                  "makespan_s", s->makespan_s, "coflows", coflows);
    int failed = !root || json_dumpf(root, stdout, JSON_COMPACT | JSON_REAL_PRECISION(15)) ||
                 putchar('\n') == EOF;
    json_decref(root);
    return failed ? -ENOMEM : 0;
}

static void print_table(const struct arguments *a, const struct coflows_config *config,
                        const struct summary *s)
{
    printf("%s: %s\n", a->policy->name, a->policy->what);
    printf("%zu coflows, %u ports of %.6g Mbit/s, MB of 2^20 bytes%s%s\n\n",
           config->trace->n_coflows, config->trace->n_ports, config->port_bytes_s * 8e-6,
           config->local_free ? ", local flows free" : "",
           config->compat_coflowsim ? ", coflowsim's clock" : "");
    printf("completion time [s]  %10s %10s %10s %10s %10s\n", "mean", "median", "p95", "p99",
           "max");
    printf("                     %10.3f %10.3f %10.3f %10.3f %10.3f\n\n", s->cct.mean,
           s->cct.median, s->cct.p95, s->cct.p99, s->cct.max);
    printf("mean lower bound %.3f s, last coflow ends at %.3f s\n", s->bound_s, s->makespan_s);
}

static void print_csv(const struct coflows_config *config, const double *cct_s)
{
    printf("id,arrival_s,bytes,bound_s,cct_s\n");
    for (size_t i = 0; i < config->trace->n_coflows; i++) {
        const struct workload_fb_coflow *c = &config->trace->coflows[i];
        double bytes = 0;
        for (uint32_t r = 0; r < c->n_reducers; r++)
            bytes += coflow_flow_bytes(config, c, r) * c->n_mappers;
        printf("%" PRIu64 ",%.9f,%.17g,%.9f,%.9f\n", c->id, coflow_arrival_s(config, c), bytes,
               coflow_bound_s(config, c), cct_s[i]);
    }
}

/* Sorts cct_s. */
static int write_cdf(const struct arguments *a, double *cct_s, size_t n, struct err *err)
{
    struct output output;
    double *part = calloc(n, sizeof(*part));
    if (!part)
        return err_set(err, ENOMEM, "not enough memory for the results");
    stats_of(cct_s, n);
    for (size_t i = 0; i < n; i++)
        part[i] = (double)(i + 1) / (double)n;
    struct figure f = {
        .kind = FIGURE_STEPS,
        .title = "Coflow completion times",
        .x_name = "CCT, s",
        .y_name = "part of the coflows",
        .log_x = cct_s[0] > 0,
        .top = 1,
        .n_series = 1,
        .series = {{a->policy->name, policy_style(a->policy->name), n, cct_s, part, NULL, NULL}}};
    int r = output_open(&output, a->cdf, err);
    if (!r) {
        figure_write(&f, output.file);
        r = output_close(&output, err);
    }
    free(part);
    return r;
}

static int print(const struct arguments *a, const struct coflows_config *config,
                 const double *cct_s, const struct summary *summary, struct err *err)
{
    if (a->json)
        return print_json(a, config, cct_s, summary) ? err_set(err, EIO, "cannot write the results")
                                                     : 0;
    if (a->csv)
        print_csv(config, cct_s);
    else
        print_table(a, config, summary);
    return 0;
}

static int simulate(const struct arguments *a, const struct coflows_config *config, struct err *err)
{
    struct progress progress;
    struct summary summary = {0};
    struct coflows_config with_progress = *config;
    double *cct_s = calloc(config->trace->n_coflows, sizeof(*cct_s));
    if (!cct_s)
        return err_set(err, ENOMEM, "not enough memory for %zu coflows", config->trace->n_coflows);
    progress_init(&progress, a->policy->name);
    with_progress.progress = progress_show;
    with_progress.user = &progress;
    int r = coflows_simulate(a->policy, &with_progress, cct_s, err);
    progress_done(&progress);
    if (!r && summarise(config, cct_s, &summary))
        r = err_set(err, ENOMEM, "not enough memory for the results");
    r = r ? r : print(a, config, cct_s, &summary, err);
    if (!r && a->cdf)
        r = write_cdf(a, cct_s, config->trace->n_coflows, err);
    free(cct_s);
    return r;
}

static int run(int argc, char **argv)
{
    struct arguments a;
    struct err err = {0};
    struct workload_fb *trace = NULL;
    int status = 2;
    if (read_arguments(argc, argv, &a, &err))
        goto fail;
    if (a.help) {
        printf("usage: duopoly-sim %s\n", command_coflows.usage);
        return 0;
    }
    if (a.compat && !a.policy->compat) {
        err_set(&err, EINVAL, "policy %s does not know --compat coflowsim", a.policy->name);
        goto fail;
    }
    status = 1;
    if (workload_fb_load(a.trace, &trace, &err) || output_try(a.cdf, &err))
        goto fail;
    struct coflows_config config = {trace, a.port_bytes_s, a.local_free, a.compat, NULL, NULL};
    if (simulate(&a, &config, &err))
        goto fail;
    workload_fb_destroy(trace);
    return fflush(stdout) ? 1 : 0;
fail:
    fprintf(stderr, "duopoly-sim: %s\n", err.text);
    workload_fb_destroy(trace);
    return status;
}

const struct command command_coflows = {
    .name = "coflows",
    .what = "completion times of a trace's coflows on a big switch, network only",
    .usage = "coflows --trace FILE --policy fifo|scf|ncf|lcf|sebf|dclas|srtf|fair\n"
             "      [--link RATE] [--local free|network] [--compat coflowsim] [--json|--csv] "
             "[--cdf FILE.svg]",
    .run = run,
};
