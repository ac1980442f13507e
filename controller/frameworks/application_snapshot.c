#include "controller/frameworks/application.h"
#include "controller/frameworks/framework_numbers.h"

#include <string.h>

#define ROOM(list) (sizeof(list) / sizeof((list)[0]))
#define LEVEL_LAST 7

static uint32_t level_of(uint64_t level)
{
    return level > LEVEL_LAST ? LEVEL_LAST : (uint32_t)level;
}

void application_snapshot_send(struct application *application, int64_t now_ns, bool last)
{
    struct frameworks *frameworks = application->frameworks;
    duopoly_Snapshot *next = &application->next;
    const uint64_t number = next->number + 1;
    const bool whole = next->whole;
    next->number = number;
    next->last = last;
    next->valid_ms = FRAMEWORK_VALID_MS;
    wire_begin(&frameworks->out, duopoly_Envelope_snapshot_tag)->body.snapshot = *next;
    memset(next, 0, sizeof(*next));
    next->number = number;
    next->whole = whole && !last;
    application->spoke_ns = now_ns;
    frameworks->counters.snapshots++;
    application_send(application, true);
}

/* Room for one more in a list of `next`: sends the snapshot first if it is full. */
#define LIST_ADD(application, list)                                                                \
    ((application)->next.list##_count == ROOM((application)->next.list)                            \
         ? (application_snapshot_send(application, (application)->heard_ns, false),                \
            &(application)->next.list[(application)->next.list##_count++])                         \
         : &(application)->next.list[(application)->next.list##_count++])

const char *application_host_name(const struct application *application, uint32_t host)
{
    const struct frameworks *frameworks = application->frameworks;
    const char *own = executors_host_name(application, host);
    return own ? own : frameworks->hooks.host_name(frameworks->hooks.user, host);
}

void application_allow_fill(const struct application *application, int64_t now_ns,
                            const struct attempt_view *allow, duopoly_Allow *out)
{
    const int64_t left_ns = allow->allow_until_ns - now_ns;
    *out = (duopoly_Allow){.allow = allow->attempt,
                           .job = framework_job_of(allow->job),
                           .stage = allow->stage,
                           .task = allow->task,
                           .coflow_level = level_of(allow->coflow_level),
                           .macroflow_level = level_of(allow->macroflow_level),
                           .until_ms = left_ns > 0 ? (uint32_t)(left_ns / 1000000) : 0};
    wire_copy(out->host, sizeof(out->host), application_host_name(application, allow->host));
}

void application_allow_add(struct application *application, int64_t now_ns,
                           const struct attempt_view *allow)
{
    application_allow_fill(application, now_ns, allow, LIST_ADD(application, allows));
}

void application_allow(struct application *application, int64_t now_ns,
                       const struct decision *decision)
{
    const struct attempt_view allow = {.attempt = decision->allow.allow,
                                       .job = decision->allow.job,
                                       .stage = decision->allow.stage,
                                       .task = decision->allow.task,
                                       .host = decision->allow.host,
                                       .coflow_level = decision->allow.coflow_level,
                                       .macroflow_level = decision->allow.macroflow_level,
                                       .allow_until_ns = decision->allow.until_ns};
    if (!application_tells_later(application, allow.job, allow.stage))
        application_allow_add(application, now_ns, &allow);
    application_guests_allow(application, now_ns, &allow);
}

void application_end_allow(struct application *application, const struct decision *decision)
{
    *LIST_ADD(application, ended) = decision->allow_end.allow;
}

void application_open(struct application *application, uint64_t job, uint32_t stage)
{
    *LIST_ADD(application, opened) = (duopoly_OpenedStage){framework_job_of(job), stage};
}

void application_bind(struct application *application, uint64_t job, uint32_t stage)
{
    *LIST_ADD(application, bound) = (duopoly_OpenedStage){framework_job_of(job), stage};
}

duopoly_TaskLevels application_level_of(uint64_t attempt, uint64_t coflow_level,
                                        uint64_t macroflow_level)
{
    return (duopoly_TaskLevels){(uint32_t)attempt, level_of(coflow_level),
                                level_of(macroflow_level)};
}

void application_level(struct application *application, uint64_t attempt, uint64_t coflow_level,
                       uint64_t macroflow_level)
{
    *LIST_ADD(application, levels) = application_level_of(attempt, coflow_level, macroflow_level);
}

void application_order(struct application *application)
{
    const struct engine *engine = application->frameworks->engine;
    duopoly_Snapshot *next = &application->next;
    uint64_t digest = FNV1A_NOTHING;
    struct job_view job = {0};
    next->order_count = 0;
    for (uint32_t n = 0; n < FRAMEWORK_ORDER && engine_job_in_turn(engine, job.job, &job) == 0;
         n++) {
        if (!framework_owns_job(application->bits, job.job))
            continue;
        next->order[next->order_count++] = framework_job_of(job.job);
        digest = fnv1a(digest, &job.job, sizeof(job.job));
    }
    next->ordered = next->whole || digest != application->told;
    if (!next->ordered)
        next->order_count = 0;
    application->told = digest;
    application->stale = false;
}

void application_flush(struct application *application, int64_t now_ns, bool beat)
{
    struct frameworks *frameworks = application->frameworks;
    const duopoly_Snapshot *next = &application->next;
    if (beat && application->stale)
        application_order(application);
    if (beat || next->allows_count || next->ended_count || next->opened_count ||
        next->bound_count || next->levels_count || next->ordered)
        application_snapshot_send(application, now_ns, application->telling.of == TELLS_NOTHING);
    else if (wire_session_owes(&application->session)) {
        wire_begin(&frameworks->out, duopoly_Envelope_acknowledge_tag);
        application_send(application, false);
    }
}
