/* The engine's state: the structures that its modules share. Private to controller/engine.
 *
 * Ownership: the engine owns everything; a job owns its stages, buckets and tasks; a host owns its
 * units. The engine owns attempts; they point to their task until its job ends (then they are
 * orphans until their host reports their end). Everything marked "index" can be rebuilt from the
 * rest and is not dumped. */
#pragma once

#include "controller/engine/base/listener.h"
#include "controller/engine/base/sorted.h"
#include "controller/engine/base/task.h"
#include "controller/engine/engine.h"
#include "lib/constraint.h"
#include "lib/profile.h"

#include <bsd/sys/queue.h>
#include <setjmp.h>

/* The questions that policies answer: policy.h. */
enum question {
    QUESTION_TURN,
    QUESTION_PLACE,
    QUESTION_COMMIT,
    QUESTION_NETWORK,
    QUESTION_MODE,
    QUESTION_USERS,
    QUESTIONS
};

/* A map from numbers to things: table.h. */
struct table {
    struct table_slot *slots; /* NULL: none yet */
    uint32_t bits;            /* 2^bits slots */
    uint32_t n;
};

/* The same, also walked in order: numbered.h. */
struct numbered {
    struct table groups;
    struct sorted order;
    uint64_t n;
};

/* The size that orders a transfer: its Coflow's or its Macroflow's. */
enum transfer_order { ORDER_COFLOW, ORDER_MACROFLOW, ORDERS };

/* The shares that sum up to one whole: account.h. */
enum account_pool_of { POOL_SUBMITTED, POOL_FRAMEWORKS, POOLS };
struct account_pool {
    uint64_t amount[4]; /* bytes, jobs, shapes, ways */
};

/* What one step may do of the work that earlier ones left has two bounds: looks at tasks, and tasks
 * that are made ready. */
enum backlog_bound { BACKLOG_LOOKS, BACKLOG_READY, BACKLOG_BOUNDS };
/* For whom it is done: backlog.h, backlog_turns.h. */
struct backlog {
    uint64_t turns[BACKLOG_BOUNDS]; /* from which application on the next step begins */
    bool one;                       /* in a step: only work of this application is done now */
    uint64_t application;
    struct engine_charge *charges; /* of this step, or the last one; not dumped */
    size_t n_charges, room;
};

/* WHY this order: an attempt's start and its end, which are far apart in time, read the first
 * members. */
struct attempt {
    uint64_t number;
    struct task *task; /* NULL: orphan */
    struct host *host;
    struct job_host *spread;       /* index: while it has a task */
    TAILQ_ENTRY(attempt) on_host;  /* near the members that a search there reads */
    TAILQ_ENTRY(attempt) of_stage; /* only with a task */
    struct attempt *next_of_task;
    struct room *room; /* index: the room whose slot it takes; NULL: one of the host's units */
    uint32_t unit;
    enum attempt_state state;
    uint32_t messages;   /* index: messages that bring its start to its host */
    uint32_t block_host; /* the replica that it reads from; ENGINE_NONE */
    bool receiving, stopping;
    bool foreign; /* a framework's: the engine neither starts nor stops it */
    bool counted; /* index: in its stage's n_receiving */
    uint32_t n_stalls;
    uint32_t variant;         /* in which way it runs */
    struct host *block_of;    /* the host whose block_readers has it; NULL: none */
    int64_t allowed_until_ns; /* until when it is an allow (allow.h); 0: it is none */
    struct account *account;  /* index: the framework's account that it counts for; NULL: none */
    void *kept[QUESTIONS];    /* by policies: policy.h */
    struct resources resources;
    uint64_t bytes[ORDERS];             /* the sizes that its levels come from */
    struct sorted_node by_size[ORDERS]; /* host->receiving, while it receives */
    uint64_t received_bytes, remote_bytes;
    uint64_t level[ORDERS];
    uint64_t job_number;
    uint32_t stage_index, task_index;
    int64_t started_ns;
    int64_t
        received_ns; /* for people: when it had all its input, as far as is known; 0; not dumped */
    enum reason reason; /* of its start, for explain */
    int64_t left, right;
    TAILQ_ENTRY(attempt) of_block;
    TAILQ_HEAD(, stall) stalls;       /* sources that send it nothing (source.h) */
    struct sorted_node allow_timer;   /* engine->allow_timers */
    struct sorted_node of_unmeasured; /* engine->unmeasured */
};
TAILQ_HEAD(attempts, attempt);

/* Numbers: packed.h. */
struct packed;

