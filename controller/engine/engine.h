/* The scheduling engine: events and the time in, decisions out.
 *
 * It decides which user gets what is free, which job is next, which task runs where or is held
 * back, whether a claim may commit, and how urgent a transfer is on the wire. A policy that the
 * configuration names answers each question; policies are const tables of functions in users/,
 * turn/, place/, commit/, network/ and mode/.
 * Combinations that do not work together are refused (engine_policy_fits).
 *
 * Pure: no clock, I/O, log, global, thread. Equal inputs give equal decisions byte for byte, on
 * every compiler: integers only, ties by a hash of the seed and then by number. One engine may be
 * used by one thread at a time; several engines are independent.
 *
 * Cost of a step: O(log n) per event plus what the event itself changed (n: tasks, jobs or hosts),
 * never a scan over all of them. A test bounds the objects that were looked at
 * (engine_counters().visits).
 *
 * Sources: Duopoly (Tian et al., sections 4 and 5: cans, nats, mode switch); D-CLAS from Aalo
 * (Chowdhury, Stoica, SIGCOMM 2015). Files say where they settle what the sources leave open. */
#pragma once

#include "controller/engine/event.h"
#include "lib/err.h"
#include "lib/profile.h"

#include <stddef.h>

struct engine;

__extension__ typedef unsigned __int128 engine_wide;

enum mode { MODE_SLOT_RICH, MODE_SLOT_STARVED };

/* Exponential size classes: level = number of thresholds that the size reaches. */
struct level_table {
    uint32_t levels; /* 1…ENGINE_LEVELS_MAX; 0: unlimited, the level is the size in bytes */
    uint64_t threshold_bytes[ENGINE_LEVELS_MAX - 1]; /* levels − 1 entries, growing */
};
/* Fills a table with first, first·factor, first·factor², …; saturates at UINT64_MAX. factor ≥ 2, 1
 * ≤ levels ≤ ENGINE_LEVELS_MAX. */
void level_table_exponential(struct level_table *ret_table, uint64_t first_bytes, uint64_t factor,
                             uint32_t levels);
/* O(levels). */
uint64_t level_table_level(const struct level_table *table, uint64_t bytes);

/* YES: 0 or 1. CHOICE: the index of a word (struct engine_choice). */
enum engine_unit { ENGINE_UNIT_NS, ENGINE_UNIT_COUNT, ENGINE_UNIT_YES, ENGINE_UNIT_CHOICE };

/* A parameter of policies. A word means the same in all policies that have it. */
struct engine_parameter {
    const char *word; /* letters, digits, '_' and, between parts (weight.load), '.' */
    enum engine_unit unit;
    int64_t least, most, preset; /* in that unit */
    const char *what;            /* a sentence for people */
};
/* A parameter with ENGINE_UNIT_CHOICE is the first member of one. */
struct engine_choice {
    struct engine_parameter parameter;
    const char *const *words; /* of the values least = 0, 1, … most; no NULL at their end */
};
enum { ENGINE_VALUES_MAX = 64, ENGINE_WORD_MAX = 24 };
struct engine_value {
    char word[ENGINE_WORD_MAX];
    int64_t value;
};

/* Rules of decisions, in the order in which they were added. An older recording replays with the
 * rules of its time (engine_config.rules). */
enum engine_rule {
    RULE_RERUNS_ONCE = 1, /* outputs that cannot be fetched count once per host (rerun.h) */
    RULE_LATER_STAYS,     /* what is done on a host after its loss is not lost with it (losing.h) */
    RULE_BOOTS_COUNT, /* attempts lost with a host or ended unasked count against it (failing.h) */
    RULE_PIECES,      /* a stage stays open when some of its tasks change (framework.c) */
    RULE_SKIPS_WAIT,  /* stages are skipped in portions (framework_skip.h) */
    RULE_GROWS,       /* stages get their tasks in portions (framework_grow.h) */
    RULE_KEEPS_WAIT,  /* outputs that get their first reader are counted in portions (outputs.h) */
    RULE_FAR_ANEW,    /* each pick reports which stages wait for preferred hosts (joint.c) */
    RULE_INPUT_GUESSED,  /* before the first shuffle, sizes are guessed by input */
    RULE_LINKS_SHARED,   /* a home depends on the other jobs that use the links (pack.h) */
    RULE_OWN_LOOKED_UP,  /* no later job is asked by what was remembered of hosts (joint.c) */
    RULE_INPUTS_WAIT,    /* inputs of running tasks are measured in portions (framework_sizes.h) */
    RULE_LEFT_IS_TAKEN,  /* no slot is kept where an opened stage would take it (joint.c) */
    RULE_ROOMS_WAIT,     /* jobs enter and leave their application's rooms in portions (room.h) */
    RULE_ASIDE_WAITS,    /* jobs of who is at its limit step aside in portions (lapse.h) */
    RULE_LEFT_COUNTED,   /* what is left of a framework's job are its bytes (framework_sizes.c) */
    RULE_BLOCK_NO_HOME,  /* a job with a block has no home, whenever it is told (pack.h) */
    RULE_VALUES_CARRIED, /* a job that changes queues is still found by its sizes (queues.c) */
    RULE_OWNERS_TURN,    /* work that is left is done by turns of applications (backlog_turns.h) */
    RULE_HOME_TOLD,      /* a job waits for its home by the bytes that are told later (pack.h) */
    RULE_KEYS_WAIT,      /* jobs follow a cluster that doubled in portions (estimate.h) */
    RULE_LINKS_SHORT,    /* for a home only jobs count that wait for links (pack.h) */
    ENGINE_RULES = RULE_LINKS_SHORT
};

