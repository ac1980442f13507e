#include "controller/engine/base/record.h"

#include "controller/engine/base/field.h"
#include "lib/number.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define E(name, kind) FIELD_OF(event, name, kind)
#define L(name, kind) FIELD_LEAN(event, name, kind)
#define D(name, kind) FIELD_OF(decision, name, kind)
#define M(name, kind) FIELD_LEAN(decision, name, kind)

#define HOST_JOIN_FIELDS                                                                           \
    E(host_join.host, U32), E(host_join.generation, U64), E(host_join.name, STRING),               \
        E(host_join.rack, STRING), E(host_join.labels, STRING), E(host_join.uplink_bps, U64),      \
        E(host_join.downlink_bps, U64), E(host_join.units, U64S), L(host_join.unit_names, STRING), \
        L(host_join.rack_bps, U64), L(host_join.disk_bytes_s, U64)
#define ATTEMPT_SEEN_FIELDS                                                                        \
    E(attempt_seen.attempt, U64), E(attempt_seen.job, U64), E(attempt_seen.stage, U32),            \
        E(attempt_seen.task, U32), E(attempt_seen.host, U32), E(attempt_seen.unit, U32),           \
        E(attempt_seen.phase, U32), E(attempt_seen.resources, RESOURCES),                          \
        E(attempt_seen.received_bytes, U64), L(attempt_seen.variant, U32)

