/* State of a simulated run. Private to run*.c: run.c is the clock, run_engine.c the way to and from
 * the engine, run_attempts.c attempts on hosts and wire, run_hosts.c failures, run_reports.c
 * agents' reports of received bytes, run_disks.c what is read, run_copies.c second attempts,
 * run_framework*.c jobs of a framework, run_resume.c a begin with what runs already, run_state.c
 * what all of them use. run.c calls the others, never the other way round.
 *
 * There are two sides: the truth (attempts, transfers, hosts) and what the engine knows. They
 * differ by the delays: a report leaves by run_report and reaches the engine report_delay_ns later,
 * a decision takes effect decision_delay_ns later. All functions return 0 or −errno with the
 * sentence in run.err. */
#pragma once

#include "testbed/sim/cluster/delay_line.h"
#include "testbed/sim/cluster/disk.h"
#include "testbed/sim/cluster/run.h"
#include "testbed/sim/cluster/run_recording.h"
#include "testbed/sim/cluster/submission.h"
#include "testbed/sim/network/fluid.h"
#include "testbed/sim/network/heap.h"
#include "testbed/sim/network/ranks.h"

#include <sys/queue.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

enum transfer_state { TRANSFER_MOVING, TRANSFER_OVER, TRANSFER_BROKEN };

/* Bytes on their way to an attempt: all that existed when it started, or, if hosts fail, those of
 * one source; and those of each output made after it started. */
struct transfer {
    enum transfer_state state;
    uint32_t host; /* ENGINE_NONE: several in one */
    uint32_t macroflow;
    bool block;
    int64_t named_ns;             /* when the engine reported that the bytes are there */
    int64_t bytes, arrived_bytes; /* arrived_bytes: when it broke */
};

/* An output that its map is still computing (pipelined edges). */
struct awaited {
    uint32_t stage, task;
    int64_t bytes; /* 0: it came */
};

enum attempt_phase { PHASE_SENT, PHASE_RECEIVING, PHASE_COMPUTING };

struct run_attempt {
    uint64_t number, job;
    uint32_t stage, task, host;
    uint32_t variant;   /* the way in which it runs */
    enum reason reason; /* why it was started, and the first of the numbers that were compared */
    int64_t left;
    int64_t gpu_milli; /* that it has meanwhile */
    uint32_t id;       /* place in run.attempts; reused */
    enum attempt_phase phase;
    bool pipelined;     /* computes while it receives */
    bool copied;        /* is a copy, or has one */
    bool unasked;       /* its framework started it elsewhere than the engine expects */
    bool gathered;      /* its inputs are known: sources, block, awaited */
    uint32_t levels[2]; /* by enum mode */
    int64_t decided_ns, compute_ns, expected_ns;    /* expected: without slowness */
    int64_t total_bytes, local_bytes, remote_bytes; /* local: present without the network by now */
    int64_t before_bytes;         /* remote ones that it had when the run began (run_resume.c) */
    double overlap_end_ns;        /* pipelined: the earliest end of computing */
    struct fluid_source *sources; /* owned until it begins */
    uint32_t n_sources, block_host;
    int64_t block_bytes;             /* if hosts fail: not among the sources */
    struct transfer one, *transfers; /* = &one, or owned */
    uint32_t n_transfers, transfers_room, n_open;
    struct awaited *awaited; /* owned, by stage and task */
    uint32_t n_awaited, n_missing;
    LIST_ENTRY(run_attempt) of_pipelined;
    /* run_disks.c */
    LIST_HEAD(, run_read) reads; /* from disks */
    uint32_t n_reads;
    struct profile own;            /* what it reads by itself; nothing before disks_read */
    uint32_t turns_left;           /* of reading and computing */
    double turns_bytes_s;          /* that it asks for in their mean, while it takes them */
    struct stage_reports *reports; /* while it receives and some reports are left out */
    int64_t told_bytes;
    TAILQ_ENTRY(run_attempt) of_stage;
    UT_hash_handle hh;
};

