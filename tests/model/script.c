#include "tests/model/script.h"
#include "tests/model/script_dump.h"

#include "controller/engine/base/record.h"

struct engine_config script_config(void)
{
    struct engine_config config;
    engine_config_default(&config);
    config.hosts_max = 4096;
    return config;
}

void script_begin(struct script *script, const struct engine_config *config)
{
    struct err err = {0};
    memset(script, 0, sizeof(*script));
    if (engine_create(config, &script->engine, &err) < 0)
        fail_msg("engine_create: %s", err.text);
}

void script_end(struct script *script)
{
    engine_destroy(script->engine);
    decisions_done(&script->decisions);
}

/* Puts load(dump(engine)) in the engine's place; both have the same dump. */
static void script_reload(struct script *script)
{
    struct engine *loaded = load_dump_of(script->engine);
    assert_int_equal(engine_deadline_ns(loaded), engine_deadline_ns(script->engine));
    engine_destroy(script->engine);
    script->engine = loaded;
}

void script_events(struct script *script, const struct event *events, size_t n)
{
    assert_int_equal(engine_step(script->engine, script->now_ns, events, n, &script->decisions), 0);
    if (script->reload)
        script_reload(script);
}

void script_event(struct script *script, struct event event)
{
    script_events(script, &event, 1);
}

struct event script_join(uint32_t host, uint64_t slots,
                         const uint64_t vector[static ENGINE_RESOURCES])
{
    static char names[4096][16];
    snprintf(names[host % 4096], sizeof(names[0]), "h%u", host);
    (void)slots;
    struct event event = {.kind = EVENT_HOST_JOIN};
    event.host_join.host = host;
    event.host_join.generation = 1;
    event.host_join.name = names[host % 4096];
    event.host_join.rack = "";
    event.host_join.labels = "";
    event.host_join.uplink_bps = event.host_join.downlink_bps = 1000000000;
    event.host_join.units = (struct u64s){vector, ENGINE_RESOURCES};
    return event;
}

void script_host(struct script *script, uint32_t host, uint64_t slots)
{
    uint64_t vector[ENGINE_RESOURCES] = {slots};
    script_event(script, script_join(host, slots, vector));
}

void script_load(struct script *script, uint32_t host, uint32_t permille)
{
    struct event event = {.kind = EVENT_HOST_LOAD};
    event.host_load.host = host;
    event.host_load.resource = LOAD_UPLINK;
    event.host_load.permille = permille;
    script_event(script, event);
}

size_t script_job_events(const struct script_job *job, struct event *events, uint64_t *room,
                         char *name, size_t name_size)
{
    static const uint32_t parent[] = {0}, barrier[] = {EDGE_BARRIER};
    size_t n = 0;
    memset(events, 0, 8 * sizeof(*events));
    snprintf(name, name_size, "job-%llu", (unsigned long long)job->number);
    events[n].kind = EVENT_JOB_BEGIN;
    events[n].job_begin.job = job->number;
    events[n].job_begin.name = name;
    events[n].job_begin.content = job->number;
    events[n].job_begin.estimate_bytes = job->estimate_bytes ? job->estimate_bytes : -1;
    events[n++].job_begin.estimate_ns = -1;
    for (uint32_t s = 0; s < (job->reduces ? 2u : 1u); s++) {
        uint32_t tasks = s ? job->reduces : job->maps, per = s ? 0 : job->per;
        events[n].kind = EVENT_JOB_STAGE;
        events[n].job_stage.job = job->number;
        events[n].job_stage.stage = s;
        events[n].job_stage.tasks = tasks;
        events[n].job_stage.demand.amount[RES_SLOTS] = 1;
        events[n].job_stage.command = s ? "reduce" : "map";
        events[n].job_stage.constraint = "";
        events[n].job_stage.parents = (struct u32s){parent, s};
        events[n++].job_stage.edges = (struct u32s){barrier, s};
        uint64_t *compute = room + (s ? 2 * (size_t)job->maps : 0), *input = compute + tasks;
        for (uint32_t i = 0; i < tasks; i++) {
            compute[i] = s ? job->reduce_ns : job->map_ns;
            input[i] = s ? 0 : job->map_input;
        }
        events[n].kind = EVENT_JOB_TASKS;
        events[n].job_tasks.job = job->number;
        events[n].job_tasks.stage = s;
        events[n].job_tasks.replicas_per_task = per;
        events[n].job_tasks.replicas = (struct u32s){job->replicas, per * tasks};
        events[n].job_tasks.compute_ns = (struct u64s){compute, tasks};
        events[n++].job_tasks.input_bytes = (struct u64s){input, tasks};
    }
    if (job->reduces) {
        events[n].kind = EVENT_JOB_BYTES;
        events[n].job_bytes.job = job->number;
        events[n].job_bytes.stage = 1;
        events[n++].job_bytes.bytes = (struct u64s){job->sums, job->reduces};
    }
    events[n].kind = EVENT_JOB_END;
    events[n++].job_end.job = job->number;
    return n;
}