struct engine_config {
    uint64_t seed;
    uint32_t epoch;        /* upper half of attempt numbers; from the controller's epoch file */
    char turn[16];         /* fifo sjf fair srpt srpt-ageless drf */
    char place[16];        /* nats greedy delay neat neat-fair gather random */
    char commit[16];       /* single */
    char network[16];      /* cans cans-coflow cans-macroflow dclas scf none */
    char mode[16];         /* first all rich starved */
    char users[16];        /* none sequence sequence-time proportional capacity drf */
    int64_t mode_dwell_ns; /* shortest stay in a mode; 0 in the simulator, 50 ms live */
    uint32_t congested_permille; /* an uplink used above it is hot, 900 */
    uint32_t cleared_permille;   /* a hot uplink used below it is hot no more, 800 */
    /* This share of the uplinks must be hot to make the network congested, and still be at or above
     * cleared_permille to keep it so. 0: a single one, as in the source. */
    uint32_t congested_share_permille;
    int64_t hold_max_ns; /* the longest time that a slot is kept from a task, counted from the first
                            slot, 30 s */
    int64_t stop_grace_ns; /* in stop decisions, 1 s */
    uint32_t failures_max; /* a job fails when this many attempts of one task failed or were
                              refused; 4 */
    /* A job fails when this many outputs of one task could not be fetched (rerun.h); 4. 0: no
     * bound, as in older logs. */
    uint32_t reruns_max;
    /* From the loss of this number on, each loss of a task's attempt with its host counts as a
     * failure of the task (loss.h); 2. 0: no loss does, as in older logs. */
    uint32_t losses_max;
    /* One host's failures (and losses) of a task count once while another host could run the task
     * (retry.h). false: each counts, as in older logs, and with probe_ns = 0. */
    bool hosts_count_once;
    /* When a host could not be read from for this long, attempts that wait for it run again and its
     * outputs count as lost (source.h); 30 s. 0: never, as in older logs. */
    int64_t source_lost_ns;
    /* How many sources one host's reports alone may put out of use; with one more the host itself
     * becomes suspect (source.h); 1. 0: any number, as in older logs. */
    uint32_t lone_sources_max;
    /* A host that failed tasks that were done elsewhere is suspect, and gets a probe after this
     * time (failing.h); a task is tried again on another host (retry.h); 5 s. 0: neither, as in
     * older logs. */
    int64_t probe_ns;
    struct level_table coflow, macroflow, dclas;
    /* Bound of known jobs of frameworks. 0: none is known; facts about them are ignored and
     * counted. */
    uint32_t framework_jobs_max;
    int64_t allow_ns; /* an allow ends when its start was not seen for this long; 5 s */
    /* Bounds of the counted bytes of submitted jobs and of what frameworks report (account.h). 0
     * (the first): nothing is counted, as in older logs. */
    uint64_t memory_max, framework_memory_max;
    /* Bound of the tasks of a framework's stage, and of tasks × edges into it; 0:
     * FRAMEWORK_TASKS_MAX. */
    uint32_t stage_tasks_max;
    /* Bounds of attempts of a host, of messages with starts that it has not answered (one start may
     * need more), and of starts in one step; the next step follows at once. 0: no bound, as in
     * older logs. */
    uint32_t host_attempts_max, host_starts_max, step_starts_max;
    /* An application's used allows make up for as many lapsed ones, at most this many at a time
     * (lapse.h). 0: lapsed allows are not counted, as in older logs. */
    uint32_t lapses_spared;
    /* A new user begins with the bound of the key that names it (lapse.h). False: unbounded, as in
     * older logs. */
    bool lapses_of_keys;
    /* Tasks made ready in one step. A task counts one more for each block, and one more for each 32
     * maps of a matrix that it reads; starts end a step when they have four times as many inputs.
     * The next step follows at once. WHY: a stage of 10⁶ tasks would block all other work for a
     * second. 0: no bound, as in older logs. */
    uint32_t step_ready_max;
    /* Tasks of frameworks' stages that are resized, skipped or lose their output in one step; a
     * task that is only looked at or made counts as a part of one. The next step follows at once.
     * 0: no bound, as in older logs. */
    uint32_t step_tasks_max;
    /* Bounds; a request beyond one is rejected with REASON_TABLE_FULL, a fact beyond one is ignored
     * and counted. */
    uint32_t hosts_max, units_per_host_max, jobs_max, stages_per_job_max, finished_max, shapes_max;
    uint64_t tasks_max, cells_per_job_max;
    /* Rejects jobs of users that were not set, as soon as one was; else they count as user 0's
     * (users.h). */
    bool refuse_unknown_users;
    /* The last rule in force; default ENGINE_RULES. Smaller: decisions ignore later rules, as in
     * older logs. */
    uint32_t rules;
    /* Values of policies' parameters that were set (engine_config_say), each word once; others have
     * their default. A value may belong to a policy that is not in force yet. */
    struct engine_value values[ENGINE_VALUES_MAX];
    uint32_t n_values;
};
/* Sets the defaults: sjf, nats, single, cans, 8 levels from 10 MB × 8 (Coflow), 1 MB × 4
 * (Macroflow), 10 MB × 10 (D-CLAS). */
void engine_config_default(struct engine_config *ret_config);

/* 0, −ENOMEM, or −EINVAL with a sentence that names the value and what is allowed. The caller owns
 * the engine. */
