#include "lib/workload/workload_convert.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_S  1000000000u
#define NS_PER_MS 1000000u

typedef unsigned __int128 wide;

const struct workload_convert workload_convert_defaults = {
    .jobs = 40,
    .speed_milli = 5000,
    .cap_bytes = 10000000000u,
    .scale = 10,
    .hosts = 9,
    .slots = 4,
    .link_bps = 100000000,
    .seed = 1,
    .compute_bytes_s = 100000000,
    .map_mb = 1000,
    .replicas = 3,
    .gpu_speed_milli = 4000,
};

uint64_t workload_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t workload_random_below(uint64_t *state, uint64_t n)
{
    return (uint64_t)(((wide)workload_random(state) * n) >> 64);
}

static uint64_t random_of_job(uint64_t seed, uint64_t id)
{
    uint64_t state = seed;
    state = workload_random(&state) ^ id;
    return workload_random(&state);
}

static uint64_t compute_ns(const struct workload_convert *options, uint64_t bytes)
{
    return (uint64_t)((wide)bytes * NS_PER_S / options->compute_bytes_s);
}

/* `n` distinct hosts: the first n places of a shuffle that is only done so far (Floyd 1987). */
static void choose_replicas(uint64_t *random, uint32_t hosts, uint32_t n,
                            struct workload_replicas *ret)
{
    ret->n = 0;
    for (uint32_t j = hosts - n; j < hosts; j++) {
        uint32_t host = (uint32_t)workload_random_below(random, j + 1);
        for (unsigned i = 0; i < ret->n; i++)
            if (ret->hosts[i] == host) {
                host = j;
                break;
            }
        ret->hosts[ret->n++] = host;
    }
}

/* WHY numbers of its own: blocks lie where they lie without. */
static bool can_use_gpu(const struct workload_convert *options, uint64_t id)
{
    uint64_t random = random_of_job(~options->seed, id);
    return workload_random_below(&random, 1000) < options->gpu_milli;
}

/* The slot becomes the second way, behind a slot with a GPU. */
static int prefer_gpu(const struct workload_convert *options, struct workload_stage *stage)
{
    stage->variants = calloc(1, sizeof(*stage->variants));
    if (!stage->variants)
        return -ENOMEM;
    stage->n_variants = 1;
    struct workload_variant *slot = &stage->variants[0];
    strcpy(slot->command, stage->command);
    slot->demand = stage->demand;
    slot->compute_ns = stage->compute_ns;
    strcpy(stage->command, "map-gpu");
    stage->demand.gpu_milli = 1000;
    stage->compute_ns = calloc(stage->tasks, sizeof(*stage->compute_ns));
    if (!stage->compute_ns)
        return -ENOMEM;
    for (uint32_t t = 0; t < stage->tasks; t++)
        stage->compute_ns[t] =
            (uint64_t)((wide)slot->compute_ns[t] * 1000 / options->gpu_speed_milli);
    return 0;
}

static int make_maps(const struct workload_convert *options, uint64_t id, uint64_t bytes,
                     struct workload_stage *stage)
{
    uint64_t random = random_of_job(options->seed, id);
    uint32_t n = options->replicas < options->hosts ? options->replicas : options->hosts;
    strcpy(stage->command, "map");
    stage->demand.slots = 1;
    stage->input_bytes = calloc(stage->tasks, sizeof(*stage->input_bytes));
    stage->compute_ns = calloc(stage->tasks, sizeof(*stage->compute_ns));
    stage->replicas = calloc(stage->tasks, sizeof(*stage->replicas));
    if (!stage->input_bytes || !stage->compute_ns || !stage->replicas)
        return -ENOMEM;
    for (uint32_t t = 0; t < stage->tasks; t++) {
        stage->input_bytes[t] = workload_split_part(bytes, stage->tasks, t);
        stage->compute_ns[t] = compute_ns(options, stage->input_bytes[t]);
        choose_replicas(&random, options->hosts, n, &stage->replicas[t]);
    }
    return can_use_gpu(options, id) ? prefer_gpu(options, stage) : 0;
}

static int make_reduces(const struct workload_convert *options, const uint64_t *bytes,
                        struct workload_stage *stage)
{
    strcpy(stage->command, "reduce");
    stage->demand.slots = 1;
    stage->compute_ns = calloc(stage->tasks, sizeof(*stage->compute_ns));
    stage->parents = calloc(1, sizeof(*stage->parents));
    if (!stage->compute_ns || !stage->parents)
        return -ENOMEM;
    stage->n_parents = 1;
    stage->parents[0].sums = calloc(stage->tasks, sizeof(*bytes));
    if (!stage->parents[0].sums)
        return -ENOMEM;
    memcpy(stage->parents[0].sums, bytes, stage->tasks * sizeof(*bytes));
    for (uint32_t t = 0; t < stage->tasks; t++)
        stage->compute_ns[t] = compute_ns(options, bytes[t]);
    return 0;
}

