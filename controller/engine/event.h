/* The engine's vocabulary: what happens (events) and what is decided (decisions).
 *
 * Both are tagged values. Events may point to arrays and strings that the caller owns and keeps
 * valid during the step (*borrows until* engine_step returns); decisions hold no pointers and
 * compare equal when their encoded forms do (record.h). Facts are adopted; requests may be rejected
 * with a reason.
 *
 * Units are in the names: _ns nanoseconds on the clock of engine_step, _bytes bytes, _bps bit per
 * second, permille 0…1000 (of a disk: what is asked of it, up to ENGINE_DISK_PERMILLE_MAX).
 * Identities: host index (dense, given by the caller) with a generation;
 * unit index on its host; job numbers and attempt numbers are 64 bit; a task is (job, stage,
 * index). An attempt number is controller epoch (32 bit) : counter (32 bit). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    ENGINE_NAME_MAX = 64, /* bytes of a name with its terminating zero */
    ENGINE_LABELS_MAX =
        256, /* a host's labels, separated by commas, with the terminating zero: 8 of 31 bytes */
    ENGINE_UNIT_NAME_MAX = 32,          /* bytes of a unit's name with its terminating zero */
    ENGINE_RESOURCES = 6,               /* entries of a resource vector */
    ENGINE_REPLICAS_MAX = 8,            /* hosts that hold one task's block */
    FRAMEWORK_TASKS_MAX = 1 << 20,      /* of a framework's stage */
    ENGINE_VARIANTS_MAX = 4,            /* ways to run a stage */
    ENGINE_WISHES_MAX = 4,              /* of a stage, */
    ENGINE_UTILITY_MAX = 1000,          /* each of at most so much */
    ENGINE_USERS_MAX = 4096,            /* users that are known at once */
    ENGINE_DISK_PERMILLE_MAX = 1000000, /* of a disk's rate, asked at once; and */
    ENGINE_DISK_READERS_MAX = 65535,    /* by so many: reports of more are cut */
    ENGINE_LEVELS_MAX =
        64, /* bounded levels; 0 levels = unlimited, the level is then the size itself */
};
#define ENGINE_NONE UINT32_MAX /* no host, unit, stage or task */

/* The bits of a job's number above the lowest 30 are the number of its framework's application; 0:
 * none. ENGINE_EVERYBODY stands for all applications. */
#define ENGINE_APPLICATION_SHIFT 30
#define ENGINE_EVERYBODY         UINT64_MAX

/* One resource vector everywhere; a plain cluster has {slots}. Amounts are ≥ 0. */
enum resource {
    RES_SLOTS,
    RES_CPU_MILLI,
    RES_MEM_BYTES,
    RES_GPU_MILLI,
    RES_GPU_MEM_BYTES,
    RES_IO_BYTES_S
};
struct resources {
    int64_t amount[ENGINE_RESOURCES];
};

struct u32s {
    const uint32_t *at;
    uint32_t n;
};
struct u64s {
    const uint64_t *at;
    uint32_t n;
};

/* WHY some numbers are left out (7, 9, 10): they belonged to events that no program ever sent, and
 * recordings hold event numbers in rejections (reject.event). */