int engine_create(const struct engine_config *config, struct engine **ret_engine, struct err *err);
void engine_destroy(struct engine *engine);
/* The configuration as events have changed it since; borrowed until the next step. O(1). */
const struct engine_config *engine_configuration(const struct engine *engine);

/* A growing array of decisions that the caller owns; start with zeros, end with decisions_done. */
struct decisions {
    struct decision *at;
    size_t n, capacity;
    bool idle; /* the step changed only the time: later steps would decide the same without it */
};
void decisions_done(struct decisions *decisions);

/* Applies `n` events in order at now_ns (never smaller than before), then takes all decisions that
 * follow. n = 0: a wake-up. Empties `decisions` first; its content is valid until the next call.
 * −ENOMEM leaves the engine unusable; else 0. */
int engine_step(struct engine *engine, int64_t now_ns, const struct event *events, size_t n,
                struct decisions *decisions);

/* Whether this request would be rejected now, by the code that would reject it: 0, or −EPERM with
 * that rejection. Changes nothing. Not of a job's parts, its end and claims, which depend on what
 * they are a part of: rejected as REASON_UNSUPPORTED. Costs what the rejection would. */
int engine_judge(const struct engine *engine, const struct event *request,
                 struct decision *ret_rejection);

/* Work that earlier steps had left and the last step did: stages that grow, are sized, skipped or
 * opened, outputs and inputs that are counted, jobs that change rooms, memory of ended jobs that is
 * freed. */
struct engine_charge {
    uint64_t application; /* whose jobs it was about: ENGINE_APPLICATION_SHIFT */
    uint64_t looks;       /* at tasks; a change counts as several */
    uint64_t decisions;   /* of the step's, those made meanwhile */
};
struct engine_charges {
    const struct engine_charge *at; /* an application may be there twice; borrowed until the next
                                       step */
    size_t n;
    uint64_t looks; /* of the whole step, also for its own events */
};
/* No part of the state: empty after a load. O(1). */
struct engine_charges engine_charges(const struct engine *engine);
/* Whether such work is left, except memory to free: the next step is due at once. O(1). */
bool engine_has_backlog(const struct engine *engine);

/* When the next step is due without an event; INT64_MAX: never. */
int64_t engine_deadline_ns(const struct engine *engine);

struct engine_input {
    uint32_t host; /* the host that has it; no network is used when it is the task's own */
    bool block;    /* the task's own block from a replica; else one map output: */
    uint32_t stage, task;
    uint64_t attempt;
    uint64_t bytes;
};
/* Calls `each` for every input of a live attempt, in order of parent, map. O(maps). Returns their
 * number, −ENOENT for an unknown attempt. */
int engine_inputs(const struct engine *engine, uint64_t attempt,
                  void (*each)(void *context, const struct engine_input *input), void *context);

/* Whether a host reads something, so that its reports about it can be trusted. OVER: it did, or was
 * to; its reports may be late and are ignored. */
enum engine_reading { READING_NOT, READING_OVER, READING_NOW };
/* Whether the live attempt reads from that host. O(its inputs); OVER for an unknown attempt. */
enum engine_reading engine_reads_from(const struct engine *engine, uint64_t attempt, uint32_t host);
/* Whether attempts on that host read this task's output; OVER also when the output is lost already.
 * Not for frameworks' jobs, which report this themselves. O(attempts there). */
enum engine_reading engine_reads_output(const struct engine *engine, uint32_t host, uint64_t job,
                                        uint32_t stage, uint32_t task, uint64_t attempt);

enum task_state { TASK_BLOCKED, TASK_READY, TASK_RUNNING, TASK_DONE };
enum job_state { JOB_ARRIVING, JOB_ACTIVE, JOB_DONE, JOB_FAILED, JOB_CANCELLED };