struct arrival {
    uint64_t job;
    size_t index;
    UT_hash_handle hh;
};

/* When a stage's transfers began and ended; 0, 0: none has ended. */
struct run_coflow {
    int64_t first_ns, last_ns;
    bool began;
};

/* What the engine knows of a stage's bytes, and how many may have arrived since. */
struct stage_reports {
    TAILQ_HEAD(, run_attempt) receiving;
    uint32_t n;     /* of these */
    uint64_t bytes; /* of its whole Coflow, as the engine knows */
    int64_t told_bytes;
    double most_bytes; /* the most that may have arrived by at_ns */
    int64_t at_ns;
};

struct reports {
    bool wanted; /* by the engine's policies: */
    bool levels, place;
    bool some; /* reports that change nothing are left out */
    int64_t next_ns;
    uint32_t n_receiving;
    double link_bytes_ns;
    struct stage_reports *stages; /* as run.coflows */
    struct heap crossings;        /* stages by when they may cross a threshold */
    struct heap ends;             /* receiving attempts by their earliest possible end */
    uint32_t *stages_where, *ends_where;
    struct run_attempt **due; /* scratch */
    size_t n_due, due_room;
};

/* What a framework knows of its tasks: run_framework.c. */
enum own_state { OWN_WAITS, OWN_RUNS, OWN_DONE };
struct own_task {
    uint8_t state, attempts; /* attempts: running ones */
    uint32_t host;           /* OWN_DONE: where its output is, */
    uint64_t attempt;        /* and whose */
};
struct own_stage {
    struct own_task *tasks;
    uint32_t n_waiting, n_done;
    bool told, sized, open, bound;
    int64_t waits_since_ns; /* −1: no task waits for the engine */
};
struct own_job {
    struct own_stage *stages;
    uint64_t left; /* tasks that are not done */
    bool here;
};
/* A start that it is to make, or may make from from_ns on. */
struct own_start {
    uint64_t allow; /* 0: without an allow */
    size_t job;
    uint32_t stage, task, host;
};
struct own_allow {
    struct own_start start;
    uint64_t number;
    int64_t from_ns;
    bool used, elsewhere, other, more;
};
struct run_framework {
    struct own_job *jobs; /* NULL: there is no framework */
    size_t first_live;
    uint32_t *used, *allowed; /* slots, by host */
    struct own_allow *allows; /* in force, in order of numbers */
    struct own_start *starts; /* under way at this instant */
    size_t n_allows, allows_room, n_starts, starts_room;
    struct delay_line copies; /* struct own_start */
    int64_t next_loss_ns;
    uint64_t stream, started;
    bool busy;
};

/* Disks of hosts: run_disks.c. */
struct run_disks {
    struct disk *of_host;  /* NULL: no host has one; one of rate 0: this host has none */
    double *asked_bytes_s; /* by host: lone rates of what is read there */
    struct heap ends;      /* hosts by the end of their next reader */
    uint32_t *ends_where;
    uint32_t *changed, n_changed; /* hosts whose load the engine does not know yet */
    bool *is_changed;
};

/* Names of a host and its rack; on one big switch the rack is empty. */
struct host_words {
    char name[64], rack[32];
};

/* What joins report of a class of hosts: events borrow it. */
struct class_words {
    char labels[CLUSTER_LABELS_MAX * sizeof(struct cluster_label)];
    uint64_t units[CLUSTER_UNITS_MAX * ENGINE_RESOURCES];
    char unit_names[CLUSTER_UNITS_MAX * ENGINE_UNIT_NAME_MAX];
};

struct run_host {
    struct host_words words;
    bool down;
    uint64_t generation;
    int64_t heard_ns; /* since when the engine knows this generation; INT64_MAX: it does not */
};

/* A decision on its way, or the news to readers that an output exists. */
struct order {
    bool output;
    int64_t decided_ns;
    uint64_t job;
    uint32_t stage, task, host;
    struct decision decision;
};