static const struct record_kind event_kinds[EVENT_KINDS] = {
    [EVENT_JOB_BEGIN] = {"job_begin",
                         {E(request, U64), E(job_begin.job, U64), E(job_begin.name, STRING),
                          E(job_begin.content, U64), E(job_begin.user, U32),
                          E(job_begin.job_kind, U32), E(job_begin.priority, I64),
                          E(job_begin.deadline_ns, I64), E(job_begin.estimate_bytes, I64),
                          E(job_begin.estimate_ns, I64), L(job_begin.at_most_host, U32),
                          L(job_begin.at_most_rack, U32)}},
    [EVENT_JOB_STAGE] = {"job_stage",
                         {E(request, U64), E(job_stage.job, U64), E(job_stage.stage, U32),
                          E(job_stage.tasks, U32), E(job_stage.demand, RESOURCES),
                          E(job_stage.command, STRING), E(job_stage.constraint, STRING),
                          E(job_stage.parents, U32S), E(job_stage.edges, U32S),
                          L(job_stage.variant_demands, U64S), L(job_stage.variant_commands, STRING),
                          L(job_stage.variant_constraints, STRING), L(job_stage.wishes, STRING),
                          L(job_stage.utilities, U32S), L(job_stage.at_most_host, U32),
                          L(job_stage.at_most_rack, U32), L(job_stage.profiles, U64S),
                          L(job_stage.history, U64)}},
    [EVENT_JOB_TASKS] = {"job_tasks",
                         {E(request, U64), E(job_tasks.job, U64), E(job_tasks.stage, U32),
                          E(job_tasks.first, U32), E(job_tasks.replicas_per_task, U32),
                          E(job_tasks.replicas, U32S), E(job_tasks.input_bytes, U64S),
                          E(job_tasks.compute_ns, U64S), L(job_tasks.variant, U32)}},
    [EVENT_JOB_BYTES] = {"job_bytes",
                         {E(request, U64), E(job_bytes.job, U64), E(job_bytes.stage, U32),
                          E(job_bytes.parent, U32), E(job_bytes.first, U32),
                          E(job_bytes.matrix, U32), E(job_bytes.bytes, U64S)}},
    [EVENT_JOB_END] = {"job_end", {E(request, U64), E(job_end.job, U64)}},
    [EVENT_JOB_UPDATE] = {"job_update",
                          {E(request, U64), E(job_update.job, U64),
                           E(job_update.estimate_bytes, I64), E(job_update.estimate_ns, I64),
                           E(job_update.priority, I64), E(job_update.deadline_ns, I64)}},
    [EVENT_JOB_CANCEL] = {"job_cancel", {E(request, U64), E(job_cancel.job, U64)}},
    [EVENT_CLAIM] = {"claim",
                     {E(request, U64), E(claim.scheduler, U32), E(claim.version, U64),
                      E(claim.jobs, U64S), E(claim.stages, U32S), E(claim.tasks, U32S),
                      E(claim.hosts, U32S), E(claim.units, U32S)}},
    [EVENT_POLICY_SET] = {"policy_set",
                          {E(request, U64), E(policy_set.question, STRING),
                           E(policy_set.name, STRING)}},
    [EVENT_POLICY_PARAMETER] = {"policy_parameter",
                                {E(request, U64), E(policy_parameter.word, STRING),
                                 E(policy_parameter.value, I64)}},
    [EVENT_USER_SET] = {"user_set",
                        {E(request, U64), E(user_set.user, U32), E(user_set.share, U32),
                         E(user_set.name, STRING), L(user_set.since_ns, I64)}},
    [EVENT_USER_LEAVE] = {"user_leave", {E(request, U64), E(user_leave.user, U32)}},
    [EVENT_JOB_PROFILE] = {"job_profile",
                           {E(job_profile.job, U64), E(job_profile.stage, U32),
                            E(job_profile.variant, U32), E(job_profile.read_bytes, U64),
                            E(job_profile.read_bytes_s, U64), E(job_profile.before, U64),
                            E(job_profile.compute_ns, U64)}},
    [EVENT_HOST_DRAIN] = {"host_drain",
                          {E(request, U64), E(host_drain.host, U32), E(host_drain.undo, U32)}},
    [EVENT_HOST_JOIN] = {"host_join", {HOST_JOIN_FIELDS}},
    [EVENT_HOST_CHANGE] = {"host_change", {HOST_JOIN_FIELDS}},
    [EVENT_HOST_SILENT] = {"host_silent", {E(host.host, U32)}},
    [EVENT_HOST_LOST] = {"host_lost", {E(host.host, U32)}},
    [EVENT_HOST_BACK] = {"host_back", {E(host.host, U32)}},
    [EVENT_HOST_LOAD] = {"host_load",
                         {E(host_load.host, U32), E(host_load.resource, U32),
                          E(host_load.permille, U32), E(host_load.users, U32),
                          L(host_load.hangs, U32)}},
    [EVENT_ATTEMPT_SEEN] = {"attempt_seen", {ATTEMPT_SEEN_FIELDS}},
    [EVENT_ATTEMPT_GRANTED] = {"attempt_granted", {ATTEMPT_SEEN_FIELDS}},
    [EVENT_ATTEMPT_QUEUED] = {"attempt_queued", {E(attempt.attempt, U64)}},
    [EVENT_ATTEMPT_STARTED] = {"attempt_started", {E(attempt.attempt, U64)}},
    [EVENT_ATTEMPT_REFUSED] = {"attempt_refused", {E(attempt.attempt, U64)}},
    [EVENT_ATTEMPT_PROGRESS] = {"attempt_progress",
                                {E(attempt.attempt, U64), E(attempt.received_bytes, U64)}},
    [EVENT_ATTEMPT_RECEIVED] = {"attempt_received",
                                {E(attempt.attempt, U64), E(attempt.received_bytes, U64)}},
    [EVENT_ATTEMPT_DONE] = {"attempt_done",
                            {E(attempt.attempt, U64), E(attempt.received_bytes, U64)}},
    [EVENT_ATTEMPT_FAILED] = {"attempt_failed",
                              {E(attempt.attempt, U64), E(attempt.exit_status, I64)}},
    [EVENT_ATTEMPT_KILLED] = {"attempt_killed",
                              {E(attempt.attempt, U64), E(attempt.exit_status, I64)}},
    [EVENT_ATTEMPT_LOST] = {"attempt_lost", {E(attempt.attempt, U64)}},
    [EVENT_OUTPUT_LOST] = {"output_lost",
                           {E(output_lost.job, U64), E(output_lost.stage, U32),
                            E(output_lost.task, U32), E(output_lost.attempt, U64)}},
    [EVENT_SOURCE_STALLED] = {"source_stalled",
                              {E(source.attempt, U64), E(source.host, U32), E(source.others, U32)}},
    [EVENT_SOURCE_FLOWS] = {"source_flows", {E(source.attempt, U64), E(source.host, U32)}},
    [EVENT_HOST_FORGET] = {"host_forget", {E(request, U64), E(host.host, U32)}},
    [EVENT_FRAMEWORK_JOB] = {"framework_job",
                             {E(framework_job.job, U64), E(framework_job.name, STRING),
                              E(framework_job.user, U32), E(framework_job.priority, I64)}},
    [EVENT_FRAMEWORK_STAGE] = {"framework_stage",
                               {E(framework_stage.job, U64), E(framework_stage.stage, U32),
                                E(framework_stage.tasks, U32), E(framework_stage.demand, RESOURCES),
                                E(framework_stage.parents, U32S), E(framework_stage.edges, U32S),
                                E(framework_stage.history, U64), E(framework_stage.phase, U32),
                                E(framework_stage.ungated, U32), L(framework_stage.bindable, U32)}},
    [EVENT_FRAMEWORK_GROW] = {"framework_grow",
                              {E(framework_grow.job, U64), E(framework_grow.stage, U32),
                               E(framework_grow.tasks, U32)}},
    [EVENT_FRAMEWORK_TASKS] = {"framework_tasks",
                               {E(job_tasks.job, U64), E(job_tasks.stage, U32),
                                E(job_tasks.first, U32), E(job_tasks.replicas_per_task, U32),
                                E(job_tasks.replicas, U32S), E(job_tasks.input_bytes, U64S),
                                E(job_tasks.compute_ns, U64S)}},
    [EVENT_FRAMEWORK_BYTES] = {"framework_bytes",
                               {E(framework_bytes.job, U64), E(framework_bytes.stage, U32),
                                E(framework_bytes.parent, U32), E(framework_bytes.form, U32),
                                E(framework_bytes.first, U32), E(framework_bytes.at, U32S),
                                E(framework_bytes.bytes, U64S)}},
    [EVENT_FRAMEWORK_STARTED] = {"framework_started",
                                 {E(framework_task.attempt, U64), E(framework_task.allow, U64),
                                  E(framework_task.job, U64), E(framework_task.stage, U32),
                                  E(framework_task.task, U32), E(framework_task.host, U32),
                                  E(framework_task.unit, U32), E(framework_task.phase, U32),
                                  E(framework_task.resources, RESOURCES),
                                  E(framework_task.received_bytes, U64)}},
    [EVENT_FRAMEWORK_DONE] = {"framework_done",
                              {E(framework_task.attempt, U64), E(framework_task.job, U64),
                               E(framework_task.stage, U32), E(framework_task.task, U32),
                               E(framework_task.host, U32), E(framework_task.received_bytes, U64)}},
    [EVENT_FRAMEWORK_END] = {"framework_end",
                             {E(framework_end.job, U64), E(framework_end.outcome, U32)}},
    [EVENT_FRAMEWORK_ROOM] = {"framework_room",
                              {E(framework_room.application, U64), E(framework_room.tells, U32),
                               E(framework_room.host, U32),
                               E(framework_room.resources, RESOURCES)}},
    [EVENT_FRAMEWORK_OWNER] = {"framework_owner",
                               {E(framework_owner.application, U64), E(framework_owner.tells, U32),
                                E(framework_owner.user, U64), E(framework_owner.key, U64)}},
    [EVENT_JOB_SUBMITTER] = {"job_submitter", {E(job_submitter.submitter, U64)}},
    [EVENT_JOB_HOLD] = {"job_hold",
                        {E(request, U64), E(job_hold.job, U64), E(job_hold.by, STRING),
                         L(job_hold.since_ns, I64)}},
    [EVENT_JOB_RELEASE] = {"job_release", {E(request, U64), E(job_release.job, U64)}},
    [EVENT_JOB_REQUEUE] = {"job_requeue", {E(request, U64), E(job_requeue.job, U64)}},
};