struct edge {
    uint32_t parent;
    enum edge_kind kind;
    bool matrix, given;
    struct packed *bytes; /* matrix: maps × reduces; else one sum a reduce; NULL: all are 0 */
    uint64_t filled;
    struct late_edge *late; /* a framework's: bytes reported so far, in place of `bytes`; or NULL */
};

/* What only a framework's stage has: framework.h, gate.h. */
struct framework_stage {
    struct stage *stage;
    uint64_t history;
    bool announced; /* else a seen task, a child or reported sizes made it */
    bool offered, ungated, left;
    bool bindable;    /* no host is better for any of its tasks, and its framework follows */
    bool bound;       /* DECISION_BIND, and was told that (gate.h) */
    bool opened;      /* index: `left`, and tasks of it wait (opened.h) */
    bool apart;       /* its shape is its application's alone: lapse.h */
    uint32_t room;    /* tasks that memory was allocated for */
    uint32_t allowed; /* allowed tasks that were not seen yet */
    uint32_t unused;  /* successive allows without a start */
    uint32_t guessed; /* tasks */
    uint64_t guess;   /* bytes of each guessed task, at least */
    uint32_t sizing, unsized; /* in engine->sizing: the next task to size, and how many remain */
    struct sorted_node of_sizing;
    /* Tasks that it is to have (framework_grow.h). While it has fewer, it is in engine->growing, */
    uint32_t told;
    bool announces; /* and then becomes announced */
    struct sorted_node of_growing;
    uint32_t skipping,
        unskipped; /* in engine->skipping: the next task to be skipped, and how many are */
    struct sorted_node of_skipping;
    uint32_t kept; /* in engine->keeping: outputs of this many tasks are counted (outputs.h) */
    struct sorted_node of_keeping;
    engine_wide input;             /* index: blocks of all its tasks */
    int64_t ready_ns;              /* since when a task of it waits; of_waiting */
    bool waits;                    /* it is in shape->waits: its time does not count yet */
    int64_t due_ns;                /* when it is opened; 0: its time does not count */
    struct sorted_node gate_timer; /* engine->gate_timers */
    TAILQ_ENTRY(framework_stage) of_waits;
};

/* Shapes of a stage's variants, in order: variant.h. */
struct ways {
    struct shape *shapes[ENGINE_VARIANTS_MAX];
    uint32_t n;
    uint32_t users;          /* choices */
    uint32_t held;           /* index: variants that some joined host could hold, a bit each */
    uint64_t n_ready;        /* index: tasks */
    struct account *account; /* index: the account that it counts for; NULL: none */
    TAILQ_ENTRY(ways) of_engine, of_list;
};

/* So many tasks run on a host, or a rack, at once; 0: any number (at_most.h). */
struct at_most {
    uint32_t host, rack;
};

/* What a stage's hosts should meet: wishes.h. */
struct wish {
    char constraint[CONSTRAINT_MAX];
    uint32_t utility;
};

TAILQ_HEAD(ways_list, ways);
enum { WAYS_LISTS = 256 };

/* Those of a job's stages: how many of their tasks are ready. */
struct choice {
    struct ways *ways;
    uint64_t n_ready; /* index */
};

/* What the tasks of a stage do at a moment: split.h. */
struct sharing {
    uint32_t tasks[SPLIT_PARTS]; /* that run */
    uint32_t waiting;
    enum split_part waits_for;
    enum reason why; /* SPLIT_HELD */
};

/* How a stage's tasks spent their part of the job's time; for people, not dumped. */
struct dividing {
    struct sharing now;
    bool held;
    enum reason held_why;
    engine_wide share; /* the job's, until which this is counted: */
    uint64_t parts[SPLIT_PARTS];
    enum reason why; /* of most of its holds */
    uint64_t why_part;
    int64_t began_ns, moved_ns; /* its first start, 0: none yet; the last change */
};