enum event_kind {
    /* Requests: carry a request number, may be answered by DECISION_REJECT. */
    EVENT_JOB_BEGIN,
    EVENT_JOB_STAGE,
    EVENT_JOB_TASKS,
    EVENT_JOB_BYTES,
    EVENT_JOB_END, /* the job is complete and becomes active */
    EVENT_JOB_UPDATE,
    EVENT_JOB_CANCEL,
    EVENT_CLAIM = 8,
    EVENT_POLICY_SET = 11,
    EVENT_HOST_DRAIN,
    /* Facts about hosts: never refused. */
    EVENT_HOST_JOIN,
    EVENT_HOST_CHANGE,
    EVENT_HOST_SILENT,
    EVENT_HOST_LOST,
    EVENT_HOST_BACK,
    EVENT_HOST_LOAD,
    /* Facts about attempts: never refused. */
    EVENT_ATTEMPT_SEEN,
    EVENT_ATTEMPT_GRANTED,
    EVENT_ATTEMPT_QUEUED,
    EVENT_ATTEMPT_STARTED,
    EVENT_ATTEMPT_REFUSED, /* counts as a failure of its task */
    EVENT_ATTEMPT_PROGRESS,
    EVENT_ATTEMPT_RECEIVED,
    EVENT_ATTEMPT_DONE,
    EVENT_ATTEMPT_FAILED,
    EVENT_ATTEMPT_KILLED,
    EVENT_ATTEMPT_LOST, /* its start was never answered, or its host no longer knows it */
    EVENT_OUTPUT_LOST,
    EVENT_SOURCE_STALLED, /* a live attempt gets nothing from a host that it reads from; repeated
                             while it lasts */
    EVENT_SOURCE_FLOWS,   /* it gets something again */
    EVENT_HOST_FORGET,    /* a request: frees its index for another host; not while it is up */
    /* Facts of frameworks, which place tasks by themselves (framework.h): never refused; facts
     * beyond a bound are ignored and counted. In any order, any number of times. */
    EVENT_FRAMEWORK_JOB,
    EVENT_FRAMEWORK_STAGE,
    EVENT_FRAMEWORK_TASKS, /* blocks and computing, as EVENT_JOB_TASKS; from any task on */
    EVENT_FRAMEWORK_BYTES,
    EVENT_FRAMEWORK_STARTED, /* a task runs; settles the allow that it used, if any */
    EVENT_FRAMEWORK_DONE,    /* a task is done and its output is there; may come without STARTED */
    EVENT_FRAMEWORK_END,     /* the job is over, whatever its state */
    EVENT_FRAMEWORK_ROOM,    /* an application's room on a host, or that it reports none (room.h) */
    EVENT_FRAMEWORK_OWNER,   /* an application's owner, its session, or its end (account.h) */
    EVENT_JOB_SUBMITTER,    /* the owner of the job that begins next; without it the job has none */
    EVENT_POLICY_PARAMETER, /* a request: sets a policy's parameter */
    EVENT_USER_SET,         /* a request: makes a user known, or changes its name and share */
    EVENT_USER_LEAVE,       /* a request: the user goes, with the last of its jobs */
    EVENT_JOB_PROFILE,      /* a fact: a way to run a submitted stage has another profile */
    /* Requests about a submitted job (facts/job_orders.h): none of its tasks starts from now on;
     * they start again; what runs of it is stopped and runs again. */
    EVENT_JOB_HOLD,
    EVENT_JOB_RELEASE,
    EVENT_JOB_REQUEUE,
    EVENT_FRAMEWORK_GROW, /* a fact: a framework's stage has so many tasks: made in portions */
    EVENT_KINDS
};

enum job_kind { JOB_BATCH, JOB_STREAM, JOB_UNKNOWN };
enum edge_kind { EDGE_BARRIER, EDGE_PIPELINED };
/* The application is gone; its framework has a session; has none now, and may return. */
enum owner_tells { OWNER_GONE, OWNER_THERE, OWNER_AWAY };
enum host_load_resource { LOAD_UPLINK, LOAD_DOWNLINK, LOAD_DISK };