int workload_make_mapreduce(const struct workload_convert *options, uint64_t id, uint32_t maps,
                            const uint64_t *reducer_bytes, uint32_t n, struct workload_job *ret_job,
                            struct err *err)
{
    struct workload_job job = {.id = id, .estimate_bytes = -1};
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < n; i++)
        bytes += reducer_bytes[i];
    snprintf(job.name, sizeof(job.name), "job-%" PRIu64, id);
    job.stages = calloc(2, sizeof(*job.stages));
    if (!job.stages)
        goto fail;
    job.n_stages = 2;
    job.stages[0].tasks = maps;
    job.stages[1].tasks = n;
    if (make_maps(options, id, bytes, &job.stages[0]) < 0 ||
        make_reduces(options, reducer_bytes, &job.stages[1]) < 0)
        goto fail;
    *ret_job = job;
    return 0;
fail:
    workload_job_done(&job);
    return err_sys(err, ENOMEM, "job %" PRIu64, id);
}

static int by_arrival(const void *a, const void *b)
{
    const struct workload_fb_coflow *x = *(const struct workload_fb_coflow *const *)a;
    const struct workload_fb_coflow *y = *(const struct workload_fb_coflow *const *)b;
    if (x->arrival_ms != y->arrival_ms)
        return x->arrival_ms < y->arrival_ms ? -1 : 1;
    return x < y ? -1 : x > y; /* the trace's own order: they stand in one array */
}

static int check_options(const struct workload_convert *o, struct err *err)
{
    if (o->speed_milli < 1)
        return err_set(err, EINVAL, "speed must be more than 0");
    if (o->scale < 1 || o->scale > WORKLOAD_SCALE_MAX)
        return err_set(err, EINVAL, "scale is %u, must be 1…%d", o->scale, WORKLOAD_SCALE_MAX);
    if (o->hosts < 1 || o->hosts > WORKLOAD_HOSTS_MAX)
        return err_set(err, EINVAL, "hosts is %u, must be 1…%d", o->hosts, WORKLOAD_HOSTS_MAX);
    if (o->compute_bytes_s < 1)
        return err_set(err, EINVAL, "the compute rate must be more than 0");
    if (o->replicas < 1 || o->replicas > WORKLOAD_REPLICAS_MAX)
        return err_set(err, EINVAL, "replicas is %u, must be 1…%d", o->replicas,
                       WORKLOAD_REPLICAS_MAX);
    return 0;
}

/* What it adds to the description. */
static void describe_gpus(const struct workload_convert *o, char *text, size_t size)
{
    if (o->gpu_milli)
        snprintf(text, size,
                 "; the maps of %u.%03u of the jobs can run on a GPU too, %u.%03u times as fast",
                 o->gpu_milli / 1000, o->gpu_milli % 1000, o->gpu_speed_milli / 1000,
                 o->gpu_speed_milli % 1000);
}

static int total_bytes(const struct workload_fb_coflow *coflow, uint64_t *ret_bytes,
                       struct err *err)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < coflow->n_reducers; i++)
        if (__builtin_add_overflow(total, (uint64_t)coflow->reducers[i].bytes, &total))
            return err_set(err, EINVAL, "job %" PRIu64 " moves more than 2^64 bytes", coflow->id);
    *ret_bytes = total;
    return 0;
}

int workload_converter_init(struct workload_converter *converter,
                            const struct workload_convert *options, const struct workload_fb *trace,
                            struct err *err)
{
    *converter = (struct workload_converter){.options = *options, .trace = trace};
    int r = check_options(options, err);
    if (r < 0)
        return r;
    converter->order = calloc(trace->n_coflows + 1, sizeof(struct workload_fb_coflow *));
    if (!converter->order)
        return err_sys(err, ENOMEM, "the trace's order");
    for (size_t i = 0; i < trace->n_coflows; i++)
        converter->order[i] = &trace->coflows[i];
    qsort(converter->order, trace->n_coflows, sizeof(*converter->order), by_arrival);
    converter->n = trace->n_coflows;
    if (options->jobs && options->jobs < converter->n)
        converter->n = options->jobs;
    for (uint64_t i = 0; i < converter->n; i++) {
        uint64_t bytes = 0;
        if ((r = total_bytes(converter->order[i], &bytes, err)) < 0)
            return r;
        converter->n_cut += options->cap_bytes && bytes > options->cap_bytes;
    }
    return 0;
}