struct stage {
    struct job *job;
    struct bucket *bucket;
    uint32_t index, n_tasks;
    /* A way to run another stage is a stage of its own in the queues (variant.h). */
    uint32_t variant, n_others;
    struct stage *first; /* whose way it is: itself, where variant = 0, which has: */
    struct stage *others[ENGINE_VARIANTS_MAX - 1];
    struct choice *choice;  /* NULL: there is but one way */
    uint32_t n_held;        /* index: variants that are held */
    struct at_most at_most; /* of the first one */
    struct wish *wishes;    /* of the first one; NULL: none */
    uint32_t n_wishes;
    struct profile profile; /* of this way to run it */
    uint64_t history;       /* of the first one, a submitted one's; 0: none */
    char command[ENGINE_NAME_MAX];
    struct edge *edges;
    uint32_t n_edges, n_children;
    uint32_t *children;
    uint32_t *replicas; /* n_tasks × replicas_per_task; NULL */
    uint32_t replicas_per_task;
    struct task *tasks;
    uint32_t tasks_given;
    uint32_t n_ready, n_running, n_done, n_started; /* n_started: running or done */
    uint32_t parents_missing;                       /* edges that still keep it closed */
    bool open;
    uint64_t total_bytes; /* into the stage */
    bool coflow_fixed;    /* at the first dispatch */
    uint64_t coflow_bytes;
    uint64_t received_bytes; /* by all its attempts, past ones too */
    uint64_t readied;        /* how often a task became ready, or its inputs were reported again */
    void *kept[QUESTIONS], *kept_tasks[QUESTIONS]; /* by policies: policy.h */
    struct attempts attempts;
    struct framework_stage *framework; /* NULL: it runs in our slots */
    struct sorted ready_reduces;       /* (bytes, index) */
    TAILQ_ENTRY(stage) of_bucket;      /* bucket->reduce_stages while ready_reduces has tasks */
    struct sorted ready_maps;          /* by index; */
    struct sorted_node of_maps;        /* bucket->map_stages while it has tasks */
    struct sorted unlocated;           /* of these such without a block; */
    struct sorted_node of_unlocated;   /* bucket->unlocated_stages while it has tasks */
    /* Index: of these such with a block, by host. Memory for them besides what hosts have of their
     * own; what follows `spare` in it, and itself, are not in use. */
    LIST_HEAD(, located) located, located_memory;
    struct located *spare;
    struct sorted retries;         /* tasks that wait for another host (retry.h), */
    struct sorted_node of_retries; /* engine->retries while there are such */
    bool held, overdue;
    enum reason hold_reason;
    int64_t hold_left, hold_right, held_since_ns; /* overdue: since it could have run */
    int64_t held_until_ns;         /* by the wait since its last start (hold_end_ns) */
    int64_t hold_due_ns;           /* when it becomes overdue; 0: no slot was kept from it yet */
    struct sorted_node hold_timer; /* engine->hold_timers */
    struct sorted_node waiting;    /* shape->unheld or queues->overdue */
    TAILQ_ENTRY(stage) of_job;     /* job->waiting while it is in one of these */
    uint32_t opening; /* in engine->opening: the first task that may still be blocked */
    struct sorted_node of_opening;
    uint64_t closed;         /* how often it was closed */
    struct refusal *refusal; /* a claim of it was refused (refusal.h); NULL: none */
    uint32_t n_receiving;    /* index: attempts of tasks that run for the first time; */
    uint32_t n_again;        /* tasks that run again */
    struct dividing dividing;
};

/* Buckets and stages of one shape by turn, of all jobs or of one user's: queues.h. */
struct queues {
    struct user *user;                      /* NULL: everybody's */
    struct sorted maps, unlocated, reduces; /* buckets by turn; values: place.h */
    struct sorted overdue;     /* stages with ready tasks, by turn; value: when it goes anywhere */
    struct sorted local_hosts; /* hosts with room and waiting locals, by the first local's turn */
    struct sorted at_home;     /* buckets with a home, by its number and by turn; and by turn: */
    struct sorted first_at_home; /* the first of each home with room, as of change `homes_seen` */
    uint64_t homes_seen;
    TAILQ_HEAD(, bucket) moved; /* locals in no set, or in one by a former turn */
    uint64_t moved_locals;
    uint64_t looked; /* looks at locals because of them, not yet paid for by moving them */
    /* Of a user's: its host_queue by host; local_hosts is right as of change `rooms_seen`. */
    struct table hosts;
    uint64_t rooms_seen;
};

/* Buckets in an array. WHY: each pick for the last slots reads it, with few cache misses. */
struct begun {
    struct bucket **at;
    uint32_t n;
};

/* Locals of one shape that wait on a host, as in queues. */
struct host_queue {
    struct host *host;
    struct queues *queues;
    struct sorted waiting;            /* locals, by turn of their job */
    struct sorted_node local_host;    /* queues->local_hosts while it has room and waiting locals */
    uint32_t locals;                  /* of a user's, waiting or not; */
    struct begun begun;               /* as the host's */
    TAILQ_ENTRY(host_queue) of_shape; /* host_shape->of_users */
};

