/* A simulation of jobs: a policy, a cluster and a workload, as command-line options. The commands
 * run, compare, sweep and figures share this reader, so that an option means the same everywhere.
 *
 * Defaults are the source's simulations (Tian et al., section 6): one big switch, 50 hosts of 4
 * slots, links of 10⁹ bit/s, 10⁹ bytes/s computed per slot, 3 replicas, MB of the trace = 2²⁰
 * bytes. On a trace uplinks congest at and clear below 90 %, with a workload file at the daemon's
 * 90 % and 80 %. A hold ends after hold_max, the daemon's 30 s, which the source does not have: its
 * figures (`figures`) are without. */
#pragma once

#include "controller/engine/policy/presets.h"
#include "lib/workload/workload_input.h"
#include "testbed/sim/cluster/run.h"

/* Parameters that change meanwhile, and the last second in which one may. */
enum { RUN_CHANGES_MAX = 256, RUN_CHANGE_S_MAX = 1000000 };

struct run_setup {
    const char *path;            /* borrowed */
    const char *cluster;         /* a cluster file (borrowed); NULL: all hosts are alike */
    const struct preset *policy; /* of presets */
    struct workload_convert convert;
    uint32_t servers, slots;            /* 0: as the workload says */
    uint32_t levels;                    /* 0: 8; PRESET_LEVELS_UNLIMITED */
    double link_bytes_s;                /* 0: as the workload says */
    const char *own_links;              /* of links with rates of their own (borrowed); or NULL */
    const char *turn, *place, *network; /* NULL: as the policy says */
    int64_t hold_max_ns;                /* 0: the daemon's; INT64_MAX: none */
    uint32_t congested_permille, cleared_permille; /* 0: as the input's kind says */
    uint32_t congested_share_permille;             /* part of the uplinks; 0: a single one */
    int even_maps;                                 /* 0 or 1; −1: as the policy says */
    struct engine_value values[ENGINE_VALUES_MAX]; /* parameters of policies */
    uint32_t n_values;
    struct run_change changes[RUN_CHANGES_MAX]; /* of such parameters, in order of time */
    uint32_t n_changes;
    double load;             /* bytes of every transfer are multiplied by this, > 0 */
    double estimate_error;   /* σ of the log-normal error of the sizes that the scheduler gets; 0:
                                none */
    double profile_error;    /* σ of the same for what profiles say; 0: none */
    uint32_t racks;          /* leaf-spine of this many racks; 0: a big switch */
    uint32_t spines;         /* leaf-spine: ECMP over this many; 0: ideal spreading */
    double oversubscription; /* leaf-spine, ≥ 1 */
    int64_t report_delay_ns, decision_delay_ns;
    struct faults_config faults; /* its seed is convert.seed */
    double headers;              /* part of every link's rate, 0…0.9 */
    int64_t mode_dwell_ns;       /* ≥ 0 */
    struct run_foreign foreign;
    double outside_bytes_s;          /* 0: blocks without a host cost nothing */
    const struct manners *framework; /* its jobs are a framework's with these manners; NULL: they
                                        are not */
    double copy_after;               /* 0: no copies */
    int local_network;               /* 1: bytes on the task's own host use its links */
};

/* Jobs in memory, as read, and their cluster; run_inputs_done frees them. */
struct run_inputs {
    struct workload_header header;
    bool converted; /* from a trace */
    struct workload_job *jobs;
    size_t n, room;
    struct cluster cluster; /* without hosts: all are alike */
};

void run_setup_init(struct run_setup *setup);

/* Reads option `name` (without dashes; of run_setup_option). 0, or −EINVAL with a sentence, also
 * for an unknown name. */
int run_setup_set(struct run_setup *setup, const char *name, const char *value, struct err *err);

/* The name of option number i, each of which takes a value; NULL after the last. */
const char *run_setup_option(size_t i);

/* The usage text of those options, and each one's meaning with its default in parentheses; ends
 * with a NULL option. */
extern const char run_setup_usage[];
struct run_setup_meaning {
    const char *option, *meaning;
};
extern const struct run_setup_meaning run_setup_meanings[];

/* When a hold ends, as a clause without its full stop. */
void run_setup_print_holds(const struct engine_config *config, FILE *out);

/* All meanings and policies, a line each. */
void run_setup_print_help(FILE *out);

/* A command line of those options and of the command's own words. */
struct run_arguments {
    struct run_setup *setup;
    const char *const *flags;  /* without value; NULL-terminated; NULL: none */
    const char *const *values; /* with a value; NULL-terminated; NULL: none */
    unsigned set;              /* bit i: flags[i] was given */
    const char *value[16];     /* of values[i]; NULL: not given; the last one counts */
};

/* argv[0] is skipped. 0, or −EINVAL with a sentence. */
int run_arguments_read(struct run_arguments *arguments, int argc, char **argv, struct err *err);

/* Whether its cluster, if any, can be used: 0, or −errno with a sentence. Reads the file. */
int run_setup_check(const struct run_setup *setup, struct err *err);

/* Reads and converts the jobs. 0 or −errno with a sentence; call run_inputs_done in any case. */
int run_inputs_read(const struct run_setup *setup, struct run_inputs *in, struct err *err);
/* Whether the run's placement keeps what the jobs ask it to: 0, or −EINVAL with a sentence. */
int run_inputs_check(const struct run_setup *setup, const struct run_inputs *in, struct err *err);
void run_inputs_done(struct run_inputs *in);

/* The engine's and the simulator's configuration. Pure; O(tasks). */
void run_setup_configure(const struct run_setup *setup, const struct run_inputs *in,
                         struct run_config *ret_config);

/* The listeners of a simulation: as the members of run_config; all may be NULL. */
struct run_listeners {
    FILE *recording;
    void (*progress)(void *user, double part);
    void *user;
    void (*watch)(void *watcher, const struct run_news *news);
    void *watcher;
    void (*links)(void *listener, const struct run_links *links);
    void *links_listener;
};

/* Simulates; result->jct_s has in->n places. Returns as run_simulate. */
int run_setup_simulate(const struct run_setup *setup, const struct run_inputs *in,
                       const struct run_listeners *listeners, struct run_result *result,
                       struct err *err);