struct run {
    const struct run_config *config;
    const struct workload_job *jobs;
    size_t n_jobs, arrived, done;
    uint32_t changed; /* of config->changes */
    struct run_result *result;
    struct err *err;
    struct topology topology;
    struct engine *engine;
    struct decisions decisions;
    struct fluid *fluid;
    struct ranks ranks; /* where levels are unlimited */
    int64_t now_ns;
    int64_t from_ns; /* the engine's time at the run's begin; 0 unless it is resumed */
    uint64_t still;  /* instants since an attempt began or ended */
    bool over;       /* a resumed run in which nothing more happens */
    enum mode mode;  /* on the wire */
    bool pipelines;
    struct reports reports;   /* run_reports.c */
    struct arrival *arrivals; /* by job number; one array for all */
    struct arrival *arrival_room;
    struct run_attempt *live; /* by number, in order of decision */
    struct run_attempt **attempts;
    size_t n_attempts, attempts_room;
    uint32_t *spare, n_spare;
    LIST_HEAD(, run_attempt) pipelined; /* those that receive */
    struct heap computing;              /* attempts by the instant at which they end */
    uint32_t *computing_where;
    struct submission submission;
    struct event *events; /* for the next step */
    size_t n_events, events_room;
    struct delay_line told;   /* struct event */
    struct delay_line orders; /* struct order */
    uint32_t *receiving;      /* by host: attempts with transfers that are not over */
    double *downlinks;        /* scratch: bytes a second by host */
    int64_t *host_bytes;      /* scratch: bytes by source host */
    struct fluid_source *sources;
    uint32_t n_sources;
    double wire_bytes;
    double gpu_milli_ns;        /* that attempts which are over had */
    struct run_coflow *coflows; /* of all jobs' stages */
    size_t *first_coflow;       /* per job */
    double *coflow_s;           /* scratch: as many */
    struct order *outputs;      /* scratch: what ended in this step */
    size_t n_outputs, outputs_room;
    struct run_recording recording;
    /* run_hosts.c */
    struct run_host *hosts; /* NULL: hosts never fail */
    struct faults faults;
    struct heap timers; /* 2 × host: silent, 2 × host + 1: lost */
    uint32_t *timers_where;
    struct delay_line unanswered; /* numbers of attempts that their host never received */
    uint64_t idle_faults;
    uint64_t failures_at_end; /* of hosts, when the last job ended */
    uint64_t vector[ENGINE_RESOURCES];
    struct class_words *classes; /* of the cluster's classes; NULL: there is no cluster file */
    /* run_copies.c */
    struct heap suspects; /* attempts by the time when a copy is wanted */
    uint32_t *suspects_where;
    struct delay_line wanted; /* numbers of attempts to copy */
    uint32_t copies;
    struct run_framework framework;
    struct run_disks disks;
};

/* In run_state.c. */

int run_out_of_memory(struct run *run);
/* Doubles an array (to ≥ n places) whose present length is *room. −ENOMEM changes nothing. */
int run_grow(void **array, size_t *room, size_t n, size_t size);
/* Of the attempt's stage. */
struct run_coflow *run_coflow(struct run *run, const struct run_attempt *a);
size_t run_job_index(const struct run *run, uint64_t job);
/* Whether it is one of the run's jobs: an engine that was there before may have others. */
bool run_has_job(const struct run *run, uint64_t job);
/* When the engine wants a step, on the run's clock; INT64_MAX: never. */
int64_t run_deadline_ns(const struct run *run);
void run_notify(struct run *run, enum run_moment moment, const struct run_attempt *a,
                uint32_t host);

/* In run_links.c: nothing changes until the next instant. */
int run_links_note(struct run *run, int64_t until_ns);

/* In run_engine.c. */

/* A fact that the engine learns after the delay of reports. */
int run_report(struct run *run, const struct event *event);
int run_report_attempt(struct run *run, enum event_kind kind, uint64_t number, uint64_t received);
/* A fact that the engine learns in its next step. */
int run_tell(struct run *run, const struct event *event);
/* A step of the engine with these events, and what it decides. */
int run_step(struct run *run, const struct event *events, size_t n);
/* Delivers orders and reports whose delay is over. */
int run_take_delayed(struct run *run);

