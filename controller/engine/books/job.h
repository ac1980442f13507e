/* Jobs: their arrival in parts, their activity, their end. Private to controller/engine.
 *
 * A job is active from job_end until its last task is accepted, or until it fails or is cancelled.
 * Its stages and tasks: stage.h.
 *
 * One object in several files, which call each other: job, stage, attempt, cluster, room, limit,
 * account, retry, rerun, losing, outputs, assembly, removal, variant. */
#pragma once

#include "controller/engine/base/state.h"

/* Makes an arriving job without a name; the number must be free. job_bucket: the job's bucket of a
 * shape, made when new. */
struct job *job_make(struct engine *engine, uint64_t number);
struct bucket *job_bucket(struct engine *engine, struct job *job, struct shape *shape);

struct job *job_find(const struct engine *engine, uint64_t number);
struct finished *job_find_finished(const struct engine *engine, uint64_t number);
/* NULL: the stage, which may be NULL, has no such task. */
struct task *job_stage_task(struct stage *stage, uint32_t task);
/* NULL: no such task in an active or arriving job. */
struct task *job_find_task(const struct engine *engine, uint64_t number, uint32_t stage,
                           uint32_t task);

/* A task failed for good, or the job is cancelled: stops every attempt and forgets the outputs.
 * Frees the job. */
void job_fail(struct engine *engine, struct job *job, enum reason reason, struct task *task,
              uint64_t attempt, int64_t left);

bool job_is_complete(const struct job *job);
/* All parts are there: links stages to their children, sums bytes per task, stage and job. */
void job_assemble(struct engine *engine, struct job *job);
/* Makes an assembled job with an estimate active; does not look at its stages. */
void job_activate(struct engine *engine, struct job *job);
/* Its last task was accepted. Frees the job. */
void job_finish(struct engine *engine, struct job *job);
/* Frees it without any decision. */
void job_destroy(struct engine *engine, struct job *job);
/* Keeps the record of an ended job; at finished_max drops the oldest. Takes `record`. */
void job_remember(struct engine *engine, struct finished *record);
/* FNV-1a of a name, the key of the name index. */
uint64_t job_name_hash(const char *name);
/* NULL: no such stage in an active or arriving job. */
struct stage *job_find_stage(const struct engine *engine, uint64_t number, uint32_t stage);
/* Cells of an edge between them. */
uint64_t job_cells_of(const struct stage *parent, const struct stage *stage, bool matrix);
/* The first stage with parts missing, n_stages when complete. */
uint32_t job_incomplete_stage(const struct job *job);
