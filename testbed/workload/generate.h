/* The project's own first generator: jobs in the size classes of the Facebook benchmark's first 40
 * jobs, whose sizes range from a few MB to many GB: of every 40 jobs 18 tiny, 9 small, 8 medium, 2
 * large and 3 huge, in an order that the seed shuffles. Inside a class sizes are log-uniform,
 * reducers unequal. Arrivals are a Poisson process.
 *
 * Load is what arrives per second ÷ what the cluster can do: the larger of shuffle bytes ÷ uplinks
 * and computing time ÷ slots. 1 means that the busier resource is just used up on average.
 *
 * Each 40 jobs are one deck, so that any two seeds give inputs of similar weight. Job k depends on
 * seed and k only (and on its deck's order): a longer workload begins with the shorter one.
 * Streams; memory is one job. */
#pragma once

#include "lib/err.h"
#include "lib/workload/workload.h"
#include "lib/workload/workload_convert.h"

struct generator {
    struct workload_convert
        options;     /* jobs, scale, hosts, slots, link, seed, compute, replicas are used */
    double load;     /* > 0 */
    uint64_t next;   /* jobs given so far */
    uint64_t random; /* of arrivals */
    double gap_mean_ns;
    double arrival_ns;
    uint8_t deck[40];
};

/* −EINVAL with a sentence for options out of range. Owns nothing. */
int generator_init(struct generator *generator, const struct workload_convert *options, double load,
                   struct err *err);

/* The header of the file that the jobs belong in. */
void generator_header(const struct generator *generator, struct workload_header *ret_header);

/* The next job (the caller's): 1, 0 after the last, −errno with a sentence. */
int generator_next(struct generator *generator, struct workload_job *ret_job, struct err *err);