void script_submit(struct script *script, const struct script_job *job)
{
    struct event events[8];
    char name[32];
    uint64_t *room = calloc(2 * (size_t)(job->maps + job->reduces) + 1, sizeof(*room));
    size_t n = script_job_events(job, events, room, name, sizeof(name));
    events[0].job_begin.user = script->user;
    events[0].job_begin.priority = script->priority;
    script_events(script, events, n);
    free(room);
}

void script_attempt(struct script *script, enum event_kind kind, uint64_t attempt, uint64_t bytes)
{
    struct event event = {.kind = kind};
    event.attempt.attempt = attempt;
    event.attempt.received_bytes = bytes;
    script_event(script, event);
}

const struct decision *script_decision(const struct script *script, enum decision_kind kind,
                                       size_t n)
{
    for (size_t i = 0; i < script->decisions.n; i++)
        if (script->decisions.at[i].kind == kind && n-- == 0)
            return &script->decisions.at[i];
    return NULL;
}

size_t script_count(const struct script *script, enum decision_kind kind)
{
    size_t n = 0;
    while (script_decision(script, kind, n))
        n++;
    return n;
}

const struct decision *script_start(const struct script *script, uint64_t job, uint32_t stage,
                                    uint32_t task)
{
    const struct decision *decision;
    for (size_t n = 0; (decision = script_decision(script, DECISION_START, n)); n++)
        if (decision->start.job == job && decision->start.stage == stage &&
            decision->start.task == task)
            return decision;
    return NULL;
}

struct event script_begin_event(uint64_t job, const char *name)
{
    struct event event = {.kind = EVENT_JOB_BEGIN, .request = job};
    event.job_begin.job = job;
    event.job_begin.name = name;
    event.job_begin.content = job;
    event.job_begin.estimate_bytes = event.job_begin.estimate_ns = -1;
    return event;
}

struct event script_stage_event(uint64_t job, uint32_t stage, uint32_t tasks,
                                const uint32_t *parent, const uint32_t *edge)
{
    struct event event = {.kind = EVENT_JOB_STAGE, .request = job};
    event.job_stage.job = job;
    event.job_stage.stage = stage;
    event.job_stage.tasks = tasks;
    event.job_stage.demand.amount[RES_SLOTS] = 1;
    event.job_stage.command = event.job_stage.constraint = "";
    event.job_stage.parents = (struct u32s){parent, parent != NULL};
    event.job_stage.edges = (struct u32s){edge, parent != NULL};
    return event;
}

void script_job_begin(struct script *script, uint64_t job)
{
    char name[32];
    snprintf(name, sizeof(name), "job-%llu", (unsigned long long)job);
    script_event(script, script_begin_event(job, name));
}

void script_stage(struct script *script, uint64_t job, uint32_t stage, uint32_t tasks,
                  uint32_t parent, uint32_t edge)
{
    script_event(script, script_stage_event(job, stage, tasks,
                                            parent == ENGINE_NONE ? NULL : &parent, &edge));
}

