/* Passes facts to the engine after the delay of reports, and its decisions to the hosts after the
 * delay of decisions. */
#include "testbed/sim/cluster/run_state.h"

#include <errno.h>
#include <inttypes.h>

int run_tell(struct run *run, const struct event *event)
{
    if (run_grow((void **)&run->events, &run->events_room, run->n_events + 1, sizeof(*run->events)))
        return run_out_of_memory(run);
    run->events[run->n_events] = *event;
    hosts_deliver(run, &run->events[run->n_events++]);
    return 0;
}

int run_report(struct run *run, const struct event *event)
{
    int64_t delay_ns = run->config->report_delay_ns;
    if (!delay_ns)
        return run_tell(run, event);
    return delay_line_push(&run->told, run->now_ns + delay_ns, event) ? run_out_of_memory(run) : 0;
}

int run_report_attempt(struct run *run, enum event_kind kind, uint64_t number, uint64_t received)
{
    struct event e = {.kind = kind};
    e.attempt.attempt = number;
    e.attempt.received_bytes = received;
    return run_report(run, &e);
}

static int do_stop(struct run *run, const struct decision *d)
{
    struct run_attempt *a = run_attempt_find(run, d->stop.attempt);
    if (!a)
        return 0;
    run_notify(run, RUN_STOPPED, a, a->host);
    int r = run_attempt_drop(run, a);
    return r ? r : run_report_attempt(run, EVENT_ATTEMPT_KILLED, d->stop.attempt, 0);
}

static int do_level(struct run *run, const struct decision *d)
{
    struct run_attempt *a = run_attempt_find(run, d->level.attempt);
    if (!a)
        return 0;
    run_attempt_set_levels(run, a, d->level.coflow_level, d->level.macroflow_level);
    return run_attempt_mark(run, a);
}

static int do_mode(struct run *run, const struct decision *d)
{
    run->mode = (enum mode)d->mode.mode;
    run_notify(run, RUN_MODE, NULL, ENGINE_NONE);
    for (struct run_attempt *a = run->live; a; a = a->hh.next)
        if (a->n_open && run_attempt_mark(run, a))
            return -ENOMEM;
    return 0;
}

static int do_start(struct run *run, const struct decision *d)
{
    struct run_attempt *a = run_attempt_find(run, d->start.attempt);
    return a ? run_attempt_begin(run, a) : 0;
}

/* Orders that have reached the hosts. */
static int do_order(struct run *run, const struct order *order)
{
    const struct decision *d = &order->decision;
    if (order->output)
        return run_attempts_output_ready(run, order);
    switch (d->kind) {
    case DECISION_START:
        return do_start(run, d);
    case DECISION_STOP:
        return do_stop(run, d);
    case DECISION_LEVEL:
        return do_level(run, d);
    case DECISION_MODE:
        return do_mode(run, d);
    default:
        return 0; /* holds, and decisions for frameworks and agents only */
    }
}

static int send(struct run *run, const struct order *order)
{
    int64_t delay_ns = run->config->decision_delay_ns;
    if (!delay_ns)
        return do_order(run, order);
    return delay_line_push(&run->orders, run->now_ns + delay_ns, order) ? run_out_of_memory(run)
                                                                        : 0;
}

static int send_start(struct run *run, const struct decision *d)
{
    struct order order = {.decision = *d};
    struct run_attempt *a = run_attempt_make(run, d->start.attempt, d->start.job, d->start.stage,
                                             d->start.task, d->start.host);
    if (!a)
        return run_out_of_memory(run);
    a->variant = d->start.variant;
    a->reason = d->reason;
    a->left = d->left;
    run_attempt_set_levels(run, a, d->start.coflow_level, d->start.macroflow_level);
    int r = run_attempt_gather(run, a);
    return r ? r : send(run, &order);
}

static void note_end(struct run *run, size_t index, enum run_end end, int64_t ended_ns)
{
    run->result->jct_s[index] = (double)(ended_ns - (int64_t)run->jobs[index].arrival_ns) * 1e-9;
    run->done++;
    run->failures_at_end = run->result->host_failures;
    if (run->config->resume)
        run->config->resume->ends[index] = end;
}

static int job_done(struct run *run, const struct decision *d)
{
    if (!run_has_job(run, d->job_done.job))
        return 0;
    int64_t ended_ns = d->job_done.finished_ns - run->from_ns - run->config->report_delay_ns;
    note_end(run, run_job_index(run, d->job_done.job), RUN_JOB_DONE, ended_ns);
    run->result->slot_wait_s += (double)d->job_done.slot_wait_ns * 1e-9;
    return 0;
}

