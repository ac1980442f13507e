#include "testbed/workload/generate.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MB 1048576.0

static const struct class
{
    const char *name;
    unsigned of_40;
    double mb_min, mb_max; /* all bytes of the shuffle, before scaling */
    uint32_t maps_min, maps_max;
    uint32_t reduces_min, reduces_max;
} classes[] = {
    {"tiny", 18, 1, 4, 1, 3, 1, 1},
    {"small", 9, 5, 15, 1, 4, 1, 7},
    {"medium", 8, 40, 400, 2, 60, 1, 40},
    {"large", 2, 3800, 5200, 50, 120, 20, 60},
    {"huge", 3, 9000, 11000, 27, 150, 60, 120},
};
enum { CLASSES = sizeof(classes) / sizeof(classes[0]), DECK = 40 };

static double random_unit(uint64_t *random)
{
    return (double)(workload_random(random) >> 11) * 0x1p-53;
}

static uint32_t random_between(uint64_t *random, uint32_t min, uint32_t max)
{
    return min + (uint32_t)workload_random_below(random, max - min + 1);
}

/* Of a log-uniform distribution: (max − min) ÷ ln(max ÷ min). */
static double class_mean_bytes(const struct class *class, uint32_t scale)
{
    return (class->mb_max - class->mb_min) / log(class->mb_max / class->mb_min) * MB / scale;
}

/* Seconds that the busier of links and slots needs for an average job. */
static double job_mean_s(const struct workload_convert *o)
{
    double bytes = 0;
    for (unsigned i = 0; i < CLASSES; i++)
        bytes += class_mean_bytes(&classes[i], o->scale) * classes[i].of_40 / DECK;
    double wire_s = bytes * 8 / ((double)o->link_bps * o->hosts);
    double slots_s = 2 * bytes / ((double)o->compute_bytes_s * o->slots * o->hosts);
    return wire_s > slots_s ? wire_s : slots_s;
}

int generator_init(struct generator *generator, const struct workload_convert *options, double load,
                   struct err *err)
{
    if (!(load > 0 && load < 1e6))
        return err_set(err, EINVAL, "load is %g, must be more than 0 and less than a million",
                       load);
    if (options->jobs < 1)
        return err_set(err, EINVAL, "jobs must be at least 1");
    *generator = (struct generator){.options = *options, .load = load, .random = options->seed};
    generator->gap_mean_ns = job_mean_s(options) / load * 1e9;
    return 0;
}

void generator_header(const struct generator *generator, struct workload_header *ret_header)
{
    const struct workload_convert *o = &generator->options;
    *ret_header = (struct workload_header){
        .hosts = o->hosts, .slots = o->slots, .link_bps = o->link_bps, .scale = o->scale};
    snprintf(ret_header->description, sizeof(ret_header->description),
             "duopoly-workload generate: %" PRIu64
             " jobs, Poisson arrivals at load %g of %u hosts x %u slots x %" PRIu64
             " bit/s, bytes divided by %u, seed %" PRIu64 ", %" PRIu64 " bytes/s computed per slot",
             o->jobs, generator->load, o->hosts, o->slots, o->link_bps, o->scale, o->seed,
             o->compute_bytes_s);
}

static void shuffle_deck(struct generator *generator)
{
    unsigned n = 0;
    for (unsigned i = 0; i < CLASSES; i++)
        for (unsigned k = 0; k < classes[i].of_40; k++)
            generator->deck[n++] = (uint8_t)i;
    for (unsigned i = DECK - 1; i > 0; i--) {
        uint64_t j = workload_random_below(&generator->random, i + 1);
        uint8_t swapped = generator->deck[i];
        generator->deck[i] = generator->deck[j];
        generator->deck[j] = swapped;
    }
}

/* Shares of `total` in proportion 1…5, at least a byte each; they add up to it but for those
 * bytes. */
static void share_bytes(uint64_t *random, uint64_t total, uint32_t n, uint64_t *ret_bytes)
{
    uint64_t weights = 0, seen = 0, given = 0;
    for (uint32_t i = 0; i < n; i++)
        weights += ret_bytes[i] = 1 + workload_random_below(random, 5);
    for (uint32_t i = 0; i < n; i++) {
        seen += ret_bytes[i];
        uint64_t upto = (uint64_t)((double)total * (double)seen / (double)weights);
        ret_bytes[i] = upto > given ? upto - given : 1;
        given = upto;
    }
}

int generator_next(struct generator *generator, struct workload_job *ret_job, struct err *err)
{
    const struct workload_convert *o = &generator->options;
    uint64_t bytes[DECK * 4];
    if (generator->next == o->jobs)
        return 0;
    if (generator->next % DECK == 0)
        shuffle_deck(generator);
    const struct class *class = &classes[generator->deck[generator->next % DECK]];
    if (generator->next > 0)
        generator->arrival_ns += -log1p(-random_unit(&generator->random)) * generator->gap_mean_ns;
    uint64_t random = generator->options.seed ^ (generator->next * 0x2545f4914f6cdd1du);
    uint32_t maps = random_between(&random, class->maps_min, class->maps_max);
    uint32_t reduces = random_between(&random, class->reduces_min, class->reduces_max);
    double mb = class->mb_min * exp(random_unit(&random) * log(class->mb_max / class->mb_min));
    share_bytes(&random, (uint64_t)(mb * MB / o->scale), reduces, bytes);
    int r = workload_make_mapreduce(o, generator->next + 1, maps, bytes, reduces, ret_job, err);
    if (r < 0)
        return r;
    snprintf(ret_job->name, sizeof(ret_job->name), "%s-%" PRIu64, class->name, ret_job->id);
    /* Whole microseconds keep the file short. */
    ret_job->arrival_ns = (uint64_t)(generator->arrival_ns / 1000) * 1000;
    generator->next++;
    return 1;
}
