/* Jobs from the Facebook Coflow benchmark's trace (lib/workload/workload_fb.h), as
 * schemas/workload.md says: each coflow becomes a job of a map stage and a reduce stage with a
 * barrier between them.
 *
 * Decided here: the cut at the cap, the scaling, the number of maps, compute times, where the
 * blocks lie. Left to the scheduler: on which host any task runs; the trace's locations are
 * dropped.
 *
 * Integers only, and each job's random numbers come from (seed, its id) alone: a job is the same in
 * the first 40 as in all 526. The cut keeps the reducers' proportions and its sum is exactly the
 * cap; a reducer of the trace that has bytes keeps at least one, so that it stays a task with
 * network input.
 *
 * Pure. Cost: sorting the trace once, then linear in the job. */
#pragma once

#include <stdint.h>

#include "lib/err.h"
#include "lib/workload/workload.h"
#include "lib/workload/workload_fb.h"

struct workload_convert {
    uint64_t jobs;        /* the first ones in order of arrival; 0: all */
    uint32_t speed_milli; /* arrivals are divided by this ÷ 1000, > 0 */
    uint64_t cap_bytes;   /* a larger job is cut to this, before scaling; 0: never */
    uint32_t scale;       /* bytes are divided by this, 1…WORKLOAD_SCALE_MAX */
    uint32_t hosts;       /* that blocks lie on, ≥ 1 */
    uint32_t slots;       /* a host's; information for the header */
    uint64_t link_bps;    /* information for the header */
    uint64_t seed;
    uint64_t compute_bytes_s; /* of one slot, > 0 */
    uint32_t map_mb; /* a map's largest share, in the trace's MB of 2^20 bytes; 0: only its mappers
                        count */
    uint32_t replicas; /* of a block, 1…WORKLOAD_REPLICAS_MAX, at most `hosts` are used */
    /* Of so many thousandths of the jobs the maps can run on a GPU as well, a whole one beside
     * the slot, and compute so many thousandths times as fast there: that is their first way. */
    uint32_t gpu_milli, gpu_speed_milli;
};

/* The defaults of the demo: 40 jobs, 5 times faster, cut at 10 GB (10^10), ÷ 10, 9 hosts of 4 slots
 * at 100 Mb/s, seed 1, 100 MB/s (10^8), 1000 MB a map, 3 replicas, no GPUs (4 times as fast). */
extern const struct workload_convert workload_convert_defaults;

/* Sets one option from the words a person gave: jobs, speed, cap, scale, hosts, slots, link, seed,
 * compute, map_mb, replicas, gpu, gpu_speed. Numbers may end in k, M or G (10^3, 10^6, 10^9); cap
 * in bytes, link in bit/s, compute in bytes/s; speed, gpu and gpu_speed may have up to three
 * decimals. −EINVAL with a sentence for an unknown name or a value out of range. */
int workload_convert_set(struct workload_convert *options, const char *name, const char *value,
                         struct err *err);

struct workload_converter {
    struct workload_convert options;
    const struct workload_fb *trace; /* borrowed until done */
    const struct workload_fb_coflow **order;
    uint64_t n, next;
    uint64_t n_cut; /* of the n jobs, those over the cap */
};

/* 0, −EINVAL for options out of range, −ENOMEM. Call workload_converter_done() in any case. */
int workload_converter_init(struct workload_converter *converter,
                            const struct workload_convert *options, const struct workload_fb *trace,
                            struct err *err);

/* The header of the file that the jobs belong in; its description names options and trace as
 * words. */
void workload_converter_header(const struct workload_converter *converter, const char *trace_name,
                               struct workload_header *ret_header);

/* The next job in order of arrival: 1 and *ret_job (the caller's), 0 at the end, −EINVAL when a job
 * breaks a bound of lib/workload/workload.h, −ENOMEM. */
int workload_converter_next(struct workload_converter *converter, struct workload_job *ret_job,
                            struct err *err);

/* Frees what the converter owns; NULL and half-built ones are fine. */
void workload_converter_done(struct workload_converter *converter);

/* A map and a reduce stage from `reducer_bytes` (scaled, n ≥ 1): the maps' input is the sum, split
 * evenly over them, each block on random hosts by (seed, id), compute times by the rate. What both
 * the converter and generators build on: arrival, name and the rest stay zero. The caller owns
 * *ret_job. −ENOMEM. */
int workload_make_mapreduce(const struct workload_convert *options, uint64_t id, uint32_t maps,
                            const uint64_t *reducer_bytes, uint32_t n, struct workload_job *ret_job,
                            struct err *err);

/* splitmix64 (Steele, Lea, Flood 2014): the next number of the stream that `state` stands for, and
 * one below n > 0. */
uint64_t workload_random(uint64_t *state);
uint64_t workload_random_below(uint64_t *state, uint64_t n);
