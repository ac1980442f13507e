/* Attempts in a dump. */
#include "controller/engine/books/attempt.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/job.h"
#include "controller/engine/dump/dump.h"
#include "controller/engine/watch/framework_sizes.h"
#include "controller/engine/watch/source.h"

#include <errno.h>
#include <inttypes.h>

struct attempt_record {
    uint64_t attempt, job;
    uint32_t stage, task, host, unit, state, block_host;
    struct resources resources;
    uint64_t coflow_level, macroflow_level, coflow_bytes, macroflow_bytes, received_bytes,
        remote_bytes;
    int64_t started_ns, left, right;
    bool orphan, receiving, stopping, unmeasured;
    enum reason reason;
    uint32_t variant;
};
DUMP_FITS(struct attempt_record);

static int load_attempt(struct engine *engine, const void *object, struct err *err)
{
    const struct attempt_record *record = object;
    struct task *task =
        record->orphan ? NULL : job_find_task(engine, record->job, record->stage, record->task);
    struct host *host = cluster_host(engine, record->host);
    if (!host || (!task && !record->orphan) || attempt_find(engine, record->attempt) ||
        record->state > ATTEMPT_LOST)
        return err_set(err, EINVAL, "attempt %" PRIu64 " has no task or host, or comes twice",
                       record->attempt);
    struct attempt *attempt =
        attempt_create(engine, record->attempt, task, host, record->unit, &record->resources);
    attempt->job_number = record->job;
    attempt->stage_index = record->stage;
    attempt->task_index = record->task;
    attempt_set_state(engine, attempt, (enum attempt_state)record->state);
    attempt->block_host = record->block_host;
    if (task)
        source_set_block(engine, attempt, record->block_host);
    attempt_count_messages(attempt);
    attempt->level[ORDER_COFLOW] = record->coflow_level;
    attempt->level[ORDER_MACROFLOW] = record->macroflow_level;
    attempt->bytes[ORDER_COFLOW] = record->coflow_bytes;
    attempt->bytes[ORDER_MACROFLOW] = record->macroflow_bytes;
    attempt->received_bytes = record->received_bytes;
    attempt->remote_bytes = record->remote_bytes;
    attempt->started_ns = record->started_ns;
    attempt->left = record->left;
    attempt->right = record->right;
    attempt->reason = record->reason;
    attempt->variant = record->variant;
    attempt->stopping = record->stopping;
    attempt_set_receiving(engine, attempt, record->receiving);
    if (record->unmeasured && task)
        sizes_measure_later(engine, attempt);
    host_touch(engine, host);
    return 0;
}

#define F FIELD_OF

enum { ATTEMPT };
const struct dump_kind attempt_kinds[] = {
    [ATTEMPT] = {{"attempt",
                  {F(attempt_record, attempt, U64),
                   F(attempt_record, job, U64),
                   F(attempt_record, stage, U32),
                   F(attempt_record, task, U32),
                   F(attempt_record, host, U32),
                   F(attempt_record, unit, U32),
                   F(attempt_record, state, U32),
                   F(attempt_record, block_host, U32),
                   F(attempt_record, resources, RESOURCES),
                   F(attempt_record, coflow_level, U64),
                   F(attempt_record, macroflow_level, U64),
                   F(attempt_record, coflow_bytes, U64),
                   F(attempt_record, macroflow_bytes, U64),
                   F(attempt_record, received_bytes, U64),
                   F(attempt_record, remote_bytes, U64),
                   F(attempt_record, started_ns, I64),
                   F(attempt_record, left, I64),
                   F(attempt_record, right, I64),
                   F(attempt_record, orphan, BOOL),
                   F(attempt_record, receiving, BOOL),
                   F(attempt_record, stopping, BOOL),
                   F(attempt_record, reason, REASON),
                   FIELD_LEAN(attempt_record, variant, U32),
                   FIELD_LEAN(attempt_record, unmeasured, BOOL)}},
                 load_attempt},
    {{0}, NULL},
};

void attempt_dump(struct dumper *d, const struct attempt *attempt)
{
    struct attempt_record record = {
        .attempt = attempt->number,
        .job = attempt->job_number,
        .stage = attempt->stage_index,
        .task = attempt->task_index,
        .host = attempt->host->index,
        .unit = attempt->unit,
        .state = attempt->state,
        .block_host = attempt->block_host,
        .resources = attempt->resources,
        .coflow_level = attempt->level[ORDER_COFLOW],
        .macroflow_level = attempt->level[ORDER_MACROFLOW],
        .coflow_bytes = attempt->bytes[ORDER_COFLOW],
        .macroflow_bytes = attempt->bytes[ORDER_MACROFLOW],
        .received_bytes = attempt->received_bytes,
        .remote_bytes = attempt->remote_bytes,
        .started_ns = attempt->started_ns,
        .left = attempt->left,
        .right = attempt->right,
        .orphan = !attempt->task,
        .receiving = attempt->receiving,
        .stopping = attempt->stopping,
        .reason = attempt->reason,
        .variant = attempt->variant,
        .unmeasured = attempt->of_unmeasured.in,
    };
    dump_record(d, &attempt_kinds[ATTEMPT].kind, &record);
    if (attempt->foreign)
        framework_dump_attempt(d, attempt);
}
