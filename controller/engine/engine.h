/* The scheduling engine: events and the time in, decisions out.
 *
 * It decides whose turn it is, which task runs where or is held back, whether a claim may commit,
 * and how urgent a transfer is on the wire. Each question is answered by a policy that the
 * configuration names; policies are const tables of functions in turn/, place/, commit/ and
 * network/, and any combination may be configured.
 *
 * Pure: no clock, I/O, log, global, thread. Equal inputs give equal decisions byte for byte, on
 * every compiler: integers only, ties by a hash of the seed and then by number. One engine may be
 * used by one thread at a time; several engines are independent.
 *
 * Cost of a step: O(log n) per event plus what the event itself changed (n: tasks, jobs or hosts).
 * Never a scan over all of them. engine_counters().visits counts the objects that were looked at,
 * and a test holds it.
 *
 * Sources: Duopoly (Tian et al., sections 4 and 5: cans, nats, mode switch); D-CLAS from Aalo
 * (Chowdhury, Stoica, SIGCOMM 2015). What the sources leave open is settled in the places that
 * decide it. */
#pragma once

#include "controller/engine/event.h"
#include "lib/err.h"

#include <stddef.h>

struct engine;

enum mode { MODE_SLOT_RICH, MODE_SLOT_STARVED };

/* Exponential size classes: level = number of thresholds that the size has reached. */
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

enum engine_unit { ENGINE_UNIT_NS, ENGINE_UNIT_COUNT, ENGINE_UNIT_YES }; /* YES: 0 or 1 */

/* A parameter of policies. Its word means the same in all that have it. */
struct engine_parameter {
    const char *word;
    enum engine_unit unit;
    int64_t least, most, preset; /* in that unit */
    const char *what;            /* a sentence for people */
};
enum { ENGINE_VALUES_MAX = 16, ENGINE_WORD_MAX = 24 };
struct engine_value {
    char word[ENGINE_WORD_MAX];
    int64_t value;
};

/* Rules of decisions, in the order in which they came. */
enum engine_rule {
    RULE_RERUNS_ONCE = 1, /* outputs that nobody can fetch count once for each host (rerun.h) */
    RULE_LATER_STAYS, /* what is done on a host after it was lost is not lost with it (losing.h) */
    RULE_BOOTS_COUNT, /* what is lost with a host, or ends unasked, counts against it (failing.h) */
    RULE_PIECES,      /* a stage of which some tasks are told otherwise stays open (framework.c) */
    RULE_SKIPS_WAIT,  /* stages are skipped in portions (framework_skip.h) */
    RULE_GROWS,       /* stages get their tasks in portions (framework_grow.h) */
    RULE_KEEPS_WAIT,  /* outputs that get their first reader are counted in portions (outputs.h) */
    RULE_HOMES_ANEW,  /* who waits for a slot at home is said at each pick (joint.c) */
    ENGINE_RULES = RULE_HOMES_ANEW
};