void script_tasks(struct script *script, uint64_t job, uint32_t stage, uint32_t n, uint64_t input,
                  uint32_t per, const uint32_t *replicas)
{
    uint64_t inputs[64], compute[64] = {0};
    struct event event = {.kind = EVENT_JOB_TASKS, .request = job};
    for (uint32_t i = 0; i < 64; i++)
        inputs[i] = input;
    event.job_tasks.job = job;
    event.job_tasks.stage = stage;
    event.job_tasks.replicas_per_task = per;
    event.job_tasks.replicas = (struct u32s){replicas, n * per};
    event.job_tasks.input_bytes = (struct u64s){inputs, n};
    event.job_tasks.compute_ns = (struct u64s){compute, n};
    script_event(script, event);
}

void script_bytes(struct script *script, uint64_t job, uint32_t stage, uint32_t parent, uint32_t n,
                  uint64_t bytes)
{
    uint64_t sums[64];
    struct event event = {.kind = EVENT_JOB_BYTES, .request = job};
    for (uint32_t i = 0; i < 64; i++)
        sums[i] = bytes;
    event.job_bytes.job = job;
    event.job_bytes.stage = stage;
    event.job_bytes.parent = parent;
    event.job_bytes.bytes = (struct u64s){sums, n};
    script_event(script, event);
}

void script_job_end(struct script *script, uint64_t job)
{
    struct event event = {.kind = EVENT_JOB_END, .request = job};
    event.job_end.job = job;
    script_event(script, event);
}

void script_cancel(struct script *script, uint64_t job)
{
    struct event event = {.kind = EVENT_JOB_CANCEL, .request = job};
    event.job_cancel.job = job;
    script_event(script, event);
}

enum reason script_policy(struct script *script, const char *question, const char *name)
{
    struct event event = {.kind = EVENT_POLICY_SET, .request = ++script->requests};
    event.policy_set.question = question;
    event.policy_set.name = name;
    script_event(script, event);
    return script_rejection(script);
}

enum reason script_parameter(struct script *script, const char *word, int64_t value)
{
    struct event event = {.kind = EVENT_POLICY_PARAMETER, .request = ++script->requests};
    event.policy_parameter.word = word;
    event.policy_parameter.value = value;
    script_event(script, event);
    return script_rejection(script);
}

void script_output_lost(struct script *script, uint64_t job, uint32_t task, uint64_t attempt)
{
    struct event event = {.kind = EVENT_OUTPUT_LOST};
    event.output_lost.job = job;
    event.output_lost.task = task;
    event.output_lost.attempt = attempt;
    script_event(script, event);
}

void script_user(struct script *script, uint32_t user, const char *name, uint32_t share)
{
    struct event event = {.kind = EVENT_USER_SET, .request = ++script->requests};
    event.user_set.user = user;
    event.user_set.name = name;
    event.user_set.share = share;
    script_event(script, event);
}

void script_user_leave(struct script *script, uint32_t user)
{
    struct event event = {.kind = EVENT_USER_LEAVE, .request = ++script->requests};
    event.user_leave.user = user;
    script_event(script, event);
}

void script_host_event(struct script *script, enum event_kind kind, uint32_t host)
{
    struct event event = {.kind = kind};
    event.host.host = host;
    script_event(script, event);
}

struct event script_seen_event(uint64_t attempt, uint64_t job, uint32_t stage, uint32_t task,
                               uint32_t host)
{
    struct event event = {.kind = EVENT_ATTEMPT_SEEN};
    event.attempt_seen.attempt = attempt;
    event.attempt_seen.job = job;
    event.attempt_seen.stage = stage;
    event.attempt_seen.task = task;
    event.attempt_seen.host = host;
    event.attempt_seen.phase = ATTEMPT_STARTED;
    event.attempt_seen.resources.amount[RES_SLOTS] = 1;
    return event;
}

