/* Simulations of hosts with GPUs and disks, one after the other in one process, for
 * tests/bench/hdas: what tasks took in each way to run them, and how busy GPUs and disks were.
 *
 *   bench-hdas < RUNS
 *
 * A line of the input is a run: OPTION=VALUE between tabs, options as `duopoly-sim run` has them,
 * and bins=N for what GPUs and disks do over time, in so many parts of the run. The hosts are those
 * of a cluster file; of a job's stages only the first is looked at, but in jct_s. The answer is a
 * line of JSON:
 *
 *   run_s      from the first arrival to the last end
 *   jct_s      by job, from its arrival to its end
 *   ways       by job, by way to run its tasks: gpu, tasks, took_s (their sum), delay (the sum of
 *              their times ÷ the lone time that the profile says), predicted (how many of them
 *              affinity predicted), off (the sum of what it was off by: |time ÷ predicted − 1|)
 *   gpus       by host, by bin: the part of its GPUs that compute
 *   disks      by host, by bin: the part of its disk's rate that is asked for, at most 1
 *   together_s by job, by job: host-seconds in which both have a GPU of the host
 *
 * or {"error": SENTENCE}. */
#include "lib/grow.h"
#include "lib/number.h"
#include "testbed/sim/run_setup.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JOBS_MAX = 8, BINS_MAX = 1000 };

/* A way to run the tasks of a job, and what of them is known. */
struct way {
    bool gpu, before;
    double lone_s, asked_bytes_s;
    uint64_t tasks, predicted;
    double took_s, delay, off;
};

struct life {
    int64_t from_ns;
    uint32_t job; /* its place among the jobs */
    uint32_t variant;
    double predicted_s; /* 0: nobody did */
};

/* From then on the host has so much more: GPUs that a job holds, GPUs that compute, and what is
 * asked of the disk. */
struct change {
    int64_t at_ns;
    uint32_t host, job;
    int held, computing;
    double asked_bytes_s;
};

struct seen {
    const struct run_inputs *in;
    struct way ways[JOBS_MAX][WORKLOAD_VARIANTS_MAX];
    struct life *lives; /* by the number of the attempt in its epoch */
    size_t lives_room;
    struct change *changes;
    size_t n_changes, changes_room;
    bool over_time;
    bool failed; /* memory was short */
};

/* What a host does now, and did in each bin. */
struct host_now {
    int64_t at_ns;
    int held[JOBS_MAX], computing;
    double asked_bytes_s, disk_bytes_s, n_gpus;
    double gpus[BINS_MAX], disks[BINS_MAX]; /* times ns */
};

/* ---- a run ---- */

static uint32_t place_of(const struct run_inputs *in, uint64_t job)
{
    uint32_t i = 0;
    while (in->jobs[i].id != job)
        i++;
    return i;
}

static struct life *life_of(struct seen *seen, uint64_t attempt)
{
    size_t number = (uint32_t)attempt, room = seen->lives_room ? seen->lives_room : 1024;
    while (number >= room)
        room *= 2;
    if (room > seen->lives_room) {
        struct life *grown = reallocarray(seen->lives, room, sizeof(*grown));
        if (!grown)
            return NULL;
        seen->lives = grown;
        seen->lives_room = room;
    }
    return &seen->lives[number];
}

static void change(struct seen *seen, const struct run_news *news, const struct life *life,
                   int held, int computing, double asked_bytes_s)
{
    const struct way *way = &seen->ways[life->job][life->variant];
    if (!seen->over_time)
        return;
    if (!array_grow(seen->changes, seen->n_changes, seen->changes_room, 1024)) {
        seen->failed = true;
        return;
    }
    seen->changes[seen->n_changes++] = (struct change){
        news->now_ns, news->host, life->job, way->gpu ? held : 0, way->gpu ? computing : 0,
        asked_bytes_s};
}

static double predicted_s(const struct run_news *news)
{
    const char *reason = reason_name(news->reason);
    bool predicted = strcmp(reason, "least-delayed") == 0 || strcmp(reason, "slowest") == 0;
    return predicted ? (double)news->left * 1e-9 : 0;
}

static void end(struct way *way, const struct life *life, double took_s)
{
    way->tasks++;
    way->took_s += took_s;
    way->delay += way->lone_s > 0 ? took_s / way->lone_s : 1;
    if (life->predicted_s > 0) {
        way->predicted++;
        way->off += fabs(took_s / life->predicted_s - 1);
    }
}

/* One that reads before it computes asks the disk until its input is complete, another one from
 * then on. */