/* Tasks of one job with the same demand and constraint. */
struct bucket {
    struct shape *shape;
    struct sorted_node by_turn_maps; /* queues->maps */
    struct job *job;
    struct queues *queues;                /* the shape's, or where somebody divides its user's */
    uint32_t n_ready;                     /* that can run in no other way (choices) */
    uint32_t n_up, n_under;               /* index: locals */
    bool begun;                           /* index: locality_begin was called */
    bool synced;                          /* index: pairs were right at change number `seen` */
    bool moved;                           /* index: it is in queues->moved (waiting.h) */
    bool counted;                         /* index: in its user's ready_here, */
    bool counted_reduces;                 /* and reduces_here */
    struct sorted map_stages;             /* with ready maps, by index; */
    uint32_t n_maps;                      /* which have so many */
    struct sorted unlocated_stages;       /* with ready maps without a block, by index */
    struct table locals;                  /* index: by host */
    TAILQ_HEAD(, stage) reduce_stages;    /* with ready tasks that have network input */
    struct sorted_node by_turn_unlocated; /* queues->unlocated */
    struct sorted_node by_turn_reduces;   /* queues->reduces; value: its smallest transfer */
    struct sorted pairs;                  /* index */
    struct host *home;                    /* homes.h; NULL: none */
    bool homed;                           /* it starts there and nowhere else */
    struct sorted_node at_home, first_at_home; /* in the queues' sets of these names */
    TAILQ_ENTRY(bucket) of_moved;
    uint64_t seen;
    uint64_t seen_flips;  /* shape->flips at that time */
    bool vain, vain_even; /* index: no host could take one of its maps at change number `vain_at`,
                             where that is known */
    uint64_t vain_at;
    uint64_t looked; /* looks at tasks and hosts since then, without the index */
};

/* What a job has on a host: spread.h. */
struct job_host {
    struct job *job;
    struct host *host;
    uint32_t outputs;
    uint32_t attempts;             /* index */
    struct sorted_node by_host;    /* job->outputs while the job has outputs there, */
    TAILQ_ENTRY(job_host) of_host; /* and host->outputs */
};

/* Progress of activating a submitted job: assembly.h. */
struct assembly {
    uint32_t stage, task, child, edge, map;
    uint32_t *remainders; /* of the edge in work */
    uint64_t part, reached;
};

/* A tenant: users.h. */
/* A placement was asked for a user and had nothing (place/vain.h). */
struct vain {
    bool stands;
    bool crowded;            /* while no more stages may wait for preferred hosts (joint.c) */
    uint64_t moves, changes; /* the user's; of hosts: seen until then */
    uint64_t whole;          /* of what concerns all users */
    size_t overdue;          /* its overdue stages, */
    uint64_t until_ns;       /* the first of which goes anywhere then */
};

struct user {
    struct sorted_node by_number; /* engine->users */
    uint32_t number, share;
    char name[ENGINE_NAME_MAX];
    int64_t since_ns;
    bool leaves;       /* it goes with the last of its jobs */
    uint64_t jobs;     /* index: of its number, that are not over; of user 0 also of unknown ones */
    uint32_t carry;    /* thousandths of a unit that it has not paid back yet: debts_due */
    int64_t remainder; /* by a policy: granules that rounding owes it, in 1/users_total */
    uint64_t coming;   /* index, by a policy: granules of attempts that are stopped for it; and */
    uint32_t turns_index;  /* its place among all (turns.h) */
    struct resources held; /* index: by attempts of its jobs */
    struct user_use use;   /* until then, since it is known: for views alone, not dumped */
    int64_t used_until_ns;
    /* Index, where somebody divides: */
    struct queues **queues; /* of its jobs, by shape; NULL: none yet */
    uint32_t n_queues;
    uint64_t ready_here;         /* buckets with ready tasks, */
    TAILQ_ENTRY(user) of_ready;  /* and engine->ready_users while there are any; */
    uint64_t reduces_here;       /* of these, such with reduce tasks, */
    struct sorted_node reducing; /* and engine->reducing_users while there are any */
    uint64_t moves;              /* grows when what may start of it may have changed: users_moved */
    struct vain vain[2];         /* a placement's */
    struct sorted active;        /* jobs, as engine->active */
};

/* An operator that holds a job. */
struct job_holder {
    int64_t since_ns;
    char by[ENGINE_NAME_MAX]; /* for people */
};