struct host_view {
    uint32_t host;
    uint64_t generation;
    const char *name, *rack, *labels;
    bool joined, silent, lost, draining;
    uint32_t units, running, receiving;
    uint32_t rooms;               /* applications that reported room there (room.h) */
    uint32_t jobs_outputs;        /* jobs that have outputs there */
    struct resources total, free; /* of its units, or of all rooms where those are larger */
    uint64_t uplink_bps, downlink_bps;
    uint32_t uplink_permille, downlink_permille;
    uint64_t disk_bytes_s;                /* 0: not told */
    uint32_t disk_permille, disk_readers; /* asked of the disk: the last report */
    bool disk_hangs;                      /* the same: it answers nothing */
    uint64_t smallest_coflow_bytes, smallest_macroflow_bytes; /* received here; UINT64_MAX: none */
    bool suspect;              /* no new work: others cannot read from it (mute), or it cannot */
    bool mute, blind;          /* read from them (blind), or attempts there fail (failing): */
    bool failing;              /* then it gets probes, */
    int64_t probe_ns;          /* the next one at this time; 0: when there is a task for it, or one
                                  runs */
    uint32_t failed_in_a_row;  /* attempts that failed or were lost there since the last done one */
    bool trial;                /* it was suspect, and no host has read from it since */
    int64_t suspect_since_ns;  /* while it is suspect */
    uint32_t readers, sources; /* hosts that cannot read from it; that it cannot read from */
};
struct unit_view {
    uint32_t host, unit;
    char name[ENGINE_UNIT_NAME_MAX]; /* "": none */
    struct resources total, free;    /* less what frameworks' executors hold there */
    uint32_t running;
};
struct job_view {
    uint64_t job;
    const char *name;
    uint32_t user;
    enum job_state state;
    uint32_t stages; /* one more than the largest number; a framework's stages may be missing */
    uint64_t tasks, ready, running, done;
    uint64_t allowed; /* of the running ones: may start, were not seen yet */
    uint32_t held_stages;
    bool framework; /* its framework places its tasks and reports its end */
    int64_t submitted_ns, finished_ns, slot_wait_ns;
    const char *held_by; /* who holds it, so that nothing of it starts; NULL: nobody; */
    int64_t held_since_ns;
    int64_t priority;       /* 0 of one that has ended */
    uint64_t evictions;     /* of its tasks' attempts (eviction.h), */
    int64_t evicted_ns;     /* and the time that these had run: lost work */
    uint64_t shuffle_bytes; /* of its edges */
    uint64_t key;           /* of its turn: smaller is sooner; sjf: the estimated ns */
    bool first;             /* first in turn */
};
struct stage_view {
    uint64_t job;
    uint32_t stage, tasks, ready, running, done;
    const char *command, *constraint;
    uint64_t coflow_bytes;
    uint64_t received_bytes; /* by all its attempts, past ones too */
    bool held;
    int64_t held_until_ns;
    bool gated;        /* a framework's: its tasks start only where allowed */
    bool bound;        /* a gated stage without parents */
    bool left;         /* a framework's: it was opened; its framework places its tasks */
    uint32_t allowed;  /* tasks that may start and were not seen yet */
    uint32_t variants; /* ways to run it; command and constraint are those of the first */
    uint64_t history;  /* of a submitted one, equal for the same stage in each run; 0: none */
};
/* A way to run a stage. */
struct variant_view {
    uint32_t variant; /* from 0, in order of preference */
    const char *command, *constraint;
    struct resources demand;
    struct profile profile;
    int64_t fit;       /* so many more of its tasks fit now */
    uint32_t possible; /* units of joined hosts that could hold one when empty */
};
struct task_view {
    uint64_t job;
    uint32_t stage, task;
    enum task_state state;
    bool network_input; /* reduce to the scheduler */
    bool guessed;       /* its bytes were not reported */
    uint64_t bytes;     /* network input (Macroflow) */
    uint64_t input_bytes, compute_ns, output_bytes;
    uint32_t failures, losses;
    bool loss_fails;    /* the next loss with its host counts as a failure: loss.h */
    uint32_t evictions; /* of its attempts; see job_view */
    int64_t evicted_ns;
    uint64_t attempt; /* the newest live one, or the accepted one; 0: none */
    uint32_t host;    /* of that attempt; ENGINE_NONE */
    int64_t ready_ns, started_ns;
};
struct attempt_view {
    uint64_t attempt, job;
    uint32_t stage, task, host, unit;
    enum attempt_state state;
    bool orphan;  /* its task is unknown, or another attempt's: its result does not count */
    bool foreign; /* a framework's: the engine neither starts nor stops it */
    bool allow;   /* allowed, not seen yet, */
    int64_t allow_until_ns; /* and until when */
    uint64_t coflow_level, macroflow_level;
    uint64_t coflow_bytes, macroflow_bytes, received_bytes;
    int64_t started_ns; /* when it was sent; an attempt that was found running: when it was found */
    int64_t received_ns; /* when it had all its input; 0: not yet, it reads nothing, or unknown */
    bool found;          /* it was found running */
    bool stopping;       /* it was told to stop, and its host has not reported its end */
    bool in_own_room;    /* in its application's own room there (room.h) */
    uint32_t variant;    /* in which way it runs */
};
/* By identity: 0 or −ENOENT. O(log n). */
int engine_host(const struct engine *engine, uint32_t host, struct host_view *ret_view);
int engine_unit(const struct engine *engine, uint32_t host, uint32_t unit,
                struct unit_view *ret_view);
int engine_job(const struct engine *engine, uint64_t job,
               struct job_view *ret_view); /* finished ones too, while they are kept */
int engine_stage(const struct engine *engine, uint64_t job, uint32_t stage,
                 struct stage_view *ret_view);
/* The stage with tasks that has the smallest number ≥ from. −ENOENT: there is none. O(log n) and
 * the stages without tasks before it. */
int engine_stage_from(const struct engine *engine, uint64_t job, uint32_t from,
                      struct stage_view *ret_view);
int engine_variant(const struct engine *engine, uint64_t job, uint32_t stage, uint32_t variant,
                   struct variant_view *ret_view);
/* What a stage reads of others: edge `index`, from 0, in the order of its submission. −ENOENT: no
 * such edge. O(log n). */
struct edge_view {
    uint32_t parent;
    bool pipelined;
};
int engine_edge(const struct engine *engine, uint64_t job, uint32_t stage, uint32_t index,
                struct edge_view *ret_view);
/* The hosts with the task's block: returns their number, 0…ENGINE_REPLICAS_MAX; none where there is
 * no such task. O(log n). */
uint32_t engine_block_hosts(const struct engine *engine, uint64_t job, uint32_t stage,
                            uint32_t task, uint32_t ret_hosts[ENGINE_REPLICAS_MAX]);
/* How long the task computes when it runs so; 0: not known, or there is no such. */
uint64_t engine_compute_ns(const struct engine *engine, uint64_t job, uint32_t stage, uint32_t task,
                           uint32_t variant);
int engine_task(const struct engine *engine, uint64_t job, uint32_t stage, uint32_t task,
                struct task_view *ret_view);