/* In run_attempts.c. */

struct run_attempt *run_attempt_find(struct run *run, uint64_t number);
/* NULL without memory. */
struct run_attempt *run_attempt_make(struct run *run, uint64_t number, uint64_t job, uint32_t stage,
                                     uint32_t task, uint32_t host);
void run_attempt_set_levels(struct run *run, struct run_attempt *a, uint64_t coflow,
                            uint64_t macroflow);
/* Asks the engine for its inputs. */
int run_attempt_gather(struct run *run, struct run_attempt *a);
/* The order to start it reaches its host, which may be down. */
int run_attempt_begin(struct run *run, struct run_attempt *a);
/* It receives what its sources, block and awaited outputs say, and computes when it has all. */
int run_attempt_go_on(struct run *run, struct run_attempt *a);
/* Continues at the level that the mode gives it. */
int run_attempt_mark(struct run *run, struct run_attempt *a);
/* Takes it off its host and off the wire, and forgets it. */
int run_attempt_drop(struct run *run, struct run_attempt *a);
/* A map's output exists: attempts that wait for it begin to read. */
int run_attempts_output_ready(struct run *run, const struct order *output);
/* Bytes that it has, local ones included. */
int64_t run_attempt_arrived_bytes(struct run *run, const struct run_attempt *a);
/* Follows the end of a transfer, or a block that continues from another replica. */
int run_attempt_settle(struct run *run, struct run_attempt *a);
/* A transfer that the network ended. */
int run_attempt_transfer_over(struct run *run, uint64_t subject);
/* Adds a source's bytes (state, host, block, named_ns, bytes) to what it receives. */
int run_attempt_receive(struct run *run, struct run_attempt *a, struct transfer t);
/* Puts a broken or new transfer of one source on the network. */
int run_attempt_transfer_start(struct run *run, struct run_attempt *a, uint32_t index);
/* Pipelined: notes how far computing can be at this instant, when rates change. */
void run_attempts_note_overlap(struct run *run);
void run_attempts_done(struct run *run);

/* In run_resume.c. */

/* Sets the rates of the hosts' links that the engine knows. */
int resume_links(const struct run_resume *resume, struct topology *t, struct err *err);
/* What runs already goes on, in place of the first joins of hosts. */
int resume_begin(struct run *run);

/* In run_disks.c; without a disk they do nothing. */

int disks_check(const struct run_config *config, struct err *err);
int disks_open(struct run *run);
void disks_close(struct run *run);
/* What the attempt, whose sources are known, reads before it computes. WHY at both ends: a host
 * sends what it reads meanwhile, so an input is complete when it was read and has arrived. */
int disks_read(struct run *run, struct run_attempt *a);
/* The host reads what it sends to the attempt. */
int disks_send(struct run *run, struct run_attempt *a, uint32_t host, int64_t bytes);
/* It reads while it computes, by turns: the first begins; the next one, when a turn's computing is
 * over: 1, or 0 where it was the last. */
bool disks_take_turns(const struct run_attempt *a);
int disks_begin_turns(struct run *run, struct run_attempt *a);
int disks_next_turn(struct run *run, struct run_attempt *a);
/* It reads nothing more. disks_forget: the run ends. */
int disks_leave(struct run *run, struct run_attempt *a);
void disks_forget(struct run_attempt *a);
int64_t disks_next_ns(const struct run *run);
/* What was read by now; tells the engine what is asked of disks. */
int disks_take(struct run *run);
int disks_report(struct run *run);

/* In run_reports.c. */

/* Before the first instant; run.hosts and run.pipelines are known. */
int reports_open(struct run *run, size_t n_stages);
void reports_close(struct run *run);
/* The attempt begins to receive; has stopped, and the engine knows. */
int reports_begin(struct run *run, struct run_attempt *a);
int reports_end(struct run *run, struct run_attempt *a);
/* Reports what has arrived, if it is time and matters. */
int reports_take(struct run *run);

