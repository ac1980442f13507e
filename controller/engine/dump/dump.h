/* The parts of a dump. Private to controller/engine.
 *
 * dump.c decides the order of records and reads them back. Files beside it write each thing's
 * records and make the thing from them again (config_dump.c, cluster_dump.c, job_dump.c,
 * attempt_dump.c, source_dump.c, failing_dump.c, framework_dump.c, account_dump.c, user_dump.c,
 * policy_dump.c).
 * Jobs and hosts are written as the events that made them, then as records of what changed since.
 * Records may only grow (field.h), so that older dumps can be read.
 *
 * WHY not the views (view.c), which name many of the same members: a view shows people and programs
 * the present, also what can be computed, in terms that stay when the engine changes; a record has
 * what cannot be computed, in a form that stays for ever. Either changes without the other. */
#pragma once

#include "controller/engine/base/field.h"
#include "controller/engine/watch/source.h"

enum {
    DUMP_CHUNK = 8192,     /* values of a list in one record, of up to two lists */
    DUMP_RECORD_MAX = 1024 /* bytes of the struct behind a record */
};
#define DUMP_FITS(type) _Static_assert(sizeof(type) <= DUMP_RECORD_MAX, "read into so much room")

struct dump_kind {
    struct record_kind kind;
    /* Makes the thing from its record; NULL in the entry that ends a table. */
    int (*load)(struct engine *engine, const void *record, struct err *err);
};
extern const struct dump_kind cluster_kinds[], job_kinds[], attempt_kinds[], source_kinds[],
    failing_kinds[], framework_kinds[], rerun_kinds[], loss_kinds[], room_kinds[], account_kinds[],
    user_kinds[], eviction_kinds[];

struct dumper {
    int (*sink)(void *context, const char *line, size_t length);
    void *context;
    char *buffer;
    uint64_t *lists; /* what a record's lists point to */
    int error;       /* the first; nothing is written after it */
};

/* Writes one line; `object` is the kind's struct. */
void dump_record(struct dumper *d, const struct record_kind *kind, const void *object);
void dump_event(struct dumper *d, const struct event *event);

void cluster_dump_shape(struct dumper *d, const struct shape *shape);
void cluster_dump_host(struct dumper *d, const struct host *host);
void job_dump(struct dumper *d, const struct job *job);
/* Its `job` record, without its submission; nothing of a framework's job. */
void job_dump_state(struct dumper *d, const struct job *job);
/* Blocks and computing of its tasks, as the events that report them. */
void job_dump_tasks_given(struct dumper *d, const struct stage *stage);
void job_dump_finished(struct dumper *d, const struct finished *finished);
void attempt_dump(struct dumper *d, const struct attempt *attempt);
/* The facts that make a framework's job, in place of a submission; what its stages have beyond
 * their records; an attempt of a framework, after its record. */
void framework_dump_sizes(struct dumper *d, const struct engine *engine);
void framework_dump_given(struct dumper *d, const struct job *job);
void framework_dump_stage(struct dumper *d, const struct stage *stage);
void framework_dump_attempt(struct dumper *d, const struct attempt *attempt);
void source_dump_reach(struct dumper *d, const struct host *host);
/* Failures on the host; where the task failed, after its record. */
void failing_dump_host(struct dumper *d, const struct host *host);
void failing_dump_task(struct dumper *d, const struct task *task);
/* Behind the configuration's own record; each of the later ones at its place. */
void config_dump(struct dumper *d, const struct engine_config *c);
void config_dump_frameworks(struct dumper *d, const struct engine_config *c);
void config_dump_users(struct dumper *d, const struct engine_config *c);
bool config_is_record(const char *line);
int config_load(struct engine *engine, const char *line, struct err *err);
void account_dump_owners(struct dumper *d, const struct engine *engine);
void account_dump_submitter(struct dumper *d, uint64_t submitter); /* 0: nothing */
void account_dump_ways(struct dumper *d, const struct job *job);   /* after its stages */
void account_dump_cut(struct dumper *d, const struct engine *engine);
void rerun_dump_task(struct dumper *d, const struct task *task);
void rerun_dump_losing(struct dumper *d, const struct engine *engine); /* after all jobs */
void loss_dump_task(struct dumper *d, const struct task *task);
void eviction_dump_job(struct dumper *d, const struct job *job); /* after its tasks */
void source_dump_blind(struct dumper *d, const struct blind *blind);

void room_dump(struct dumper *d, const struct engine *engine);
void user_dump(struct dumper *d, const struct engine *engine);