struct engine_config {
    uint64_t seed;
    uint32_t epoch;        /* upper half of attempt numbers; from the controller's epoch file */
    char turn[16];         /* fifo sjf fair srpt srpt-ageless drf */
    char place[16];        /* nats greedy delay neat neat-fair random */
    char commit[16];       /* single */
    char network[16];      /* cans cans-coflow cans-macroflow dclas scf none */
    char mode[16];         /* first all rich starved */
    int64_t mode_dwell_ns; /* shortest stay in a mode; 0 in the simulator, 50 ms live */
    uint32_t congested_permille; /* uplinks above it make the network congested, 900 */
    uint32_t cleared_permille;   /* those below it clear it, 800 */
    /* So many of the uplinks must be exceeded to make it congested, and not any more at or above
     * cleared_permille to clear it. 0: a single one, as in the source. */
    uint32_t congested_share_permille;
    int64_t hold_max_ns; /* no slot is kept from a task for longer, counted from the first, 30 s */
    int64_t stop_grace_ns; /* in stop decisions, 1 s */
    uint32_t failures_max; /* failed or refused attempts of one task, then its job fails; 4 */
    /* Outputs of one task that nobody could fetch, then its job fails (rerun.h); 4. 0: no bound, as
     * in logs of before. */
    uint32_t reruns_max;
    /* Hosts that are lost while an attempt of one task is there: from so many on, each counts as a
     * failure of the task (loss.h); 2. 0: none does, as in logs of before. */
    uint32_t losses_max;
    /* What one host says of a task counts once: another failure, or loss, of it there is none while
     * another host could hold it (retry.h). false: each counts, as in logs of before, and with
     * probe_ns = 0. */
    bool hosts_count_once;
    /* A host that could not be read from for so long: what waits for it runs again, and its outputs
     * count as lost (source.h); 30 s. 0: nobody looks, as in logs of before there was this. */
    int64_t source_lost_ns;
    /* So many sources a host may have put out of use by its word alone: one more, and it is the
     * suspect (source.h); 1. 0: any number, as in logs of before. */
    uint32_t lone_sources_max;
    /* A host that failed what was done elsewhere is suspect, and gets a probe after so long
     * (failing.h); another try of a task goes elsewhere (retry.h); 5 s. 0: neither, as in logs of
     * before. */
    int64_t probe_ns;
    struct level_table coflow, macroflow, dclas;
    /* Jobs of frameworks that it knows at once. 0: none, their facts are ignored and counted. */
    uint32_t framework_jobs_max;
    int64_t allow_ns; /* an allow whose start was not seen for so long is no more; 5 s */
    /* Counted bytes of what is submitted, and of what frameworks tell; see account.h. 0 (the
     * first): nothing is counted, as in logs of before. */
    uint64_t memory_max, framework_memory_max;
    /* Tasks of a framework's stage, also times the edges into it; 0: FRAMEWORK_TASKS_MAX. */
    uint32_t stage_tasks_max;
    /* What is begun at once, whatever the numbers say: attempts of a host, messages with starts
     * that it has not answered (one start may need more), and starts in one step; the next step
     * follows at once. 0: no bound, as in logs of before. */
    uint32_t host_attempts_max, host_starts_max, step_starts_max;
    /* Allows that an application used make up for so many that lapse (lapse.h). 0: those that lapse
     * are not counted, as in logs of before. */
    uint32_t lapses_spared;
    /* A user that is new begins with what the key that names it may have (lapse.h). False:
     * unbounded, as in logs of before. */
    bool lapses_of_keys;
    /* Tasks that are made ready in one step, a task with blocks counting for one more with each,
     * and one that reads a matrix for one more with each 32 maps; and starts end a step when they
     * have four times as many inputs. The next step follows at once. WHY counted: a stage of 10⁶
     * tasks would hold everybody for a second. 0: no bound, as in logs of before. */
    uint32_t step_ready_max;
    /* Tasks of a framework's stage that get another size in one step or are skipped, or whose
     * output is lost; one that is only looked at for that, or is made, is a part of it. The next
     * step follows at once. 0: no bound, as in logs of before. */
    uint32_t step_tasks_max;
    /* Bounds; a request beyond one is rejected with REASON_TABLE_FULL, a fact beyond one is ignored
     * and counted. */
    uint32_t hosts_max, units_per_host_max, jobs_max, stages_per_job_max, finished_max, shapes_max;
    uint64_t tasks_max, cells_per_job_max;
    /* The last rule that decisions follow; ENGINE_RULES. Fewer: those that came later are not
     * followed, as in logs of before. */
    uint32_t rules;
    /* Parameters of policies that are said (engine_config_say), each word once; all others have
     * their default. Those that no policy in force has wait for one. */
    struct engine_value values[ENGINE_VALUES_MAX];
    uint32_t n_values;
};
/* The defaults of the specification: sjf, nats, single, cans, 8 levels from 10 MB × 8 (Coflow), 1
 * MB × 4 (Macroflow), 10 MB × 10 (D-CLAS). */
