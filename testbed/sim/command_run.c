/* duopoly-sim run: the engine under virtual time on a workload or a trace. */
#include "lib/printable.h"
#include "testbed/sim/bounds.h"
#include "testbed/sim/commands.h"
#include "testbed/sim/figure.h"
#include "testbed/sim/job_classes.h"
#include "testbed/sim/link_picture.h"
#include "testbed/sim/output.h"
#include "testbed/sim/policy_styles.h"
#include "testbed/sim/progress.h"
#include "testbed/sim/run_setup.h"
#include "testbed/sim/stats.h"
#include "testbed/sim/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum form { FORM_TABLE, FORM_JSON, FORM_CSV };

static const char *const flags[] = {"json", "csv", "help", NULL};
enum { FLAG_JSON = 1, FLAG_CSV = 2, FLAG_HELP = 4 };
static const char *const own_words[] = {"log", "cdf", "timeline", "links", NULL};
enum { WORD_LOG, WORD_CDF, WORD_TIMELINE, WORD_LINKS };

static void add_times(json_t *root, const char *of, const struct stats *times)
{
    const struct {
        const char *name;
        double value;
    } all[] = {{"mean", times->mean},
               {"median", times->median},
               {"p95", times->p95},
               {"p99", times->p99},
               {"max", times->max}};
    char key[32];
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        snprintf(key, sizeof(key), "%s_%s_s", all[i].name, of);
        json_object_set_new(root, key, json_real(all[i].value));
    }
}

static void add_numbers(json_t *root, const struct run_result *r)
{
    const struct {
        const char *name;
        double value;
    } reals[] = {{"makespan_s", r->makespan_s},   {"slot_wait_s", r->slot_wait_s},
                 {"held_slot_s", r->held_slot_s}, {"framework_wait_s", r->framework_wait_s},
                 {"link_use", r->link_use},       {"starved", r->starved}};
    const struct {
        const char *name;
        uint64_t value;
    } counts[] = {{"mode_switches", r->mode_switches},
                  {"holds", r->holds},
                  {"tasks", r->tasks},
                  {"coflows", r->cct_s.n},
                  {"attempts", r->attempts},
                  {"copies", r->copies},
                  {"lost_attempts", r->lost_attempts},
                  {"host_failures", r->host_failures}};
    for (size_t i = 0; i < sizeof(reals) / sizeof(*reals); i++)
        json_object_set_new(root, reals[i].name, json_real(reals[i].value));
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
        json_object_set_new(root, counts[i].name, json_integer((json_int_t)counts[i].value));
}

static void add_bounds(json_t *root, const struct bounds *b)
{
    json_object_set_new(root, b->proven ? "bound_s" : "estimate_s", json_real(b->largest_s));
    json_object_set_new(root, b->proven ? "bounds" : "estimates",
                        json_pack("{s:f, s:f, s:f, s:f}", "alone_s", b->alone_s, "links_s",
                                  b->links_s, "mixed_s", b->mixed_s, "slots_s", b->slots_s));
}

/* null: a hold has no end of its own. */
static void add_hold_max(json_t *root, const struct run_config *config)
{
    bool none = config->engine.hold_max_ns > INT64_MAX / 4;
    json_object_set_new(root, "hold_max_s",
                        none ? json_null() : json_real((double)config->engine.hold_max_ns * 1e-9));
}

static int print_json(const struct run_setup *a, const struct run_inputs *in,
                      const struct run_config *config, const struct bounds *bounds,
                      const struct run_result *result, const struct stats *jct)
{
    struct job_classes classes;
    job_classes_of(in->jobs, in->n, result->jct_s, &classes);
    json_t *jobs = json_array(), *parts = json_array();
    json_t *root =
        json_pack("{s:s, s:I}", "policy", a->policy->name, "seed", (json_int_t)a->convert.seed);
    for (unsigned c = 0; c < JOB_CLASSES; c++)
        json_array_append_new(parts, json_pack("{s:s, s:I, s:f}", "name", job_class_names[c],
                                               "jobs", (json_int_t)classes.jobs[c], "mean_jct_s",
                                               classes.mean_s[c]));
    for (size_t i = 0; i < in->n; i++)
        json_array_append_new(jobs, json_pack("{s:I, s:f}", "id", (json_int_t)in->jobs[i].id,
                                              "jct_s", result->jct_s[i]));
    add_hold_max(root, config);
    add_times(root, "jct", jct);
    add_times(root, "cct", &result->cct_s);
    add_numbers(root, result);
    add_bounds(root, bounds);
    json_object_set_new(root, "classes", parts);
    json_object_set_new(root, "jobs", jobs);
    int failed = !root || json_dumpf(root, stdout, JSON_COMPACT | JSON_REAL_PRECISION(15)) ||
                 putchar('\n') == EOF;
    json_decref(root);
    return failed ? -EIO : 0;
}

static void print_bounds(const struct bounds *b)
{
    printf("%-24s %10.3f  %s\n", b->proven ? "lower bound of the mean" : "estimated least mean",
           b->largest_s,
           b->proven ? "no policy can be below it"
                     : "a policy can be below it: bytes that stay on their host are free here");
    printf("the largest of: every job alone %.3f, all links as one %.3f, some jobs alone %.3f, "
           "all slots as one %.3f\n\n",
           b->alone_s, b->links_s, b->mixed_s, b->slots_s);
}