/* A stage's tasks from number `from` on, `n` at most; returns how many there are. O(log jobs + n).
 */
uint32_t engine_tasks(const struct engine *engine, uint64_t job, uint32_t stage, uint32_t from,
                      uint32_t n, struct task_view *ret_views);
/* Whether a fact about the last of so many tasks of a framework's stage may be passed on: NEAR: it
 * makes no more of them than a step may, or cannot make any; FAR: it would, and
 * EVENT_FRAMEWORK_GROW makes them in portions; UNDER_WAY: they are being made. O(log n). */
enum engine_growth { GROWTH_NEAR, GROWTH_FAR, GROWTH_UNDER_WAY };
enum engine_growth engine_growth(const struct engine *engine, uint64_t job, uint32_t stage,
                                 uint64_t tasks);
int engine_attempt(const struct engine *engine, uint64_t attempt, struct attempt_view *ret_view);
/* A tenant. User 0 is always there. */
struct user_view {
    uint32_t user, share;
    const char *name; /* borrowed until the next step */
    int64_t since_ns;
    uint64_t jobs; /* that are not over; of user 0 also those of users that nobody told of */
    int64_t owed;  /* granules that others owe it, less what it owes */
    bool leaves;   /* it goes with the last of them */
};
/* The first with a number ≥ `from`. 0 or −ENOENT. O(log users). */
int engine_user_from(const struct engine *engine, uint64_t from, struct user_view *ret_view);
/* What a user had since this engine knows it: a dump does not keep it, and no decision depends on
 * it. */
struct user_use {
    uint32_t user, share;
    engine_wide slot_ns, mem_byte_ns; /* held by attempts of its jobs: amount × time */
    int64_t wanted_ns;                /* so long a task of it was ready; 0 where nobody divides */
};
/* Of the first user with a number ≥ `from`, until `at_ns`, which is not before the last step. 0 or
 * −ENOENT. O(log users). */
int engine_use_from(const struct engine *engine, uint64_t from, int64_t at_ns,
                    struct user_use *ret_use);
/* How far users get ahead of their shares, and behind, in a turn of the users there are now, in the
 * source's order and in the even one (share/sequence.h): in 1/entries of a unit. 0 or −ENOMEM.
 * O(entries · log users). */
struct users_drift {
    uint32_t entries;
    uint64_t literal_ahead, literal_behind, even_ahead, even_behind;
};
int engine_users_drift(const struct engine *engine, struct users_drift *ret_drift);
/* Whether this user may have this share: 0; −E2BIG with a sentence that names the shares, and then
 * EVENT_USER_SET is rejected. O(users). */
int engine_user_fits(const struct engine *engine, uint32_t user, uint32_t share, struct err *err);
/* What a user ran in another one's part of the cluster, where somebody divides it. */
struct debt_view {
    uint32_t borrower, lender;
    uint64_t amount; /* granules: the policy's parameter */
    int64_t since_ns;
};
/* How the cluster is divided, beside the debts. O(1). */
struct division_view {
    uint64_t position; /* so many entries of the present turn are used (share/sequence.h) */
    uint64_t charged;  /* the newest attempt that is in this and in the debts */
    uint64_t changes;  /* grows when this or a debt may have changed */
};
struct division_view engine_division(const struct engine *engine);
/* The first, in order of borrowers and lenders, of a borrower > or with a lender ≥. 0 or −ENOENT.
 * O(log debts). */
int engine_debt_from(const struct engine *engine, uint32_t borrower, uint32_t lender,
                     struct debt_view *ret_view);
/* 0 or −ENOENT: nobody has this name. O(users). */
int engine_user_named(const struct engine *engine, const char *name, struct user_view *ret_view);
/* The one with the smallest number > after (≥ 1 for jobs and attempts), for cursors. 0 or −ENOENT
 * at the end. O(log n). */
int engine_job_after(const struct engine *engine, uint64_t after, struct job_view *ret_view);
/* The active job next in turn after `after` (0: the first). −ENOENT at the end, −ESRCH when `after`
 * is no longer active. O(log n). */
int engine_job_in_turn(const struct engine *engine, uint64_t after, struct job_view *ret_view);
/* The computing of an active job's tasks that are not done, and their network input less what
 * running attempts have received. −ENOENT: it is not active, or a framework's. O(stages + its
 * attempts). */
int engine_job_left(const struct engine *engine, uint64_t job, uint64_t *ret_ns,
                    uint64_t *ret_bytes);
/* Its place in turn, from 1; 0: not active. O(log n). */
uint64_t engine_job_place(const struct engine *engine, uint64_t job);
/* The active job at that place. −ENOENT: there are fewer. O(log n). */
int engine_job_at_place(const struct engine *engine, uint64_t place, struct job_view *ret_view);
int engine_finished_after(const struct engine *engine, uint64_t after, struct job_view *ret_view);
/* Jobs that ended, the newest first: the next one before `place` (0: the newest), and its place.
 * −ENOENT: there is none. O(log n). */
int engine_finished_before(const struct engine *engine, uint64_t place, struct job_view *ret_view,
                           uint64_t *ret_place);

/* What a job's time went into. Each moment of its life is divided evenly among its tasks that wait
 * or run then; each part counts for one of these: */