struct event {
    enum event_kind kind;
    uint64_t request; /* requests: the caller's number, returned in the answer; 0 otherwise */
    union {
        struct {
            uint64_t job;
            const char
                *name; /* < ENGINE_NAME_MAX bytes; same name and same content twice = one job */
            uint64_t content; /* hash of all that follows */
            uint32_t user;
            uint32_t job_kind; /* enum job_kind */
            int64_t priority;
            int64_t deadline_ns;    /* after now; 0: none */
            int64_t estimate_bytes; /* shuffle bytes; −1: the sum of the edges */
            int64_t estimate_ns; /* one map's time; −1: the mean of compute times of tasks without
                                    network input */
            uint32_t at_most_host, at_most_rack; /* so many of its tasks run on one at once, at
                                                    most; 0: any number */
        } job_begin;
        struct {
            uint64_t job;
            uint32_t stage; /* counted from 0, in order */
            uint32_t tasks; /* ≥ 1 */
            struct resources demand;
            const char *command;
            const char *constraint; /* lib/constraint.h; "" none */
            struct u32s parents;    /* smaller stages */
            struct u32s edges;      /* enum edge_kind, one per parent */
            /* Further ways to run it, up to ENGINE_VARIANTS_MAX − 1, in order of preference:
             * ENGINE_RESOURCES values each; the other two one line each, NULL or "" where all are
             * empty. No two variants have one demand and one constraint. */
            struct u64s variant_demands;
            const char *variant_commands, *variant_constraints;
            /* Up to ENGINE_WISHES_MAX: what hosts should meet, one constraint a line, NULL or "":
             * none; and what each is worth, 1…ENGINE_UTILITY_MAX. */
            const char *wishes;
            struct u32s utilities;
            uint32_t at_most_host, at_most_rack; /* of this stage, as of the job; not above that */
            /* PROFILE_NUMBERS (lib/profile.h) for each way to run it, the first too, in order; a
             * way without one has 0 in all of them. Or none at all. */
            struct u64s profiles;
            uint64_t history; /* equal for the same stage in each run; 0: none */
        } job_stage;
        struct {
            uint64_t job;
            uint32_t stage, first;
            uint32_t replicas_per_task; /* 0…ENGINE_REPLICAS_MAX */
            struct u32s
                replicas; /* host indexes, replicas_per_task per task, ENGINE_NONE fills up */
            struct u64s input_bytes; /* one per task; 0 of a framework: not known */
            struct u64s compute_ns;  /* one per task */
            /* Not 0: computing by that variant alone, no blocks; never told: as by the first */
            uint32_t variant;
        } job_tasks;
        struct {
            uint64_t job;
            uint32_t stage, parent, first;
            uint32_t matrix; /* 1: cells, index map · tasks(stage) + reduce; 0: sums per reduce,
                                split evenly over the maps */
            struct u64s bytes;
        } job_bytes;
        struct {
            uint64_t job;
            uint32_t stage, variant;
            uint64_t read_bytes, read_bytes_s, before, compute_ns; /* lib/profile.h */
        } job_profile;
        struct {
            uint64_t job;
        } job_end, job_cancel, job_release, job_requeue;
        struct {
            uint64_t job;
            const char *by;   /* for people: who holds it; cut at ENGINE_NAME_MAX */
            int64_t since_ns; /* 0: now */
        } job_hold;
        struct {
            uint64_t job;
            int64_t estimate_bytes, estimate_ns; /* −1: unchanged */
            int64_t priority, deadline_ns;       /* INT64_MIN: unchanged */
        } job_update;
        struct {
            uint32_t scheduler;
            uint64_t version; /* of the state that the scheduler saw */
            struct u64s
                jobs; /* item i: task (jobs[i], stages[i], tasks[i]) on unit (hosts[i], units[i]) */
            struct u32s stages, tasks, hosts, units;
        } claim;
        struct {
            const char *question; /* "turn", "place", "commit", "network", "mode", "users" */
            const char *name;
        } policy_set;
        struct {
            const char *word; /* struct engine_parameter */
            int64_t value;
        } policy_parameter;
        struct {
            uint32_t user;
            uint32_t share;   /* 1…2^31 */
            const char *name; /* 1 to ENGINE_NAME_MAX − 1 bytes, no other user's */
            int64_t since_ns; /* of one that is new: when it came; 0: now */
        } user_set;
        struct {
            uint32_t user;
        } user_leave;
        struct {
            uint32_t host;
            uint32_t undo;
        } host_drain;
        struct {
            uint32_t host;
            uint64_t generation;
            const char *name;
            const char *rack;
            const char *labels; /* separated by commas */
            uint64_t uplink_bps, downlink_bps;
            uint64_t rack_bps; /* what its rack may send to others; 0: not told */
            struct u64s units; /* ENGINE_RESOURCES values per unit */
            /* For people and tasks: one per unit, separated by commas; NULL or "": none */
            const char *unit_names;
            uint64_t disk_bytes_s; /* what its disk reads; 0: not told */
        } host_join;               /* EVENT_HOST_JOIN, EVENT_HOST_CHANGE */
        struct {
            uint32_t host;
        } host; /* SILENT, LOST, BACK, FORGET */
        struct {
            uint32_t host;
            uint32_t resource; /* enum host_load_resource */
            uint32_t permille; /* LOAD_DISK: lone rates of those that read, by the disk's rate */
            uint32_t users;    /* LOAD_DISK: how many read */
            uint32_t hangs;    /* LOAD_DISK: 1: it answers nothing */
        } host_load;
        struct {
            uint64_t attempt, job;
            uint32_t stage, task, host, unit;
            uint32_t phase; /* enum attempt_state, ≥ ATTEMPT_QUEUED and running */
            struct resources resources;
            uint64_t received_bytes;
            uint32_t variant;
        } attempt_seen; /* SEEN, GRANTED */
        struct {
            uint64_t attempt;
            uint64_t received_bytes; /* PROGRESS, RECEIVED, DONE; total so far */
            int64_t exit_status;     /* FAILED, KILLED */
        } attempt;
        struct {
            uint64_t job;
            uint32_t stage, task;
            uint64_t attempt; /* which attempt's output */
        } output_lost;
        struct {
            uint64_t job;
            const char *name; /* for people, never equal to a submitter's; cut at ENGINE_NAME_MAX */
            uint32_t user;
            int64_t priority;
        } framework_job;
        struct {
            uint64_t job;
            uint32_t stage;
            uint32_t tasks; /* a smaller number than before is ignored; 0: not known yet */
            struct resources demand;
            struct u32s parents; /* smaller stages; later facts may add some, none is removed */
            struct u32s edges;   /* enum edge_kind, one per parent */
            uint64_t history;    /* equal for the same stage of the same application in each run; 0:
                                    none */
            uint32_t phase;      /* enum framework_phase */
            uint32_t ungated;    /* 1: never held (barrier stages, streams) */
            uint32_t bindable;   /* 1: it has no parents, no host is better for any of its tasks,
                                    and its framework follows DECISION_BIND */
        } framework_stage;
        struct {
            uint64_t job;
            uint32_t stage, tasks; /* at least so many, as facts to come imply */
        } framework_grow;
        struct {
            uint64_t job;
            uint32_t stage, parent;
            uint32_t form; /* enum framework_form: what `first`, `at` and `bytes` are */
            uint32_t first;
            struct u32s at;
            struct u64s bytes;
        } framework_bytes;
        struct {
            uint64_t attempt; /* the framework's: its upper half is no controller's epoch */
            uint64_t allow;   /* the allow that it used; 0: unknown */
            uint64_t job;
            uint32_t stage, task, host, unit;
            uint32_t phase; /* as attempt_seen */
            struct resources resources;
            uint64_t received_bytes;
        } framework_task; /* STARTED; DONE: host of its output, ENGINE_NONE: unknown */
        struct {
            uint64_t job;
            uint32_t outcome; /* enum job_state: DONE, FAILED or CANCELLED */
        } framework_end;
        struct {
            uint64_t
                application; /* ENGINE_EVERYBODY: that of all which tell no room of their own */
            uint32_t tells;  /* 1: its tasks run in its room only; 0: it has reported none */
            uint32_t host;   /* ENGINE_NONE: about no host */
            struct resources resources; /* of all its executors there; zero: it has none there */
        } framework_room;
        struct {
            uint64_t application;
            uint32_t tells; /* enum owner_tells; unless GONE also its user and key, each as a
                               number: */
            uint64_t user, key;
        } framework_owner;
        struct {
            uint64_t submitter; /* a number for its owner, not 0 */
        } job_submitter;
        struct {
            uint64_t attempt;
            uint32_t host;   /* the source */
            uint32_t others; /* STALLED: other sources that sent something meanwhile */
        } source;            /* SOURCE_STALLED, SOURCE_FLOWS */
    };
};