static const struct record_kind decision_kinds[DECISION_KINDS] = {
    [DECISION_START] = {"start",
                        {D(reason, REASON), D(left, I64), D(right, I64), D(start.attempt, U64),
                         D(start.job, U64), D(start.stage, U32), D(start.task, U32),
                         D(start.host, U32), D(start.unit, U32), D(start.resources, RESOURCES),
                         D(start.coflow_level, U64), D(start.macroflow_level, U64),
                         D(start.queue, U32), D(start.input_bytes, U64), M(start.variant, U32)}},
    [DECISION_STOP] = {"stop",
                       {D(reason, REASON), D(left, I64), D(right, I64), D(stop.attempt, U64),
                        D(stop.host, U32), D(stop.grace_ns, U64), D(stop.requeue, U32),
                        M(stop.by_job, U64), M(stop.by_stage, U32), M(stop.by_task, U32)}},
    [DECISION_LEVEL] = {"level",
                        {D(reason, REASON), D(left, I64), D(right, I64), D(level.attempt, U64),
                         D(level.host, U32), D(level.coflow_level, U64),
                         D(level.macroflow_level, U64)}},
    [DECISION_MODE] = {"mode",
                       {D(reason, REASON), D(left, I64), D(right, I64), D(mode.mode, U32),
                        D(mode.sequence, U64)}},
    [DECISION_HOLD] = {"hold",
                       {D(reason, REASON), D(left, I64), D(right, I64), D(hold.job, U64),
                        D(hold.stage, U32), D(hold.host, U32), D(hold.until_ns, I64),
                        M(hold.variant, U32)}},
    [DECISION_UNHOLD] = {"unhold",
                         {D(reason, REASON), D(left, I64), D(right, I64), D(hold.job, U64),
                          D(hold.stage, U32), D(hold.host, U32), D(hold.until_ns, I64),
                          M(hold.variant, U32)}},
    [DECISION_ALLOW] = {"allow",
                        {D(reason, REASON), D(left, I64), D(right, I64), D(allow.job, U64),
                         D(allow.stage, U32), D(allow.host, U32), D(allow.count, U32),
                         D(allow.allow, U64), D(allow.task, U32), D(allow.unit, U32),
                         D(allow.coflow_level, U64), D(allow.macroflow_level, U64),
                         D(allow.input_bytes, U64), D(allow.until_ns, I64)}},
    [DECISION_CLAIM_RESULT] = {"claim_result",
                               {D(reason, REASON), D(left, I64), D(right, I64),
                                D(claim_result.request, U64), D(claim_result.item, U32),
                                D(claim_result.outcome, U32), D(claim_result.token, U64)}},
    [DECISION_JOB_DONE] = {"job_done",
                           {D(reason, REASON), D(left, I64), D(right, I64), D(job_done.job, U64),
                            D(job_done.submitted_ns, I64), D(job_done.finished_ns, I64),
                            D(job_done.slot_wait_ns, I64)}},
    [DECISION_JOB_FAILED] = {"job_failed",
                             {D(reason, REASON), D(left, I64), D(right, I64),
                              D(job_failed.job, U64), D(job_failed.stage, U32),
                              D(job_failed.task, U32), D(job_failed.attempt, U64),
                              D(job_failed.submitted_ns, I64), D(job_failed.finished_ns, I64)}},
    [DECISION_REJECT] = {"reject",
                         {D(reason, REASON), D(left, I64), D(right, I64), D(reject.request, U64),
                          D(reject.event, U32)}},
    [DECISION_FORGET] = {"forget",
                         {D(reason, REASON), D(left, I64), D(right, I64), D(forget.job, U64),
                          D(forget.host, U32)}},
    [DECISION_ALLOW_END] = {"allow_end",
                            {D(reason, REASON), D(left, I64), D(right, I64),
                             D(allow_end.allow, U64), D(allow_end.job, U64),
                             D(allow_end.stage, U32), D(allow_end.host, U32)}},
    [DECISION_OPEN] = {"open",
                       {D(reason, REASON), D(left, I64), D(right, I64), D(open.job, U64),
                        D(open.stage, U32)}},
    [DECISION_BIND] = {"bind",
                       {D(reason, REASON), D(left, I64), D(right, I64), D(bind.job, U64),
                        D(bind.stage, U32)}},
};