static void watch(void *watcher, const struct run_news *news)
{
    struct seen *seen = watcher;
    struct life *life = news->attempt && !news->stage ? life_of(seen, news->attempt) : NULL;
    seen->failed |= news->attempt && !news->stage && !life;
    if (!life)
        return;
    if (news->moment == RUN_STARTED)
        *life = (struct life){news->now_ns, place_of(seen->in, news->job), news->variant,
                              predicted_s(news)};
    struct way *way = &seen->ways[life->job][life->variant];
    double asked_bytes_s = way->asked_bytes_s;
    if (news->moment == RUN_STARTED)
        change(seen, news, life, 1, 0, way->before ? asked_bytes_s : 0);
    else if (news->moment == RUN_RECEIVED)
        change(seen, news, life, 0, 1, way->before ? -asked_bytes_s : asked_bytes_s);
    else if (news->moment == RUN_DONE) {
        change(seen, news, life, -1, -1, way->before ? 0 : -asked_bytes_s);
        end(way, life, (double)(news->now_ns - life->from_ns) * 1e-9);
    }
}

static void find_ways(struct seen *seen)
{
    for (size_t j = 0; j < seen->in->n; j++) {
        const struct workload_stage *stage = &seen->in->jobs[j].stages[0];
        for (uint32_t v = 0; v <= stage->n_variants; v++) {
            const struct profile profile = workload_profile_of(stage, v);
            seen->ways[j][v] =
                (struct way){.gpu = workload_demand_of(stage, v)->gpu_milli > 0,
                             .before = profile.before,
                             .lone_s = (double)profile_lone_ns(&profile) * 1e-9,
                             .asked_bytes_s = (double)profile_asked_bytes_s(&profile)};
        }
    }
}

/* ---- over time ---- */

static void add_to_bins(double *bins, uint64_t n, int64_t from_ns, int64_t to_ns, double all_ns,
                        double value)
{
    double width_ns = all_ns / (double)n, from = (double)from_ns, to = (double)to_ns;
    for (uint64_t b = (uint64_t)(from / width_ns); b < n && (double)b * width_ns < to; b++) {
        double first = fmax(from, (double)b * width_ns);
        double last = fmin(to, (double)(b + 1) * width_ns);
        bins[b] += value * fmax(0, last - first);
    }
}

static void pass(struct host_now *host, int64_t to_ns, uint64_t n_bins, double all_ns,
                 double together_ns[JOBS_MAX][JOBS_MAX])
{
    double passed_ns = (double)(to_ns - host->at_ns);
    if (host->n_gpus > 0)
        add_to_bins(host->gpus, n_bins, host->at_ns, to_ns, all_ns, host->computing / host->n_gpus);
    if (host->disk_bytes_s > 0)
        add_to_bins(host->disks, n_bins, host->at_ns, to_ns, all_ns,
                    fmin(1, host->asked_bytes_s / host->disk_bytes_s));
    for (int j = 0; j < JOBS_MAX; j++)
        for (int k = 0; host->held[j] && k < JOBS_MAX; k++)
            together_ns[j][k] += host->held[k] ? passed_ns : 0;
    host->at_ns = to_ns;
}

static void take(struct host_now *host, const struct change *c)
{
    host->held[c->job] += c->held;
    host->computing += c->computing;
    host->asked_bytes_s += c->asked_bytes_s;
}

static struct host_now *make_hosts(const struct cluster *cluster)
{
    struct host_now *hosts = calloc(cluster->n_hosts, sizeof(*hosts));
    for (uint32_t h = 0; hosts && h < cluster->n_hosts; h++) {
        const struct cluster_class *class = cluster->hosts[h].class;
        hosts[h].disk_bytes_s = (double)class->disk_bytes_s;
        for (uint32_t u = 0; u < class->n_units; u++)
            hosts[h].n_gpus += (double)class->units[u].gpu_milli / 1000;
    }
    return hosts;
}

static json_t *bins_json(const double *bins, uint64_t n, double all_ns)
{
    json_t *array = json_array();
    for (uint64_t b = 0; b < n; b++)
        json_array_append_new(array, json_real(bins[b] * (double)n / all_ns));
    return array;
}

