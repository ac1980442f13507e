/* The shipped engine under virtual time: a workload's jobs arrive, the engine decides, the fluid
 * network transfers what tasks fetch, computing takes the workload's time, and nothing else takes
 * time.
 *
 * Everything that happens at one instant reaches the engine in one step: transfers that ended, then
 * computing that ended, then hosts that failed or came back, then what uplinks and D-CLAS report,
 * then jobs that arrived. A task whose input is all on its host computes at once. For D-CLAS, SCF,
 * NEAT and affinity with `downlink` received bytes are reported every 100 ms while anything is
 * received, as agents do (reports that cannot change a decision are counted as steps, not made).
 *
 * Delays. A report reaches the engine report_delay_ns after the fact, a decision takes effect
 * decision_delay_ns later; requests (jobs) reach it at once, and a job's time ends with its last
 * task, not with the report of it.
 *
 * Hosts that fail (faults.h). Attempts there end unreported; transfers from there stop. The
 * controller counts the host silent after 3 s and lost after 30 s, or at its return (as a new
 * generation, without map outputs), and starts again what is missing. A start that a host never
 * received is lost after 10 s. A block restarts from its first byte at another replica that is up,
 * as soon as one is.
 *
 * Slow attempts and their copies. A framework's speculation (Dean and Ghemawat, OSDI 2004, 3.6):
 * when an attempt has computed copy_after times as long as expected and the engine left a slot free
 * on another host, one copy of the task is started there and reported as granted to the engine,
 * which accepts the one that ends first and stops the other.
 *
 * Pipelined edges. Their stage starts when all its parents' tasks run. A map's output can be read
 * when the map has ended; a task computes at its rate, but never beyond the share of its bytes that
 * has arrived (all inputs count alike). With one steady transfer that is the source's rule: after
 * the last byte max(0, computing − receiving) is left.
 *
 * Disks (disk.h), where a cluster file has some. A task that reads before it computes reads when it
 * starts, beside what it receives; one that reads while it computes takes turns. What a host sends
 * is read there at the same time, as fast as its link sends at most: an input is complete when it
 * was read and has arrived. The engine learns what is asked of a disk at each change.
 *
 * Deterministic: same configuration and jobs, same result. The cost depends on events, not on time;
 * a failure visits every live attempt, an instant every pipelined task that receives. */
#pragma once

#include "controller/engine/engine.h"
#include "lib/workload/workload.h"
#include "testbed/sim/cluster/cluster_file.h"
#include "testbed/sim/cluster/faults.h"
#include "testbed/sim/cluster/manners.h"
#include "testbed/sim/network/topology.h"
#include "testbed/sim/stats.h"

#include <stdio.h>

/* When an attempt had all its input, which an engine's dump does not have. */
struct run_received {
    uint64_t attempt;
    int64_t at_ns; /* on the engine's clock */
};
/* In order of attempts; NULL: it is not among them. O(log n). */
const struct run_received *run_received_find(const struct run_received *received, size_t n,
                                             uint64_t attempt);

/* What a run does with what a state does not say. */
struct run_assumed {
    uint64_t attempts;      /* that run on */
    uint64_t late;          /* of these, have computed for longer than they were to: they end now */
    uint64_t since_guessed; /* compute, since when is not known: their input came as fast as their
                               host's downlink can carry it */
    uint64_t stopping;      /* attempts that were told to stop, or that no job needs: they end
                               now */
    uint64_t left_out;      /* attempts of frameworks' jobs, which are left out: they end now */
    uint64_t jobs_left_out;
    uint32_t silent;  /* hosts: nothing starts there, and what runs there goes on */
    uint32_t unrated; /* hosts that are there, with a link whose rate is not known: link_bps */
};

enum run_end { RUN_NEVER_ENDS, RUN_JOB_DONE, RUN_JOB_FAILED };

/* A run that begins with an engine that has jobs and attempts (run_resume.c). Times of the run
 * count from at_ns.
 *
 * Hosts, links, levels and jobs are the engine's. Attempts run on with what is left: of their
 * transfers, the same part of what each source sends, as only the sum of received bytes is known;
 * of their computing, what they have not computed since they had all their input. Jobs of
 * frameworks are left out. The network is one big switch. */
struct run_resume {
    struct engine *engine;               /* borrowed, and changed */
    int64_t at_ns;                       /* on the engine's clock, not before its last step */
    const struct run_received *received; /* in order of attempts (borrowed) */
    size_t n_received;
    size_t n_jobs; /* the first of the run's jobs: those that the engine has, with what it does not
                      have to know (how long tasks take); later ones arrive as they say */
    const struct event *events; /* of the first step (borrowed) */
    size_t n_events;
    enum run_end *ends; /* per job, the caller's array. jct_s of one that ended: the time from the
                           run's begin */
    struct run_assumed *assumed;
};

enum run_moment {
    RUN_STARTED,  /* an attempt got its slot */
    RUN_RECEIVED, /* its input is complete (also when there is none) */
    RUN_DONE,
    RUN_STOPPED, /* it was stopped */
    RUN_LOST,    /* with its host */
    RUN_HOST_DOWN,
    RUN_HOST_UP,
    RUN_MODE, /* the hosts' marks changed */
};

struct run_news {
    enum run_moment moment;
    int64_t now_ns;
    uint64_t job, attempt; /* 0 when not about an attempt, as stage and task */
    uint32_t stage, task, host;
    uint32_t variant; /* the way in which it runs */
    /* Why it was started, with the first of the two numbers that were compared. */
    enum reason reason;
    int64_t left;
    enum mode mode;
};

