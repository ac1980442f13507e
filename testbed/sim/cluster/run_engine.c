/* The way to and from the engine: what it is told, after the delay of reports, and what it decides,
 * which reaches the hosts after the delay of decisions. */
#include "testbed/sim/cluster/run_state.h"

#include <errno.h>
#include <inttypes.h>

/* ---- what the engine is told ---- */

int run_tell(struct run *r, const struct event *event)
{
    if (run_grow((void **)&r->events, &r->events_room, r->n_events + 1, sizeof(*r->events)))
        return run_out_of_memory(r);
    r->events[r->n_events] = *event;
    hosts_deliver(r, &r->events[r->n_events++]);
    return 0;
}

int run_report(struct run *r, const struct event *event)
{
    int64_t delay_ns = r->config->report_delay_ns;
    if (!delay_ns)
        return run_tell(r, event);
    return delay_line_push(&r->told, r->now_ns + delay_ns, event) ? run_out_of_memory(r) : 0;
}

int run_report_attempt(struct run *r, enum event_kind kind, uint64_t number, uint64_t received)
{
    struct event e = {.kind = kind};
    e.attempt.attempt = number;
    e.attempt.received_bytes = received;
    return run_report(r, &e);
}

/* ---- what the engine decided ---- */

static int do_stop(struct run *r, const struct decision *d)
{
    struct attempt *a = run_attempt_find(r, d->stop.attempt);
    if (!a)
        return 0;
    run_watch(r, RUN_STOPPED, a, a->host);
    int rc = run_attempt_drop(r, a);
    return rc ? rc : run_report_attempt(r, EVENT_ATTEMPT_KILLED, d->stop.attempt, 0);
}

static int do_level(struct run *r, const struct decision *d)
{
    struct attempt *a = run_attempt_find(r, d->level.attempt);
    if (!a)
        return 0;
    run_attempt_set_levels(r, a, d->level.coflow_level, d->level.macroflow_level);
    return run_attempt_mark(r, a);
}

static int do_mode(struct run *r, const struct decision *d)
{
    r->mode = (enum mode)d->mode.mode;
    run_watch(r, RUN_MODE, NULL, ENGINE_NONE);
    for (struct attempt *a = r->live; a; a = a->hh.next)
        if (a->n_open && run_attempt_mark(r, a))
            return -ENOMEM;
    return 0;
}

static int do_start(struct run *r, const struct decision *d)
{
    struct attempt *a = run_attempt_find(r, d->start.attempt);
    return a ? run_attempt_begin(r, a) : 0;
}

/* Orders that have reached the hosts. */
static int do_order(struct run *r, const struct order *order)
{
    const struct decision *d = &order->decision;
    if (order->output)
        return run_attempts_output_ready(r, order);
    switch (d->kind) {
    case DECISION_START:
        return do_start(r, d);
    case DECISION_STOP:
        return do_stop(r, d);
    case DECISION_LEVEL:
        return do_level(r, d);
    case DECISION_MODE:
        return do_mode(r, d);
    default:
        return 0; /* holds and what only frameworks or agents act on */
    }
}

static int send(struct run *r, const struct order *order)
{
    int64_t delay_ns = r->config->decision_delay_ns;
    if (!delay_ns)
        return do_order(r, order);
    return delay_line_push(&r->orders, r->now_ns + delay_ns, order) ? run_out_of_memory(r) : 0;
}

static int send_start(struct run *r, const struct decision *d)
{
    struct order order = {.decision = *d};
    struct attempt *a = run_attempt_make(r, d->start.attempt, d->start.job, d->start.stage,
                                         d->start.task, d->start.host);
    if (!a)
        return run_out_of_memory(r);
    run_attempt_set_levels(r, a, d->start.coflow_level, d->start.macroflow_level);
    int rc = run_attempt_gather(r, a);
    return rc ? rc : send(r, &order);
}

