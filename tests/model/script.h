/* Scripted time for the engine: a test says what happens when, and reads what was decided. */
#pragma once

#include "tests/unit/test.h"

#include "controller/engine/engine.h"

#include <string.h>

#define SECOND INT64_C(1000000000)

struct script {
    struct engine *engine;
    struct decisions decisions;
    int64_t now_ns;
    uint64_t requests;
    uint32_t user;    /* whose are the jobs of script_submit, */
    int64_t priority; /* and theirs */
    bool reload;      /* after every step the engine is replaced by load(dump(engine)) */
};

/* A job of `maps` maps on given replicas (`per` a map; NULL: none) and `reduces` reducers that read
 * `sums` (NULL: no second stage). */
struct script_job {
    uint64_t number;
    uint32_t maps, per, reduces;
    const uint32_t *replicas;
    uint64_t map_input, map_ns, reduce_ns;
    const uint64_t *sums;
    int64_t estimate_bytes;
};

struct engine_config script_config(void);
void script_begin(struct script *script, const struct engine_config *config);
void script_end(struct script *script);
void script_events(struct script *script, const struct event *events, size_t n);
void script_event(struct script *script, struct event event);

/* A host with one unit of `slots`, 1 Gb/s both ways. */
struct event script_join(uint32_t host, uint64_t slots,
                         const uint64_t vector[static ENGINE_RESOURCES]);

void script_host(struct script *script, uint32_t host, uint64_t slots);
void script_load(struct script *script, uint32_t host, uint32_t permille);

/* The events of a job, in caller-given arrays; returns how many (at most 8). */
size_t script_job_events(const struct script_job *job, struct event *events, uint64_t *room,
                         char *name, size_t name_size);

void script_submit(struct script *script, const struct script_job *job);
void script_attempt(struct script *script, enum event_kind kind, uint64_t attempt, uint64_t bytes);

/* The n-th decision of a kind in the last step; NULL: no more. */
const struct decision *script_decision(const struct script *script, enum decision_kind kind,
                                       size_t n);

size_t script_count(const struct script *script, enum decision_kind kind);

/* Fails at the first decision, in order, that only one of them has. */
void script_same_decisions(const struct decisions *a, const struct decisions *b);

/* The start of (job, stage, task) in the last step; NULL: none. */
const struct decision *script_start(const struct script *script, uint64_t job, uint32_t stage,
                                    uint32_t task);

struct event script_begin_event(uint64_t job, const char *name);

/* A stage of one-slot tasks behind `parent` (NULL: none). */
struct event script_stage_event(uint64_t job, uint32_t stage, uint32_t tasks,
                                const uint32_t *parent, const uint32_t *edge);

void script_job_begin(struct script *script, uint64_t job);
void script_stage(struct script *script, uint64_t job, uint32_t stage, uint32_t tasks,
                  uint32_t parent, uint32_t edge);

/* All tasks of a stage: `input` bytes each, with `per` replicas. */
void script_tasks(struct script *script, uint64_t job, uint32_t stage, uint32_t n, uint64_t input,
                  uint32_t per, const uint32_t *replicas);

/* Sums per reduce task, all the same. */
void script_bytes(struct script *script, uint64_t job, uint32_t stage, uint32_t parent, uint32_t n,
                  uint64_t bytes);

void script_job_end(struct script *script, uint64_t job);
void script_cancel(struct script *script, uint64_t job);
/* What they return is script_rejection's. */
enum reason script_policy(struct script *script, const char *question, const char *name);
enum reason script_parameter(struct script *script, const char *word, int64_t value);
/* Of a task of stage 0. */
void script_output_lost(struct script *script, uint64_t job, uint32_t task, uint64_t attempt);
void script_user(struct script *script, uint32_t user, const char *name, uint32_t share);
void script_user_leave(struct script *script, uint32_t user);
void script_host_event(struct script *script, enum event_kind kind, uint32_t host);

/* An inventory's line: one slot, unit 0. */
struct event script_seen_event(uint64_t attempt, uint64_t job, uint32_t stage, uint32_t task,
                               uint32_t host);

/* Why the last step rejected its request; REASON_NONE: it did not. */
enum reason script_rejection(const struct script *script);
/* A decision's reason by its word: those of policies stand in their files. */
#define assert_reason(decision, word) assert_string_equal(reason_name((decision)->reason), word)

/* What the engine shows of a thing that there is. */
struct host_view script_host_view(const struct script *script, uint32_t host);
struct job_view script_job_view(const struct script *script, uint64_t job);
struct task_view script_task_view(const struct script *script, uint64_t job, uint32_t stage,
                                  uint32_t task);
struct attempt_view script_attempt_view(const struct script *script, uint64_t attempt);
struct engine_status script_status(const struct script *script);
struct engine_counters script_counters(const struct script *script);

/* What frameworks say: stage 0 of a job, whose one-slot tasks they would start; a start; an end. */
void script_offer(struct script *script, uint64_t job, uint32_t tasks);
/* A stage of such tasks, by a barrier behind stage 0 if it `reads`. */
struct event script_framework_stage(uint64_t job, uint32_t stage, uint32_t tasks, bool reads);
void script_started(struct script *script, uint64_t attempt, uint64_t job, uint32_t stage,
                    uint32_t task, uint32_t host);
void script_framework_end(struct script *script, uint64_t job);

enum task_state script_task_state(const struct script *script, uint64_t job, uint32_t stage,
                                  uint32_t task);
uint64_t script_attempt_of(const struct script *script, uint64_t job, uint32_t stage,
                           uint32_t task);