/* Use of the downlinks between two instants: parts of the sum of their rates, together 1. */
struct run_links {
    int64_t from_ns, to_ns;
    double carried;
    double awaited; /* of the rest, where a transfer runs: its other end is the bottleneck */
    double held;    /* where none is, though tasks are ready */
    double nothing; /* where none is, and no task is ready */
};

/* Other traffic: it takes `share` of the rate of some hosts' links before anything else; `part` of
 * all hosts, spread evenly. The engine knows the full rates, and reports count it. */
struct run_foreign {
    double share; /* 0…1, less than 1; 0: none */
    double part;  /* of the hosts, 0…1 */
    bool up, down;
};

/* A parameter of a policy gets another value while jobs run. */
struct run_change {
    int64_t at_ns;
    struct engine_value said;
};

struct run_config {
    struct engine_config engine;
    uint32_t hosts, slots; /* of each host; ≥ 1 */
    uint64_t link_bps;     /* of each uplink and downlink */
    /* The hosts (borrowed), `hosts` of them; slots and link_bps are for hosts that give none;
     * without racks and framework. NULL: all are alike. */
    const struct cluster *cluster;
    const char *own_links; /* links that differ (own_links.h; borrowed); NULL: none */
    /* Part of every link's rate that is not payload: 0…1, less than 1. The engine knows the full
     * rates, as hosts count whole packets. */
    double headers;
    struct run_foreign foreign;
    /* Rate of the one link over which all blocks without a host are read, then over the reader's
     * downlink. Without racks and faults. 0: such blocks are not read. */
    uint64_t outside_bps;
    uint32_t racks;          /* 0: a big switch; else leaf-spine, hosts ÷ racks a rack */
    uint32_t spines;         /* leaf-spine: 0: ideal spreading over all, else ECMP over this many */
    double oversubscription; /* leaf-spine: ≥ 1 */
    const double *told;   /* per job (borrowed): the engine gets its transfers' bytes × this; NULL:
                           the true bytes */
    double profile_error; /* σ of the log-normal error of the profiles that the engine gets, by its
                             seed; 0: none */
    /* Bytes on the task's own host use no link (else they use its links). */
    bool local_free;
    bool all_told; /* received bytes are reported though no policy looks at them, as agents do */
    int64_t report_delay_ns, decision_delay_ns; /* ≥ 0 */
    struct faults_config faults;
    /* Its jobs are a framework's with these manners, which places them itself: without delays,
     * faults or copies; NULL: they are not. */
    const struct manners *framework;
    double copy_after; /* ≥ 1; 0: no copies */
    FILE *recording;   /* receives the run in the controller's format; NULL: none */
    void (*progress)(void *user, double part);
    void *user;
    void (*watch)(void *watcher, const struct run_news *news); /* NULL: none */
    void *watcher;
    /* NULL: none; else each instant costs O(hosts). */
    void (*links)(void *listener, const struct run_links *links);
    void *links_listener;
    /* Users 0, 1, … with these shares (borrowed); 0: nobody is told of. */
    const uint32_t *shares;
    uint32_t n_users;
    const struct run_change *changes; /* in order of time (borrowed) */
    uint32_t n_changes;
    /* NULL: it begins with an empty cluster. Else without racks, cluster file, framework, outside,
     * copies and users. */
    const struct run_resume *resume;
    /* Time passes, in which the engine stays as it is; NULL: none. */
    void (*passes)(void *passer, const struct engine *engine, int64_t from_ns, int64_t to_ns);
    void *passer;
};

struct run_result {
    double *jct_s; /* per job, in the order of the jobs; the caller's array */
    struct stats
        cct_s; /* of stages that receive: from the first transfer's start to the last byte */
    double makespan_s;  /* first planned arrival to last end */
    double slot_wait_s; /* mean over tasks: from ready to start */
    double held_slot_s; /* free slots × time while a task that could use one was held back */
    double link_use; /* bytes over uplinks ÷ what they could have carried in the makespan, 0…1 */
    double device_use; /* GPU time that attempts had ÷ what there was in the makespan, 0…1 */
    double starved;    /* part of the makespan in slot-starved mode, 0…1 */
    uint64_t tasks, mode_switches, holds, steps;
    uint64_t attempts, copies, lost_attempts, host_failures; /* copies are attempts too */
    /* The longest wait of a framework's task with a free slot, until it was allowed or its stage
     * opened. */
    double framework_wait_s;
};

/* Hosts, and the outside as one more. A host's uplink has its number, its downlink this many
 * more. */
static inline uint32_t run_ports(const struct run_config *config)
{
    return config->hosts + (config->outside_bps > 0);
}

/* Slots of all hosts. O(hosts). */
uint64_t run_slots(const struct run_config *config);

/* The links of a configuration. 0, or −EINVAL or −ENOMEM with a sentence; call topology_done in any
 * case. */
int run_topology(const struct run_config *config, struct topology *ret_topology, struct err *err);

/* Runs `jobs` (in order of arrival; borrowed) to their end. Returns 0; −EINVAL with a sentence for
 * a job that the engine refuses, that cannot end, or does not before 2⁵³ ns (104 days); −ENOMEM.
 * With `resume` a job that fails or does not end is a result. */
int run_simulate(const struct run_config *config, const struct workload_job *jobs, size_t n_jobs,
                 struct run_result *result, struct err *err);