/* In run_hosts.c. */

struct host_words hosts_words(const struct run *run, uint32_t host);
int hosts_open(struct run *run);
void hosts_close(struct run *run);
/* The host never receives this start: it is down, or was when the order was given. */
bool hosts_miss(const struct run *run, const struct run_attempt *a);
/* Its source is down, or lost the output in a failure after it was reported. */
bool hosts_source_gone(const struct run *run, const struct transfer *t);
/* A replica of its block that is up, from the one after `after` on; ENGINE_NONE. */
uint32_t hosts_replica(const struct run *run, const struct run_attempt *a, uint32_t after);
/* The start was never answered: the controller will count it as lost. */
int hosts_unanswered(struct run *run, const struct run_attempt *a);
int64_t hosts_timers_next_ns(const struct run *run);
/* Failures, repairs and the controller's timers that are due. */
int hosts_take(struct run *run);
/* Completes an event that the engine gets now. */
void hosts_deliver(struct run *run, struct event *event);
/* Sets the host's links in a join. */
void hosts_describe(const struct run *run, struct event *event);
struct event hosts_load(uint32_t host, enum host_load_resource resource, uint32_t per_mille);
/* Reports other traffic on its links, if any. */
int hosts_report_foreign(struct run *run, uint32_t h);
/* The share of a link that others take. */
double run_foreign_share(const struct run_config *config, uint32_t link);
bool hosts_any_down(const struct run *run);

/* In run_framework.c; without a framework they do nothing. */

int framework_open(struct run *run);
void framework_close(struct run *run);
/* What it reports of an arriving job, in place of a submission. */
int framework_arrive(struct run *run, size_t index, struct submission *submission);
/* Tells of it in two steps, the first `first` events before the rest. */
int framework_tell_arrival(struct run *run, const struct event *events, size_t n, size_t first);
/* An allow; the end of one; the framework places this stage itself from now on; it starts tasks of
 * this stage only where allowed. */
int framework_allow(struct run *run, const struct decision *d);
void framework_allow_ended(struct run *run, const struct decision *d);
void framework_opened(struct run *run, const struct decision *d);
void framework_bound(struct run *run, const struct decision *d);
/* Starts what it may and wants to, in steps of the engine. */
int framework_start(struct run *run);
/* The same in every run with this seed: a number below n; true in `permille` of a thousand
 * cases. */
uint64_t framework_draw(struct run *run, uint64_t n);
bool framework_chance(struct run *run, uint32_t permille);
/* From the workload; from the framework; slots that a task of the stage takes. */
const struct workload_stage *framework_spec(const struct run *run, size_t job, uint32_t stage);
struct own_stage *framework_own_stage(struct run *run, size_t job, uint32_t stage);
uint32_t framework_slots(const struct run *run, size_t job, uint32_t stage);
/* A host with this many free slots; ENGINE_NONE: none. O(hosts). */
uint32_t framework_free_host(struct run *run, uint32_t slots);
/* Takes the slots for it; it starts with the next framework_start. */
int framework_push(struct run *run, struct own_start start);

/* In run_framework_ends.c; without a framework they do nothing. */

/* A task of it is about to end: what a late one reports before its engine hears that. */
int framework_tell_sizes(struct run *run, const struct run_attempt *a);
/* A task of it ended, as the engine knows: the last one ends its job. */
int framework_task_done(struct run *run, const struct run_attempt *a);
/* When it acts by itself; FLUID_NEVER: never. */
int64_t framework_next_ns(const struct run *run);
/* Does what is due now by itself: copies, ends of executors. */
int framework_take(struct run *run);
/* Draws when the next executor ends. */
void framework_plan_loss(struct run *run);

/* In run_copies.c. */

/* The attempt began to compute; it ended. */
int copies_watch(struct run *run, struct run_attempt *a);
void copies_forget(struct run *run, const struct run_attempt *a);
int64_t copies_next_ns(const struct run *run);
/* Starts wanted copies for which the engine left a slot. */
int copies_take(struct run *run);