struct job {
    uint64_t number, content;
    char name[ENGINE_NAME_MAX];
    uint32_t user, kind;
    struct user *tenant; /* index: the user, or user 0 where that is not known */
    int64_t priority, deadline_ns, estimate_bytes, estimate_ns;
    enum job_state state;
    struct stage **stages; /* in order of their numbers; a framework's: only the reported ones */
    uint32_t n_stages, stages_done;
    uint64_t cells;
    struct account *account; /* index: the account that it counts for; NULL: none */
    uint64_t counted;        /* index: its bytes, by account.h */
    struct bucket **buckets;
    uint32_t n_buckets;
    bool narrowed; /* index: narrow.h */
    uint32_t n_choices;
    struct choice **choices; /* of stages that can run in several ways */
    uint64_t output_changes; /* index: how often outputs came or went */
    uint64_t n_tasks, n_ready, n_running, n_done;
    uint64_t n_retries; /* tasks that wait for another host (retry.h); not in n_ready */
    struct at_most at_most;
    bool bounded;          /* index: it or a stage of it has an at_most, */
    struct sorted crowds;  /* index: and what runs where, at_most.h */
    struct sorted evicted; /* by stage and task: eviction.h */
    uint64_t evictions;    /* of its tasks' attempts, and the time that these had run: */
    int64_t evicted_ns;
    struct job_holder *holder; /* who holds it, so that nothing of it starts; NULL: nobody */
    uint64_t n_allowed;        /* a framework's: may start, not seen yet; also in n_running */
    uint32_t held_stages;
    uint64_t shuffle_bytes;
    uint64_t left_ns,
        left_bytes; /* index: computing and network input of tasks that are not done */
    struct {
        uint64_t maps;       /* without network input, not done */
        engine_wide work_ns; /* of these */
        uint64_t bytes;      /* of tasks that have not received their input */
    } remaining;             /* index: remaining.h */
    int64_t submitted_ns, finished_ns, slot_wait_ns;
    uint64_t estimate_key; /* SJF: changed only by a new estimate or cluster size (estimate.h) */
    uint32_t hosts;        /* joined hosts when it was submitted, at least 1 */
    void *kept[QUESTIONS]; /* by policies: policy.h */
    struct framework_job *framework; /* NULL: it runs in our slots */
    struct sorted_key turn;
    TAILQ_HEAD(, stage) waiting; /* index: stages that are in a set by turn */
    struct table spread;         /* job_host by host */
    uint32_t output_hosts;       /* those with outputs */
    bool outputs_ordered;        /* index: `outputs` is filled */
    struct sorted outputs;       /* by host; value: the smaller, the more outputs */
    uint64_t n_outputs;          /* on all hosts */
    struct sorted_node by_number, by_turn, by_name;
    struct sorted_node by_turn_of_user; /* tenant->active */
    struct assembly *assembly;          /* NULL: not begun, or over */
    /* Over all tasks of a submitted job: those without network input, their computing, and the
     * largest block. */
    uint64_t maps;
    engine_wide maps_ns;
    uint64_t largest_input;
    TAILQ_ENTRY(job) of_removed; /* engine->removed */
    uint64_t removed_bytes;      /* of the bytes that it counted with, not freed yet */
    /* For people, not dumped (split.h): what one of the tasks that share its time has had until
     * then, and how many share it now. */
    engine_wide share;
    int64_t divided_until_ns, divided_since_ns;
    uint64_t sharers;
    bool divided_late; /* since it was loaded, not since it was submitted */
};

/* What only a framework's job has. */
struct framework_job {
    uint64_t maps;                /* tasks without network input */
    uint64_t work_ns;             /* of these; saturates */
    bool last;                    /* behind all other jobs: lapse.h */
    uint32_t n_opened;            /* index: stages with `opened` */
    struct sorted_node of_opened; /* engine->opened while it has some */
};

struct finished {
    uint64_t number, content, tasks, shuffle_bytes, key;
    char name[ENGINE_NAME_MAX];
    uint32_t user, stages;
    enum job_state state;
    int64_t submitted_ns, finished_ns, slot_wait_ns;
    uint64_t evictions;
    int64_t evicted_ns;
    struct sorted_node by_number, by_age, by_name;
};

struct unit {
    struct resources total, free;
    uint32_t running;
};

/* What an application's executors have on a host: room.h. */
struct room {
    uint64_t application;
    struct host *host;
    struct unit unit;
    struct sorted_node by_application; /* host->rooms */
    TAILQ_ENTRY(room) of_application;
};

/* An application that reports where it has room. */
struct application {
    uint64_t number;
    TAILQ_HEAD(, room) rooms;
    struct sorted_node by_number; /* engine->applications */
    bool tells;                   /* it reports rooms; else it goes when its jobs have left */
    /* Its jobs enter its rooms, or leave them, in order of their numbers: those from here on have
     * not yet. UINT64_MAX: all have. */
    bool leaving;
    uint64_t reached;
    struct sorted_node of_moving; /* engine->moving */
};

/* How one demand fits one unit. For an application's shape unit 0 is the application's room.
 * Index. */
