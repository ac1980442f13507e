#include "controller/frameworks/application.h"
#include "controller/frameworks/framework_numbers.h"

#include "lib/container_of.h"
#include "lib/log.h"

#include <stdlib.h>

/* A stage whose tasks a fact is about. */
struct need {
    uint64_t job;
    uint32_t stage;
    uint64_t tasks; /* the last of them; 0: none */
};

/* A fact is about tasks of one stage, or also of one that it reads from. */
enum { NEEDS = 2 };

struct waiting_message {
    STAILQ_ENTRY(waiting_message) next;
    struct need needs[NEEDS];
    bool asked; /* the tasks were asked for: what is missing now is beyond a bound */
    size_t length;
    uint8_t bytes[];
};

/* The engine ignores cells of tasks from FRAMEWORK_TASKS_MAX on, and takes the others. */
static uint64_t reduces_of(const duopoly_FrameworkBytes *bytes)
{
    uint64_t n = 0;
    switch (bytes->form) {
    case duopoly_BytesForm_FORM_SUMS:
        return bytes->bytes_count ? (uint64_t)bytes->first + bytes->bytes_count : 0;
    case duopoly_BytesForm_FORM_ROW:
        return bytes->bytes_count;
    case duopoly_BytesForm_FORM_CELLS:
        for (pb_size_t i = 0; i < bytes->at_count; i++)
            n = bytes->at[i] < FRAMEWORK_TASKS_MAX && bytes->at[i] >= n ? bytes->at[i] + 1 : n;
        return n;
    case duopoly_BytesForm_FORM_HOSTS:
        return (uint64_t)bytes->first + 1;
    default:
        return 0;
    }
}

static bool names_map(const duopoly_FrameworkBytes *bytes)
{
    return bytes->form == duopoly_BytesForm_FORM_ROW || bytes->form == duopoly_BytesForm_FORM_CELLS;
}

static void bytes_need(uint64_t bits, const duopoly_FrameworkBytes *bytes, struct need *ret_needs)
{
    const uint64_t job = framework_job_number(bits, bytes->job & FRAMEWORK_JOB_MAX);
    if (bytes->parent >= bytes->stage)
        return;
    ret_needs[0] = (struct need){job, bytes->stage, reduces_of(bytes)};
    if (names_map(bytes))
        ret_needs[1] = (struct need){job, bytes->parent, (uint64_t)bytes->first + 1};
}

static void needs_find(uint64_t bits, const duopoly_Envelope *envelope, struct need *ret_needs)
{
    const duopoly_FrameworkTasks *tasks = &envelope->body.framework_tasks;
    const duopoly_FrameworkTask *task = &envelope->body.framework_task;
    switch (envelope->which_body) {
    case duopoly_Envelope_framework_tasks_tag:
        if (tasks->tasks_count)
            ret_needs[0] = (struct need){framework_job_number(bits, tasks->job & FRAMEWORK_JOB_MAX),
                                         tasks->stage, (uint64_t)tasks->first + tasks->tasks_count};
        break;
    case duopoly_Envelope_framework_bytes_tag:
        bytes_need(bits, &envelope->body.framework_bytes, ret_needs);
        break;
    case duopoly_Envelope_framework_task_tag:
        if (task->state == duopoly_FrameworkTaskState_TASK_STARTED ||
            task->state == duopoly_FrameworkTaskState_TASK_DONE)
            ret_needs[0] = (struct need){framework_job_number(bits, task->job & FRAMEWORK_JOB_MAX),
                                         task->stage, (uint64_t)task->task + 1};
        break;
    default:
        break;
    }
}

static enum engine_growth growth_of(const struct application *application, const struct need *need)
{
    return engine_growth(application->frameworks->engine, need->job, need->stage, need->tasks);
}

static bool needs_many(const struct application *application, const struct need *needs)
{
    return growth_of(application, &needs[0]) != GROWTH_NEAR ||
           growth_of(application, &needs[1]) != GROWTH_NEAR;
}

static bool is_ready(const struct application *application, const struct waiting_message *message)
{
    for (int i = 0; i < NEEDS; i++) {
        const enum engine_growth growth = growth_of(application, &message->needs[i]);
        if (growth == GROWTH_UNDER_WAY || (growth == GROWTH_FAR && !message->asked))
            return false;
    }
    return true;
}

