#include "controller/lists/list.h"

#include <stdio.h>

#define ROW duopoly_JobRow
static bool is_unmeasured_job(const void *row)
{
    return !((const ROW *)row)->measured;
}

static bool is_without_failure(const void *row)
{
    return !((const ROW *)row)->failed_attempt;
}

static struct value job_text(const void *opaque, char words[CELL_WORDS])
{
    const ROW *row = opaque;
    const char *text = *row->reason ? row->reason : row->text;
    if (*row->held_by) {
        snprintf(words, CELL_WORDS, "held by %s", row->held_by);
        return value_text(words);
    }
    return *text ? value_text(text) : value_absent();
}

static const struct cell job_cells[] = {
    CELL("job", "JOB", ID, job),
    CELL("name", "NAME", TEXT, name),
    CELL("user", "USER", ID, user),
    CELL("state", "STATE", TEXT, state),
    CELL("place", "PLACE", NUMBER, place, UNLESS_NOTHING),
    CELL("task_count", "TASKS", NUMBER, tasks),
    CELL("ready", "READY", NUMBER, ready),
    CELL("running", "RUNNING", NUMBER, running),
    CELL("done", "DONE", NUMBER, done),
    CELL("held_stages", "HELD", NUMBER, held),
    CELL("age_ns", "LASTED", DURATION, age_ns, UNLESS_NEGATIVE),
    CELL("shuffle_bytes", "SHUFFLE", BYTES, shuffle_bytes),
    CELL("left_ns", "WORK LEFT", DURATION, left_ns, UNLESS_NEGATIVE),
    CELL("left_bytes", "BYTES LEFT", BYTES, left_bytes, UNLESS_NEGATIVE),
    CELL("slot_wait_ns", NULL, DURATION, slot_wait_ns, UNLESS_NEGATIVE),
    CELL("measured_tasks", NULL, NUMBER, measured),
    CELL("receive_ns", NULL, DURATION, receive_ns, .lacks = is_unmeasured_job),
    CELL("compute_ns", NULL, DURATION, compute_ns, .lacks = is_unmeasured_job),
    CELL("received_bytes", NULL, BYTES, received_bytes, .lacks = is_unmeasured_job),
    CELL("evictions", NULL, NUMBER, evictions, UNLESS_NOTHING),
    CELL("evicted_ns", NULL, DURATION, evicted_ns, UNLESS_NOTHING),
    CELL_OF("text", "NOTE", TEXT, job_text),
    CELL("held_by", NULL, TEXT, held_by, UNLESS_NOTHING),
    CELL("held_ns", NULL, DURATION, held_ns, UNLESS_NOTHING),
    CELL("priority", NULL, SIGNED, priority),
    CELL("failed_host", NULL, TEXT, failed_host, UNLESS_NOTHING),
    CELL("failed_attempt", NULL, ID, failed_attempt, UNLESS_NOTHING),
    CELL("failed_stage", NULL, ID, failed_stage, .lacks = is_without_failure),
    CELL("failed_task", NULL, ID, failed_task, .lacks = is_without_failure),
    {0},
};
#undef ROW

#define ROW duopoly_TaskRow
static bool is_unmeasured_task(const void *row)
{
    return ((const ROW *)row)->unmeasured;
}

static bool is_of_no_variant(const void *row)
{
    return !((const ROW *)row)->has_variant;
}

static const struct cell task_cells[] = {
    CELL("job", "JOB", ID, job),
    CELL("stage", "STAGE", ID, stage),
    CELL("task", "TASK", ID, task),
    CELL("state", "STATE", TEXT, state),
    CELL("host", "HOST", TEXT, host, UNLESS_NOTHING),
    CELL("bytes", "BYTES", BYTES, bytes, .lacks = is_unmeasured_task),
    CELL("received_bytes", "RECEIVED", BYTES, received_bytes, .lacks = is_unmeasured_task),
    CELL("level", "LEVEL", SIGNED, level, UNLESS_NEGATIVE),
    CELL("coflow_level", "COFLOW", SIGNED, coflow_level, UNLESS_NEGATIVE),
    CELL("macroflow_level", "MACROFLOW", SIGNED, macroflow_level, UNLESS_NEGATIVE),
    CELL("age_ns", "SINCE", DURATION, age_ns, UNLESS_NEGATIVE, .since = true),
    CELL("wait_ns", "WAITED", DURATION, wait_ns, UNLESS_NEGATIVE),
    CELL("receive_ns", "TRANSFER", DURATION, receive_ns, UNLESS_NEGATIVE),
    CELL("compute_ns", "COMPUTE", DURATION, compute_ns, UNLESS_NEGATIVE),
    CELL("attempt", "ATTEMPT", ID, attempt, UNLESS_NOTHING),
    CELL("variant", "VARIANT", ID, variant, .lacks = is_of_no_variant),
    CELL("failures", "FAILURES", NUMBER, failures, UNLESS_NOTHING),
    CELL("evictions", "EVICTED", NUMBER, evictions, UNLESS_NOTHING),
    CELL("evicted_ns", NULL, DURATION, evicted_ns, UNLESS_NOTHING),
    CELL("text", "NOTE", TEXT, text, UNLESS_NOTHING),
    {0},
};
#undef ROW

const struct list list_of_jobs = LIST_IN(LIST_JOBS, "jobs", job_cells, JobRow, page, jobs);
const struct list list_of_tasks = LIST_IN(LIST_TASKS, "tasks", task_cells, TaskRow, page, tasks);