void engine_config_default(struct engine_config *ret_config);

/* 0, or −EINVAL with a sentence that names the value and what is allowed, or −ENOMEM. The caller
 * owns the engine. */
int engine_create(const struct engine_config *config, struct engine **ret_engine, struct err *err);
void engine_destroy(struct engine *engine);

/* A growing array of decisions that the caller owns; start with zeros, end with decisions_done. */
struct decisions {
    struct decision *at;
    size_t n, capacity;
    bool idle; /* the step changed nothing but the time: had it not been, all later steps would
                  decide the same */
};
void decisions_done(struct decisions *decisions);

/* Applies `n` events in order at now_ns (never smaller than before), then decides until nothing
 * more is to decide. n = 0: a wake-up. `decisions` is emptied first; what it then holds stands
 * until the next call. −ENOMEM leaves the engine unusable; else 0. */
int engine_step(struct engine *engine, int64_t now_ns, const struct event *events, size_t n,
                struct decisions *decisions);

/* When it wants to be called next without an event; INT64_MAX: never. */
int64_t engine_deadline_ns(const struct engine *engine);

struct engine_input {
    uint32_t host; /* that has it; may be the task's own host, then nothing crosses the network */
    bool block;    /* the task's own block from a replica; else one map output: */
    uint32_t stage, task;
    uint64_t attempt;
    uint64_t bytes;
};
/* Calls `each` for every input of a live attempt, in order of parent, map. O(maps). Returns how
 * many, −ENOENT for an unknown attempt. */
int engine_inputs(const struct engine *engine, uint64_t attempt,
                  void (*each)(void *context, const struct engine_input *input), void *context);

/* Whether somebody reads something now: what he says of it is what he can know. OVER: he did, or
 * was to; such words may come late, and mean nothing. */