/* Each time it is asked, a portion is made. */
static void ask(const struct application *application, struct waiting_message *message)
{
    const struct frameworks_hooks *hooks = &application->frameworks->hooks;
    message->asked = true;
    for (int i = 0; i < NEEDS; i++) {
        const struct need *need = &message->needs[i];
        struct event event = {.kind = EVENT_FRAMEWORK_GROW};
        if (growth_of(application, need) == GROWTH_NEAR)
            continue;
        event.framework_grow.job = need->job;
        event.framework_grow.stage = need->stage;
        event.framework_grow.tasks = (uint32_t)need->tasks;
        hooks->event(hooks->user, &event);
    }
}

static void drop_first(struct application *application)
{
    struct waiting_message *message = STAILQ_FIRST(&application->waits.line);
    STAILQ_REMOVE_HEAD(&application->waits.line, next);
    application->waits.bytes -= sizeof(*message) + message->length;
    application->frameworks->waiting_bytes -= sizeof(*message) + message->length;
    free(message);
}

static void go_on(struct application *application, int64_t now_ns)
{
    struct waiting_message *first = STAILQ_FIRST(&application->waits.line);
    duopoly_Envelope *envelope = &application->frameworks->waited;
    if (!first)
        return;
    if (!is_ready(application, first)) {
        ask(application, first);
        return;
    }
    const bool whole = wire_decode(first->bytes, first->length, envelope, NULL) == 0;
    drop_first(application);
    if (whole)
        application_take(application, now_ns, envelope);
}

/* False: there is no room, or memory is short. */
static bool add(struct application *application, const struct need *needs,
                const duopoly_Envelope *envelope)
{
    struct waits *waits = &application->waits;
    struct frameworks *frameworks = application->frameworks;
    const size_t size = wire_length(envelope), whole = sizeof(struct waiting_message) + size;
    if (!size || waits->bytes + whole > FRAMEWORK_WAITING - frameworks->waiting_bytes)
        return false;
    struct waiting_message *message = malloc(whole);
    if (!message)
        return false;
    *message = (struct waiting_message){.needs = {needs[0], needs[1]}};
    if (wire_encode(envelope, message->bytes, size, &message->length, NULL) < 0 ||
        message->length != size) {
        free(message);
        return false;
    }
    STAILQ_INSERT_TAIL(&waits->line, message, next);
    waits->bytes += whole;
    frameworks->waiting_bytes += whole;
    frameworks->counters.waited++;
    return true;
}

static void too_many(struct application *application, int64_t now_ns)
{
    log_warning(LOG_FAULT_PEER,
                "application %s reports too much while tasks that it named are being made: its "
                "session ends, and it goes on without duopoly for a while",
                application->name);
    application_limit(application, now_ns,
                      "this application reports too much while tasks that it named are being made; "
                      "go on without, and say HELLO later");
}

void application_take_in_order(struct application *application, int64_t now_ns,
                               const duopoly_Envelope *envelope)
{
    struct need needs[NEEDS] = {0};
    needs_find(application->bits, envelope, needs);
    if (envelope->which_body == duopoly_Envelope_acknowledge_tag ||
        (STAILQ_EMPTY(&application->waits.line) && !needs_many(application, needs)))
        application_take(application, now_ns, envelope);
    else if (add(application, needs, envelope))
        go_on(application, now_ns);
    else
        too_many(application, now_ns);
}

static void work(void *of, int64_t now_ns)
{
    go_on(of, now_ns);
}

static void on_turn(struct timer *timer, int64_t now_ns)
{
    struct application *application = container_of(timer, struct application, waits.turn);
    const struct frameworks_hooks *hooks = &application->frameworks->hooks;
    hooks->work(hooks->user, application_number(application), work, application, now_ns);
}

void application_waits_begin(struct application *application)
{
    STAILQ_INIT(&application->waits.line);
    application->waits.turn.fire = on_turn;
}

void application_waits_end(struct application *application)
{
    timers_disarm(application->frameworks->timers, &application->waits.turn);
    while (!STAILQ_EMPTY(&application->waits.line))
        drop_first(application);
}

void application_waits_look(struct application *application, int64_t now_ns)
{
    const struct waiting_message *first = STAILQ_FIRST(&application->waits.line);
    if (first && (!first->asked || is_ready(application, first)) && !application->waits.turn.armed)
        timers_arm(application->frameworks->timers, &application->waits.turn, now_ns);
}