int record_encode_event(const struct event *event, char *buffer, size_t size)
{
    return event->kind < EVENT_KINDS && event_kinds[event->kind].name
               ? field_encode(&event_kinds[event->kind], event, buffer, size)
               : -EINVAL;
}

int record_encode_decision(const struct decision *decision, char *buffer, size_t size)
{
    return decision->kind < DECISION_KINDS
               ? field_encode(&decision_kinds[decision->kind], decision, buffer, size)
               : -EINVAL;
}

int record_decode_event(const char *line, struct record_room *room, struct event *ret_event,
                        struct err *err)
{
    int kind = field_kind(event_kinds, EVENT_KINDS, line, err);
    if (kind < 0)
        return kind;
    *ret_event = (struct event){.kind = (enum event_kind)kind};
    return field_decode(&event_kinds[kind], line, room, ret_event, err);
}

int record_decode_decision(const char *line, struct decision *ret_decision, struct err *err)
{
    int kind = field_kind(decision_kinds, DECISION_KINDS, line, err);
    if (kind < 0)
        return kind;
    memset(ret_decision, 0, sizeof(*ret_decision));
    ret_decision->kind = (enum decision_kind)kind;
    return field_decode(&decision_kinds[kind], line, NULL, ret_decision, err);
}

void record_room_done(struct record_room *room)
{
    free(room->at);
    *room = (struct record_room){0};
}

int record_field_u64(const char *line, const char *name, uint64_t *ret_value)
{
    size_t length = strlen(name);
    for (const char *at = strchr(line, ' '); at; at = strchr(at + 1, ' ')) {
        if (strncmp(at + 1, name, length) != 0 || at[1 + length] != '=')
            continue;
        return number_take(at + 2 + length, UINT64_MAX, ret_value) ? 0 : -ERANGE;
    }
    return -ENOENT;
}
