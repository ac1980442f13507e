/* duopoly-sim run: the engine under virtual time on a workload or a trace. */
#include "lib/workload_input.h"
#include "testbed/sim/commands.h"
#include "testbed/sim/progress.h"
#include "testbed/sim/run.h"
#include "testbed/sim/run_policies.h"
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
    const char *path;
    const struct run_policy *policy;
    struct workload_convert convert;
    uint32_t servers, slots, levels; /* 0: as the workload says */
    double link_bytes_s;
    const char *turn, *place, *network;
    const char *log; /* NULL: none */
    bool local_network, json, help;
};

struct inputs {
    struct workload_header header;
    bool converted;
    struct workload_job *jobs;
    size_t n, room;
};

static const struct option options[] = {
    {"trace", required_argument, NULL, 't'},   {"workload", required_argument, NULL, 't'},
    {"policy", required_argument, NULL, 'p'},  {"servers", required_argument, NULL, 'S'},
    {"slots", required_argument, NULL, 's'},   {"link", required_argument, NULL, 'l'},
    {"levels", required_argument, NULL, 'n'},  {"map-mb", required_argument, NULL, 'm'},
    {"compute", required_argument, NULL, 'C'}, {"jobs", required_argument, NULL, 'J'},
    {"seed", required_argument, NULL, 'r'},    {"local", required_argument, NULL, 'L'},
    {"turn", required_argument, NULL, 'T'},    {"place", required_argument, NULL, 'P'},
    {"network", required_argument, NULL, 'N'}, {"json", no_argument, NULL, 'j'},
    {"log", required_argument, NULL, 'g'},     {"help", no_argument, NULL, 'h'},
    {0},
};

static int set_policy(struct arguments *a, const char *name, struct err *err)
{
    char names[256] = "";
    a->policy = run_policy_find(name);
    for (const struct run_policy *p = run_policies; p->name; p++) {
        strcat(names, p == run_policies ? "" : ", ");
        strcat(names, p->name);
    }
    return a->policy
               ? 0
               : err_set(err, EINVAL, "there is no policy '%s'; choose one of %s", name, names);
}

static int set_number(uint32_t *ret, const char *option, uint32_t most, struct err *err)
{
    char *end;
    unsigned long value = strtoul(optarg, &end, 10);
    if (*optarg < '0' || *optarg > '9' || *end || value < 1 || value > most)
        return err_set(err, EINVAL, "%s takes a number from 1 to %u, not '%s'", option, most,
                       optarg);
    *ret = (uint32_t)value;
    return 0;
}

static int set_local(struct arguments *a, struct err *err)
{
    a->local_network = strcmp(optarg, "network") == 0;
    if (a->local_network || strcmp(optarg, "free") == 0)
        return 0;
    return err_set(err, EINVAL, "--local takes 'free' or 'network', not '%s'", optarg);
}

static int set_name(const char **ret, const char *question, struct err *err)
{
    const char *name;
    for (unsigned i = 0; (name = engine_policy_name(question, i)); i++)
        if (strcmp(name, optarg) == 0) {
            *ret = name;
            return 0;
        }
    return err_set(err, EINVAL, "--%s knows no '%s'", question, optarg);
}

static int set_convert(struct arguments *a, const char *name, struct err *err)
{
    return workload_convert_set(&a->convert, name, optarg, err);
}