static void print_table(const struct run_setup *a, const struct run_inputs *in,
                        const struct run_config *config, const struct bounds *bounds,
                        const struct run_result *result, const struct stats *jct)
{
    printf("%s: %s\n", a->policy->name, a->policy->what);
    printable_put(in->header.description, stdout);
    putchar('\n');
    if (config->cluster)
        printf("%zu jobs, %" PRIu64 " tasks, %u hosts of %s with %" PRIu64 " slots, seed %" PRIu64
               "\n",
               in->n, result->tasks, config->hosts, a->cluster, run_slots(config), a->convert.seed);
    else
        printf("%zu jobs, %" PRIu64
               " tasks, %u hosts of %u slots, links of %.6g Mbit/s (10^6), seed %" PRIu64 "\n",
               in->n, result->tasks, config->hosts, config->slots, (double)config->link_bps * 1e-6,
               a->convert.seed);
    run_setup_print_holds(&config->engine, stdout);
    printf("\n\n");
    printf("job completion time [s]  %10s %10s %10s %10s %10s\n", "mean", "median", "p95", "p99",
           "max");
    printf("                         %10.3f %10.3f %10.3f %10.3f %10.3f\n", jct->mean, jct->median,
           jct->p95, jct->p99, jct->max);
    printf("coflow completion time   %10.3f %10.3f %10.3f %10.3f %10.3f\n", result->cct_s.mean,
           result->cct_s.median, result->cct_s.p95, result->cct_s.p99, result->cct_s.max);
    print_bounds(bounds);
    printf("slot-wait %.3f s a task, free slots held back %.1f slot-s, links used %.1f %%, "
           "makespan %.1f s\n",
           result->slot_wait_s, result->held_slot_s, result->link_use * 100, result->makespan_s);
    printf("uplinks are congested above %u, clear below %u per mille, ",
           config->engine.congested_permille, config->engine.cleared_permille);
    if (config->engine.congested_share_permille)
        printf("the network where over %u per mille of them are\n",
               config->engine.congested_share_permille);
    else
        printf("the network where one is\n");
    printf("slot-starved %.1f %% of the time, %" PRIu64 " mode switches, %" PRIu64 " holds\n",
           result->starved * 100, result->mode_switches, result->holds);
    if (config->framework)
        printf("the framework is %s; no task of it waited for the engine for over %.1f s\n",
               config->framework->name, result->framework_wait_s);
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
    struct bounds bounds;
    double *sorted = malloc(in->n * sizeof(*sorted));
    if (!sorted)
        return err_set(err, ENOMEM, "not enough memory for the results");
    memcpy(sorted, result->jct_s, in->n * sizeof(*sorted));
    struct stats jct = stats_of(sorted, in->n);
    free(sorted);
    run_setup_configure(setup, in, &config);
    int r = bounds_of(&config, in->jobs, in->n, &bounds, err);
    if (r)
        return r;
    if (form == FORM_JSON)
        return print_json(setup, in, &config, &bounds, result, &jct)
                   ? err_set(err, EIO, "cannot write the results")
                   : 0;
    if (form == FORM_CSV) {
        print_csv(in, result);
        return 0;
    }
    print_table(setup, in, &config, &bounds, result, &jct);
    print_classes(in, result);
    return 0;
}

static int write_cdf(const char *path, const struct run_setup *setup, const struct stats *jct,
                     const double *sorted_s, struct err *err)
{
    struct output output;
    double *part = calloc(jct->n, sizeof(*part));
    int r = part ? output_open(&output, path, err)
                 : err_set(err, ENOMEM, "not enough memory for the results");
    for (size_t i = 0; !r && i < jct->n; i++)
        part[i] = (double)(i + 1) / (double)jct->n;
    struct figure f = {.kind = FIGURE_STEPS,
                       .title = "Job completion times",
                       .x_name = "JCT, s",
                       .y_name = "part of the jobs",
                       .log_x = sorted_s[0] > 0,
                       .top = 1,
                       .n_series = 1,
                       .series = {{setup->policy->name, policy_style(setup->policy->name), jct->n,
                                   sorted_s, part, NULL, NULL}}};
    if (!r) {
        figure_write(&f, output.file);
        r = output_close(&output, err);
    }
    free(part);
    return r;
}

static int write_timeline(const char *path, const struct run_setup *setup,
                          const struct run_inputs *in, struct timeline *timeline, struct err *err)
{
    struct run_config config;
    struct output output;
    char title[64];
    run_setup_configure(setup, in, &config);
    snprintf(title, sizeof(title), "What the slots do under %s", setup->policy->name);
    int r = output_open(&output, path, err);
    if (r)
        return r;
    if (timeline_write(timeline, title, run_slots(&config), output.file)) {
        output_abandon(&output);
        return err_set(err, ENOMEM, "not enough memory for the timeline");
    }
    return output_close(&output, err);
}