enum split_part {
    SPLIT_TURN,      /* ready tasks that wait for their turn, or for slots */
    SPLIT_HELD,      /* tasks that a policy holds back (DECISION_HOLD) */
    SPLIT_ORDERED,   /* tasks that an operator holds (EVENT_JOB_HOLD) */
    SPLIT_RECEIVING, /* tasks that run for the first time and receive over the network, */
    SPLIT_COMPUTING, /* or do anything else, as far as is known */
    SPLIT_AGAIN,     /* tasks that run again: their attempt failed, was stopped or lost, or what it
                        made was lost */
    SPLIT_PARTS
};
/* A stage's part of it. */
struct stage_split {
    uint32_t stage, tasks;
    int64_t ns[SPLIT_PARTS];
    enum reason why;            /* of most of SPLIT_HELD; REASON_NONE: nothing held it */
    uint64_t received_bytes;    /* by all attempts */
    int64_t began_ns, moved_ns; /* first start, and last change of what its tasks do; 0: none */
};
#define SPLIT_STAGES 64
/* lasted_ns is the sum of ns[], idle_ns and unknown_ns. */
struct job_split {
    uint64_t job;
    int64_t lasted_ns, ns[SPLIT_PARTS];
    int64_t idle_ns;    /* none of its tasks waited or ran: it arrived, or its framework worked */
    int64_t unknown_ns; /* before it was loaded */
    uint64_t received_bytes;
    uint32_t n_stages; /* those that took most of it, in order of their numbers */
    const struct stage_split *stages;
};
/* Of an active job until `at_ns`, which is not before the last step, in `room`, of SPLIT_STAGES
 * (NULL: of no such job); or of one that ended in the last step: then stages is borrowed until the
 * next one. −ENOENT: neither. O(its stages, and jobs that ended). A dump has nothing of it, and no
 * decision depends on it. */
int engine_split(const struct engine *engine, uint64_t job, int64_t at_ns, struct stage_split *room,
                 struct job_split *ret_split);
/* "turn", "held", … */
const char *split_part_name(enum split_part part);
/* Some sentences for people, cut to fit. */
void engine_say_split(const struct job_split *split, bool ended, char *text, size_t size);
int engine_attempt_after(const struct engine *engine, uint64_t after,
                         struct attempt_view *ret_view);

/* Calls `each` for each attempt that runs on a host or was sent there. O(attempts there). */
void engine_host_attempts(const struct engine *engine, uint32_t host,
                          void (*each)(void *context, const struct attempt_view *attempt),
                          void *context);

/* Jobs with outputs on a host, and how many outputs these are: at most `most`, the one that has
 * been there for longest first. Returns how many jobs there are. O(most). */
uint32_t engine_host_outputs(const struct engine *engine, uint32_t host, uint32_t most,
                             void (*each)(void *context, uint64_t job, uint32_t outputs),
                             void *context);
/* Attempts that read their block from that host over the network, at most `most`. O(most). */
void engine_block_readers(const struct engine *engine, uint32_t host, uint32_t most,
                          void (*each)(void *context, const struct attempt_view *attempt),
                          void *context);

/* Each attempt of a stage that runs, was sent to a host or is allowed. O(those). */
void engine_stage_attempts(const struct engine *engine, uint64_t job, uint32_t stage,
                           void (*each)(void *context, const struct attempt_view *attempt),
                           void *context);
/* The same in portions: those of `most` tasks from number `first` on. Returns the number of the
 * task to go on with: the stage's number of tasks, or UINT32_MAX, is the end. O(most). */
uint32_t engine_stage_attempts_from(const struct engine *engine, uint64_t job, uint32_t stage,
                                    uint32_t first, uint32_t most,
                                    void (*each)(void *context, const struct attempt_view *attempt),
                                    void *context);

struct engine_status {
    int64_t now_ns;
    enum mode mode;
    uint64_t mode_sequence;
    int64_t mode_since_ns;
    bool congested;
    uint32_t hot_uplinks; /* at or above cleared_permille */
    uint64_t first_job;   /* 0: no active job */
    uint64_t first_ready; /* its ready tasks, and the free slots that they may use */
    int64_t first_free;
    uint32_t hosts, hosts_up, hosts_suspect;
    uint64_t jobs_active, tasks_ready, attempts;
    uint32_t held_stages;
    int64_t slots, slots_free; /* of hosts that are up */
};
void engine_status(const struct engine *engine, struct engine_status *ret_status);

/* The mode in force, and what its rule finds now. */
struct mode_view {
    enum mode mode, wanted;
    enum reason reason; /* of `wanted`, with the two numbers that it compared */
    uint64_t ready;
    int64_t free;
    uint64_t sequence;
    int64_t since_ns, until_ns; /* it stays until then, whatever is wanted (mode_dwell_ns) */
    uint64_t first_job;         /* 0: no active job */
};
/* O(shapes of the first job), or what the rule costs. */
void engine_mode(const struct engine *engine, struct mode_view *ret_view);

/* Whether the network is congested, and how many uplinks make it so. O(1). */
struct congestion_view {
    bool congested;
    uint32_t uplinks;         /* of joined hosts */
    uint32_t over, uncleared; /* over congested_permille; at or above cleared_permille */
};
void engine_congestion(const struct engine *engine, struct congestion_view *ret_view);
/* Counted bytes of its jobs; 0 when nothing is counted (memory_max). O(1). */
uint64_t engine_counted_bytes(const struct engine *engine);

/* What an application of a framework counts for. */
struct account_view {
    uint64_t bytes, bytes_max, jobs, jobs_max; /* _max: of all frameworks together */
    uint64_t refused;                          /* facts beyond its share */
    uint32_t allowed, allows_max;              /* allows in force, and their bound; 0: none */
    uint64_t lapsed;                           /* allows that it did not use */
};
/* −ENOENT: nothing is counted for it. O(log n). */
int engine_account(const struct engine *engine, uint64_t application,
                   struct account_view *ret_view);

