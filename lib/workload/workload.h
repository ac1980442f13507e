/* Workloads: which jobs arrive when, and what each of them does.
 *
 * This is the memory form of schemas/workload.md, which fixes names, units and defaults. Here a
 * line of text becomes a struct and a struct becomes a line; lib/workload/workload_file.h reads and
 * writes whole files job by job, and lib/workload/workload_convert.h makes jobs from a trace. What
 * the numbers mean for scheduling is the engine's affair.
 *
 * A job owns its arrays; all of them come from this module or from calloc(), and
 * workload_job_done() frees them. A zeroed job is a valid empty one. Per-task arrays have `tasks`
 * entries or are NULL, which means 0 for every task. A job that was read has passed
 * workload_job_check(); one that a program builds should, before it is written.
 *
 * Everything is bounded, and what exceeds a bound is refused with a sentence that names the member
 * and the bound. Bytes and times are integers, so that equal files give equal numbers everywhere:
 * milliseconds in a file are rounded to the nearest nanosecond (exact for the first 13 days: a JSON
 * number has 53 bits) and written back with up to six decimals.
 *
 * Pure: no clock, file or global. Thread-safe on distinct objects. Cost is linear in the text. */
#pragma once

#include "lib/constraint.h"
#include "lib/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

enum {
    WORKLOAD_HOSTS_MAX = 1000000,
    WORKLOAD_STAGES_MAX = 1024,
    WORKLOAD_PARENTS_MAX = 16,
    WORKLOAD_TASKS_MAX = 1000000,
    WORKLOAD_CELLS_MAX = 16 << 20, /* of all matrices of one job */
    WORKLOAD_REPLICAS_MAX = 8,
    WORKLOAD_VARIANTS_MAX = 4, /* ways to run a stage, with the first */
    WORKLOAD_WISHES_MAX = 4,   /* of a stage */
    WORKLOAD_UTILITY_MAX = 1000,
    WORKLOAD_SPEED_MAX = 1000,
    WORKLOAD_SCALE_MAX = 1000000000,
    WORKLOAD_LINE_MAX = 64 << 20, /* bytes of one line */
};
/* Of a job's input and of its shuffle: far over any real one, and sums over all jobs stay in 64
 * bits. */
#define WORKLOAD_BYTES_MAX ((uint64_t)1 << 53)
#define WORKLOAD_ID_MAX    ((uint64_t)1 << 53)
#define WORKLOAD_TIME_MAX  ((uint64_t)1 << 62) /* ns: 146 years */

struct workload_header {
    uint32_t hosts;         /* that `replicas` speak of, 1…WORKLOAD_HOSTS_MAX */
    uint32_t slots;         /* of a host of the cluster it was made for; 0: not said */
    uint64_t link_bps;      /* of that cluster; 0: not said */
    uint32_t scale;         /* bytes were divided by this, 1…WORKLOAD_SCALE_MAX */
    char description[1024]; /* cut when longer */
};

enum workload_kind { WORKLOAD_BATCH, WORKLOAD_STREAM, WORKLOAD_UNKNOWN };

/* One task's demand; members that the file does not name are 0; without `demand` it is one slot. */
struct workload_demand {
    int64_t slots, cpu_milli, mem_bytes, gpu_milli, gpu_mem_bytes, io_bytes_s;
};

struct workload_replicas {
    uint8_t n;                             /* 0: no host holds the block */
    uint32_t hosts[WORKLOAD_REPLICAS_MAX]; /* distinct, in the file's order, < header's hosts */
};

/* Bytes from a parent stage into this one: at most one of `sums` and `matrix` is there. */
struct workload_edge {
    uint32_t parent;  /* index of a stage before this one */
    bool pipelined;   /* else a barrier: starts when the parent has ended */
    uint64_t *sums;   /* per task of this stage, split evenly over the parent's tasks */
    uint64_t *matrix; /* cell (parent's task · tasks of this stage + task) */
};

/* A way to run the tasks of a stage beside the one that the stage itself says. No two ways of a
 * stage have the same demand and the same constraint. */
struct workload_variant {
    char command[64];
    char constraint[CONSTRAINT_MAX];
    struct workload_demand demand;
    uint64_t *compute_ns;   /* NULL: as the stage's */
    bool profiled;          /* it has a profile, */
    struct profile profile; /* all but its computing, which follows from compute_ns */
};

