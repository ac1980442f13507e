/* duopoly-sim run: the engine under virtual time on a workload or a trace. */
#include "testbed/sim/commands.h"
#include "testbed/sim/job_classes.h"
#include "testbed/sim/progress.h"
#include "testbed/sim/run_setup.h"
#include "testbed/sim/stats.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum form { FORM_TABLE, FORM_JSON, FORM_CSV };

static int print_json(const struct run_setup *a, const struct run_inputs *in,
                      const struct run_result *result, const struct stats *jct)
{
    struct job_classes classes;
    job_classes_of(in->jobs, in->n, result->jct_s, &classes);
    json_t *jobs = json_array(), *parts = json_array();
    for (unsigned c = 0; c < JOB_CLASSES; c++)
        json_array_append_new(parts, json_pack("{s:s, s:I, s:f}", "name", job_class_names[c],
                                               "jobs", (json_int_t)classes.jobs[c], "mean_jct_s",
                                               classes.mean_s[c]));
    for (size_t i = 0; i < in->n; i++)
        json_array_append_new(jobs, json_pack("{s:I, s:f}", "id", (json_int_t)in->jobs[i].id,
                                              "jct_s", result->jct_s[i]));
    json_t *root = json_pack(
        "{s:s, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:I, "
        "s:I, "
        "s:I, s:o, s:o}",
        "policy", a->policy->name, "seed", (json_int_t)a->convert.seed, "mean_jct_s", jct->mean,
        "median_jct_s", jct->median, "p95_jct_s", jct->p95, "p99_jct_s", jct->p99, "max_jct_s",
        jct->max, "makespan_s", result->makespan_s, "slot_wait_s", result->slot_wait_s,
        "held_slot_s", result->held_slot_s, "link_use", result->link_use, "starved",
        result->starved, "mode_switches", (json_int_t)result->mode_switches, "holds",
        (json_int_t)result->holds, "tasks", (json_int_t)result->tasks, "attempts",
        (json_int_t)result->attempts, "copies", (json_int_t)result->copies, "lost_attempts",
        (json_int_t)result->lost_attempts, "host_failures", (json_int_t)result->host_failures,
        "classes", parts, "jobs", jobs);
    int failed = !root || json_dumpf(root, stdout, JSON_COMPACT | JSON_REAL_PRECISION(15)) ||
                 putchar('\n') == EOF;
    json_decref(root);
    return failed ? -EIO : 0;
}

static void print_table(const struct run_setup *a, const struct run_inputs *in,
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
    if (config->engine.hold_max_ns > INT64_MAX / 4)
        printf("a hold has no end of its own (the source knows none), ");
    else
        printf("a hold ends after %.3g s, ", (double)config->engine.hold_max_ns * 1e-9);
    printf("uplinks are congested above %u, clear below %u per mille\n",
           config->engine.congested_permille, config->engine.cleared_permille);
    printf("slot-starved %.1f %% of the time, %" PRIu64 " mode switches, %" PRIu64 " holds\n",
           result->starved * 100, result->mode_switches, result->holds);
    if (result->attempts > result->tasks || result->host_failures)
        printf("%" PRIu64 " attempts, of these %" PRIu64 " copies, %" PRIu64
               " lost with their hosts or on the way; %" PRIu64 " failures of hosts\n",
               result->attempts, result->copies, result->lost_attempts, result->host_failures);
}

static void print_classes(const struct run_inputs *in, const struct run_result *result)
{
    struct job_classes classes;
    job_classes_of(in->jobs, in->n, result->jct_s, &classes);
    printf("\njobs by shuffle bytes    %10s %10s\n", "jobs", "mean JCT");
    for (unsigned c = 0; c < JOB_CLASSES; c++)
        printf("  %-22s %10zu %10.3f\n", job_class_names[c], classes.jobs[c], classes.mean_s[c]);
}

static void print_csv(const struct run_inputs *in, const struct run_result *result)
{
    printf("id,arrival_s,shuffle_bytes,jct_s\n");
    for (size_t i = 0; i < in->n; i++)
        printf("%" PRIu64 ",%.9f,%" PRIu64 ",%.9f\n", in->jobs[i].id,
               (double)in->jobs[i].arrival_ns * 1e-9, workload_job_shuffle_bytes(&in->jobs[i]),
               result->jct_s[i]);
}

static int report(const struct run_setup *setup, const struct run_inputs *in, enum form form,
                  const struct run_result *result, struct err *err)
{
    struct run_config config;
    double *sorted = malloc(in->n * sizeof(*sorted));
    if (!sorted)
        return err_set(err, ENOMEM, "not enough memory for the results");
    memcpy(sorted, result->jct_s, in->n * sizeof(*sorted));
    struct stats jct = stats_of(sorted, in->n);
    free(sorted);
    run_setup_configure(setup, in, &config);
    if (form == FORM_JSON)
        return print_json(setup, in, result, &jct) ? err_set(err, EIO, "cannot write the results")
                                                   : 0;
    if (form == FORM_CSV) {
        print_csv(in, result);
        return 0;
    }
    print_table(setup, in, &config, result, &jct);
    print_classes(in, result);
    return 0;
}

static int simulate(const struct run_setup *setup, enum form form, const char *log_path,
                    struct err *err)
{
    struct progress progress;
    struct run_inputs in = {0};
    struct run_result result = {0};
    FILE *log = NULL;
    int rc = run_inputs_read(setup, &in, err);
    if (!rc && log_path && !(log = fopen(log_path, "w")))
        rc = err_sys(err, errno, "cannot write the log %s", log_path);
    if (!rc && !(result.jct_s = calloc(in.n, sizeof(double))))
        rc = err_set(err, ENOMEM, "not enough memory for %zu jobs", in.n);
    progress_init(&progress, setup->policy->name);
    if (!rc)
        rc = run_setup_simulate(setup, &in, log, progress_show, &progress, &result, err);
    progress_done(&progress);
    if (log)
        fclose(log);
    if (!rc)
        rc = report(setup, &in, form, &result, err);
    free(result.jct_s);
    run_inputs_done(&in);
    return rc;
}

static int run(int argc, char **argv)
{
    static const char *const flags[] = {"json", "csv", "help", NULL};
    struct run_setup setup;
    static const char *const values[] = {"log", NULL};
    struct run_arguments given = {.setup = &setup, .flags = flags, .values = values};
    struct err err = {0};
    run_setup_init(&setup);
    if (run_arguments_read(&given, argc, argv, &err)) {
        fprintf(stderr, "duopoly-sim: %s\n", err.text);
        return 2;
    }
    if (given.set & 4) {
        printf("usage: duopoly-sim run %s\n      [--log FILE] [--json|--csv]\n", run_setup_usage);
        return 0;
    }
    if (!setup.path) {
        fprintf(stderr, "duopoly-sim: give --trace FILE or --workload FILE\n");
        return 2;
    }
    enum form form = given.set & 1 ? FORM_JSON : given.set & 2 ? FORM_CSV : FORM_TABLE;
    if (simulate(&setup, form, given.value[0], &err)) {
        fprintf(stderr, "duopoly-sim: %s\n", err.text);
        return 1;
    }
    return fflush(stdout) ? 1 : 0;
}

const struct command command_run = {
    .name = "run",
    .what = "the engine under virtual time: jobs, slots and network",
    .usage = "run OPTIONS [--json|--csv]  (duopoly-sim run --help lists them)",
    .run = run,
};