/* Counted since creation or load; no part of the state, and never used by a decision. */
struct engine_counters {
    uint64_t steps, events, decisions, starts, stops, level_changes, rejects, ignored_facts;
    uint64_t cut_facts; /* numbers beyond a bound, for which the bound was taken */
    uint64_t mode_switches, holds, holds_expired, jobs_done, jobs_failed;
    int64_t held_slot_ns;                          /* free slots × time while a stage was held */
    int64_t starved_ns;                            /* time in slot-starved mode */
    uint64_t stalls, suspicions, sources_replaced; /* attempts × silent sources; hosts that became
                                                      suspect; attempts that run again because of
                                                      their source */
    uint64_t allows, allows_used, allows_unused, granted_unasked, opens, binds; /* frameworks' */
    uint64_t visits; /* objects looked at */
};
void engine_counters(const struct engine *engine, struct engine_counters *ret_counters);

/* Bytes per task of a framework's stage with this history number at its last run. At most this many
 * are kept; the one learnt longest ago is dropped first. */
enum { ENGINE_SIZES_MAX = 4096 };
struct sizes_view {
    uint64_t place; /* in the order of learning, from 1; learning again moves it to the end */
    uint64_t history, mean_bytes;
};
/* The first with a place > `place`. −ENOENT: none. O(log n). */
int engine_sizes_after(const struct engine *engine, uint64_t place, struct sizes_view *ret_view);

struct engine_fact {
    char name[32];
    char value[160];
};
struct engine_explanation {
    char text[1152]; /* a few sentences for people */
    uint32_t facts;  /* the numbers behind the text */
    struct engine_fact fact[40];
};
/* Why EVENT_JOB_END would be rejected now, and the stage concerned; REASON_NONE: it would not.
 * O(stages). */
enum reason engine_job_obstacle(const struct engine *engine, uint64_t job, uint32_t *ret_stage);
/* For REASON_NEVER_FITS: the demand of the stage (of its first variant that never fits) and the
 * largest unit of a known host. A sentence without a full stop; "" for an unknown stage. O(units of
 * all hosts). */
void engine_say_never_fits(const struct engine *engine, uint64_t job, uint32_t stage, char *text,
                           size_t size);

/* Whether the placement keeps at_most of a stage, or (ENGINE_NONE) of a job: 0; −EINVAL with a
 * sentence that names those that do (REASON_NOT_KEPT). O(policies). */
int engine_place_keeps(const char *place, uint32_t stage, struct err *err);

/* What a job's stages prefer, the bounds of the job and of its stages, and the profiles of their
 * variants: clauses without a full stop; "" where there is none. O(stages). */
void engine_say_words(const struct engine *engine, uint64_t job, char *text, size_t size);

/* Of a job's stages that can run in several ways, how many attempts run in each: clauses without a
 * full stop; "" where there is no such stage. O(stages + their attempts). */
void engine_say_variants(const struct engine *engine, uint64_t job, char *text, size_t size);

/* The policies in force by which a job's priority counts: "turn NAME, place NAME"; "": none. */
void engine_say_priority_use(const struct engine *engine, char *text, size_t size);

/* What the policies in force do differently in the other mode: clauses without a full stop. */
void engine_say_mode_use(const struct engine *engine, char *text, size_t size);
/* Why the mode was decided: a clause by the policy that gave the reason. */
void engine_say_mode_why(const struct engine *engine, const struct decision *mode,
                         struct engine_explanation *ret_explanation);
/* Why this task runs where it does at its levels, or why it waits. Changes nothing. −ENOENT: no
 * such task. */
int engine_explain(const struct engine *engine, uint64_t job, uint32_t stage, uint32_t task,
                   struct engine_explanation *ret_explanation);

/* Why an active job has its place in turn: by which rule, and what its number is made of; and the
 * same of the job before it, of the first of the job behind it. −ENOENT: it is not active.
 * O(log n). */
int engine_explain_turn(const struct engine *engine, uint64_t job,
                        struct engine_explanation *ret_explanation);

/* What the slots of a host that is up are used for, which job is first in turn there, and why free
 * slots are free: for the first tasks in turn that wait, what keeps them from this host, and how
 * the user of the first of them stands. Of a host that is not up only numbers. −ENOENT: no such
 * host. O(attempts there + log n): of many jobs the first 64 in turn are looked at. */
int engine_explain_host(const struct engine *engine, uint32_t host,
                        struct engine_explanation *ret_explanation);

/* An arc of the graph by which the placement decides, as its last optimum has it. */
struct arc_view {
    uint64_t arc; /* its number */
    const char *what;
    uint32_t tail, head;           /* nodes; the sink is 1 */
    char tail_is[96], head_is[96]; /* in words */
    int64_t lower, capacity, flow;
    int64_t cost;   /* in the units of the placement's weights */
    int64_t ranked; /* what is minimised: with what decides between equals */
};
/* Whether the placement in force decides by a graph, and which optimum is the last one (0: none
 * yet). 0; −EINVAL with a sentence: it does not. O(policies). */
int engine_graph(const struct engine *engine, uint64_t *ret_round, struct err *err);
/* The arc with the least number above `after`. −ENOENT: no more. O(arcs without a number). */
int engine_arc_after(const struct engine *engine, uint64_t after, struct arc_view *ret_arc);