struct fit {
    struct host *host;
    uint32_t unit;
    int64_t times;
    bool possible, capable;     /* would fit if the unit were empty; and the host is up */
    struct sorted_node by_load; /* shape->by_load: fewest tasks first (host_by_load); value:
                                   host_crowd() */
    struct sorted_node by_tie;  /* shape->by_tie: random order */
    struct sorted_node by_receivers[ORDERS]; /* shape->by_receivers: fewest receiving tasks, then
                                                the longest smallest transfer */
};

struct host_shape {
    struct host *host;
    uint32_t fitting;       /* units with room, */
    uint32_t first;         /* the first of them, for the host in the shape's orders; ENGINE_NONE */
    uint32_t capable_units; /* that could hold one when empty, while the host is up */
    bool meets;             /* index: the host meets the shape's constraint */
    bool capable;           /* capable_units is not 0, */
    bool clean;             /* and nothing has failed there since an attempt was done */
    struct host_queue all;  /* of the shape's own queues */
    TAILQ_HEAD(, host_queue) of_users; /* with locals */
    struct fit fit[];
};

/* Failures to read from it or for it to read from others (source.h). */
struct reach {
    bool suspect; /* no new work: it is mute or blind */
    bool mute;    /* suspect as a source */
    bool blind;   /* suspect as a reader: it is itself at fault */
    bool reached; /* it has read from a host since its first pair */
    bool cut;     /* its outputs were counted lost since it became suspect */
    uint32_t strikes;
    uint32_t readers, sources; /* index: pairs as a source, as a reader */
    int64_t suspect_since_ns;
};

/* How often attempts fail there (failing.h). */
struct failing {
    bool suspect;      /* no new work except a probe */
    uint32_t in_a_row; /* attempts that failed or were lost since the last done one */
    uint32_t proofs;   /* tasks that failed here since then and were done elsewhere, and times that
                          it was lost with running attempts */
    uint32_t probes;   /* failed ones of this suspicion; counted up to FAILING_DOUBLINGS */
    uint64_t probe;    /* the attempt; 0: none runs */
    uint64_t era;      /* index: how often a row of failures ended */
    int64_t since_ns;  /* since when it is suspect */
    int64_t due_ns;    /* of the next probe; INT64_MAX: now */
    struct sorted_node timer; /* engine->probe_timers or engine->probes_due */
};

/* WHY this order: each start and end of an attempt reads the first members, of hosts far apart in
 * memory. */
struct host {
    uint32_t index;
    bool joined, silent, lost, draining;
    bool downlink_ours;        /* an attempt has received since the last report */
    uint32_t foreign_permille; /* of the downlink, by others than our attempts: the last report when
                                  no attempt received before it, or a lower one since */
    uint32_t n_units, running;
    uint32_t sent;                 /* index: unanswered messages with starts */
    uint32_t dirty_from, dirty_to; /* index: units that changed since shapes were fitted to them */
    bool fitted_up, fitted_takes;  /* index: its state at that time */
    struct unit *units;
    struct host_shape **shapes; /* index: one per engine shape */
    struct attempts attempts;
    uint64_t tie_draws, tie; /* a random order among equals, drawn again at each start here */
    struct sorted receiving[ORDERS]; /* by_size */
    struct begun begun; /* index: of `locals` those of buckets that have begun (locality_begin),
                           where nobody divides */
    uint32_t n_outputs; /* of these: */
    TAILQ_HEAD(, job_host) outputs;
    TAILQ_HEAD(, local_maps) locals; /* index */
    struct reach reach;
    struct failing failing;
    struct attempts block_readers; /* index: attempts that read their block from here */
    void *kept[QUESTIONS];         /* by policies: policy.h */
    struct sorted rooms;           /* by application */
    struct resources taken;        /* index: by rooms; subtracted from the units, */
    struct resources beyond;       /* index: except what exceeds them */
    struct resources room_free;    /* index: of all rooms */
    uint64_t generation;
    uint64_t uplink_bps, downlink_bps, rack_bps;
    uint32_t uplink_permille, downlink_permille;
    struct sorted_node warm;              /* engine->warm */
    uint64_t disk_bytes_s;                /* 0: not told */
    uint32_t disk_permille, disk_readers; /* the last report */
    bool disk_hangs;                      /* the same: it comes last in shape->by_load */
    char name[ENGINE_NAME_MAX], rack[ENGINE_NAME_MAX], labels[ENGINE_LABELS_MAX];
    char *unit_names; /* as reported; NULL: none has one */
};