enum reason script_rejection(const struct script *script)
{
    const struct decision *reject = script_decision(script, DECISION_REJECT, 0);
    return reject ? reject->reason : REASON_NONE;
}

struct host_view script_host_view(const struct script *script, uint32_t host)
{
    struct host_view view;
    assert_int_equal(engine_host(script->engine, host, &view), 0);
    return view;
}

struct job_view script_job_view(const struct script *script, uint64_t job)
{
    struct job_view view;
    assert_int_equal(engine_job(script->engine, job, &view), 0);
    return view;
}

struct task_view script_task_view(const struct script *script, uint64_t job, uint32_t stage,
                                  uint32_t task)
{
    struct task_view view;
    assert_int_equal(engine_task(script->engine, job, stage, task, &view), 0);
    return view;
}

struct attempt_view script_attempt_view(const struct script *script, uint64_t attempt)
{
    struct attempt_view view;
    assert_int_equal(engine_attempt(script->engine, attempt, &view), 0);
    return view;
}

struct engine_status script_status(const struct script *script)
{
    struct engine_status status;
    engine_status(script->engine, &status);
    return status;
}

struct engine_counters script_counters(const struct script *script)
{
    struct engine_counters counters;
    engine_counters(script->engine, &counters);
    return counters;
}

struct event script_framework_stage(uint64_t job, uint32_t stage, uint32_t tasks, bool reads)
{
    static const uint32_t parent[] = {0}, edge[] = {EDGE_BARRIER};
    struct event event = {.kind = EVENT_FRAMEWORK_STAGE};
    event.framework_stage.job = job;
    event.framework_stage.stage = stage;
    event.framework_stage.tasks = tasks;
    event.framework_stage.demand.amount[RES_SLOTS] = 1;
    event.framework_stage.parents = (struct u32s){parent, reads};
    event.framework_stage.edges = (struct u32s){edge, reads};
    return event;
}

void script_offer(struct script *script, uint64_t job, uint32_t tasks)
{
    struct event event = script_framework_stage(job, 0, tasks, false);
    event.framework_stage.phase = FRAMEWORK_OFFERED;
    script_event(script, event);
}

void script_started(struct script *script, uint64_t attempt, uint64_t job, uint32_t stage,
                    uint32_t task, uint32_t host)
{
    struct event event = {.kind = EVENT_FRAMEWORK_STARTED};
    event.framework_task.attempt = attempt;
    event.framework_task.job = job;
    event.framework_task.stage = stage;
    event.framework_task.task = task;
    event.framework_task.host = host;
    event.framework_task.phase = ATTEMPT_STARTED;
    event.framework_task.resources.amount[RES_SLOTS] = 1;
    script_event(script, event);
}

void script_framework_end(struct script *script, uint64_t job)
{
    struct event event = {.kind = EVENT_FRAMEWORK_END};
    event.framework_end.job = job;
    event.framework_end.outcome = JOB_DONE;
    script_event(script, event);
}

enum task_state script_task_state(const struct script *script, uint64_t job, uint32_t stage,
                                  uint32_t task)
{
    return script_task_view(script, job, stage, task).state;
}

uint64_t script_attempt_of(const struct script *script, uint64_t job, uint32_t stage, uint32_t task)
{
    return script_task_view(script, job, stage, task).attempt;
}

/* WHY a word for none: where one has a decision more, it is shown. */
static void decision_write(const struct decisions *decisions, size_t i, char *ret_line, size_t size)
{
    if (i < decisions->n)
        assert_true(record_encode_decision(&decisions->at[i], ret_line, size) > 0);
    else
        strcpy(ret_line, "nothing");
}

void script_same_decisions(const struct decisions *a, const struct decisions *b)
{
    static char left[1 << 16], right[1 << 16];
    for (size_t i = 0; i < a->n || i < b->n; i++) {
        decision_write(a, i, left, sizeof(left));
        decision_write(b, i, right, sizeof(right));
        assert_string_equal(left, right);
    }
}
