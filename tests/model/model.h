/* A literal model of what the engine knows, for tests: plain arrays, every answer by a scan, no
 * index and no cache.
 *
 * model_step() (model_step.h) makes up some events, applies them here, gives them to the engine and
 * then follows the engine's decisions one by one. Whoever wants to judge the placement hangs a
 * `judge` in, which sees the state as it was before each start. Readiness, free room, congestion,
 * mode, what is stopped and which job ends are derived here from the rules alone and compared with
 * the engine. */
#pragma once

#include "tests/model/script.h"

enum {
    M_HOSTS = 8,
    M_UNITS = 2,
    M_STAGES = 4,
    M_TASKS = 6,
    M_JOBS = 10,
    M_REPLICAS = 3,
    M_WAYS = 4,
    M_ATTEMPTS = 128,
    M_USERS = 3,
    M_EVENTS = 48
};
enum { M_MEGABYTE = 1000000 };

struct m_demand {
    int64_t slots, mem;
    uint32_t label; /* 0: none */
};
struct m_host {
    bool known, joined, silent, lost, draining;
    bool suspect, mute, blind, reached, cut; /* as in controller/engine/watch/source.h */
    uint32_t strikes;
    uint64_t generation;
    uint32_t labels;       /* index into m_labels */
    uint32_t rack, number; /* 0: none, or rN; of its name hN */
    uint32_t n_units;
    int64_t slots[M_UNITS], mem[M_UNITS];
    uint32_t permille, foreign;
    bool ours; /* some attempt has received since the downlink's last report */
};
struct m_task {
    enum { M_IDLE, M_RUNNING, M_DONE } state;
    uint64_t bytes, input, compute;
    uint64_t compute_by[M_WAYS]; /* from 1: by the other ways to run it */
    uint32_t replicas[M_REPLICAS];
    uint32_t failures, done_host;
    uint64_t done_attempt;
    int64_t could_run; /* the end of the first step that left it a slot; 0: none yet */
};
/* A way to run a stage. */
struct m_way {
    struct m_demand demand;
    bool told; /* how long its tasks compute so */
    bool held, overdue;
    int64_t held_until;
};
struct m_stage {
    uint32_t n_tasks, n_parents, n_replicas, n_ways;
    struct m_way way[M_WAYS];
    uint32_t parents[M_STAGES], kinds[M_STAGES], matrix[M_STAGES];
    uint64_t cells[M_STAGES][M_TASKS * M_TASKS], sums[M_STAGES][M_TASKS];
    struct m_task task[M_TASKS];
    bool coflow_fixed;
    uint64_t coflow;
    int64_t due; /* hold_max after the first step that left it a slot; 0: none */
};
struct m_job {
    uint64_t number; /* 0: this place is free */
    uint32_t n_stages;
    struct m_stage stage[M_STAGES];
    int64_t estimate_bytes, estimate_ns, submitted;
    uint64_t key, share;
    uint32_t user;
    char name[32];
};
struct m_attempt {
    uint64_t number, job; /* number 0: this place is free */
    uint32_t stage, task, host, unit, variant;
    int64_t slots, mem;
    enum attempt_state state;
    bool receiving, orphan;
    uint64_t size[2], received; /* Coflow, Macroflow */
    uint32_t block;             /* the host that it reads its block from; ENGINE_NONE */
    bool stalled[M_HOSTS];      /* sources that give it nothing */
};
struct m_pair {
    bool is, overdue;
    int64_t since, due;
};

enum flow_kind { M_COFLOW, M_MACROFLOW };
struct model;
struct m_judge {
    /* Before it is applied. */
    void (*start)(struct model *model, const struct decision *start);
    /* After the last start of a step, for each user where somebody divides. */
    void (*end)(struct model *model);
    /* The job's tasks start on one host only, and wait for that as long as hold_max lets them.
     * NULL: no job's do. */
    bool (*is_homed)(const struct model *model, const struct m_job *job);
    void (*step)(struct model *model); /* once behind that; NULL: nothing */
};