static int add_over_time(json_t *root, const struct seen *seen, uint64_t n_bins, double run_s)
{
    static double together_ns[JOBS_MAX][JOBS_MAX];
    const struct cluster *cluster = &seen->in->cluster;
    struct host_now *hosts = make_hosts(cluster);
    json_t *gpus = json_array(), *disks = json_array(), *together = json_array();
    double all_ns = run_s * 1e9;
    if (!hosts)
        return -ENOMEM;
    memset(together_ns, 0, sizeof(together_ns));
    for (size_t i = 0; i < seen->n_changes; i++) {
        const struct change *c = &seen->changes[i];
        pass(&hosts[c->host], c->at_ns, n_bins, all_ns, together_ns);
        take(&hosts[c->host], c);
    }
    for (uint32_t h = 0; h < cluster->n_hosts; h++) {
        json_array_append_new(gpus, bins_json(hosts[h].gpus, n_bins, all_ns));
        json_array_append_new(disks, bins_json(hosts[h].disks, n_bins, all_ns));
    }
    for (size_t j = 0; j < seen->in->n; j++) {
        json_t *row = json_array();
        for (size_t k = 0; k < seen->in->n; k++)
            json_array_append_new(row, json_real(together_ns[j][k] * 1e-9));
        json_array_append_new(together, row);
    }
    json_object_set_new(root, "gpus", gpus);
    json_object_set_new(root, "disks", disks);
    json_object_set_new(root, "together_s", together);
    free(hosts);
    return 0;
}

/* ---- the answer ---- */

static json_t *ways_json(const struct seen *seen)
{
    json_t *jobs = json_array();
    for (size_t j = 0; j < seen->in->n; j++) {
        json_t *ways = json_array();
        for (uint32_t v = 0; v <= seen->in->jobs[j].stages[0].n_variants; v++) {
            const struct way *way = &seen->ways[j][v];
            json_array_append_new(ways, json_pack("{s:b, s:I, s:f, s:f, s:I, s:f}", "gpu", way->gpu,
                                                  "tasks", (json_int_t)way->tasks, "took_s",
                                                  way->took_s, "delay", way->delay, "predicted",
                                                  (json_int_t)way->predicted, "off", way->off));
        }
        json_array_append_new(jobs, ways);
    }
    return jobs;
}

static json_t *times_json(const double *jct_s, size_t n)
{
    json_t *jobs = json_array();
    for (size_t j = 0; j < n; j++)
        json_array_append_new(jobs, json_real(jct_s[j]));
    return jobs;
}

static int check(const struct run_inputs *in, struct err *err)
{
    if (!in->cluster.n_hosts)
        return err_set(err, EINVAL, "the run has no cluster file");
    return in->n > JOBS_MAX ? err_set(err, EINVAL, "%zu jobs, at most %d", in->n, JOBS_MAX) : 0;
}

static int simulate(const struct run_setup *setup, uint64_t n_bins, json_t *root, struct err *err)
{
    struct run_inputs in = {0};
    struct seen seen = {.in = &in, .over_time = n_bins > 0};
    const struct run_listeners listeners = {.watch = watch, .watcher = &seen};
    double jct_s[JOBS_MAX];
    struct run_result result = {.jct_s = jct_s};
    int r = run_inputs_read(setup, &in, err);
    r = r ? r : check(&in, err);
    if (!r) {
        find_ways(&seen);
        r = run_setup_simulate(setup, &in, &listeners, &result, err);
    }
    if (!r) {
        json_object_set_new(root, "run_s", json_real(result.makespan_s));
        json_object_set_new(root, "jct_s", times_json(jct_s, in.n));
        json_object_set_new(root, "ways", ways_json(&seen));
        r = n_bins ? add_over_time(root, &seen, n_bins, result.makespan_s) : 0;
        if (r || seen.failed)
            r = err_set(err, ENOMEM, "not enough memory for what the run did");
    }
    free(seen.lives);
    free(seen.changes);
    run_inputs_done(&in);
    return r;
}

/* The words of a line, which the setup borrows. */
static int read_line(char *line, struct run_setup *setup, uint64_t *ret_bins, struct err *err)
{
    char *word;
    int r = 0;
    run_setup_init(setup);
    *ret_bins = 0;
    while (!r && (word = strsep(&line, "\t\n"))) {
        char *value = strchr(word, '=');
        if (!*word)
            continue;
        if (!value)
            return err_set(err, EINVAL, "'%s' is not OPTION=VALUE", word);
        *value++ = 0;
        if (strcmp(word, "bins") != 0)
            r = run_setup_set(setup, word, value, err);
        else if (number_read(value, 0, BINS_MAX, ret_bins) < 0)
            r = err_set(err, EINVAL, "bins takes a number from 0 to %d, not '%s'", BINS_MAX, value);
    }
    return r;
}

int main(void)
{
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, stdin) > 0) {
        struct run_setup setup;
        struct err err = {0};
        uint64_t n_bins = 0;
        json_t *root = json_object();
        int r = read_line(line, &setup, &n_bins, &err);
        r = r ? r : simulate(&setup, n_bins, root, &err);
        if (r) {
            json_object_clear(root);
            json_object_set_new(root, "error", json_string(err.text));
        }
        if (json_dumpf(root, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9)) ||
            putchar('\n') == EOF || fflush(stdout))
            return 1;
        json_decref(root);
    }
    free(line);
    return 0;
}