/* One (demand, constraint): index over hosts and jobs. */
struct shape {
    uint32_t index;
    struct resources demand;
    char constraint[CONSTRAINT_MAX];
    uint64_t application;    /* whose room it takes; 0: the hosts' units */
    uint64_t bound;          /* the application whose allows limit it (lapse.h); 0: none */
    uint32_t users;          /* buckets */
    struct account *account; /* index: the account that it counts for; NULL: none */
    int64_t times;           /* how many more such tasks fit now */
    uint64_t flips;          /* how often a host got room or lost it */
    uint32_t possible,
        capable; /* units of joined hosts, of hosts that are up, that could hold one when empty */
    uint32_t capable_hosts, clean_hosts; /* index: host_shapes that are so */
    uint64_t n_ready;                    /* as of buckets */
    uint64_t n_counted; /* while ready tasks are counted: those counted against it (mode/all.c) */
    uint32_t fitting;   /* units with room */
    struct sorted
        by_load; /* hosts with room, as the first unit that has it; in other orders where a policy
                    wants them: */
    struct sorted by_tie, by_receivers[ORDERS];
    struct queues all;       /* of all jobs, where nobody divides; where somebody does, */
    uint64_t ready_of_users; /* buckets with ready tasks */
    TAILQ_HEAD(, framework_stage) waits; /* index: gate.h */
    struct sorted unheld;                /* stages with ready tasks, by turn */
};

/* A task, of a further variant the one that stands for it there (variant.h), where it may run, and
 * why there. */
struct claim {
    struct task *task;
    struct fit *fit;
    enum reason reason;
    int64_t left, right;
};

/* A running attempt to be stopped, whose task waits again (books/eviction.h), and why. */
struct eviction {
    struct attempt *attempt;
    const struct task *by; /* the task that is to have its slot; NULL: none in particular */
    enum reason reason;
    int64_t left, right;
};

/* Orders of a shape's hosts with room, kept for the policies that want them:
 * place_policy.orders. */
enum host_order { HOSTS_BY_TIE = 1, HOSTS_BY_RECEIVERS = 2 };

enum { CHANGES = 4096, PARAMETERS_MAX = 16 /* of one policy */ };

#define MODE_NEVER_NS (INT64_MIN / 2) /* when it changed, before it does */

/* What SJF keys are computed for (watch/estimate.h); 0: never. */
struct keyed {
    uint64_t slots, bps;
};

struct engine {
    struct engine_config config;
    union { /* the policies in force; each table begins with its struct policy */
        struct {
            const struct turn_policy *turn;
            const struct place_policy *place;
            const struct commit_policy *commit;
            const struct network_policy *network;
            const struct mode_policy *mode_rule;
            const struct users_policy *division;
        };
        const struct policy *policies[QUESTIONS];
    };
    int64_t values[QUESTIONS][PARAMETERS_MAX]; /* of the policies in force: policy.h */
    void *kept[QUESTIONS];                     /* by policies: policy.h */
    bool suspended;                            /* a dump is being loaded: policies keep nothing */
    struct told told;                          /* index */
    int64_t now_ns;
    uint32_t step_starts; /* starts in this step */
    uint64_t step_inputs; /* inputs of these starts */
    uint64_t step_ready;  /* looks at tasks of opening stages in this step, or the last (stage.c) */
    uint64_t step_looks;  /* looks at tasks in this step, or the last: engine_may_look */
    uint64_t step_freed;  /* freed pieces of memory, as so many looks */
    /* Frameworks' stages with tasks to size (framework_sizes.h); by job and index */
    struct sorted sizing;
    struct sorted moving;  /* applications whose jobs enter or leave their rooms */
    struct sorted growing; /* those with tasks to make (framework_grow.h); by job and index */
    /* Those with tasks to skip (framework_skip.h); by job and index. */
    struct sorted skipping;
    struct sorted keeping;     /* those with outputs to count (outputs.h); by job and index */
    struct sorted unmeasured;  /* attempts with inputs to measure (framework_sizes.h); by
                                  application and number */
    struct sorted losing;      /* jobs with outputs to lose (losing.h); by job and host */
    struct sorted opening;     /* stages with tasks to make ready; by job and index */
    struct backlog backlog;    /* whose turn it is in all these */
    uint64_t removed_bytes;    /* of ended jobs: bytes that are not freed yet */
    TAILQ_HEAD(, job) removed; /* ended jobs whose memory is not freed yet (removal.h) */
    bool cut_short;            /* the last step ended at step_starts_max: the next is due */
    uint64_t attempt_counter;
    struct decisions *out;
    jmp_buf no_memory;