struct model {
    struct script script;
    struct engine_config config;
    const struct m_judge *judge;
    uint64_t bps;      /* of each link */
    uint64_t rack_bps; /* what hosts of r1 tell of its uplink; 0: nothing */
    uint64_t stream, next_job, next_foreign, steps, starts, evictions;
    struct m_host host[M_HOSTS];
    struct m_pair pair[M_HOSTS][M_HOSTS]; /* reader, source */
    uint64_t suspicions;
    struct m_job job[M_JOBS];
    struct m_attempt attempt[M_ATTEMPTS];
    uint32_t attempts_end; /* places of it from here on were never used */
    uint64_t keyed_slots, keyed_bps;
    bool congested, mode_pending;
    enum mode mode;
    int64_t mode_since;
    enum flow_kind order[2];    /* by mode: what the network serves by */
    const struct policy *place; /* the one in force */
    bool mode_events, holds, patient;
    bool variants;  /* stages can run in several ways: not under judges, which know of one */
    bool users;     /* jobs are of M_USERS users (model_users) */
    bool divided;   /* some policy divides the cluster between them, */
    uint32_t asked; /* and a judge is asked for the jobs of this one */

    struct event events[M_EVENTS];
    uint32_t n_events;
    uint64_t room64[8192];
    uint32_t room32[4096];
    uint32_t used64, used32;
    uint64_t stop_due[M_ATTEMPTS], done_due[M_JOBS * 4], failed_due[M_JOBS * 4];
    uint32_t n_stop_due, n_done_due, n_failed_due;
};

uint64_t m_random(struct model *m, uint64_t below);
/* Labels of demands: 0 is none, M_IN_RACK the rack r1. */
enum { M_IN_RACK = 5 };
bool m_up(const struct m_host *h);
bool m_has_label(const struct m_host *h, uint32_t label);
void m_free(const struct model *m, uint32_t host, uint32_t unit, int64_t *ret_slots,
            int64_t *ret_mem);
/* Whether place joint leaves the free slots to short tasks, since they are the last ones. */
bool m_last_slots(const struct model *m);
int64_t m_times_in(int64_t slots, int64_t mem, struct m_demand d);
int64_t m_times_unit(const struct model *m, uint32_t host, uint32_t unit, struct m_demand d);
int64_t m_times_host(const struct model *m, uint32_t host, struct m_demand d);
int64_t m_times(const struct model *m, struct m_demand d);
/* In all its ways together. */
int64_t m_times_stage(const struct model *m, const struct m_stage *s);
/* Some joined host could ever hold it. */
bool m_possible(const struct model *m, struct m_demand d);
bool m_capable_host(const struct model *m, uint32_t host, struct m_demand d);
uint32_t m_stage_count(const struct m_stage *s, bool done_only);
bool m_ready(const struct m_job *j, uint32_t stage, uint32_t task);
uint32_t m_stage_ready(const struct m_job *j, uint32_t stage);
/* Is one of them without bytes from other tasks? */
bool m_ready_map(const struct m_job *j, uint32_t stage);
bool m_same_demand(struct m_demand a, struct m_demand b);
uint32_t m_running_on(const struct model *m, uint32_t host);

/* How many receive on the host; the smallest of their sizes. */
uint32_t m_receiving_on(const struct model *m, uint32_t host, enum flow_kind kind,
                        uint64_t *ret_smallest);

uint64_t m_bps_up(const struct model *m);
uint64_t m_turn(const struct model *m, const struct m_job *j);

/* Active jobs, whose turn is sooner first; ends with NULL. */
void m_in_turn(struct model *m, struct m_job *ret_jobs[static M_JOBS + 1]);
/* Of them those that a judge is asked for. */
void m_asked_in_turn(struct model *m, struct m_job *ret_jobs[static M_JOBS + 1]);

struct m_job *m_find_job(struct model *m, uint64_t number);
struct m_attempt *m_find_attempt(struct model *m, uint64_t number);
uint64_t m_stage_bytes(const struct m_stage *s);
/* What a task's computing counts as: in the shortest way that joined hosts could hold. */
uint64_t m_work(const struct model *m, const struct m_stage *s, const struct m_task *t);
uint64_t m_coflow(const struct m_stage *s);
void m_take_cluster(struct model *m);

/* (number of maps ÷ all slots) · map time + shuffle bytes ÷ sum of uplinks, of hosts that were up
 * when all keys were last made. */
uint64_t m_estimate(const struct model *m, const struct m_job *j);

/* The cluster more than doubled, or is less than half of what it was: all keys are computed
 * anew. */
void m_rekey(struct model *m);

bool m_mode_due(struct model *m);