/* Does in advance a part of the work of a completely submitted job's EVENT_JOB_END, at most `most`
 * looks at its tasks. Nothing else changes, except that the job takes no more parts. 1: more is
 * left; 0: nothing is left, or there is no such job; −ENOMEM leaves the engine unusable. */
int engine_prepare(struct engine *engine, uint64_t job, uint64_t most);
/* Frees some memory of ended jobs, about 0.1 ms of work, as each step does. True: more is left.
 * Nothing else changes. */
bool engine_tidy(struct engine *engine);
/* The application whose job that is about (ENGINE_APPLICATION_SHIFT). O(1). */
uint64_t engine_tidies(const struct engine *engine);
/* Counted bytes of ended jobs that are not freed yet. O(1). */
uint64_t engine_removed_bytes(const struct engine *engine);

/* Writes the state as records (record.h), one line each, in order of identities; equal states give
 * equal bytes. `sink` returns 0, or −errno to stop. */
int engine_dump(const struct engine *engine,
                int (*sink)(void *context, const char *line, size_t length), void *context);
/* The same in memory that the caller gives (this many bytes, aligned as malloc aligns): it neither
 * allocates nor locks, so a forked child of a process with threads may call it. */
size_t engine_dump_room(const struct engine *engine);
int engine_dump_in(const struct engine *engine, void *room,
                   int (*sink)(void *context, const char *line, size_t length), void *context);
/* A dump's record of one job, without its submission: the `job` record of a live job, the
 * `finished` record of an ended one. `room` as above. −ENOENT. O(log n).
 *
 * Between the host records and the end of an empty engine's dump the events that submitted a live
 * job and its `job` record restore the job, when a `task` record for each task that is done (or has
 * failed) follows, and then "resume job=N slot_wait_ns=NS", which opens the stages that are due. An
 * entry of engine_sizes_after is "sizes input=0 shuffle=0 n_means=0 history=H mean=BYTES". */
int engine_dump_job(const struct engine *engine, uint64_t job, void *room,
                    int (*sink)(void *context, const char *line, size_t length), void *context);
/* Makes an engine from a dump's lines. `next` returns the length of the next line (which it owns
 * until the next call), 0 at the end, −errno. load(dump(e)) decides as e would. −EINVAL with "line
 * N: …" when the lines are not a dump. */
int engine_load(int (*next)(void *context, const char **ret_line), void *context,
                struct engine **ret_engine, struct err *err);
/* FNV-1a over the dump's bytes: what tests and replicas compare. */
uint64_t engine_digest(const struct engine *engine);

/* The name of a value in records, CLI and logs; "?" when out of range. Reasons are found in the
 * tables of all policies. */
const char *reason_name(enum reason reason);
/* The reason with this name of `length` bytes; −EINVAL. */
int reason_find(const char *word, size_t length, enum reason *ret_reason);
const char *mode_name(enum mode mode);
const char *job_state_name(enum job_state state);
const char *task_state_name(enum task_state state);
const char *attempt_state_name(enum attempt_state state);
/* The policies of a question ("turn", "place", "commit", "network", "mode" or "users"), index from
 * 0; NULL at the end. */
const char *engine_policy_name(const char *question, unsigned index);
/* The policy that answers a question now; NULL for an unknown question. */
const char *engine_policy(const struct engine *engine, const char *question);

/* Whether the policy could answer this question together with the others in force: 0; −EINVAL with
 * a sentence (EVENT_POLICY_SET would be rejected); −ENOENT: no such question or policy.
 * O(policies). */
int engine_policy_fits(const struct engine *engine, const char *question, const char *name,
                       struct err *err);
/* A policy for each question. */
struct engine_combination {
    const char *turn, *place, *commit, *network, *mode, *users;
    bool one_host;     /* users can be dealt one host's room at a time (parameter one_host) */
    char refused[256]; /* why they do not work together, a sentence without its full stop; "": they
                          do */
};
/* Whether these policies could answer all questions together, now: as engine_policy_fits, of all at
 * once. Only the names count. */
int engine_policies_fit(const struct engine *engine, const struct engine_combination *combination,
                        struct err *err);
/* Number `index` of all combinations, from 0, in order of the tables; users change fastest.
 * −ENOENT: no more. O(policies). */
int engine_combination(uint64_t index, struct engine_combination *ret_combination);

/* A policy's parameters, index from 0; NULL at the end, or for an unknown policy. */
const struct engine_parameter *engine_policy_parameter(const char *question, const char *policy,
                                                       unsigned index);
/* The parameters of all policies of a question, each once, index from 0; NULL at the end. */
const struct engine_parameter *engine_question_parameter(const char *question, unsigned index);
/* NULL: no policy has a parameter of this word. */
const struct engine_parameter *engine_parameter(const char *word);
/* A value's word, of a parameter that is a choice, and the reverse: −EINVAL with a sentence that
 * names all words. */
const char *engine_choice_word(const struct engine_parameter *parameter, int64_t value);
int engine_choice_find(const struct engine_parameter *parameter, const char *word,
                       int64_t *ret_value, struct err *err);
/* Sets a parameter's value. −ENOENT: unknown word; −ERANGE: out of range; each with a sentence. */
int engine_config_say(struct engine_config *config, const char *word, int64_t value,
                      struct err *err);
/* The value that was set, else the default; 0 for an unknown parameter. */
int64_t engine_config_value(const struct engine_config *config, const char *word);
/* The same for an engine, after the events that changed it. */
int64_t engine_value(const struct engine *engine, const char *word);