static int job_failed(struct run *run, const struct decision *d)
{
    if (!run->config->resume)
        return err_set(run->err, EINVAL, "job %" PRIu64 " failed: %s", d->job_failed.job,
                       reason_name(d->reason));
    if (run_has_job(run, d->job_failed.job))
        note_end(run, run_job_index(run, d->job_failed.job), RUN_JOB_FAILED,
                 d->job_failed.finished_ns - run->from_ns);
    return 0;
}

static int job_refused(struct run *run, const struct decision *d)
{
    char text[512];
    if (d->reason != REASON_NEVER_FITS)
        return err_set(run->err, EINVAL,
                       "the engine refuses job %" PRIu64 ": %s (%" PRId64 ", %" PRId64 ")",
                       d->reject.request, reason_name(d->reason), d->left, d->right);
    engine_say_never_fits(run->engine, d->reject.request, (uint32_t)d->left, text, sizeof(text));
    return err_set(run->err, EINVAL, "the engine refuses job %" PRIu64 ": %s", d->reject.request,
                   text);
}

static int about_framework(struct run *run, const struct decision *d)
{
    struct order order = {.decision = *d};
    switch (d->kind) {
    case DECISION_ALLOW:
        return framework_allow(run, d);
    case DECISION_ALLOW_END:
        framework_allow_ended(run, d);
        return 0;
    case DECISION_OPEN:
        framework_opened(run, d);
        return 0;
    case DECISION_BIND:
        framework_bound(run, d);
        return 0;
    default:
        return send(run, &order);
    }
}

static int take_decision(struct run *run, const struct decision *d)
{
    struct order order = {.decision = *d};
    switch (d->kind) {
    case DECISION_START:
        return send_start(run, d);
    case DECISION_JOB_DONE:
        return job_done(run, d);
    case DECISION_JOB_FAILED:
        return job_failed(run, d);
    case DECISION_REJECT:
        return job_refused(run, d);
    default:
        return run->config->framework ? about_framework(run, d) : send(run, &order);
    }
}

/* Notes which tasks the events of this step end, while the engine still knows their attempts. */
static int note_outputs(struct run *run, const struct event *events, size_t n)
{
    struct attempt_view view;
    run->n_outputs = 0;
    for (size_t i = 0; run->pipelines && i < n; i++) {
        if (events[i].kind != EVENT_ATTEMPT_DONE ||
            engine_attempt(run->engine, events[i].attempt.attempt, &view))
            continue;
        if (run_grow((void **)&run->outputs, &run->outputs_room, run->n_outputs + 1,
                     sizeof(*run->outputs)))
            return run_out_of_memory(run);
        struct order *order = &run->outputs[run->n_outputs++];
        *order = (struct order){.output = true,
                                .decided_ns = run->now_ns,
                                .job = view.job,
                                .stage = view.stage,
                                .task = view.task,
                                .host = view.host};
        order->decision.start.attempt = view.attempt;
    }
    return 0;
}

static int send_outputs(struct run *run)
{
    int r = 0;
    for (size_t i = 0; !r && i < run->n_outputs; i++) {
        const struct order *order = &run->outputs[i];
        struct task_view task;
        if (!engine_task(run->engine, order->job, order->stage, order->task, &task) &&
            task.state == TASK_DONE && task.attempt == order->decision.start.attempt)
            r = send(run, order);
    }
    return r;
}

int run_step(struct run *run, const struct event *events, size_t n)
{
    int r = note_outputs(run, events, n);
    if (r)
        return r;
    int64_t now_ns = run->from_ns + run->now_ns;
    run_recording_events(&run->recording, now_ns, events, n);
    if (engine_step(run->engine, now_ns, events, n, &run->decisions))
        return run_out_of_memory(run);
    run_recording_decisions(&run->recording, &run->decisions);
    if (events == run->events)
        run->n_events = 0;
    run->result->steps++;
    for (size_t i = 0; !r && i < run->decisions.n; i++)
        r = take_decision(run, &run->decisions.at[i]);
    r = r ? r : send_outputs(run);
    return r ? r : framework_start(run);
}

int run_take_delayed(struct run *run)
{
    struct event event;
    struct order order;
    int r = 0;
    while (!r && delay_line_take(&run->orders, run->now_ns, &order))
        r = do_order(run, &order);
    while (!r && delay_line_take(&run->told, run->now_ns, &event))
        r = run_tell(run, &event);
    return r;
}