static int job_done(struct run *r, const struct decision *d)
{
    size_t index = run_job_index(r, d->job_done.job);
    int64_t ended_ns = d->job_done.finished_ns - r->config->report_delay_ns;
    r->result->jct_s[index] = (double)(ended_ns - (int64_t)r->jobs[index].arrival_ns) * 1e-9;
    r->result->slot_wait_s += (double)d->job_done.slot_wait_ns * 1e-9;
    r->done++;
    r->failures_at_end = r->result->host_failures;
    return 0;
}

static int job_refused(struct run *r, const struct decision *d)
{
    char text[512];
    if (d->reason != REASON_NEVER_FITS)
        return err_set(r->err, EINVAL,
                       "the engine refuses job %" PRIu64 ": %s (%" PRId64 ", %" PRId64 ")",
                       d->reject.request, reason_name(d->reason), d->left, d->right);
    engine_say_never_fits(r->engine, d->reject.request, (uint32_t)d->left, text, sizeof(text));
    return err_set(r->err, EINVAL, "the engine refuses job %" PRIu64 ": %s", d->reject.request,
                   text);
}

static int take_decision(struct run *r, const struct decision *d)
{
    struct order order = {.decision = *d};
    switch (d->kind) {
    case DECISION_START:
        return send_start(r, d);
    case DECISION_JOB_DONE:
        return job_done(r, d);
    case DECISION_JOB_FAILED:
        return err_set(r->err, EINVAL, "job %" PRIu64 " failed: %s", d->job_failed.job,
                       reason_name(d->reason));
    case DECISION_REJECT:
        return job_refused(r, d);
    default:
        return send(r, &order);
    }
}

/* Which tasks the events of this step end, while the engine still knows their attempts. */
static int note_outputs(struct run *r, const struct event *events, size_t n)
{
    struct attempt_view view;
    r->n_outputs = 0;
    for (size_t i = 0; r->pipelines && i < n; i++) {
        if (events[i].kind != EVENT_ATTEMPT_DONE ||
            engine_attempt(r->engine, events[i].attempt.attempt, &view))
            continue;
        if (run_grow((void **)&r->outputs, &r->outputs_room, r->n_outputs + 1, sizeof(*r->outputs)))
            return run_out_of_memory(r);
        struct order *order = &r->outputs[r->n_outputs++];
        *order = (struct order){.output = true,
                                .decided_ns = r->now_ns,
                                .job = view.job,
                                .stage = view.stage,
                                .task = view.task,
                                .host = view.host};
        order->decision.start.attempt = view.attempt;
    }
    return 0;
}

static int send_outputs(struct run *r)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < r->n_outputs; i++) {
        const struct order *order = &r->outputs[i];
        struct task_view task;
        if (!engine_task(r->engine, order->job, order->stage, order->task, &task) &&
            task.state == TASK_DONE && task.attempt == order->decision.start.attempt)
            rc = send(r, order);
    }
    return rc;
}

int run_step(struct run *r, const struct event *events, size_t n)
{
    int rc = note_outputs(r, events, n);
    if (rc)
        return rc;
    run_log_events(&r->log, r->now_ns, events, n);
    if (engine_step(r->engine, r->now_ns, events, n, &r->decisions))
        return run_out_of_memory(r);
    run_log_decisions(&r->log, &r->decisions);
    if (events == r->events)
        r->n_events = 0;
    r->result->steps++;
    for (size_t i = 0; !rc && i < r->decisions.n; i++)
        rc = take_decision(r, &r->decisions.at[i]);
    return rc ? rc : send_outputs(r);
}

int run_take_delayed(struct run *r)
{
    struct event event;
    struct order order;
    int rc = 0;
    while (!rc && delay_line_take(&r->orders, r->now_ns, &order))
        rc = do_order(r, &order);
    while (!rc && delay_line_take(&r->told, r->now_ns, &event))
        rc = run_tell(r, &event);
    return rc;
}