    struct host **hosts; /* hosts_max entries */
    uint32_t n_hosts;    /* highest known index + 1 */
    uint32_t joined, up;
    struct sorted blind, blind_of_reader, blind_timers; /* pairs that cannot read (source.h) */
    uint32_t suspects, struck;    /* index: suspect hosts; hosts with strikes */
    struct resources total, free; /* of hosts that are up and not draining */
    uint64_t uplink_bps;
    struct sorted racks; /* of hosts that are up: racks.h; index: */
    uint64_t racks_bps;  /* the sum of their uplinks */
    uint32_t racks_told; /* hosts that are up and tell their rack's */
    struct keyed keyed;  /* what SJF keys were last computed for */
    /* 0: all keys were. Else the keys of jobs with numbers from rekeyed − 1 on were computed for
     * `keyed_before`. */
    uint64_t rekeyed;
    struct keyed keyed_before; /* zeros if `rekeyed` is 0 */
    struct shape **shapes;
    uint32_t n_shapes;
    struct ways_list ways;                /* shapes_max at most */
    struct ways_list ways_by[WAYS_LISTS]; /* index: the same, by their shapes */
    uint32_t n_ways;
    uint32_t changes[CHANGES]; /* hosts whose room or load changed, a ring */
    uint64_t n_changes;

    uint32_t hot;       /* uplinks above congested_permille; */
    struct sorted warm; /* index: those at or above cleared_permille, by host */
    bool congested;

    enum mode mode;
    uint64_t mode_sequence;
    int64_t mode_since_ns;
    bool mode_pending; /* the mode changes when the dwell ends */

    struct numbered attempts;
    struct sorted users;     /* user 0, and those that were told of */
    uint64_t users_total;    /* index: their shares */
    uint64_t users_position; /* entries of a turn that are used (sequence.h) */
    uint64_t users_charged;  /* attempts of earlier controllers beyond it are not in these yet; 0:
                                all are */
    uint64_t users_changes;  /* index: grows when the position or a debt may have changed */
    struct debts *debts;     /* between users */
    struct user *asked;      /* for whom a placement is asked now; NULL: for everybody */
    struct host *asked_host; /* and for which host; NULL: for all */
    TAILQ_HEAD(, user) ready_users; /* index: where somebody divides, those with ready_here; */
    struct sorted reducing_users;   /* with reduces_here, by number */
    struct queues no_queues;        /* of a user without jobs of a shape: always empty */
    struct sorted jobs, active, names, finished, finished_age, hold_timers;
    uint64_t finished_counter, n_tasks, n_ready, held_stages;
    uint64_t bounded_jobs;    /* index: active ones */
    struct stage *late;       /* between hold_mark and the start that it causes; else NULL */
    uint32_t framework_jobs;  /* index */
    uint64_t framework_tasks; /* index */
    struct sorted accounts;   /* index except frameworks' reports of owners */
    struct account_pool pools[POOLS];
    uint64_t submitter; /* of the job that begins next; not dumped: it precedes that job */
    bool over_share;    /* the fact that is being applied exceeded a bound */
    bool next_apart;    /* the next new stage is apart; not dumped: it precedes that */
    /* Stages with tasks that wait for another host (retry.h), by the first of these; how many. */
    struct sorted retries;
    uint64_t n_retries;
    struct sorted refusals;                 /* stages whose claims may not commit (refusal.h) */
    struct sorted probe_timers, probes_due; /* suspect hosts whose attempts fail (failing.h) */
    struct sorted applications;
    uint32_t rooms;                          /* index */
    struct sorted allow_timers, gate_timers; /* index */
    struct sorted opened;                    /* index: jobs of frameworks, by turn (opened.h) */
    int64_t idle_since_ns; /* in a step: when the earliest of the unused allows was given;
                              INT64_MAX: none */
    struct sizes *sizes;   /* sizes that stages had (framework_sizes.h); NULL: none yet */
    struct ended *ended;   /* jobs that ended in this step, or the last one (split.h) */
    struct engine_counters counters;
};

/* Applies one event, without the decisions that follow from it. */
void engine_apply(struct engine *engine, const struct event *event);

/* WHY not the member alone: a stage that closes does not look at its ready tasks. They are blocked
 * from then on (stage->closed). */
static inline enum task_state task_state(const struct task *task)
{
    bool left = task->last_state == TASK_READY && task->readied_at != task->stage->closed;
    return left ? TASK_BLOCKED : task->last_state;
}

/* NULL: nobody told of any. WHY by tasks_given: what is beyond it was never written, since a stage
 * may have 10⁶ tasks when its first block is told. */
static inline const uint32_t *task_replicas(const struct task *task)
{
    const struct stage *stage = task->stage;
    return stage->replicas && task->index < stage->tasks_given
               ? stage->replicas + (size_t)task->index * stage->replicas_per_task
               : NULL;
}

static inline uint32_t task_n_replicas(const struct task *task)
{
    return task_replicas(task) ? task->stage->replicas_per_task : 0;
}