static int write_links(const char *path, const struct run_setup *setup,
                       const struct link_picture *links, struct err *err)
{
    struct output output;
    char title[64];
    snprintf(title, sizeof(title), "Where the links' time goes under %s", setup->policy->name);
    int r = output_open(&output, path, err);
    if (r)
        return r;
    link_picture_write(links, title, output.file);
    return output_close(&output, err);
}

struct one_run {
    const struct run_arguments *given;
    struct run_inputs in;
    struct run_result result;
    struct timeline timeline;
    struct link_picture links;
    FILE *recording;
};

static int simulate(struct one_run *job, struct err *err)
{
    const struct run_setup *setup = job->given->setup;
    struct progress progress;
    struct run_listeners listeners = {
        .recording = job->recording, .progress = progress_show, .user = &progress};
    if (job->given->value[WORD_TIMELINE]) {
        listeners.watch = timeline_watch;
        listeners.watcher = &job->timeline;
    }
    if (job->given->value[WORD_LINKS]) {
        listeners.links = link_picture_listen;
        listeners.links_listener = &job->links;
    }
    progress_init(&progress, setup->policy->name);
    int r = run_setup_simulate(setup, &job->in, &listeners, &job->result, err);
    progress_done(&progress);
    return r;
}

static int prepare(struct one_run *job, struct err *err)
{
    const char *log_path = job->given->value[WORD_LOG];
    int r = output_try(job->given->value[WORD_CDF], err);
    r = r ? r : output_try(job->given->value[WORD_TIMELINE], err);
    r = r ? r : output_try(job->given->value[WORD_LINKS], err);
    if (!r && log_path && !(job->recording = fopen(log_path, "w")))
        r = err_sys(err, errno, "cannot write the recording %s", log_path);
    if (!r && !(job->result.jct_s = calloc(job->in.n, sizeof(double))))
        r = err_set(err, ENOMEM, "not enough memory for %zu jobs", job->in.n);
    return r;
}

static int answer(struct one_run *job, struct err *err)
{
    const struct run_arguments *given = job->given;
    const struct run_setup *setup = given->setup;
    enum form form = given->set & FLAG_JSON  ? FORM_JSON
                     : given->set & FLAG_CSV ? FORM_CSV
                                             : FORM_TABLE;
    int r = report(setup, &job->in, form, &job->result, err);
    if (!r && given->value[WORD_TIMELINE])
        r = write_timeline(given->value[WORD_TIMELINE], setup, &job->in, &job->timeline, err);
    if (!r && given->value[WORD_LINKS])
        r = write_links(given->value[WORD_LINKS], setup, &job->links, err);
    if (r || !given->value[WORD_CDF])
        return r;
    struct stats jct = stats_of(job->result.jct_s, job->in.n);
    return write_cdf(given->value[WORD_CDF], setup, &jct, job->result.jct_s, err);
}

static int do_job(struct one_run *job, struct err *err)
{
    int r = prepare(job, err);
    r = r ? r : simulate(job, err);
    if (job->recording)
        fclose(job->recording);
    r = r ? r : answer(job, err);
    timeline_done(&job->timeline);
    free(job->result.jct_s);
    return r;
}

static int check(const struct run_arguments *given, struct err *err)
{
    if ((given->set & (FLAG_JSON | FLAG_CSV)) == (FLAG_JSON | FLAG_CSV))
        return err_set(err, EINVAL, "give --json or --csv, not both");
    if (!given->setup->path)
        return err_set(err, EINVAL, "give --trace FILE or --workload FILE");
    return run_setup_check(given->setup, err);
}

static int run(int argc, char **argv)
{
    struct run_setup setup;
    struct run_arguments given = {.setup = &setup, .flags = flags, .values = own_words};
    struct one_run job = {.given = &given};
    struct err err = {0};
    run_setup_init(&setup);
    int r = run_arguments_read(&given, argc, argv, &err), status = 2;
    if (!r && given.set & FLAG_HELP) {
        printf("usage: duopoly-sim run %s\n"
               "      [--json|--csv] [--log FILE] [--cdf FILE.svg] [--timeline FILE.svg]\n"
               "      [--links FILE.svg]\n\noptions\n",
               run_setup_usage);
        run_setup_print_help(stdout);
        return 0;
    }
    r = r ? r : check(&given, &err);
    if (!r) {
        r = run_inputs_read(&setup, &job.in, &err);
        r = r ? r : run_inputs_check(&setup, &job.in, &err);
        status = r == -EINVAL ? 2 : 1;
        r = r ? r : do_job(&job, &err);
        run_inputs_done(&job.in);
    }
    if (r) {
        fprintf(stderr, "duopoly-sim: %s\n", err.text);
        return status;
    }
    return fflush(stdout) ? 1 : 0;
}

const struct command command_run = {
    .name = "run",
    .what = "the engine under virtual time: jobs, slots and network",
    .usage = "run OPTIONS [--json|--csv] [--cdf FILE.svg] [--timeline FILE.svg]"
             " [--links FILE.svg] [--log FILE]\n"
             "      (duopoly-sim run --help lists the options)",
    .run = run,
};