/* What a framework does with a stage: it knows it, offers its tasks (whatever its parents do), or
 * skipped it, because its outputs exist from an earlier job. */
enum framework_phase { FRAMEWORK_KNOWN, FRAMEWORK_OFFERED, FRAMEWORK_SKIPPED };

/* The form in which a framework reports the bytes between two stages. */
enum framework_form {
    BYTES_SUMS,  /* of reduce tasks `first`, `first` + 1, … over all maps; may be estimates */
    BYTES_ROW,   /* of map `first` for reduce tasks 0, 1, … */
    BYTES_CELLS, /* of map `first` for the reduce tasks `at`; others keep their values */
    BYTES_HOSTS, /* of reduce task `first`, all of it, from the hosts `at` */
};

enum attempt_state {
    ATTEMPT_SENT,
    ATTEMPT_QUEUED,
    ATTEMPT_STARTED,
    ATTEMPT_RECEIVING,
    ATTEMPT_COMPUTING,
    ATTEMPT_DONE,
    ATTEMPT_FAILED,
    ATTEMPT_KILLED,
    ATTEMPT_LOST
};

enum decision_kind {
    DECISION_START,
    DECISION_STOP,
    DECISION_LEVEL,
    DECISION_MODE,
    DECISION_HOLD,
    DECISION_UNHOLD,
    DECISION_ALLOW,
    DECISION_CLAIM_RESULT,
    DECISION_JOB_DONE,
    DECISION_JOB_FAILED,
    DECISION_REJECT,
    DECISION_FORGET,
    DECISION_ALLOW_END, /* an allow ended */
    DECISION_OPEN,      /* from now on the framework places a stage's tasks by itself */
    DECISION_BIND,      /* from now on tasks of a bindable stage start only where allowed */
    DECISION_KINDS
};

