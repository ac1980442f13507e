#include "controller/engine/facts/attempts.h"

#include "controller/engine/books/attempt.h"
#include "controller/engine/books/cluster.h"
#include "controller/engine/books/job.h"
#include "controller/engine/books/stage.h"
#include "controller/engine/policy/questions.h"
#include "controller/engine/watch/levels.h"
#include "controller/engine/watch/source.h"

static void has_input(struct engine *engine, struct attempt *attempt)
{
    attempt_set_state(engine, attempt, ATTEMPT_COMPUTING);
    attempt->received_ns = engine->now_ns;
}

enum attempt_state attempt_seen_phase(uint32_t phase)
{
    return phase >= ATTEMPT_QUEUED && phase <= ATTEMPT_COMPUTING ? (enum attempt_state)phase
                                                                 : ATTEMPT_STARTED;
}

/* Of several attempts of ours the newest counts: another one is begun only when the one before is
 * taken for lost. If that one has a result all the same, it is accepted. Copies that a framework
 * makes are meant to run side by side. */
static void stop_older(struct engine *engine, const struct task *task)
{
    struct attempt *newest = task->attempts, *other;
    while (newest && !attempt_is_ours(engine, newest->number))
        newest = newest->next_of_task;
    for (other = newest ? newest->next_of_task : NULL; other; other = other->next_of_task)
        if (attempt_is_ours(engine, other->number))
            attempt_stop(engine, other, REASON_REPLACED, false);
}

/* WHY: its start was charged after the last time that position and debts were kept. */
static void charge_missing(struct engine *engine, struct attempt *attempt)
{
    struct claim claim = {.task = attempt->task};
    bool charged = !engine->users_charged || attempt->number <= engine->users_charged ||
                   attempt->number >> 32 == engine->config.epoch;
    if (!charged && attempt_is_ours(engine, attempt->number) && engine->division->charge)
        engine->division->charge(engine, &claim);
}

static void adopt(struct engine *engine, const struct event *event, struct host *host)
{
    struct task *task = job_find_task(engine, event->attempt_seen.job, event->attempt_seen.stage,
                                      event->attempt_seen.task);
    if (task && task->stage->job->state != JOB_ACTIVE)
        task = NULL;
    bool over = task && task_state(task) == TASK_DONE;
    if (task && !over)
        task_run(engine, task);
    struct resources resources = event->attempt_seen.resources;
    for (int r = 0; r < ENGINE_RESOURCES; r++)
        resources.amount[r] = resources.amount[r] > 0 ? resources.amount[r] : 0;
    struct attempt *attempt =
        attempt_create(engine, event->attempt_seen.attempt, over ? NULL : task, host,
                       event->attempt_seen.unit, &resources);
    attempt->job_number = event->attempt_seen.job;
    attempt->stage_index = event->attempt_seen.stage;
    attempt->task_index = event->attempt_seen.task;
    attempt->variant = event->attempt_seen.variant;
    attempt_set_state(engine, attempt, attempt_seen_phase(event->attempt_seen.phase));
    if (!attempt->task) {
        attempt_stop(engine, attempt, over ? REASON_REPLACED : REASON_ORPHAN, false);
    } else {
        attempt_set_sizes(engine, attempt);
        attempt_set_receiving(engine, attempt,
                              attempt->remote_bytes > 0 && attempt->state != ATTEMPT_COMPUTING);
        attempt_count_bytes(engine, attempt, event->attempt_seen.received_bytes);
        attempt_tell_levels(engine, attempt);
        charge_missing(engine, attempt);
        stop_older(engine, task);
    }
    host_touch(engine, host);
}

void attempt_seen(struct engine *engine, const struct event *event)
{
    /* 0 is no attempt's number. */
    engine->counters.ignored_facts += !event->attempt_seen.attempt;
    struct host *host =
        event->attempt_seen.attempt ? cluster_adopt(engine, event->attempt_seen.host) : NULL;
    if (!host)
        return;
    struct attempt *attempt = attempt_find(engine, event->attempt_seen.attempt);
    if (!attempt) {
        adopt(engine, event, host);
        return;
    }
    if (attempt->allowed_until_ns) {
        engine->counters.ignored_facts++;
        return;
    }
    attempt_follow(engine, attempt, attempt_seen_phase(event->attempt_seen.phase),
                   event->attempt_seen.received_bytes);
    if (attempt->stopping) {
        attempt->stopping = false;
        attempt_stop(engine, attempt, REASON_REPLACED, false);
    }
}

void attempt_follow(struct engine *engine, struct attempt *attempt, enum attempt_state phase,
                    uint64_t received_bytes)
{
    attempt_count_bytes(engine, attempt, received_bytes);
    bool was_computing = attempt->state == ATTEMPT_COMPUTING;
    if (phase > attempt->state)
        attempt_set_state(engine, attempt, phase);
    if (!was_computing && attempt->state == ATTEMPT_COMPUTING)
        has_input(engine, attempt);
    if (attempt->state == ATTEMPT_COMPUTING && (attempt->receiving || !was_computing)) {
        if (attempt->receiving)
            source_received(engine, attempt);
        attempt_set_receiving(engine, attempt, false);
        host_touch(engine, attempt->host);
    }
}

void attempt_queued(struct engine *engine, const struct event *event)
{
    struct attempt *attempt = attempt_known(engine, event);
    if (attempt && attempt->state == ATTEMPT_SENT)
        attempt_set_state(engine, attempt, ATTEMPT_QUEUED);
}

void attempt_started(struct engine *engine, const struct event *event)
{
    struct attempt *attempt = attempt_known(engine, event);
    if (attempt && attempt->state <= ATTEMPT_STARTED)
        attempt_set_state(engine, attempt,
                          attempt->receiving                      ? ATTEMPT_RECEIVING
                          : attempt->task && attempt->task->bytes ? ATTEMPT_STARTED
                                                                  : ATTEMPT_COMPUTING);
}

void attempt_progress(struct engine *engine, const struct event *event)
{
    struct attempt *attempt = attempt_known(engine, event);
    if (attempt)
        attempt_count_bytes(engine, attempt, event->attempt.received_bytes);
}

void attempt_received(struct engine *engine, const struct event *event)
{
    struct attempt *attempt = attempt_known(engine, event);
    if (!attempt)
        return;
    attempt_count_bytes(engine, attempt, event->attempt.received_bytes);
    has_input(engine, attempt);
    source_received(engine, attempt);
    attempt_set_receiving(engine, attempt, false);
    host_touch(engine, attempt->host);
}