void workload_converter_header(const struct workload_converter *converter, const char *trace_name,
                               struct workload_header *ret_header)
{
    const struct workload_convert *o = &converter->options;
    *ret_header = (struct workload_header){
        .hosts = o->hosts, .slots = o->slots, .link_bps = o->link_bps, .scale = o->scale};
    snprintf(
        ret_header->description, sizeof(ret_header->description),
        "the first %" PRIu64 " of %zu jobs of %.256s: arrivals %u.%03u times as fast; %" PRIu64
        " jobs over %" PRIu64 " bytes cut to that; then bytes divided by %u; %u racks folded onto "
        "%u hosts; maps of at most %u MB (2^20) "
        "before scaling, on %u replicas by seed %" PRIu64 "; %" PRIu64 " bytes/s computed per slot",
        converter->n, converter->trace->n_coflows, trace_name, o->speed_milli / 1000,
        o->speed_milli % 1000, converter->n_cut, o->cap_bytes, o->scale, converter->trace->n_ports,
        o->hosts, o->map_mb, o->replicas, o->seed, o->compute_bytes_s);
    size_t length = strlen(ret_header->description);
    describe_gpus(o, ret_header->description + length, sizeof(ret_header->description) - length);
}

/* Cut to the cap and scaled. Rounding runs along the reducers, so that their sum is exact to one
 * byte each. */
static void scaled_bytes(const struct workload_convert *options,
                         const struct workload_fb_coflow *coflow, uint64_t total, uint64_t kept,
                         uint64_t *ret_bytes)
{
    wide seen = 0, given = 0;
    for (uint32_t i = 0; i < coflow->n_reducers; i++) {
        seen += (uint64_t)coflow->reducers[i].bytes;
        wide upto = total ? seen * kept / total / options->scale : 0;
        ret_bytes[i] = (uint64_t)(upto - given);
        given = upto;
        if (ret_bytes[i] == 0 && coflow->reducers[i].bytes > 0)
            ret_bytes[i] = 1;
    }
}

/* ⌈bytes ÷ (map_mb · 2^20)⌉, at least the trace's mappers. */
static uint64_t count_maps(const struct workload_convert *options, uint64_t bytes, uint32_t mappers)
{
    uint64_t share = (uint64_t)options->map_mb << 20;
    uint64_t maps = share ? (bytes + share - 1) / share : 0;
    return maps > mappers ? maps : mappers;
}

int workload_converter_next(struct workload_converter *converter, struct workload_job *ret_job,
                            struct err *err)
{
    const struct workload_convert *o = &converter->options;
    if (converter->next == converter->n)
        return 0;
    const struct workload_fb_coflow *coflow = converter->order[converter->next];
    uint64_t total = 0;
    int r = total_bytes(coflow, &total, err);
    if (r < 0)
        return r;
    uint64_t kept = o->cap_bytes && total > o->cap_bytes ? o->cap_bytes : total;
    uint64_t maps = count_maps(o, kept, coflow->n_mappers);
    if (maps > WORKLOAD_TASKS_MAX)
        return err_set(err, EINVAL,
                       "job %" PRIu64 " would have %" PRIu64 " maps, at most %d are taken",
                       coflow->id, maps, WORKLOAD_TASKS_MAX);
    uint64_t *bytes = calloc(coflow->n_reducers, sizeof(*bytes));
    if (!bytes)
        return err_sys(err, ENOMEM, "job %" PRIu64, coflow->id);
    scaled_bytes(o, coflow, total, kept, bytes);
    r = workload_make_mapreduce(o, coflow->id, (uint32_t)maps, bytes, coflow->n_reducers, ret_job,
                                err);
    free(bytes);
    if (r < 0)
        return r;
    ret_job->arrival_ns =
        (uint64_t)((wide)(uint64_t)coflow->arrival_ms * NS_PER_MS * 1000 / o->speed_milli);
    struct workload_header header = {.hosts = o->hosts, .scale = o->scale};
    if ((r = workload_job_check(&header, ret_job, err)) < 0) {
        workload_job_done(ret_job);
        err_prefix(err, "job %" PRIu64, coflow->id);
        return r;
    }
    converter->next++;
    return 1;
}

void workload_converter_done(struct workload_converter *converter)
{
    if (!converter)
        return;
    free(converter->order);
    *converter = (struct workload_converter){0};
}