/* Why a decision was taken. Each number has one meaning for ever; records have its name
 * (reason_name). `left` and `right` of a decision are the two numbers that were compared; their
 * meaning depends on the reason. This list has the engine's own reasons. A policy's reasons are in
 * its file, or in its folder's header when several give them: a number of this type that no other
 * reason has, and an entry of the policy's table (policy/policy.h). */
enum reason {
    REASON_NONE,
    REASON_HOLD_EXPIRED = 6, /* held for hold_max; left = ns held */
    /* levels */
    REASON_SIZE = 19, /* level by size; left = Coflow bytes, right = Macroflow bytes */
    REASON_RECEIVED,  /* left = bytes received > right = threshold that was passed */
    REASON_ONE_LEVEL, /* only in older records: the network policy does not distinguish */
    REASON_ADOPTED,   /* it was found running; left = Coflow bytes, right = Macroflow bytes */
    /* stops, failures, rejections */
    REASON_CANCELLED,
    REASON_REPLACED,   /* another attempt of the task runs, or was accepted */
    REASON_INPUT_LOST, /* an output that it reads is lost */
    REASON_ORPHAN,     /* its job is unknown */
    REASON_JOB_FAILED,
    REASON_TOO_MANY_FAILURES, /* left = failures */
    REASON_UNKNOWN_JOB,
    REASON_UNKNOWN_STAGE,
    REASON_UNKNOWN_TASK,
    REASON_UNKNOWN_HOST,
    REASON_NAME_TAKEN, /* same name, other content; left = job that has it */
    REASON_SAME_JOB,   /* same name and content; left = that job */
    REASON_NUMBER_TAKEN,
    REASON_BAD_VALUE,   /* a field is out of range; left = its value */
    REASON_INCOMPLETE,  /* job_end before all stages, tasks and bytes are there; left = stage */
    REASON_BAD_STATE,   /* not possible now */
    REASON_TABLE_FULL,  /* right = the configured bound */
    REASON_UNSUPPORTED, /* no configured policy answers it */
    REASON_NEVER_FITS,  /* left = stage whose demand no known host can meet */
    REASON_SOURCE_LOST, /* stop: a host that it reads from sends nothing; it runs again */
    /* frameworks */
    REASON_USED = 49,      /* the allow's start was seen; left = the attempt */
    REASON_UNUSED,         /* no start was seen in time; left = ns since it was given */
    REASON_ELSEWHERE,      /* its task runs elsewhere; left = the attempt */
    REASON_ROOM_GONE,      /* its application no longer has room for it there */
    REASON_NO_BLOCK_THERE, /* its task's block was reported to be elsewhere since */
    /* failures */
    REASON_RETRY, /* start: not where it failed; left = hosts where it did, right = tasks there */
    REASON_PROBE, /* start: tests whether a suspect host works; left = probes that failed there,
                     right = attempts that did */
    REASON_TOO_MANY_RERUNS,   /* its output was lost again and again; left = how often */
    REASON_TOO_MANY_LOSSES,   /* it was lost with several hosts; left = how many */
    REASON_UNKNOWN_USER = 90, /* left = the user, which is not known, or leaves */
    REASON_TURN_TOO_LONG,     /* with the share left a turn has more entries than right */
    REASON_NOT_KEPT, /* left = stage with at_most, ENGINE_NONE: the job, which the placement cannot
                        keep */
    REASON_REQUEUED, /* stop: an operator lets the job's tasks run again; left = those that ran */
};