enum engine_reading { READING_NOT, READING_OVER, READING_NOW };
/* A live attempt from that host. O(its inputs); OVER for one that is not known. */
enum engine_reading engine_reads_from(const struct engine *engine, uint64_t attempt, uint32_t host);
/* Attempts on that host this task's output; OVER too where that is lost already. Not for
 * frameworks' jobs, which say so themselves. O(attempts there). */
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
    uint32_t rooms;               /* of applications that told some there (room.h) */
    uint32_t jobs_outputs;        /* jobs that have outputs there */
    struct resources total, free; /* of its units, or of all rooms where those have more */
    uint64_t uplink_bps, downlink_bps;
    uint32_t uplink_permille, downlink_permille;
    uint64_t smallest_coflow_bytes, smallest_macroflow_bytes; /* receiving here; UINT64_MAX: none */
    bool suspect;              /* it gets no new work: others cannot read from it (mute), or it */
    bool mute, blind;          /* cannot read from them (blind), or what runs there fails; */
    bool failing;              /* then it gets a probe now and again, */
    int64_t probe_ns;          /* the next one then; 0: when there is a task for it, or one runs */
    uint32_t failed_in_a_row;  /* attempts that failed or were lost there since one was done */
    bool trial;                /* it was suspect, and nobody has read from it since */
    int64_t suspect_since_ns;  /* while it is */
    uint32_t readers, sources; /* hosts that cannot read from it; that it cannot read from */
};
struct unit_view {
    uint32_t host, unit;
    char name[ENGINE_UNIT_NAME_MAX]; /* "": it has none */
    struct resources total, free;    /* free: also of what frameworks' executors hold there */
    uint32_t running;
};
struct job_view {
    uint64_t job;
    const char *name;
    uint32_t user;
    enum job_state state;
    uint32_t stages; /* all numbers of its stages are below it; a framework's need not be there */
    uint64_t tasks, ready, running, done;
    uint64_t allowed; /* of those running: they may start, and have not been seen to */
    uint32_t held_stages;
    bool framework; /* its framework places its tasks, and says when it is over */
    int64_t submitted_ns, finished_ns, slot_wait_ns;
    uint64_t shuffle_bytes; /* of its edges */
    uint64_t key;           /* of its turn: smaller is sooner; for sjf the estimated ns */
    bool first;             /* it is L0 */
};
struct stage_view {
    uint64_t job;
    uint32_t stage, tasks, ready, running, done;
    const char *command, *constraint;
    uint64_t coflow_bytes;
    bool held;
    int64_t held_until_ns;
    bool gated;       /* a framework's: its tasks start where they are allowed only */
    bool left;        /* a framework's: it was opened, and is its framework's to place */
    uint32_t allowed; /* tasks that may start and have not been seen to */
};
struct task_view {
    uint64_t job;
    uint32_t stage, task;
    enum task_state state;
    bool network_input; /* reduce to the scheduler */
    bool guessed;       /* nobody has told its bytes */
    uint64_t bytes;     /* network input (Macroflow) */
    uint64_t input_bytes, compute_ns, output_bytes;
    uint32_t failures, losses;
    bool loss_fails;  /* one more loss with its host counts as a failure, or would: loss.h */
    uint64_t attempt; /* the newest live one, or the accepted one; 0: none */
    uint32_t host;    /* of that attempt; ENGINE_NONE */
    int64_t ready_ns, started_ns;
};
struct attempt_view {
    uint64_t attempt, job;
    uint32_t stage, task, host, unit;
    enum attempt_state state;
    bool orphan;  /* its task is not known, or another's to do: its result counts for nothing */
    bool foreign; /* a framework's: it is neither started nor stopped from here */
    bool allow;   /* it is only allowed, and has not been seen, */
    int64_t allow_until_ns; /* until then */
    uint64_t coflow_level, macroflow_level;
    uint64_t coflow_bytes, macroflow_bytes, received_bytes;
    int64_t started_ns; /* when it was sent; of one that was found running, when that was */
    int64_t
        received_ns;  /* when it had all its input; 0: not yet, it reads nothing, or nobody knows */
    bool found;       /* it was found running */
    bool in_own_room; /* of its application's executors there (room.h) */
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
int engine_task(const struct engine *engine, uint64_t job, uint32_t stage, uint32_t task,
                struct task_view *ret_view);
int engine_attempt(const struct engine *engine, uint64_t attempt, struct attempt_view *ret_view);
/* The one with the smallest number > after (≥ 1 for jobs and attempts), for cursors. 0 or −ENOENT
 * at the end. O(log n). */
int engine_job_after(const struct engine *engine, uint64_t after, struct job_view *ret_view);
/* The active job whose turn comes after that of `after` (0: the first). −ENOENT at the end, −ESRCH
 * when `after` is not active any more. O(log n). */
int engine_job_in_turn(const struct engine *engine, uint64_t after, struct job_view *ret_view);
/* What the tasks of an active job that are not done compute, and their network input less what
 * those that run have received. −ENOENT: it is not active, or a framework's. O(stages + its
 * attempts). */
int engine_job_left(const struct engine *engine, uint64_t job, uint64_t *ret_ns,
                    uint64_t *ret_bytes);
/* From 1; 0: not active. O(place). */
uint64_t engine_job_place(const struct engine *engine, uint64_t job);
int engine_finished_after(const struct engine *engine, uint64_t after, struct job_view *ret_view);
int engine_attempt_after(const struct engine *engine, uint64_t after,
                         struct attempt_view *ret_view);

/* Each attempt that runs on a host, or was sent there. O(attempts there). */
void engine_host_attempts(const struct engine *engine, uint32_t host,
                          void (*each)(void *context, const struct attempt_view *attempt),
                          void *context);

/* Each attempt of a stage that runs, was sent to a host or is allowed. O(those). */
void engine_stage_attempts(const struct engine *engine, uint64_t job, uint32_t stage,
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
/* What its jobs take by its account, in bytes; 0 where none is kept (memory_max). O(1). */
uint64_t engine_counted_bytes(const struct engine *engine);

/* What an application of a framework takes by its account. */
struct account_view {
    uint64_t bytes, bytes_max, jobs, jobs_max; /* most: of all frameworks together */
    uint64_t refused;                          /* facts beyond its share */
    uint32_t allowed, allows_max;              /* allows in force; so many may be, 0: any number */
    uint64_t lapsed;                           /* allows that it did not use */
};
/* −ENOENT: nothing is counted for it. O(log n). */
int engine_account(const struct engine *engine, uint64_t application,
                   struct account_view *ret_view);

/* Counted since creation (or load); not part of the state, never of a decision. */
struct engine_counters {
    uint64_t steps, events, decisions, starts, stops, level_changes, rejects, ignored_facts;
    uint64_t mode_switches, holds, holds_expired, jobs_done, jobs_failed;
    int64_t held_slot_ns; /* free slots × time while some stage was held */
    int64_t starved_ns;   /* time in slot-starved mode */
    uint64_t stalls, suspicions, sources_replaced; /* attempts × sources that gave nothing; hosts
                                                      that became suspect; attempts that run again
                                                      because of their source */
    uint64_t allows, allows_used, allows_unused, granted_unasked, opens; /* frameworks' */
    uint64_t visits;                                                     /* objects looked at */
};
void engine_counters(const struct engine *engine, struct engine_counters *ret_counters);

/* What a stage of a framework with this history number had, a task, when it ran last. Of so many is
 * it kept, the one that was not learnt for longest leaves. */
enum { ENGINE_SIZES_MAX = 4096 };
struct sizes_view {
    uint64_t place; /* in the order of learning, from 1; what is learnt anew moves to the end */
    uint64_t history, mean_bytes;
};
/* The first with a place > `place`. −ENOENT: there is none. O(log n). */
int engine_sizes_after(const struct engine *engine, uint64_t place, struct sizes_view *ret_view);

struct engine_fact {
    char name[32];
    char value[160];
};
struct engine_explanation {
    char text[768]; /* a few sentences for people */
    uint32_t facts; /* the numbers behind it */
    struct engine_fact fact[28];
};
/* What EVENT_JOB_END would be rejected for now: REASON_NONE, or the reason and the stage that it is
 * about. O(stages). */
enum reason engine_job_obstacle(const struct engine *engine, uint64_t job, uint32_t *ret_stage);
/* For REASON_NEVER_FITS: what the stage demands, and what the largest unit of a known host has. A
 * sentence without a full stop; "" for an unknown stage. O(units of all hosts). */
void engine_say_never_fits(const struct engine *engine, uint64_t job, uint32_t stage, char *text,
                           size_t size);

/* What the policies in force do otherwise in the other mode: clauses without a full stop. */
void engine_say_mode_use(const struct engine *engine, char *text, size_t size);
/* Why the mode was decided: a clause as the policy says it that gave the reason. */
void engine_say_mode_why(const struct engine *engine, const struct decision *mode,
                         struct engine_explanation *ret_explanation);
/* Why this task runs where it runs with the level that it has, or why it waits. Computed when
 * asked; changes nothing. −ENOENT: no such task. */
int engine_explain(const struct engine *engine, uint64_t job, uint32_t stage, uint32_t task,
                   struct engine_explanation *ret_explanation);

/* Does some of what the end of a job that has come whole would have to do at once: so many looks at
 * its tasks at most. Nothing else changes, but that the job takes no more parts. 1: there is more;
 * 0: nothing is left, or it is no such job; −ENOMEM leaves the engine unusable. */
int engine_prepare(struct engine *engine, uint64_t job, uint64_t most);
/* Gives back some of the memory of jobs that are over, about 0.1 ms' work; each step does, too.
 * True: there is more. Nothing else changes. */
bool engine_tidy(struct engine *engine);
/* What these were counted with, as far as it is not given back. O(1). */
uint64_t engine_removed_bytes(const struct engine *engine);

/* Writes the state as records (record.h), one line each, in order of identities; equal states give
 * equal bytes. `sink` returns 0, or −errno to stop. */
int engine_dump(const struct engine *engine,
                int (*sink)(void *context, const char *line, size_t length), void *context);
/* The same in so many bytes that the caller gives (aligned as malloc aligns): it allocates nothing
 * and takes no lock, so that a forked child of a process with threads may do it. */
size_t engine_dump_room(const struct engine *engine);
int engine_dump_in(const struct engine *engine, void *room,
                   int (*sink)(void *context, const char *line, size_t length), void *context);
/* What a dump has of one job beside how it was submitted: of a live one its `job` record, of one
 * that is over its `finished` record. `room` as above. −ENOENT. O(log n).
 *
 * Between the host records and the end of an empty engine's dump the events that submitted a live
 * job and its `job` record make an engine with these jobs again, if they are followed by a `task`
 * record for each task that is done (or has failed), then by "resume job=N slot_wait_ns=NS", which
 * opens the stages that are due. What engine_sizes_after had is "sizes input=0 shuffle=0 n_means=0
 * history=H mean=BYTES". */
int engine_dump_job(const struct engine *engine, uint64_t job, void *room,
                    int (*sink)(void *context, const char *line, size_t length), void *context);
/* Makes an engine from such lines. `next` returns the length of the next line (which it owns until
 * the next call), 0 at the end, −errno. load(dump(e)) decides as e would. −EINVAL with "line N: …"
 * when the lines are not a dump. */
int engine_load(int (*next)(void *context, const char **ret_line), void *context,
                struct engine **ret_engine, struct err *err);
/* FNV-1a over the dump's bytes: what tests and replicas compare. */
uint64_t engine_digest(const struct engine *engine);

/* The field's word for a value, as in records, CLI and logs; "?" when out of range. Reasons are
 * looked for in the tables of all policies. */
const char *reason_name(enum reason reason);
/* The reason behind a word of so many bytes; −EINVAL. */
int reason_find(const char *word, size_t length, enum reason *ret_reason);
const char *mode_name(enum mode mode);
const char *job_state_name(enum job_state state);
const char *task_state_name(enum task_state state);
const char *attempt_state_name(enum attempt_state state);
/* The policies of a question ("turn", "place", "commit", "network", and "mode", whose policies are
 * its rules), index from 0; NULL at the end. */
const char *engine_policy_name(const char *question, unsigned index);
/* The one that answers a question now; NULL for an unknown question. */
const char *engine_policy(const struct engine *engine, const char *question);

/* Whether it could answer this question beside those that are in force: 0; −EINVAL with a
 * sentence, and then EVENT_POLICY_SET is rejected; −ENOENT: there is no such question or policy.
 * O(policies). */
int engine_policy_fits(const struct engine *engine, const char *question, const char *name,
                       struct err *err);
/* A policy for each question. */
struct engine_combination {
    const char *turn, *place, *commit, *network, *mode;
    char refused[256]; /* why they do not work together, a sentence without its dot; "": they do */
};
/* Number `index` of all combinations, from 0, in the order of the tables: the mode's rule changes
 * soonest. −ENOENT: there are no more. O(policies). */
int engine_combination(uint64_t index, struct engine_combination *ret_combination);

/* A policy's parameters, index from 0; NULL at the end, or when there is no such policy. */
const struct engine_parameter *engine_policy_parameter(const char *question, const char *policy,
                                                       unsigned index);
/* Those of all policies of a question, each once, index from 0; NULL at the end. */
const struct engine_parameter *engine_question_parameter(const char *question, unsigned index);
/* What the word means; NULL: no policy of any question has it. */
const struct engine_parameter *engine_parameter(const char *word);
/* Says a parameter's value. −ENOENT: there is none of this word; −ERANGE: the value is beyond its
 * range; each with a sentence. */
int engine_config_say(struct engine_config *config, const char *word, int64_t value,
                      struct err *err);
/* What is said, else the default; 0 when there is no such parameter. */
int64_t engine_config_value(const struct engine_config *config, const char *word);
/* The same of an engine's configuration, as events have changed it. */
int64_t engine_value(const struct engine *engine, const char *word);