static int set_option(struct arguments *a, int option, char **argv, struct err *err)
{
    switch (option) {
    case 't':
        a->path = optarg;
        return 0;
    case 'p':
        return set_policy(a, optarg, err);
    case 'S':
        return set_number(&a->servers, "--servers", WORKLOAD_HOSTS_MAX, err);
    case 's':
        return set_number(&a->slots, "--slots", 1000000, err);
    case 'n':
        return set_number(&a->levels, "--levels", ENGINE_LEVELS_MAX, err);
    case 'l':
        return units_parse_rate(optarg, &a->link_bytes_s, err);
    case 'm':
        return set_convert(a, "map_mb", err);
    case 'C':
        return set_convert(a, "compute", err);
    case 'J':
        return set_convert(a, "jobs", err);
    case 'r':
        return set_convert(a, "seed", err);
    case 'L':
        return set_local(a, err);
    case 'T':
        return set_name(&a->turn, "turn", err);
    case 'P':
        return set_name(&a->place, "place", err);
    case 'N':
        return set_name(&a->network, "network", err);
    case 'j':
        a->json = true;
        return 0;
    case 'g':
        a->log = optarg;
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

/* The cluster of the source's simulations, where neither the arguments nor the workload say
 * another. */
static void set_defaults(struct arguments *a)
{
    *a = (struct arguments){.convert = workload_convert_defaults,
                            .policy = run_policy_find("duopoly")};
    a->convert.jobs = 0;
    a->convert.speed_milli = 1000;
    a->convert.cap_bytes = 0;
    a->convert.scale = 1;
    a->convert.compute_bytes_s = 1000000000;
}

static int read_arguments(int argc, char **argv, struct arguments *a, struct err *err)
{
    int option, rc = 0;
    set_defaults(a);
    opterr = 0;
    optind = 1;
    while (!rc && (option = getopt_long(argc, argv, "+:", options, NULL)) != -1)
        rc = set_option(a, option, argv, err);
    if (rc || a->help)
        return rc;
    if (optind < argc)
        return err_set(err, EINVAL, "'%s' is one argument too many", argv[optind]);
    if (!a->path)
        return err_set(err, EINVAL, "give --trace FILE or --workload FILE");
    a->convert.hosts = a->servers ? a->servers : 50;
    a->convert.slots = a->slots ? a->slots : 4;
    a->convert.link_bps = a->link_bytes_s > 0 ? (uint64_t)llround(a->link_bytes_s * 8) : 1000000000;
    return 0;
}

static void inputs_done(struct inputs *in)
{
    for (size_t i = 0; i < in->n; i++)
        workload_job_done(&in->jobs[i]);
    free(in->jobs);
}

static int read_jobs(struct workload_input *input, struct inputs *in, struct err *err)
{
    int more;
    do {
        if (in->n == in->room) {
            size_t room = in->room ? 2 * in->room : 256;
            void *grown = realloc(in->jobs, room * sizeof(*in->jobs));
            if (!grown)
                return err_set(err, ENOMEM, "not enough memory for %zu jobs", room);
            in->jobs = grown;
            in->room = room;
        }
        in->jobs[in->n] = (struct workload_job){0};
        more = workload_input_next(input, &in->jobs[in->n], err);
        in->n += more > 0;
    } while (more > 0);
    return more;
}

static int read_inputs(const struct arguments *a, struct inputs *in, struct err *err)
{
    struct workload_input input = {0};
    int rc = workload_input_open(&input, a->path, &a->convert, err);
    if (!rc) {
        in->header = input.header;
        in->converted = input.converted;
        rc = read_jobs(&input, in, err);
    }
    workload_input_done(&input);
    if (!rc && !in->n)
        rc = err_set(err, EINVAL, "%s has no jobs", a->path);
    return rc;
}

struct range {
    uint64_t least, most;
};

static void widen(struct range *range, uint64_t bytes)
{
    if (bytes && (!range->most || bytes < range->least))
        range->least = bytes;
    if (bytes > range->most)
        range->most = bytes;
}

/* min·(max/min)^(i/levels) over the workload: what reproduces the source, which gives none. */
static void table_over(struct level_table *table, const struct range *range, uint32_t levels)
{
    *table = (struct level_table){.levels = levels};
    double ratio = range->least ? (double)range->most / (double)range->least : 1;
    for (uint32_t i = 0; i + 1 < levels; i++) {
        uint64_t bytes = (uint64_t)ceil((double)range->least * pow(ratio, (i + 1.) / levels));
        uint64_t after = i ? table->threshold_bytes[i - 1] + 1 : 1;
        table->threshold_bytes[i] = bytes > after ? bytes : after;
    }
}

static void tables_over(struct engine_config *engine, const struct inputs *in, uint32_t levels)
{
    struct range coflows = {0}, macroflows = {0};
    for (size_t i = 0; i < in->n; i++)
        for (uint32_t s = 0; s < in->jobs[i].n_stages; s++) {
            uint64_t coflow = 0;
            for (uint32_t t = 0; t < in->jobs[i].stages[s].tasks; t++) {
                uint64_t bytes = workload_task_shuffle_bytes(&in->jobs[i], s, t);
                widen(&macroflows, bytes);
                coflow += bytes;
            }
            widen(&coflows, coflow);
        }
    table_over(&engine->coflow, &coflows, levels);
    table_over(&engine->macroflow, &macroflows, levels);
}

/* A trace gets the source's levels; a workload file those that the daemon would use on it. */
static void set_levels(struct engine_config *engine, const struct arguments *a,
                       const struct inputs *in)
{
    uint32_t levels = a->levels ? a->levels : 8;
    uint64_t scale = in->header.scale ? in->header.scale : 1;
    uint64_t first_coflow = 10000000 / scale, first_macroflow = 1000000 / scale;
    if (in->converted) {
        tables_over(engine, in, levels);
    } else {
        level_table_exponential(&engine->coflow, first_coflow ? first_coflow : 1, 8, levels);
        level_table_exponential(&engine->macroflow, first_macroflow ? first_macroflow : 1, 4,
                                levels);
    }
    uint64_t first_dclas = (in->converted ? 10 << 20 : 10000000) / scale;
    level_table_exponential(&engine->dclas, first_dclas ? first_dclas : 1, 10, 14);
}

static uint32_t tasks_most(const struct inputs *in)
{
    uint64_t tasks = 0;
    for (size_t i = 0; i < in->n; i++)
        for (uint32_t s = 0; s < in->jobs[i].n_stages; s++)
            tasks += in->jobs[i].stages[s].tasks;
    return tasks < UINT32_MAX ? (uint32_t)tasks + 1 : UINT32_MAX;
}

static void configure(struct run_config *config, const struct arguments *a, const struct inputs *in)
{
    struct engine_config *engine = &config->engine;
    engine_config_default(engine);
    run_policy_apply(a->policy, engine);
    if (a->turn)
        snprintf(engine->turn, sizeof(engine->turn), "%s", a->turn);
    if (a->place)
        snprintf(engine->place, sizeof(engine->place), "%s", a->place);
    if (a->network)
        snprintf(engine->network, sizeof(engine->network), "%s", a->network);
    const struct workload_header *h = &in->header;
    config->hosts = a->servers ? a->servers : h->hosts;
    config->slots = a->slots ? a->slots : h->slots ? h->slots : 4;
    config->link_bps = a->link_bytes_s > 0 ? a->convert.link_bps
                       : h->link_bps       ? h->link_bps
                                           : 1000000000;
    config->local_free = !a->local_network;
    engine->seed = a->convert.seed;
    engine->epoch = 1;
    engine->mode_dwell_ns = 0;
    engine->hosts_max = config->hosts;
    engine->jobs_max = (uint32_t)in->n + 1;
    engine->tasks_max = tasks_most(in);
    set_levels(engine, a, in);
}

static int print_json(const struct arguments *a, const struct inputs *in,
                      const struct run_result *result, const struct stats *jct)
{
    json_t *jobs = json_array();
    for (size_t i = 0; i < in->n; i++)
        json_array_append_new(jobs, json_pack("{s:I, s:f}", "id", (json_int_t)in->jobs[i].id,
                                              "jct_s", result->jct_s[i]));
    json_t *root = json_pack(
        "{s:s, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:o}",
        "policy", a->policy->name, "seed", (json_int_t)a->convert.seed, "mean_jct_s", jct->mean,
        "median_jct_s", jct->median, "p95_jct_s", jct->p95, "p99_jct_s", jct->p99, "max_jct_s",
        jct->max, "makespan_s", result->makespan_s, "slot_wait_s", result->slot_wait_s,
        "held_slot_s", result->held_slot_s, "link_use", result->link_use, "starved",
        result->starved, "mode_switches", (json_int_t)result->mode_switches, "holds",
        (json_int_t)result->holds, "tasks", (json_int_t)result->tasks, "jobs", jobs);
    int failed = !root || json_dumpf(root, stdout, JSON_COMPACT | JSON_REAL_PRECISION(15)) ||
                 putchar('\n') == EOF;
    json_decref(root);
    return failed ? -EIO : 0;
}

static void print_table(const struct arguments *a, const struct inputs *in,
                        const struct run_config *config, const struct run_result *result,
                        const struct stats *jct)
{
    printf("%s: %s\n", a->policy->name, a->policy->what);
    printf("%s\n", in->header.description);
    printf("%zu jobs, %" PRIu64
           " tasks, %u hosts of %u slots, links of %.6g Mbit/s (10^6), seed %" PRIu64 "\n\n",
           in->n, result->tasks, config->hosts, config->slots, (double)config->link_bps * 1e-6,
           a->convert.seed);
    printf("job completion time [s]  %10s %10s %10s %10s %10s\n", "mean", "median", "p95", "p99",
           "max");
    printf("                         %10.3f %10.3f %10.3f %10.3f %10.3f\n\n", jct->mean,
           jct->median, jct->p95, jct->p99, jct->max);
    printf("slot-wait %.3f s a task, free slots held back %.1f slot-s, links used %.1f %%, "
           "makespan %.1f s\n",
           result->slot_wait_s, result->held_slot_s, result->link_use * 100, result->makespan_s);
    printf("slot-starved %.1f %% of the time, %" PRIu64 " mode switches, %" PRIu64 " holds\n",
           result->starved * 100, result->mode_switches, result->holds);
}

static int report(const struct arguments *a, const struct inputs *in,
                  const struct run_config *config, const struct run_result *result, struct err *err)
{
    double *sorted = malloc(in->n * sizeof(*sorted));
    if (!sorted)
        return err_set(err, ENOMEM, "not enough memory for the results");
    memcpy(sorted, result->jct_s, in->n * sizeof(*sorted));
    struct stats jct = stats_of(sorted, in->n);
    free(sorted);
    if (!a->json)
        print_table(a, in, config, result, &jct);
    else if (print_json(a, in, result, &jct))
        return err_set(err, EIO, "cannot write the results");
    return 0;
}

static int simulate(const struct arguments *a, const struct inputs *in, struct err *err)
{
    struct progress progress;
    struct run_config config = {0};
    struct run_result result = {.jct_s = calloc(in->n, sizeof(double))};
    if (!result.jct_s)
        return err_set(err, ENOMEM, "not enough memory for %zu jobs", in->n);
    configure(&config, a, in);
    config.log = a->log ? fopen(a->log, "w") : NULL;
    if (a->log && !config.log) {
        free(result.jct_s);
        return err_sys(err, errno, "cannot write the log %s", a->log);
    }
    progress_init(&progress, a->policy->name);
    config.progress = progress_show;
    config.user = &progress;
    int rc = run_simulate(&config, in->jobs, in->n, &result, err);
    progress_done(&progress);
    if (config.log)
        fclose(config.log);
    if (!rc)
        rc = report(a, in, &config, &result, err);
    free(result.jct_s);
    return rc;
}

static int run(int argc, char **argv)
{
    struct arguments a;
    struct err err = {0};
    struct inputs in = {0};
    int status = 2;
    if (read_arguments(argc, argv, &a, &err))
        goto fail;
    if (a.help) {
        printf("usage: duopoly-sim %s\n", command_run.usage);
        return 0;
    }
    status = 1;
    if (read_inputs(&a, &in, &err) || simulate(&a, &in, &err))
        goto fail;
    inputs_done(&in);
    return fflush(stdout) ? 1 : 0;
fail:
    fprintf(stderr, "duopoly-sim: %s\n", err.text);
    inputs_done(&in);
    return status;
}

const struct command command_run = {
    .name = "run",
    .what = "the engine under virtual time: jobs, slots and network",
    .usage = "run --trace FILE|--workload FILE [--policy "
             "duopoly|aalo|fair|fifo|duopoly-{c,m,f,a}|fair-nats]\n"
             "      [--turn NAME] [--place NAME] [--network NAME] [--servers N] [--slots N] "
             "[--link RATE] [--levels N]\n"
             "      [--map-mb N] [--compute BYTES_S] [--jobs N] [--local free|network] [--seed N] "
             "[--log FILE] [--json]",
    .run = run,
};