struct decision {
    enum decision_kind kind;
    enum reason reason;
    int64_t left, right;
    union {
        struct {
            uint64_t attempt, job;
            uint32_t stage, task, host, unit;
            struct resources resources;
            uint64_t coflow_level, macroflow_level;
            uint32_t queue; /* 1: may wait on the node */
            uint64_t
                input_bytes;  /* over the network, from other hosts; engine_inputs() lists them */
            uint32_t variant; /* the way in which it runs; 0: the first */
        } start;
        struct {
            uint64_t attempt;
            uint32_t host;
            uint64_t grace_ns;
            uint32_t requeue;
            uint64_t by_job; /* of an eviction: the task that is to have its slot; 0: none */
            uint32_t by_stage, by_task;
        } stop;
        struct {
            uint64_t attempt;
            uint32_t host;
            uint64_t coflow_level, macroflow_level;
        } level;
        struct {
            uint32_t mode; /* enum mode (engine.h) */
            uint64_t sequence;
        } mode;
        struct {
            uint64_t job;
            uint32_t stage;
            uint32_t host;    /* ENGINE_NONE: any */
            int64_t until_ns; /* UNHOLD: by the wait since its last start */
            uint32_t variant; /* for slots of which it is kept back */
        } hold;               /* HOLD, UNHOLD */
        struct {
            uint64_t job;
            uint32_t stage, host, count; /* always 1 */
            uint64_t allow;              /* its number, used once */
            uint32_t task, unit;
            uint64_t coflow_level, macroflow_level;
            uint64_t input_bytes;
            int64_t until_ns;
        } allow;
        struct {
            uint64_t allow, job;
            uint32_t stage, host;
        } allow_end;
        struct {
            uint64_t job;
            uint32_t stage;
        } open;
        struct {
            uint64_t job;
            uint32_t stage;
        } bind;
        struct {
            uint64_t request;
            uint32_t item;
            uint32_t outcome; /* 0 granted, 1 waiting, 2 refused */
            uint64_t token;
        } claim_result;
        struct {
            uint64_t job;
            int64_t submitted_ns, finished_ns;
            int64_t slot_wait_ns; /* sum over its tasks of ready → started */
        } job_done;
        struct {
            uint64_t job;
            uint32_t stage, task;
            uint64_t attempt;
            int64_t submitted_ns, finished_ns;
        } job_failed; /* by cancellation too: reason CANCELLED */
        struct {
            uint64_t request;
            uint32_t event; /* enum event_kind of the request */
        } reject;
        struct {
            uint64_t job;
            uint32_t host;
        } forget;
    };
};