/* So many tasks run at once on one, at most; 0: any number. */
struct workload_at_most {
    uint32_t host, rack;
};

/* What the hosts of a stage's tasks should meet, and what that is worth. */
struct workload_wish {
    char constraint[CONSTRAINT_MAX]; /* not empty */
    uint32_t utility;                /* 1…WORKLOAD_UTILITY_MAX */
    uint32_t speed; /* simulated tasks compute so many times as fast there; 1…WORKLOAD_SPEED_MAX */
};

struct workload_stage {
    uint32_t tasks;
    char command[64];
    char constraint[CONSTRAINT_MAX]; /* what the host must meet; empty: nothing */
    char history[64];                /* the same for the same stage, run after run; empty: none */
    struct workload_demand demand;
    uint64_t *input_bytes;
    struct workload_replicas *replicas;
    uint64_t *compute_ns;
    bool profiled; /* as of a variant */
    struct profile profile;
    uint32_t n_parents;
    struct workload_edge *parents;
    uint32_t n_variants; /* further ways, in order of preference; < WORKLOAD_VARIANTS_MAX */
    struct workload_variant *variants;
    uint32_t n_wishes; /* ≤ WORKLOAD_WISHES_MAX */
    struct workload_wish wishes[WORKLOAD_WISHES_MAX];
    struct workload_at_most at_most; /* not above the job's */
};

struct workload_job {
    uint64_t id;
    char name[64];
    uint64_t arrival_ns; /* since the workload's start */
    uint32_t user;
    enum workload_kind kind;
    int32_t priority;
    uint64_t deadline_ns;   /* after arrival; 0: none */
    int64_t estimate_bytes; /* of its shuffle, as the submitter believes; −1: as the stages say */
    struct workload_at_most at_most;
    uint32_t n_stages;
    struct workload_stage *stages;
};

/* Reads the first line of a file (`length` bytes, no newline needed). −EINVAL with a sentence when
 * it is none. */
int workload_header_parse(const char *text, size_t length, struct workload_header *ret_header,
                          struct err *err);

/* Reads one job's line. The caller owns *ret_job and ends it with workload_job_done(); it is
 * untouched on failure. −EINVAL: not a job, or a bound exceeded; −ENOMEM. The order of arrivals and
 * the uniqueness of ids are the file's. */
int workload_job_parse(const struct workload_header *header, const char *text, size_t length,
                       struct workload_job *ret_job, struct err *err);

/* Writes the line without its newline, members at their defaults left out. Returns a string that
 * the caller frees with free(), or NULL when memory is short. Parsing it gives an equal struct. */
char *workload_header_format(const struct workload_header *header);
char *workload_job_format(const struct workload_job *job);

/* Whether a job keeps the bounds and rules above: 0 or −EINVAL with the sentence. */
int workload_job_check(const struct workload_header *header, const struct workload_job *job,
                       struct err *err);

/* Frees what the job owns and zeroes it. NULL and half-built jobs are fine. */
void workload_job_done(struct workload_job *job);

/* What a way to run the stage says: variant 0 is the stage itself, up to n_variants. O(1). */
const struct workload_demand *workload_demand_of(const struct workload_stage *stage,
                                                 uint32_t variant);
const char *workload_command_of(const struct workload_stage *stage, uint32_t variant);
const char *workload_constraint_of(const struct workload_stage *stage, uint32_t variant);
/* How long the task computes so. */
uint64_t workload_compute_ns(const struct workload_stage *stage, uint32_t variant, uint32_t task);
/* Its profile, with the mean of its tasks' computing; all 0 where it has none. O(tasks). */
struct profile workload_profile_of(const struct workload_stage *stage, uint32_t variant);

/* Part `part` of `whole` split evenly in `parts` > 0: the first ones take the remainder. */
uint64_t workload_split_part(uint64_t whole, uint64_t parts, uint64_t part);

/* All bytes that task `task` of `stage` fetches over all its edges. O(edges), with a matrix
 * O(parent's tasks). */
uint64_t workload_task_shuffle_bytes(const struct workload_job *job, uint32_t stage, uint32_t task);

/* All bytes over all edges of the job: what the submitter's estimate should have been. O(size of
 * the job). */
uint64_t workload_job_shuffle_bytes(const struct workload_job *job);
